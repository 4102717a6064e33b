//===- EmitTables.cpp - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/GPUBuilder.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/TableKernels.h"

#include "ringlet/abi/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEEMITTABLES
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;
using layout::IndexProgram;

std::string ringlet::gpu::getTableKernelName(rplan::OrderTableOp table) {
  layout::OrderSpec spec = table.getOrder().getSpec();
  std::string name = table.getInverse() ? "slots of " : "tokens of ";
  name += spec.curve;
  if (spec.rate)
    name += " " + std::to_string(spec.rate);
  for (size_t axis = 0; axis < spec.grid.size(); ++axis)
    name += (axis ? "x" : " ") + std::to_string(spec.grid[axis]);
  if (spec.chunk)
    name += " chunk " + std::to_string(spec.chunk);
  return name;
}

namespace {

/// The program's steps on integers of 64 bits.
Value emitProgram(GPUBuilder &b, const IndexProgram &program, Value input) {
  SmallVector<Value> values;
  for (const IndexProgram::Step &step : program.steps()) {
    auto emit = [&](auto op) -> Value {
      return decltype(op)::create(b, values[step.lhs], values[step.rhs]);
    };
    switch (step.op) {
    case IndexProgram::Op::Input:
      values.push_back(input);
      break;
    case IndexProgram::Op::Constant:
      values.push_back(b.i64(step.value));
      break;
    case IndexProgram::Op::Add:
      values.push_back(emit(arith::AddIOp()));
      break;
    case IndexProgram::Op::Sub:
      values.push_back(emit(arith::SubIOp()));
      break;
    case IndexProgram::Op::And:
      values.push_back(emit(arith::AndIOp()));
      break;
    case IndexProgram::Op::Xor:
      values.push_back(emit(arith::XOrIOp()));
      break;
    case IndexProgram::Op::ShiftLeft:
      values.push_back(emit(arith::ShLIOp()));
      break;
    case IndexProgram::Op::ShiftRight:
      values.push_back(emit(arith::ShRUIOp()));
      break;
    }
  }
  return values.back();
}

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
  kernel->setAttr(tableAttr, builder.getUnitAttr());
  Block *entry = kernel.addEntryBlock(builder);
  GPUBuilder b(table.getLoc(), OpBuilder::atBlockBegin(entry));
  Value base = b.globalPointer(entry->getArgument(0));
  Value index = b.add(b.mul(b.toI64(b.blockIndex()), abi::kTableItem),
                      b.toI64(b.threadIndex()));
  Value exists = b.less(index, entry->getArgument(1));
  b.storeGlobal(emitProgram(b, program, index), b.at(base, b.mul(index, 8)),
                exists);
  LLVM::ReturnOp::create(b, ValueRange());
}

struct EmitTables : ringlet::impl::RTileEmitTablesBase<EmitTables> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([&](rplan::OrderTableOp table) {
      std::optional<IndexProgram> program =
          table.getOrder().getOrder()->arithmetic(table.getInverse());
      std::string name = getTableKernelName(table);
      if (!program || module.lookupSymbol(name))
        return;
      emitKernel(table, name, *program);
      remark::passed(table.getLoc(), remark::RemarkOpts::name("EmitTables")
                                         .category("rtile-gpu-emit-tables"))
          << name << ": a kernel writes the table, by "
          << std::to_string(program->steps().size())
          << " operations on integers for each entry";
    });
  }
};

} // namespace
