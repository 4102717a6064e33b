//===- CheckStages.h - A module on its way to roles, run at each stage -*- C++
//-*-//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_ROLES_CHECKSTAGES_H
#define RINGLET_TEST_RUN_ROLES_CHECKSTAGES_H

#include "lib/Tensor/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace ringlet::roles_test {

/// A plan or a kernel, and what it is called with.
struct Invocation {
  std::string entry;
  /// Inputs and outputs, in the order of parameters.
  std::vector<Tensor> buffers;
  /// Of a kernel: the scalars behind the buffers, and its grid; no grid for a
  /// plan.
  std::vector<int64_t> scalars, grid;
};

/// Runs it. The empty string, or the error; `buffers` are then what it left.
std::string invoke(mlir::ModuleOp module, const Invocation &invocation,
                   std::optional<uint64_t> interleaving,
                   std::vector<Tensor> &buffers);

struct StagesOptions {
  std::string level = "sm_90a";
  /// Passes in place of those of `rtile-schedule`.
  std::string passes;
  /// Interleavings for each stage.
  int64_t interleavings = 2;
  uint64_t seed = 0;
};

struct StagesReport {
  /// Kernels that have roles in the end, and those that have none.
  std::vector<std::string> scheduled, plain;
  /// Stages that were run, by their passes.
  std::vector<std::string> stages;
  /// The empty string if all is well.
  std::string failure;
};

/// Schedules the kernels of `module` and runs it after each pass that leaves
/// kernels with roles, for several interleavings, which must agree bit by bit,
/// and be near `expected`.
StagesReport checkStages(mlir::ModuleOp module, const Invocation &invocation,
                         const std::vector<Tensor> &expected,
                         const StagesOptions &options);

} // namespace ringlet::roles_test

#endif // RINGLET_TEST_RUN_ROLES_CHECKSTAGES_H
