//===- Pipeline.cpp - Kernels to the llvm dialect -*- C++ -*--===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace ringlet;

/// Loops of a kernel carry a value a register, hundreds in all; MLIR 22
/// compares each two of them, at each visit of their loop, to find some that
/// are always equal. LLVM finds such phi nodes by hashing.
static std::unique_ptr<Pass> createKernelCanonicalizerPass() {
  static const std::string disabled[] = {
      "(anonymous namespace)::RemoveDuplicateSuccessorInputUses"};
  return createCanonicalizerPass(GreedyRewriteConfig(), disabled);
}

void code::addKernelsToLLVM(OpPassManager &pm) {
  {
    OpPassManager &kernels = pm.nest<LLVM::LLVMFuncOp>();
    kernels.addPass(createCSEPass());
    kernels.addPass(createKernelCanonicalizerPass());
    kernels.addPass(createSCFToControlFlowPass());
    kernels.addPass(arith::createArithExpandOpsPass());
    kernels.addPass(createArithToLLVMConversionPass());
  }
  // A pass on modules only; nothing but kernels has cf operations.
  pm.addPass(createConvertControlFlowToLLVMPass());
  OpPassManager &kernels = pm.nest<LLVM::LLVMFuncOp>();
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCSEPass());
}
