//===- ChooseWarps.cpp - How many warps run a kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUTiling.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// Columns of sums of products that a turn of a loop holds at the same time:
/// what it carries and what it computes beside.
int64_t getColumns(rtile::FuncOp func) {
  auto widthOf = [](Value value) -> int64_t {
    RankedTensorType tile = getTile(value);
    return tile && tile.getRank() == 2 && !isCarriedImage(value)
               ? tile.getDimSize(1)
               : 0;
  };
  int64_t columns = 0;
  func.walk([&](rtile::DotOp dot) {
    int64_t held = widthOf(dot);
    if (auto loop = dyn_cast<scf::ForOp>(dot->getParentOp())) {
      if (dot.getInit())
        held = 0;
      for (Value carried : loop.getRegionIterArgs())
        held += widthOf(carried);
    }
    columns = std::max(columns, held);
  });
  return columns;
}

struct ChooseWarps : ringlet::impl::RTileChooseWarpsBase<ChooseWarps> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // Roles say how many warps they have.
      if (func.getScheduled())
        return;
      int64_t height = getHeight(func);
      int64_t columns = getColumns(func);
      int64_t warps = cost::chooseWarps(height, columns, isAllMma(func));
      Builder builder(func.getContext());
      func->setAttr(warpsAttr, builder.getI64IntegerAttr(warps));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("ChooseWarps")
                                        .category("rtile-gpu-choose-warps"))
          << func.getSymName().str() << ": " << std::to_string(warps)
          << " warps for " << std::to_string(height) << " rows and "
          << std::to_string(columns) << " columns of sums";
    });
  }
};

} // namespace
