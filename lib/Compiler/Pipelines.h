//===- Pipelines.h - The way from graph to machine, by name ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ringlet-opt runs as `--ringlet-lower-to-cpu` and what the compiler runs
// are the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PIPELINES_H
#define RINGLET_LIB_COMPILER_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ringlet {

/// Row of the architecture table that is compiled for when none is named.
inline constexpr llvm::StringLiteral kDefaultLevel = "x86-64-v3";

struct LevelOptions : mlir::PassPipelineOptions<LevelOptions> {
  Option<std::string> level{
      *this, "level",
      llvm::cl::desc("Row of the architecture table to compile for"),
      llvm::cl::init(kDefaultLevel.str())};
  Option<std::string> order{
      *this, "order",
      llvm::cl::desc(
          "A curve for keys to lie or to be walked along, linear for "
          "none, or auto to choose"),
      llvm::cl::init("auto")};
  Option<std::string> combine{
      *this, "combine",
      llvm::cl::desc("How kernels compute several branches: chain, union, or "
                     "auto to choose"),
      llvm::cl::init("auto")};
  Option<std::string> recipe{
      *this, "recipe",
      llvm::cl::desc("How kernels of a GPU divide their work: plain, "
                     "the name of a recipe, or auto to choose"),
      llvm::cl::init("auto")};
  Option<int64_t> spareRegisters{
      *this, "spare-registers",
      llvm::cl::desc("Registers of a GPU's thread that kernels of a recipe "
                     "leave free beside what the cost model counts"),
      llvm::cl::init(0)};
  ListOption<std::string> asked{
      *this, "asked",
      llvm::cl::desc("Kernels that name a recipe because somebody asked for "
                     "it, * for all: to stay plain is a warning")};
  Option<bool> requireRecipe{
      *this, "require-recipe",
      llvm::cl::desc("Fail where a recipe that was asked for by name is not "
                     "possible"),
      llvm::cl::init(false)};
};

/// ringlet to ringlet: every choice made and written into the IR.
void buildRingletOptPipeline(mlir::OpPassManager &pm,
                             const LevelOptions &options);
/// ringlet to rplan and rtile: the above, then kernels and plans.
void buildRingletToRTilePipeline(mlir::OpPassManager &pm,
                                 const LevelOptions &options);
/// rtile to rtile: kernels that name a recipe get roles, if the level runs
/// them.
void buildRTileSchedulePipeline(mlir::OpPassManager &pm,
                                const LevelOptions &options);
/// ringlet-lower-to-rtile, then rtile-schedule.
void buildRingletToSchedulePipeline(mlir::OpPassManager &pm,
                                    const LevelOptions &options);
/// rtile to kernels made of operations of the target, arith and scf, with
/// rtile-schedule for a GPU; rplan is kept.
void buildRTileToCodePipeline(mlir::OpPassManager &pm,
                              const LevelOptions &options);
/// What is left of arith and scf to the llvm dialect.
void buildCodeToLLVMPipeline(mlir::OpPassManager &pm,
                             const LevelOptions &options);
/// rtile to llvm.func, by these two; rplan is kept.
void buildRTileToCPUPipeline(mlir::OpPassManager &pm,
                             const LevelOptions &options);
/// rtile to llvm.func for NVPTX, rtile-schedule included; rplan is kept.
void buildRTileToNVVMPipeline(mlir::OpPassManager &pm,
                              const LevelOptions &options);
/// ringlet-lower-to-rtile, then rtile-lower-to-cpu.
void buildRingletToCPUPipeline(mlir::OpPassManager &pm,
                               const LevelOptions &options);
/// ringlet-lower-to-rtile, then rtile-lower-to-nvvm.
void buildRingletToNVVMPipeline(mlir::OpPassManager &pm,
                                const LevelOptions &options);

/// Registers them under the names ringlet-decide, ringlet-lower-to-rtile,
/// rtile-schedule, rtile-lower-to-cpu, rtile-lower-to-nvvm,
/// ringlet-lower-to-cpu and ringlet-lower-to-nvvm.
void registerPipelines();

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PIPELINES_H
