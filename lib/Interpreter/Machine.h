//===- Machine.h - State of a run -------------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: what handlers see.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_MACHINE_H
#define RINGLET_LIB_INTERPRETER_MACHINE_H

#include "lib/Interpreter/Interpreter.h"
#include "lib/Interpreter/Program.h"
#include "lib/Interpreter/Shadow.h"
#include "lib/Tensor/Precision.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace ringlet::interpreter {

class Agent;

/// What all functions of one run share.
class Run {
public:
  explicit Run(const Options &options) : options(options) {}

  const Options options;
  /// Set by the first failure.
  std::string error;
  int64_t steps = 0;
  /// A plan first runs without effects, to check what it requires.
  bool checking = false;
  /// That of the options, where it has a meaning for the plan.
  Sampling *sampling = nullptr;
  /// Launches are numbered from 1; 0 is outside any.
  int64_t launch = 0;

  mlir::LogicalResult fail(mlir::Operation *op, const llvm::Twine &message);

  /// A buffer that lives as long as the run.
  Buffer &addBuffer() { return buffers.emplace_back(); }
  /// Gives `buffer`, of which type and sizes are set, contiguous memory.
  /// Undefined content is a pattern that reads as NaN.
  mlir::LogicalResult allocate(Buffer &buffer, mlir::Operation *op);
  /// Checks that a caller's tensor is what `type` says and makes a buffer of
  /// it. `what` names it in messages.
  mlir::LogicalResult bind(Buffer &buffer, const MutableTensorView &tensor,
                           mlir::MemRefType type, mlir::Operation *op,
                           const llvm::Twine &what);
  /// Makes the records of accesses for buffers of the caller; those that
  /// overlap share theirs.
  mlir::LogicalResult addShadows(llvm::ArrayRef<Buffer *> bound,
                                 mlir::Operation *op);

  /// Overwrites every element of the outputs, buffers from `first` on, that
  /// lie apart from all inputs.
  void poisonOutputs(llvm::ArrayRef<Buffer *> bound, size_t first);

  /// Adds to an f32 at the end of the launch: in the order of points and, in
  /// one point, of `order`, whatever order they are run in.
  void add(char *address, int64_t point, int64_t order, float value) {
    additions.push_back({address, point, order, value});
  }

  /// Fails if there is no room for so many more.
  mlir::LogicalResult reserveAdditions(size_t count, mlir::Operation *op);

  /// Runs a kernel for all points of a grid.
  mlir::LogicalResult launchKernel(mlir::Operation *op, mlir::Operation *kernel,
                                   llvm::ArrayRef<int64_t> grid,
                                   llvm::ArrayRef<const Datum *> arguments);

private:
  /// Runs one point after the other.
  mlir::LogicalResult runPlain(const Program &program,
                               llvm::ArrayRef<int64_t> grid, int64_t points,
                               llvm::ArrayRef<const Datum *> arguments);
  /// Runs some blocks at a time, their roles beside each other.
  mlir::LogicalResult runScheduled(const Program &program,
                                   llvm::ArrayRef<int64_t> grid,
                                   llvm::ArrayRef<const Datum *> arguments);
  mlir::LogicalResult reserve(int64_t bytes, mlir::Operation *op);
  void applyAdditions();
  mlir::LogicalResult addShadow(uintptr_t begin, uintptr_t end, int64_t granule,
                                llvm::ArrayRef<Buffer *> users,
                                mlir::Operation *op);

  /// Deques: the elements stay where they are.
  std::deque<Buffer> buffers;
  std::deque<Shadow> shadows;
  std::deque<std::unique_ptr<char[]>> memory;
  int64_t bytes = 0;
  struct Addition {
    char *address;
    int64_t point, order;
    float value;
  };
  std::vector<Addition> additions;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Program>> kernels;
};

/// One function being run, by a stack of its own: it can stop anywhere and go
/// on later, as roles do.
class Machine {
public:
  Machine(Run &run, const Program &program);

  /// Runs a body to its end. Nothing in it may wait.
  mlir::LogicalResult execute(const Sequence &sequence);

  /// Puts a body on the stack: it runs when those above it have ended.
  void push(const Sequence &sequence) { frames.push_back({&sequence}); }
  bool hasEnded() const { return frames.empty(); }
  /// Runs until the stack is empty, or something waits or pauses.
  mlir::LogicalResult resume() { return runFrames(0); }

