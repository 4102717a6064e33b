//===- DivideRows.cpp - One reciprocal for a row -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEDIVIDEROWS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// True if the values are bounded from below by a positive normal number, so
/// that their reciprocals are finite.
bool isBounded(Value rows) {
  auto maximum = rows.getDefiningOp<arith::MaximumFOp>();
  if (!maximum)
    return false;
  for (Value operand : {maximum.getLhs(), maximum.getRhs()}) {
    DenseElementsAttr bound;
    if (!matchPattern(operand, m_Constant(&bound)) || !bound.isSplat())
      continue;
    APFloat value = bound.getSplatValue<APFloat>();
    if (value.isNormal() && !value.isNegative())
      return true;
  }
  return false;
}

bool replace(arith::DivFOp division) {
  RankedTensorType tile = getTile(division);
  auto wide = division.getRhs().getDefiningOp<rtile::BroadcastOp>();
  if (!tile || !tile.getElementType().isF32() || !wide || wide.getColumns() ||
      !isBounded(wide.getInput()))
    return false;
  ImplicitLocOpBuilder builder(division.getLoc(), division);
  auto rows = cast<RankedTensorType>(wide.getInput().getType());
  Value one = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(rows, APFloat(1.0f)));
  // Once a row, in reach of the product's own rounding, and no call as an exact
  // quotient is: calls make the assembler wait for products of warp groups.
  Value reciprocal = arith::DivFOp::create(builder, one, wide.getInput(),
                                           arith::FastMathFlags::afn);
  Value factor = rtile::BroadcastOp::create(builder, wide.getType(), reciprocal,
                                            /*columns=*/false);
  Value product = arith::MulFOp::create(builder, division.getLhs(), factor);
  division.getResult().replaceAllUsesWith(product);
  division.erase();
  if (wide->use_empty())
    wide.erase();
  return true;
}

struct DivideRows : ringlet::impl::RTileDivideRowsBase<DivideRows> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      SmallVector<arith::DivFOp> divisions;
      func.walk([&](arith::DivFOp op) { divisions.push_back(op); });
      int64_t count = llvm::count_if(divisions, replace);
      if (count)
        remark::passed(func.getLoc(), remark::RemarkOpts::name("DivideRows")
                                          .category("rtile-gpu-divide-rows")
                                          .function(func.getSymName()))
            << llvm::formatv(
                   "{0}: {1} tiles are multiplied by reciprocals of their rows",
                   func.getSymName(), count)
                   .str();
    });
  }
};

} // namespace
