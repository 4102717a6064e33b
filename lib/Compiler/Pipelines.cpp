//===- Pipelines.cpp - The way from graph to machine, by name -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Pipelines.h"

#include "lib/Arch/GPU.h"
#include "passes/AttentionOpt/Passes.h"
#include "passes/AttentionToTile/Passes.h"
#include "passes/Orders/Passes.h"
#include "passes/PlanOpt/Passes.h"
#include "passes/Recipes/Passes.h"
#include "passes/TileCode/Pipeline.h"
#include "passes/TileOpt/Passes.h"
#include "passes/TileToCPU/Passes.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ringlet::buildRingletOptPipeline(OpPassManager &pm,
                                      const LevelOptions &options) {
  // Before any pass that an order could mislead.
  pm.addPass(createRLayoutVerifyEncodings());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // A segment that holds everything may be walked along any curve.
  pm.addPass(createRingletClampSegments());
  RingletChooseOrderOptions order;
  order.level = options.level;
  order.order = options.order;
  pm.addPass(createRingletChooseOrder(order));
  RingletPropagateOrdersOptions orders;
  orders.level = options.level;
  pm.addPass(createRingletPropagateOrders(orders));
  RingletChooseCombineOptions combine;
  combine.level = options.level;
  combine.combine = options.combine;
  pm.addPass(createRingletChooseCombine(combine));
  RingletChooseTilingOptions tiling;
  tiling.level = options.level;
  tiling.recipe = options.recipe;
  tiling.spareRegisters = options.spareRegisters;
  pm.addPass(createRingletChooseTiling(tiling));
  // Kernels that are there before graphs become some were written by hand.
  pm.addPass(createRTileChooseRecipes({options.level, options.recipe}));
}

void ringlet::buildRingletToRTilePipeline(OpPassManager &pm,
                                          const LevelOptions &options) {
  buildRingletOptPipeline(pm, options);
  pm.addPass(createRingletPartitionRing());
  pm.addPass(createRingletToRTile());
  pm.addPass(createRTileSplitMaskedLoops());
  pm.addPass(createRPlanAlignInputs({options.level}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createRPlanFoldTables());
  pm.addPass(createRPlanAddFallbacks({options.level}));
}

void ringlet::buildRTileSchedulePipeline(OpPassManager &pm,
                                         const LevelOptions &options) {
  if (arch::lookupGPUArch(options.level)) {
    RTileScheduleKernelsOptions schedule;
    schedule.level = options.level;
    schedule.spareRegisters = options.spareRegisters;
    llvm::append_range(schedule.asked, options.asked);
    schedule.require = options.requireRecipe;
    pm.addPass(createRTileScheduleKernels(schedule));
  }
  pm.addPass(createRPlanDropFallbacks());
}

void ringlet::buildRingletToSchedulePipeline(OpPassManager &pm,
                                             const LevelOptions &options) {
  buildRingletToRTilePipeline(pm, options);
  buildRTileSchedulePipeline(pm, options);
}

void ringlet::buildRTileToCodePipeline(OpPassManager &pm,
                                       const LevelOptions &options) {
  if (!arch::lookupGPUArch(options.level))
    return buildCPUPipeline(pm, options.level);
  buildRTileSchedulePipeline(pm, options);
  buildGPUPipeline(pm, options.level);
}

void ringlet::buildCodeToLLVMPipeline(OpPassManager &pm, const LevelOptions &) {
  code::addKernelsToLLVM(pm);
}

void ringlet::buildRTileToCPUPipeline(OpPassManager &pm,
                                      const LevelOptions &options) {
  buildCPUPipeline(pm, options.level);
  buildCodeToLLVMPipeline(pm, options);
}

void ringlet::buildRTileToNVVMPipeline(OpPassManager &pm,
                                       const LevelOptions &options) {
  buildRTileSchedulePipeline(pm, options);
  buildGPUPipeline(pm, options.level);
  buildCodeToLLVMPipeline(pm, options);
}

void ringlet::buildRingletToCPUPipeline(OpPassManager &pm,
                                        const LevelOptions &options) {
  buildRingletToRTilePipeline(pm, options);
  buildRTileToCPUPipeline(pm, options);
}

void ringlet::buildRingletToNVVMPipeline(OpPassManager &pm,
                                         const LevelOptions &options) {
  buildRingletToRTilePipeline(pm, options);
  buildRTileToNVVMPipeline(pm, options);
}

void ringlet::registerPipelines() {
  PassPipelineRegistration<LevelOptions>(
      "ringlet-decide",
      "Make every choice about a graph and write it into the IR",
      buildRingletOptPipeline);
  PassPipelineRegistration<LevelOptions>(
      "ringlet-lower-to-rtile",
      "Turn a graph into a host plan and tile programs",
      buildRingletToRTilePipeline);
  PassPipelineRegistration<LevelOptions>(
      "rtile-schedule",
      "Split tile programs that name a recipe into roles, for a GPU that runs "
      "them",
      buildRTileSchedulePipeline);
  PassPipelineRegistration<LevelOptions>(
      "rtile-lower-to-cpu", "Lower tile programs to the llvm dialect",
      buildRTileToCPUPipeline);
  PassPipelineRegistration<LevelOptions>(
      "rtile-lower-to-nvvm",
      "Lower tile programs to the llvm dialect for a GPU architecture",
      buildRTileToNVVMPipeline);
  PassPipelineRegistration<LevelOptions>(
      "ringlet-lower-to-cpu", "ringlet-lower-to-rtile, then rtile-lower-to-cpu",
      buildRingletToCPUPipeline);
  PassPipelineRegistration<LevelOptions>(
      "ringlet-lower-to-nvvm",
      "ringlet-lower-to-rtile, then rtile-lower-to-nvvm",
      buildRingletToNVVMPipeline);
}
