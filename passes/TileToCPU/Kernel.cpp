//===- Kernel.cpp - What a CPU kernel is called with -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Kernel.h"

#include "lib/Arch/CPU.h"
#include "passes/TileToCPU/Decisions.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

LLVM::LLVMFuncOp cpu::createKernel(OpBuilder &builder, Location loc,
                                   StringRef name, TypeRange parameters,
                                   int64_t gridRank, int64_t scratchBytes,
                                   const arch::CPULevel &level) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type word = builder.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {pointer, word, word, pointer});
  auto result = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  auto pair = [&](StringRef key, const Twine &value) -> Attribute {
    return builder.getArrayAttr(
        {builder.getStringAttr(key), builder.getStringAttr(value)});
  };
  SmallVector<Attribute> passthrough{
      pair("target-cpu", level.processor),
      pair("prefer-vector-width", Twine(level.vectorBits)),
      builder.getStringAttr("no-builtins"), builder.getStringAttr("nounwind")};
  if (level.features[0])
    passthrough.push_back(pair("target-features", level.features));
  result.setPassthroughAttr(builder.getArrayAttr(passthrough));
  result.setArgAttr(Parameters, "llvm.noalias", builder.getUnitAttr());
  result.setArgAttr(Scratch, "llvm.noalias", builder.getUnitAttr());
  result.setArgAttr(Scratch, "llvm.align", builder.getI64IntegerAttr(64));
  result->setAttr(parametersAttr,
                  builder.getTypeArrayAttr(SmallVector<Type>(parameters)));
  result->setAttr(gridRankAttr, builder.getI64IntegerAttr(gridRank));
  result->setAttr(scratchAttr, builder.getI64IntegerAttr(scratchBytes));
  return result;
}
