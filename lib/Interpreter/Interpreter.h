//===- Interpreter.h - Runs rplan and rtile ---------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reference interpreter: runs the host plan of an entry and the kernels that
// it launches straight from the IR, operation by operation, as their
// descriptions say and with nothing clever. A lowering stage is right when its
// output still computes, here, what the oracle says.
//
// It is also a judge of programs. It reports, with the operation's location,
// what compiled code would silently do: races between grid points, memory
// outside a buffer, writes to an input, loops without end.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_INTERPRETER_H
#define RINGLET_LIB_INTERPRETER_INTERPRETER_H

#include "lib/Tensor/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <variant>

namespace ringlet::interpreter {

/// Points of a launch that may be too many.
struct Sampling {
  /// Time for those that are run, in seconds.
  double seconds = 10;
  /// Set by a run: how many there are, and how many were run.
  int64_t points = 0, run = 0;
};

struct Options {
  /// Grid points of a launch run in an order drawn from this seed, first axis
  /// fastest if there is none, and so do steps of a plan that do not wait for
  /// each other.
  std::optional<uint64_t> seed;
  /// Roles of a scheduled kernel, of all its blocks that run at a time, and its
  /// copies take their steps in an order drawn from this seed, which also says
  /// how many blocks these are. Nothing: a copy arrives at once, and each role
  /// goes as far as it can.
  std::optional<uint64_t> interleaving;
  /// Fails if two grid points of one launch write the same element, or one
  /// reads what another one writes.
  bool detectRaces = true;
  /// Fills workspace, and outputs that share no memory with an input, with
  /// NaNs before anything runs, so that content that is used without having
  /// been written shows in the results.
  bool poison = true;
  /// Where the description of an operation leaves a choice (bounds of an empty
  /// view, how many steps of a run count as whole, which rows are rebased,
  /// which of two launches a device can run), takes one drawn from the seed and
  /// the operands instead of the natural one.
  bool chooseFreely = false;
  /// What `rplan.machine` says.
  int64_t multiprocessors = 128, rank = 0, ranks = 1;
  /// The arguments of each rank of a ring; those of this one are not read.
  std::vector<std::vector<MutableTensorView>> peers;
  /// Operations and loop iterations until a program counts as endless.
  int64_t maxSteps = 200'000'000;
  /// If set, the only launch of a plan that has no other step leaves points out
  /// when its time is over, unless the kernel has roles or adds to what other
  /// points add to. A seed draws the points.
  Sampling *sampling = nullptr;
  /// Limit on workspace, order tables and race records together, in bytes.
  int64_t maxBytes = int64_t(4) << 30;
};

/// Runs the rplan.func `entry` on its arguments: inputs, then outputs. Inputs
/// are not written. On failure `*error` says where and why; outputs may then
/// be partly written.
mlir::LogicalResult interpret(mlir::ModuleOp module, llvm::StringRef entry,
                              llvm::ArrayRef<MutableTensorView> arguments,
                              std::string *error, const Options &options = {});

/// A parameter of a kernel: a buffer or an index.
using KernelArgument = std::variant<MutableTensorView, int64_t>;

/// Runs one rtile.func for every point of `grid`. Any buffer may be written.
mlir::LogicalResult interpretKernel(mlir::ModuleOp module,
                                    llvm::StringRef kernel,
                                    llvm::ArrayRef<KernelArgument> arguments,
                                    llvm::ArrayRef<int64_t> grid,
                                    std::string *error,
                                    const Options &options = {});

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_INTERPRETER_H
