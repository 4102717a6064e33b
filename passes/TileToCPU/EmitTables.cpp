//===- EmitTables.cpp - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/TableKernels.h"
#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Kernel.h"
#include "passes/TileToCPU/Passes.h"

#include "ringlet/abi/Limits.h"

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECPUEMITTABLES
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// The kernel has the words of one parameter, an i64 [?]. Each turn writes a
/// vector of entries, those that exist.
void emitKernel(rplan::OrderTableOp table, StringRef name,
                const layout::IndexProgram &program,
                const arch::CPULevel &level) {
  auto module = table->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  LLVM::LLVMFuncOp kernel =
      createKernel(builder, table.getLoc(), name, table.getType(),
                   /*gridRank=*/1, /*scratchBytes=*/0, level);
  kernel->setAttr(code::tableAttr, builder.getUnitAttr());
  Block *entry = kernel.addEntryBlock(builder);
  code::CodeBuilder b(table.getLoc(), OpBuilder::atBlockBegin(entry));
  Value words = entry->getArgument(Parameters);
  Value base = b.load(b.getPointer(), words, 8);
  Value length = b.load(b.getI64Type(), b.at(words, 8), 8);
  int64_t lanes = level.vectorBits / 64;
  Type vector = b.getVector(b.getI64Type(), lanes);
  Value places = arith::ExtUIOp::create(b, vector, b.iota(lanes));
  Value lengths = b.splat(length, lanes);
  Value begin = b.mul(entry->getArgument(Begin), abi::kTableItem);
  Value end = b.mul(entry->getArgument(End), abi::kTableItem);
  end = b.min(end, length);
  b.loop(begin, end, b.i64(lanes), [&](Value first) {
    Value index = b.add(b.splat(first, lanes), places);
    Value exists = b.compare(arith::CmpIPredicate::slt, index, lengths);
    Value result = code::emitProgram(b, program, index);
    LLVM::MaskedStoreOp::create(b, result, b.at(base, b.mul(first, 8)), exists,
                                /*alignment=*/8);
  });
  LLVM::ReturnOp::create(b, ValueRange());
}

struct EmitTables : ringlet::impl::RTileCPUEmitTablesBase<EmitTables> {
  using Base::Base;

  void runOnOperation() override {
    const arch::CPULevel *row = lookupLevel(getOperation(), level);
    if (!row)
      return signalPassFailure();
    code::emitTableKernels(getOperation(), "rtile-cpu-emit-tables",
                           [&](rplan::OrderTableOp table, StringRef name,
                               const layout::IndexProgram &program) {
                             emitKernel(table, name, program, *row);
                           });
  }
};

} // namespace
