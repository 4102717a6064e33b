//===- AsmBlock.cpp - One piece of PTX with its registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/AsmBlock.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet::gpu;

/// The letter of a type's registers in constraints.
static const char *getLetter(Type type) {
  if (type.isF32())
    return "f";
  if (isa<LLVM::LLVMPointerType>(type))
    return "l";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "b";
  case 16:
    return "h";
  case 64:
    return "l";
  default:
    return "r";
  }
}

std::string AsmBlock::change(Value value) {
  changed.emplace_back(types.size(), value);
  return result(value.getType());
}

std::string AsmBlock::result(Type type) {
  types.push_back(type);
  return "$" + std::to_string(types.size() - 1);
}

std::string AsmBlock::use(Value value) {
  used.push_back(value);
  return "$" + std::to_string(types.size() + changed.size() + used.size() - 1);
}

SmallVector<Value> AsmBlock::emit(ImplicitLocOpBuilder &builder) const {
  SmallVector<std::string> constraints;
  SmallVector<Value> operands;
  for (Type type : types)
    constraints.push_back(std::string("=&") + getLetter(type));
  for (auto [number, value] : changed) {
    constraints[number].erase(1, 1);
    constraints.push_back(std::to_string(number));
    operands.push_back(value);
  }
  for (Value value : used) {
    constraints.push_back(getLetter(value.getType()));
    operands.push_back(value);
  }
  constraints.push_back("~{memory}");
  MLIRContext *context = builder.getContext();
  SmallVector<Type> results;
  if (types.size() > 1)
    results.push_back(LLVM::LLVMStructType::getLiteral(context, types));
  else
    results.append(types.begin(), types.end());
  auto op = LLVM::InlineAsmOp::create(
      builder, results, operands, text, llvm::join(constraints, ","),
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  SmallVector<Value> values;
  if (types.size() == 1)
    values.push_back(op.getResult(0));
  else
    for (size_t number = 0; number < types.size(); ++number)
      values.push_back(LLVM::ExtractValueOp::create(builder, op.getResult(0),
                                                    int64_t(number)));
  return values;
}
