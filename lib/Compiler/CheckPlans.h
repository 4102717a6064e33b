//===- CheckPlans.h - What plans written by hand get wrong ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_CHECKPLANS_H
#define RINGLET_LIB_COMPILER_CHECKPLANS_H

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {

/// Fails, at the store, for a kernel that stores to an input of the plan that
/// launches it. Warns of outputs that nothing writes, and of grids that round
/// down.
mlir::LogicalResult checkPlans(mlir::ModuleOp module);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_CHECKPLANS_H
