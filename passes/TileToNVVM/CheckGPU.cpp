//===- CheckGPU.cpp - Refuse what the GPU lowering lacks -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/CheckKernels.h"
#include "passes/TileToNVVM/CheckScheduled.h"
#include "passes/TileToNVVM/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHECKGPU
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct CheckGPU : ringlet::impl::RTileCheckGPUBase<CheckGPU> {
  void runOnOperation() override {
    bool failed = false;
    getOperation()->walk([&](rtile::FuncOp func) {
      failed |=
          mlir::failed(func.getScheduled() ? ringlet::gpu::checkScheduled(func)
                                           : checkKernels(func, "GPU"));
    });
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
