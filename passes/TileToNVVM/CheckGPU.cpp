//===- CheckGPU.cpp - Refuse what the GPU lowering lacks -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/CheckKernels.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHECKGPU
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

namespace {

struct CheckGPU : ringlet::impl::RTileCheckGPUBase<CheckGPU> {
  void runOnOperation() override {
    if (failed(ringlet::checkKernels(getOperation(), "GPU")))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