  /// Counts one operation or iteration.
  mlir::LogicalResult step(mlir::Operation *op) {
    if (++run.steps > run.options.maxSteps)
      return run.fail(op, "expected the program to end within " +
                              llvm::Twine(run.options.maxSteps) +
                              " steps, found no end");
    return mlir::success();
  }
  mlir::LogicalResult fail(const Instruction &instruction,
                           const llvm::Twine &message) {
    return run.fail(instruction.op, message);
  }

  const SlotType &type(uint32_t slot) const { return program.types[slot]; }
  Datum &operator[](uint32_t slot) { return slots[slot]; }
  const Datum &operand(const Instruction &instruction, unsigned i) {
    return slots[instruction.operands[i]];
  }
  /// An operand that is an index or an integer.
  int64_t scalar(const Instruction &instruction, unsigned i) {
    return slots[instruction.operands[i]].ints[0];
  }
  const SlotType &resultType(const Instruction &instruction) const {
    return program.types[instruction.results[0]];
  }
  /// The content of a result, with room for all its elements.
  std::vector<int64_t> &intResult(const Instruction &instruction,
                                  unsigned i = 0);
  std::vector<float> &floatResult(const Instruction &instruction,
                                  unsigned i = 0);
  /// Accesses of now.
  Stamp stamp() const { return Stamp(run.launch, point); }

  //===--------------------------------------------------------------------===//
  // For handlers of operations with regions
  //===--------------------------------------------------------------------===//

  /// Runs `body` of `instruction` next, then the instruction's `leave`.
  void enter(const Instruction &instruction, const Sequence &body,
             int64_t counter = 0) {
    frames.push_back({&body, &instruction, 0, counter});
  }
  /// In a `leave`: the counter of the body that has ended.
  int64_t &counter() { return frames.back().counter; }
  /// In a `leave`: runs the body once more.
  void repeat() { frames.back().next = 0; }
  /// In a `leave`: goes on behind the instruction.
  void leave() { frames.pop_back(); }
  /// Copies values, all at once: those copied may be among those written.
  mlir::LogicalResult move(const Instruction &instruction,
                           llvm::ArrayRef<uint32_t> from,
                           llvm::ArrayRef<uint32_t> to);

  //===--------------------------------------------------------------------===//
  // For handlers of roles
  //===--------------------------------------------------------------------===//

  /// Stops before the instruction, which runs again later.
  void wait() { isWaiting = true; }
  /// Stops behind it.
  void pause() { isPausing = true; }

  Run &run;
  const Program &program;
  /// The point of the grid as one number.
  int64_t point = 0;
  /// The role that this runs; null if it runs a function.
  Agent *agent = nullptr;
  /// True if the last call of `resume` has ended at an instruction that waits.
  bool isWaiting = false;
  /// For handlers that need one more tile.
  std::vector<float> scratch;

private:
  struct Frame {
    const Sequence *sequence = nullptr;
    /// Whose body it is; null for the body of a function or role.
    const Instruction *owner = nullptr;
    size_t next = 0;
    int64_t counter = 0;
  };

  /// Runs until no more than `floor` frames are left.
  mlir::LogicalResult runFrames(size_t floor);
  mlir::LogicalResult runInstruction(const Instruction &instruction);

  std::vector<Datum> slots;
  std::vector<Frame> frames;
  std::vector<Datum> moving;
  bool isPausing = false;
};

/// Rounds f32 values to what `kind` can hold.
void roundValues(std::vector<float> &values, Kind kind);

/// Sizes of a product.
struct ProductShape {
  ProductShape(mlir::Type lhs, mlir::Type result, bool transposed);

  int64_t rows, columns, depth;
  bool transposed;
};

/// `result` = `lhs` * `rhs` + `init`, if there is one. Of factors that are
/// rounded or split (R7) products are summed from 0, the small ones first.
void multiply(Machine &machine, const ProductShape &shape,
              const std::vector<float> &lhs, const std::vector<float> &rhs,
              const std::vector<float> *init, std::vector<float> &result,
              Precision precision = Precision::f32);

/// "(1, 0, 2)": a point that is given as one number.
std::string describePoint(int64_t point, llvm::ArrayRef<int64_t> grid);

/// Makes the last bit of a rounded double say that it was rounded, `error`
/// being the sign of what was lost: a second rounding, to a narrower type, then
/// gives what a single one would.
double stickToOdd(double rounded, double error);

/// The low `width` bits of `value`, sign-extended.
inline int64_t wrap(int64_t value, unsigned width) {
  unsigned shift = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

/// Mixes numbers into one that looks random: for choices that must be the same
/// whenever the same operation sees the same operands.
uint64_t mix(uint64_t seed, llvm::ArrayRef<int64_t> values);

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_MACHINE_H
