//===- Pipeline.cpp - From plain kernels to scheduled ones -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/Recipes/Passes.h"
#include "passes/TileSchedule/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ringlet;

void ringlet::addSchedulePasses(OpPassManager &pm, StringRef level,
                                int64_t spareRegisters) {
  pm.addPass(createRTileApplyRecipes());
  // Behind the passes that change what the kernel holds.
  pm.addPass(createRTileChooseSchedule({level.str(), spareRegisters}));
  // No canonicalization below: it would move constants out of roles.
  pm.addPass(createRTileAssignRoles());
  pm.addPass(createRTileStartDots());
  pm.addPass(createRTileEncodeTiles());
  pm.addPass(createRTileSkipEmptyPoints());
  pm.addPass(createRTileVerifySchedule());
}
