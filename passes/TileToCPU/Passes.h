//===- Passes.h - Passes from rtile to CPU kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU_PASSES_H
#define RINGLET_PASSES_TILETOCPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace ringlet {

#define GEN_PASS_DECL
#include "passes/TileToCPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/TileToCPU/Passes.h.inc"

/// Everything from plain rtile kernels to what code::addKernelsToLLVM takes,
/// for one row of the table of CPU levels. Other operations of the module stay.
void buildCPUPipeline(mlir::OpPassManager &pm, llvm::StringRef level);

/// Registers the passes of this folder.
void registerTileToCPUPasses();

} // namespace ringlet

#endif // RINGLET_PASSES_TILETOCPU_PASSES_H
