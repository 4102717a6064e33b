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

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LogicalResult.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace ringlet::interpreter {

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
  /// Launches are numbered from 1; 0 is outside any.
  int64_t launch = 0;
  int64_t point = 0;

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

  /// Runs a kernel for all points of a grid.
  mlir::LogicalResult launchKernel(mlir::Operation *op, mlir::Operation *kernel,
                                   llvm::ArrayRef<int64_t> grid,
                                   llvm::ArrayRef<const Datum *> arguments);

private:
  mlir::LogicalResult reserve(int64_t bytes, mlir::Operation *op);
  mlir::LogicalResult addShadow(uintptr_t begin, uintptr_t end, int64_t granule,
                                llvm::ArrayRef<Buffer *> users,
                                mlir::Operation *op);

  /// Deques: the elements stay where they are.
  std::deque<Buffer> buffers;
  std::deque<Shadow> shadows;
  std::deque<std::unique_ptr<char[]>> memory;
  int64_t bytes = 0;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Program>> kernels;
};

/// One function being run.
class Machine {
public:
  Machine(Run &run, const Program &program);

  mlir::LogicalResult execute(const Sequence &sequence);
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

  Run &run;
  const Program &program;
  /// For handlers that need one more tile.
  std::vector<float> scratch;

private:
  std::vector<Datum> slots;
};

/// Rounds f32 values to what `kind` can hold.
void roundValues(std::vector<float> &values, Kind kind);

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
