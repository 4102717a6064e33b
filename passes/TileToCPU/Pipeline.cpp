//===- Pipeline.cpp - From plain rtile to the llvm dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "passes/TileOpt/Passes.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ringlet;

void ringlet::buildCPUPipeline(OpPassManager &pm, StringRef level) {
  pm.addPass(createRTileCheckCPU());
  pm.addPass(createRTileCPUFitRows({level.str()}));
  pm.addPass(createRTileLowerRuns());
  pm.addPass(createRTileExpandRebase());
  pm.addPass(createRTileSplitSums());
  pm.addPass(createRTileFuseRows());
  pm.addPass(createRTilePackOperands({level.str()}));
  pm.addPass(createRTileTrimColumns());
  pm.addPass(createRTileTrimRows());
  pm.addPass(createRTileCPUPrefetchLoads());
  pm.addPass(createRTileCPUOrderGrid());
  pm.addPass(createRTileAssignScratch());
  pm.addPass(createRTileToCPU({level.str()}));
  pm.addPass(createRTileCPUEmitTables({level.str()}));
}

void ringlet::registerTileToCPUPasses() { registerRingletTileToCPUPasses(); }
