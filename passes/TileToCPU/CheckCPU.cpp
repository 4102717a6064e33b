//===- CheckCPU.cpp - Refuse what the CPU lowering lacks -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/CheckKernels.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHECKCPU
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

namespace {

struct CheckCPU : ringlet::impl::RTileCheckCPUBase<CheckCPU> {
  void runOnOperation() override {
    if (failed(ringlet::checkKernels(getOperation(), "CPU")))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
