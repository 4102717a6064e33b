//===- Schedulable.cpp - Which kernels get roles ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Schedulable.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/Pipelines.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/STLExtras.h"

using namespace ringlet;

bool differential::hasSchedule(mlir::ModuleOp module) {
  return llvm::any_of(module.getOps<rtile::FuncOp>(),
                      [](rtile::FuncOp func) { return func.getScheduled(); });
}

bool differential::keepSchedulable(mlir::ModuleOp module,
                                   const std::string &level) {
  mlir::OwningOpRef<mlir::ModuleOp> trial = module.clone();
  mlir::PassManager pm(module.getContext());
  LevelOptions options;
  options.level = level;
  buildRTileSchedulePipeline(pm, options);
  if (mlir::failed(pm.run(*trial)))
    return false;
  for (auto func : module.getOps<rtile::FuncOp>()) {
    auto result = trial->lookupSymbol<rtile::FuncOp>(func.getSymName());
    if (result && result.getScheduled())
      continue;
    func.removeRecipeAttr();
    func.removeScheduleAttr();
  }
  return true;
}
