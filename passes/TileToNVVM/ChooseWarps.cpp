//===- ChooseWarps.cpp - How many warps run a kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSEWARPS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

constexpr int64_t maxWarps = 8;

/// Rows of the highest tile of two axes, or of one if there are no others.
int64_t getHeight(rtile::FuncOp func) {
  int64_t heights[2] = {1, 0};
  func.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (RankedTensorType tile = getTile(result)) {
        int64_t &height = heights[tile.getRank() - 1];
        height = std::max(height, tile.getDimSize(0));
      }
  });
  return heights[1] ? heights[1] : heights[0];
}

struct ChooseWarps : ringlet::impl::RTileChooseWarpsBase<ChooseWarps> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // Roles say how many warps they have.
      if (func.getScheduled())
        return;
      int64_t height = getHeight(func);
      int64_t warps = std::min<int64_t>(maxWarps, llvm::divideCeil(height, 16));
      Builder builder(func.getContext());
      func->setAttr(warpsAttr, builder.getI64IntegerAttr(warps));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("ChooseWarps")
                                        .category("rtile-gpu-choose-warps"))
          << func.getSymName().str() << ": " << std::to_string(warps)
          << " warps, one for every 16 of " << std::to_string(height)
          << " rows and at most " << std::to_string(maxWarps);
    });
  }
};

} // namespace
