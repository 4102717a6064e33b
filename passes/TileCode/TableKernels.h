//===- TableKernels.h - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_TABLEKERNELS_H
#define RINGLET_PASSES_TILECODE_TABLEKERNELS_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "lib/Layout/IndexProgram.h"
#include "passes/TileCode/CodeBuilder.h"

#include <string>

namespace ringlet {
namespace code {

/// Of a kernel that no rtile.func became, and that no plan launches.
inline constexpr llvm::StringLiteral tableAttr = "rtile.table";

/// The kernel that writes the table, if the target has one. Equal orders have
/// equal names, others have others.
std::string getTableKernelName(rplan::OrderTableOp table);

/// Calls `emit` once for each order whose table is arithmetic, and says so in a
/// remark of the pass `category`.
void emitTableKernels(
    mlir::ModuleOp module, llvm::StringRef category,
    llvm::function_ref<void(rplan::OrderTableOp table, llvm::StringRef name,
                            const layout::IndexProgram &program)>
        emit);

/// The program's steps on `input`, an integer of 64 bits or a vector of them.
mlir::Value emitProgram(CodeBuilder &b, const layout::IndexProgram &program,
                        mlir::Value input);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_TABLEKERNELS_H
