//===- EncodeTiles.cpp - Where the tiles of roles are -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEENCODETILES
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// Gives every tile of one role an encoding.
class RoleEncoder {
public:
  explicit RoleEncoder(rtile::RoleOp role)
      : role(role), inSlot(rtile::SwizzledAttr::get(role.getContext())),
        inRegisters(
            rtile::FragmentAttr::get(role.getContext(), role.getWarps())) {}

  /// Returns how many tiles turned out to lie in registers.
  int64_t run();

private:
  RankedTensorType encode(RankedTensorType tile, Attribute place) {
    return RankedTensorType::get(tile.getShape(), tile.getElementType(), place);
  }
  void encodeReads();
  void encodeValue(Value value);

  rtile::RoleOp role;
  Attribute inSlot, inRegisters;
  int64_t count = 0;
};

} // namespace

/// Tiles that were read and not decided about: right operands have to stay.
void RoleEncoder::encodeReads() {
  role.walk([&](rtile::ReadOp read) {
    auto tile = cast<RankedTensorType>(read.getTile().getType());
    if (tile.getEncoding())
      return;
    bool isRight = llvm::any_of(read.getTile().getUsers(), [&](Operation *op) {
      auto start = dyn_cast<rtile::StartDotOp>(op);
      auto dot = dyn_cast<rtile::DotOp>(op);
      return (start && start.getRhs() == read.getTile()) ||
             (dot && dot.getRhs() == read.getTile());
    });
    read.getTile().setType(encode(tile, isRight ? inSlot : inRegisters));
    count += !isRight;
  });
}

void RoleEncoder::encodeValue(Value value) {
  if (auto pending = dyn_cast<rtile::PendingType>(value.getType())) {
    if (!pending.getTile().getEncoding())
      value.setType(
          rtile::PendingType::get(encode(pending.getTile(), inRegisters)));
    return;
  }
  RankedTensorType tile = getTile(value.getType());
  if (!tile || tile.getEncoding())
    return;
  RankedTensorType encoded = encode(tile, inRegisters);
  value.setType(encoded);
  ++count;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(elements.isSplat() ? elements.resizeSplat(encoded)
                                               : elements.reshape(encoded));
}

int64_t RoleEncoder::run() {
  encodeReads();
  role.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          encodeValue(argument);
    for (Value result : op->getResults())
      encodeValue(result);
  });
  return count;
}

namespace {

struct EncodeTiles : ringlet::impl::RTileEncodeTilesBase<EncodeTiles> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::RoleOp role) {
      int64_t count = RoleEncoder(role).run();
      if (count == 0)
        return;
      remark::passed(role.getLoc(), remark::RemarkOpts::name("EncodeTiles")
                                        .category("rtile-encode-tiles"))
          << (role->getParentOfType<rtile::FuncOp>().getSymName().str() + ": " +
              std::to_string(count) + " tiles of role " + role.getName().str() +
              " lie in registers of " + std::to_string(role.getWarps()) +
              " warps");
    });
  }
};

} // namespace
