//===- Passes.h - Passes from rtile to GPU kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_PASSES_H
#define RINGLET_PASSES_TILETONVVM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace ringlet {

#define GEN_PASS_DECL
#include "passes/TileToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/TileToNVVM/Passes.h.inc"

/// For one row of the table of GPU architectures: what the emission expects of
/// kernels with roles, to be found out on a copy; and everything from rtile
/// kernels to what code::addKernelsToLLVM takes, beside which all else stays.
void addScheduledChecks(mlir::OpPassManager &pm, llvm::StringRef arch);

void buildGPUPipeline(mlir::OpPassManager &pm, llvm::StringRef arch);

/// Registers the passes of this folder.
void registerTileToNVVMPasses();

} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_PASSES_H
