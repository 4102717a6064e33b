//===- Pipeline.cpp - From plain rtile to the llvm dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "passes/TileOpt/Passes.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ringlet;

void ringlet::addScheduledChecks(OpPassManager &pm, StringRef arch) {
  pm.addPass(createRTileCheckGPU());
  pm.addPass(createRTilePlanMaps());
  pm.addPass(createRTileAssignChannels({arch.str()}));
}

void ringlet::buildGPUPipeline(OpPassManager &pm, StringRef arch) {
  pm.addPass(createRTileFlushSums());
  pm.addPass(createRTileCheckGPU());
  pm.addPass(createRTileFuseScale());
  pm.addPass(createRTileDivideRows());
  pm.addPass(createRTileChooseDot({arch.str()}));
  pm.addPass(createRTileSkipRescale());
  pm.addPass(createRTileChooseWarps());
  pm.addPass(createRTileWidenFragments({arch.str()}));
  pm.addPass(createRTileSwizzleRows({arch.str()}));
  pm.addPass(createRTilePrefetchLoads({arch.str()}));
  pm.addPass(createRTileMergeLoops());
  pm.addPass(createRTileLowerRuns());
  pm.addPass(createRTileAssignShared({arch.str()}));
  pm.addPass(createRTilePlanMaps());
  pm.addPass(createRTileAssignChannels({arch.str(), /*fromSymbol=*/false}));
  pm.addPass(createRTileToNVVM({arch.str()}));
  pm.addPass(createRTileEmitTables());
}

void ringlet::registerTileToNVVMPasses() { registerRingletTileToNVVMPasses(); }
