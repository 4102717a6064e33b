//===- ExpandRebase.cpp - Rebase rows by elementwise operations -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace ringlet {
#define GEN_PASS_DEF_RTILEEXPANDREBASE
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Of an f32.
constexpr int32_t mantissaBits = 23, exponentBias = 127;

class Expansion {
public:
  explicit Expansion(rtile::RebaseOp op)
      : op(op), b(op.getLoc(), op), type(getTile(op.getReference())),
        integers(type.clone(b.getI32Type())) {}

  void run() {
    Value greatest = getGreatest();
    Value exponent = getExponents(greatest);
    Value moved = arith::AddFOp::create(
        b, op.getReference(), arith::SIToFPOp::create(b, type, exponent));
    Value scale = getScale(exponent);
    if (std::optional<int64_t> limit = op.getLimit())
      scale = arith::SelectOp::create(b, isAbove(greatest, *limit),
                                      real(INFINITY), scale);
    SmallVector<Value> results{moved, multiply(op.getSums(), scale)};
    for (Value tile : op.getTiles())
      results.push_back(multiply(tile, scale));
    op.replaceAllUsesWith(results);
    op.erase();
  }

private:
  Value real(double value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, static_cast<float>(value)));
  }
  Value integer(int32_t value) {
    return arith::ConstantOp::create(b,
                                     DenseElementsAttr::get(integers, value));
  }

  Value getGreatest() {
    Value sums = op.getSums();
    return getTile(sums).getRank() == 1
               ? sums
               : rtile::ReduceOp::create(b, rtile::ReduceKind::max, sums);
  }

  /// Greater than a power of two, which a NaN is not.
  Value isAbove(Value row, int64_t exponent) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, row,
                                 real(std::ldexp(1.0, int(exponent))));
  }

  /// For each row the exponent of its greatest sum, or 0 if it stays.
  Value getExponents(Value greatest) {
    Value large = isAbove(greatest, op.getBound());
    Value finite = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, greatest,
                                         real(INFINITY));
    // Positive, so without a sign above the exponent.
    Value bits = arith::BitcastOp::create(b, integers, greatest);
    Value exponent = arith::SubIOp::create(
        b, arith::ShRUIOp::create(b, bits, integer(mantissaBits)),
        integer(exponentBias));
    return arith::SelectOp::create(b, arith::AndIOp::create(b, large, finite),
                                   exponent, integer(0));
  }

  /// 2 to the power of -exponent.
  Value getScale(Value exponent) {
    Value field = arith::SubIOp::create(b, integer(exponentBias), exponent);
    Value normal = arith::BitcastOp::create(
        b, type, arith::ShLIOp::create(b, field, integer(mantissaBits)));
    // The least power has no exponent field of its own.
    Value least =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, field, integer(0));
    return arith::SelectOp::create(
        b, least, real(std::ldexp(1.0, -exponentBias)), normal);
  }

  Value multiply(Value tile, Value scale) {
    if (getTile(tile).getRank() == 2)
      scale = rtile::BroadcastOp::create(b, tile.getType(), scale, false);
    return arith::MulFOp::create(b, tile, scale);
  }

  rtile::RebaseOp op;
  ImplicitLocOpBuilder b;
  RankedTensorType type, integers;
};

struct ExpandRebase : ringlet::impl::RTileExpandRebaseBase<ExpandRebase> {
  void runOnOperation() override {
    SmallVector<rtile::RebaseOp> found;
    getOperation()->walk([&](rtile::RebaseOp op) { found.push_back(op); });
    for (rtile::RebaseOp op : found) {
      remark::passed(op.getLoc(), remark::RemarkOpts::name("ExpandRebase")
                                      .category("rtile-expand-rebase"))
          << llvm::formatv("{0} tiles multiplied at every step instead of "
                           "where rows are above the bound",
                           1 + op.getTiles().size())
                 .str();
      Expansion(op).run();
    }
  }
};

} // namespace
