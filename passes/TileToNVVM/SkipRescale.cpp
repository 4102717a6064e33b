//===- SkipRescale.cpp - Rescale sums only where it changes them -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESKIPRESCALE
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// True if `product` multiplies what a loop carries by one factor for each row,
/// for a matrix product to add to it.
bool isRescale(arith::MulFOp product) {
  RankedTensorType tile = getTile(product);
  auto carried = dyn_cast<BlockArgument>(product.getLhs());
  auto factor = product.getRhs().getDefiningOp<rtile::BroadcastOp>();
  if (!tile || !tile.getElementType().isF32() || !carried || !factor ||
      factor.getColumns() ||
      !isa<scf::ForOp>(carried.getOwner()->getParentOp()) ||
      !product->hasOneUse())
    return false;
  auto dot = dyn_cast<rtile::DotOp>(*product->user_begin());
  return dot && dot.getInit() == product.getResult() &&
         getBlockProduct(dot).isOfMatrices();
}

struct SkipRescale : ringlet::impl::RTileSkipRescaleBase<SkipRescale> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      int64_t count = 0;
      if (func.getScheduled())
        return;
      func.walk([&](arith::MulFOp product) {
        if (!isRescale(product))
          return;
        product->setAttr(skipOnesAttr, UnitAttr::get(&getContext()));
        ++count;
      });
      if (count)
        remark::passed(func.getLoc(), remark::RemarkOpts::name("SkipRescale")
                                          .category("rtile-gpu-skip-rescale")
                                          .function(func.getSymName()))
            << llvm::formatv("{0}: warps skip {1} products where all factors "
                             "of their rows are 1",
                             func.getSymName(), count)
                   .str();
    });
  }
};

} // namespace
