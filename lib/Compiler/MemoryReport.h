//===- MemoryReport.h - Memory that attentions touch ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_MEMORYREPORT_H
#define RINGLET_LIB_COMPILER_MEMORYREPORT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ringlet {

/// What the kernels of each attention touch of K and V, in the order that they
/// have and in others: a table for each branch. The attentions have their
/// tilings.
std::string reportMemory(mlir::ModuleOp module);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_MEMORYREPORT_H
