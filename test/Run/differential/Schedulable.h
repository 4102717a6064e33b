//===- Schedulable.h - Which kernels get roles ------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_SCHEDULABLE_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_SCHEDULABLE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ringlet::differential {

/// True if some kernel of the module has roles.
bool hasSchedule(mlir::ModuleOp module);

/// Takes recipes from the kernels that rtile-schedule leaves plain, so that its
/// passes can be run on the module one by one. False if rtile-schedule fails.
bool keepSchedulable(mlir::ModuleOp module, const std::string &level);

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_SCHEDULABLE_H
