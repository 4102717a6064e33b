//===- Walk.cpp - In which order blocks visit a grid -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Walk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

/// Keys and values that stay in the second-level cache while other tensors
/// pass through it.
static constexpr int64_t cachedBytes = int64_t(32) << 20;
/// Heads of keys in a section where their length is not known.
static constexpr int64_t usualHeads = 4;

/// Numbers of the axes of the grid that `value` depends on, by arithmetic.
static void collectAxes(rtile::FuncOp func, Value value,
                        SmallVectorImpl<int64_t> &axes) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto grid = func.getGridPoint();
    if (!grid.empty() && argument.getOwner() == grid.front().getOwner() &&
        argument.getArgNumber() >= grid.front().getArgNumber())
      axes.push_back(argument.getArgNumber() - grid.front().getArgNumber());
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() != 0 || op->getDialect()->getNamespace() != "arith")
    return;
  for (Value operand : op->getOperands())
    collectAxes(func, operand, axes);
}

/// The axis whose points are tiles of `height` rows of one view, or -1.
static int64_t findTileAxis(rtile::FuncOp func, int64_t height) {
  for (auto [axis, argument] : llvm::enumerate(func.getGridPoint()))
    for (Operation *user : argument.getUsers()) {
      APInt factor;
      auto product = dyn_cast<arith::MulIOp>(user);
      if (product &&
          (matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
           matchPattern(product.getLhs(), m_ConstantInt(&factor))) &&
          factor.getSExtValue() == height)
        return axis;
    }
  return -1;
}

/// Query heads of a key head, as far as the kernel's arithmetic tells.
static int64_t getHeadsOfKeyHead(rtile::ViewOp view) {
  for (Value index : view.getFixed()) {
    APInt divisor;
    Operation *op = index.getDefiningOp();
    if (isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
            op) &&
        matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
      return std::max<int64_t>(divisor.getSExtValue(), 1);
  }
  return 1;
}

/// Bytes of all rows that a view can have, 0 if that is not known.
static int64_t getViewBytes(rtile::ViewOp view) {
  rtile::ViewType type = view.getType();
  if (!type.isStatic())
    return 0;
  int64_t rows = view.getBufferType().getDimSize(view.getAxes().front());
  if (type.isSegmented())
    rows = ShapedType::isDynamic(rows)
               ? type.getSegmentLength()
               : std::min(rows, type.getSegmentLength());
  if (ShapedType::isDynamic(rows))
    return 0;
  return llvm::divideCeil(rows, type.getRate()) * type.getShape().back() * 2;
}

/// Query heads whose keys and values are cached together.
static int64_t chooseSection(const Products &products) {
  int64_t bytes = 0, group = 1;
  bool known = true;
  SmallVector<Value> seen;
  for (const Feed &feed : products.feeds) {
    rtile::LoadOp load = feed.load;
    auto view = load.getView().getDefiningOp<rtile::ViewOp>();
    if (feed.use == Use::Left || !view ||
        llvm::is_contained(seen, load.getView()))
      continue;
    seen.push_back(load.getView());
    group = std::max(group, getHeadsOfKeyHead(view));
    int64_t more = getViewBytes(view);
    known &= more > 0;
    bytes += more;
  }
  if (!known || bytes == 0)
    return usualHeads * group;
  return std::max<int64_t>(cachedBytes / bytes, 1) * group;
}

Walk schedule::chooseWalk(rtile::FuncOp func, const Products &products) {
  bool limited = false;
  func.walk(
      [&](rtile::RunOp run) { limited |= run.getCausal() || run.getWindow(); });
  MLIRContext *context = func.getContext();
  int64_t tile = findTileAxis(func, products.getHeight());
  if (!limited)
    return {rtile::WalkAttr::get(context, rtile::Dispatch::strided, {}, {}, 0),
            "every tile sees the same keys, so blocks take points in turn"};
  if (tile < 0)
    return {rtile::WalkAttr::get(context, rtile::Dispatch::each, {}, {}, 0),
            "one block a point, in the grid's order"};

  // Segments are part of where a tile is; among the other axes, those that
  // choose heads come before the batch.
  SmallVector<int64_t> places{tile};
  func.walk([&](rtile::ViewOp view) {
    if (view.getSegment())
      collectAxes(func, view.getSegment(), places);
  });
  SmallVector<int64_t> order;
  for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
    if (!llvm::is_contained(places, axis)) {
      order.push_back(axis);
      break;
    }
  bool hasHeads = !order.empty();
  order.push_back(tile);
  for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
    if (!llvm::is_contained(order, axis))
      order.push_back(axis);
  int64_t section = hasHeads ? chooseSection(products) : 0;
  return {rtile::WalkAttr::get(context, rtile::Dispatch::dynamic, order, {tile},
                               section),
          "tiles see different numbers of keys, so blocks take points as they "
          "come, the last tiles "
          "first" +
              (section ? ", in sections of " + std::to_string(section) +
                             " heads whose keys and values stay in a cache"
                       : std::string())};
}
