//===- InitAll.cpp - Every dialect, pass and pipeline, once -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/InitAll.h"

#include "dialects/Layout/IR/LayoutDialect.h"
#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/Pipelines.h"
#include "passes/AttentionOpt/Passes.h"
#include "passes/AttentionToTile/Passes.h"
#include "passes/Orders/OrderModels.h"
#include "passes/Orders/Passes.h"
#include "passes/PlanOpt/Passes.h"
#include "passes/Recipes/Passes.h"
#include "passes/TileOpt/Passes.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileToCPU/Passes.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

void ringlet::registerCompiledDialects(mlir::DialectRegistry &registry) {
  registry.insert<rlayout::RLayoutDialect, attn::RingletDialect,
                  rtile::RTileDialect, rplan::RPlanDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect>();
  registerOrderModels(registry);
}

void ringlet::registerAllDialects(mlir::DialectRegistry &registry) {
  registerCompiledDialects(registry);
  registry.insert<mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect>();
}

void ringlet::registerAllPasses() {
  registerRingletAttentionOptPasses();
  registerRingletAttentionToTilePasses();
  registerRingletOrdersPasses();
  registerRingletPlanOptPasses();
  registerRingletRecipesPasses();
  registerRingletTileOptPasses();
  registerRingletTileSchedulePasses();
  registerTileToCPUPasses();
  registerTileToNVVMPasses();
  mlir::registerTransformsPasses();
  registerPipelines();
}
