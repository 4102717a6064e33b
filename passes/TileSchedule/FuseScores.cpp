//===- FuseScores.cpp - Scale and subtract in one operation -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights of scaled scores are 2^(scale * product - reference): one operation
// an element, if the scale was not multiplied before. Here, before the products
// of a step are delayed and its columns split.
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/FuseScale.h"
#include "passes/TileSchedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSESCORES
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct FuseScores : ringlet::impl::RTileFuseScoresBase<FuseScores> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getRecipe() || func.getScheduled())
        return;
      if (int64_t count = fuseScale(func))
        remark::passed(func.getLoc(), remark::RemarkOpts::name("FuseScores")
                                          .category("rtile-fuse-scores"))
            << func.getSymName().str() << ": " << std::to_string(count)
            << " differences of scaled scores are one multiply-add each";
    });
  }
};

} // namespace
