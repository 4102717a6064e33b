//===- VerifyOrders.h - Rewrites proved by execution ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function that a pass leaves changed is run beside what it was before,
// on the same random inputs. The first difference fails the pass.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_VERIFYORDERS_H
#define RINGLET_LIB_EVALUATOR_VERIFYORDERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace ringlet {

struct VerifyOrdersOptions {
  /// Inputs number i are drawn from seed + i.
  uint64_t seed = 1;
  /// How many inputs each function is run on.
  int64_t draws = 3;
};

/// Sets what a list like "seed=7,draws=1" says; the empty list is fine. Returns
/// an empty string, or what is wrong.
std::string parseVerifyOrders(llvm::StringRef list,
                              VerifyOrdersOptions &options);

/// Runs both functions on the same inputs and compares their results token by
/// token. Emits an error if they differ or cannot be run; `pass` is who made
/// `after` of `before`.
mlir::LogicalResult verifyOrders(mlir::func::FuncOp before,
                                 mlir::func::FuncOp after, llvm::StringRef pass,
                                 const VerifyOrdersOptions &options);

/// Does so around each pass of `pm`.
void enableVerifyOrders(mlir::PassManager &pm,
                        const VerifyOrdersOptions &options);

} // namespace ringlet

#endif // RINGLET_LIB_EVALUATOR_VERIFYORDERS_H
