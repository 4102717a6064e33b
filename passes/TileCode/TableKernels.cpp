//===- TableKernels.cpp - Kernels that write order tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/TableKernels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;
using layout::IndexProgram;

std::string code::getTableKernelName(rplan::OrderTableOp table) {
  layout::OrderSpec spec = table.getOrder().getSpec();
  std::string name = table.getInverse() ? "slots of " : "tokens of ";
  name += spec.curve;
  if (spec.rate)
    name += llvm::formatv(" {0}", spec.rate).str();
  for (size_t axis = 0; axis < spec.grid.size(); ++axis)
    name += (axis ? "x" : " ") + std::to_string(spec.grid[axis]);
  if (spec.chunk)
    name += llvm::formatv(" chunk {0}", spec.chunk).str();
  return name;
}

void code::emitTableKernels(
    ModuleOp module, StringRef category,
    llvm::function_ref<void(rplan::OrderTableOp, StringRef,
                            const IndexProgram &)>
        emit) {
  module.walk([&](rplan::OrderTableOp table) {
    std::optional<IndexProgram> program =
        table.getOrder().getOrder()->arithmetic(table.getInverse());
    std::string name = getTableKernelName(table);
    if (!program || module.lookupSymbol(name))
      return;
    emit(table, name, *program);
    remark::passed(table.getLoc(), remark::RemarkOpts::name("EmitTables")
                                       .category(category)
                                       .function(name))
        << llvm::formatv("{0}: a kernel writes the table, by {1} operations on "
                         "integers for each entry",
                         name, program->steps().size())
               .str();
  });
}

Value code::emitProgram(CodeBuilder &b, const IndexProgram &program,
                        Value input) {
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
      values.push_back(b.integer(input.getType(), step.value));
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
