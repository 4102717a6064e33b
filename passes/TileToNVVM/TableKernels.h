//===- TableKernels.h - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_TABLEKERNELS_H
#define RINGLET_PASSES_TILETONVVM_TABLEKERNELS_H

#include "dialects/Plan/IR/PlanDialect.h"

#include <string>

namespace ringlet {
namespace gpu {

// rtile-gpu-emit-tables: no rtile.func became this kernel, and no plan launches
// it.
inline constexpr llvm::StringLiteral tableAttr = "rtile.table";

/// The kernel that writes the table, if the target has one. Equal orders have
/// equal names, others have others.
std::string getTableKernelName(rplan::OrderTableOp table);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_TABLEKERNELS_H
