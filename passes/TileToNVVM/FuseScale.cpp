//===- FuseScale.cpp - Scale scores in the subtraction -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/FuseScale.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSESCALE
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct FuseScale : ringlet::impl::RTileFuseScaleBase<FuseScale> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // What is scheduled was fused by the recipe as it wants it.
      int64_t count = func.getScheduled() ? 0 : fuseScale(func);
      if (count)
        remark::passed(func.getLoc(), remark::RemarkOpts::name("FuseScale")
                                          .category("rtile-gpu-fuse-scale"))
            << func.getSymName().str() << ": " << std::to_string(count)
            << " differences of scaled scores are one multiply-add each";
    });
  }
};

} // namespace
