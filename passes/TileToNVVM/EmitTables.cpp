//===- EmitTables.cpp - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/TableKernels.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/GPUBuilder.h"
#include "passes/TileToNVVM/Passes.h"

#include "ringlet/abi/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEEMITTABLES
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;
using layout::IndexProgram;

namespace {

/// The kernel has the words of one parameter, an i64 [?], and the number of its
/// items. A thread writes one entry.
void emitKernel(rplan::OrderTableOp table, StringRef name,
                const IndexProgram &program) {
  auto module = table->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type word = builder.getI64Type();
  LLVM::LLVMFuncOp kernel =
      createKernel(builder, table.getLoc(), name, {word, word, word},
                   table.getType(), /*gridRank=*/1, abi::kTableItem);
  kernel->setAttr(sharedBytesAttr, builder.getI64IntegerAttr(0));
  kernel->setAttr(code::tableAttr, builder.getUnitAttr());
  Block *entry = kernel.addEntryBlock(builder);
  GPUBuilder b(table.getLoc(), OpBuilder::atBlockBegin(entry));
  Value base = b.globalPointer(entry->getArgument(0));
  Value thread = b.toI64(b.threadIndex());
  Value index = b.add(b.mul(b.toI64(b.blockIndex()), abi::kTableItem), thread);
  Value exists = b.less(index, entry->getArgument(1));
  Value to = b.at(base, b.mul(index, 8));
  b.storeGlobal(code::emitProgram(b, program, index), to, exists);
  LLVM::ReturnOp::create(b, ValueRange());
}

struct EmitTables : ringlet::impl::RTileEmitTablesBase<EmitTables> {
  void runOnOperation() override {
    code::emitTableKernels(getOperation(), "rtile-gpu-emit-tables", emitKernel);
  }
};

} // namespace
