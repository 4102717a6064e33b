//===- Scalars.cpp - Values that are no tiles -*- C++ -*--===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Scalars.h"

using namespace mlir;
using namespace ringlet;

Type code::getCodeType(Type type) {
  return type.isIndex() ? IntegerType::get(type.getContext(), 64) : type;
}

static Value castIndex(code::CodeBuilder &b, Operation *op, Value value) {
  Type to = code::getCodeType(op->getResult(0).getType());
  unsigned fromBits = value.getType().getIntOrFloatBitWidth();
  unsigned toBits = to.getIntOrFloatBitWidth();
  if (fromBits > toBits)
    return arith::TruncIOp::create(b, to, value);
  if (fromBits < toBits && isa<arith::IndexCastOp>(op))
    return arith::ExtSIOp::create(b, to, value);
  if (fromBits < toBits)
    return arith::ExtUIOp::create(b, to, value);
  return value;
}

SmallVector<Value> code::emitScalar(CodeBuilder &b, Operation *op,
                                    ValueRange operands) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constant.getValue();
    if (auto integer = dyn_cast<IntegerAttr>(value);
        integer && integer.getType().isIndex())
      value = b.getI64IntegerAttr(integer.getInt());
    return {arith::ConstantOp::create(b, value)};
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return {castIndex(b, op, operands[0])};
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  for (Type type : op->getResultTypes())
    state.addTypes(getCodeType(type));
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResults();
}
