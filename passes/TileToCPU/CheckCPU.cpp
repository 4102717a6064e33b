//===- CheckCPU.cpp - Refuse what the CPU lowering lacks -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/CheckKernels.h"
#include "passes/TileToCPU/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHECKCPU
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct CheckCPU : ringlet::impl::RTileCheckCPUBase<CheckCPU> {
  void runOnOperation() override {
    bool failed = false;
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled()) {
        func.emitOpError("'")
            << func.getSymName()
            << "' is a scheduled kernel; expected a plain one for a CPU";
        failed = true;
        return;
      }
      failed |= mlir::failed(checkKernels(func, "CPU"));
    });
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
