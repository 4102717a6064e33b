//===- Walk.cpp - In which order blocks visit a grid -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Walk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

/// Keys and values that stay in the second-level cache while other tensors
/// pass through it.
static constexpr int64_t cachedBytes = int64_t(32) << 20;
/// Points of a section for each block that runs: with fewer, blocks wait at the
/// end of a section for its last points. Measured on an H200
/// (docs/Scheduling.md).
static constexpr int64_t pointsPerBlock = 6;
/// Heads of keys in a section where nothing tells their length.
static constexpr int64_t usualHeads = 4;

/// Numbers of the axes of the grid that `value` depends on, by arithmetic.
static void collectAxes(rtile::FuncOp func, Value of,
                        SmallVectorImpl<int64_t> &axes) {
  SmallVector<Value> pending{of};
  llvm::SmallDenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto grid = func.getGridPoint();
      if (!grid.empty() && argument.getOwner() == grid.front().getOwner() &&
          argument.getArgNumber() >= grid.front().getArgNumber())
        axes.push_back(argument.getArgNumber() - grid.front().getArgNumber());
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() == 0 && op->getDialect()->getNamespace() == "arith")
      llvm::append_range(pending, op->getOperands());
  }
}

/// The axis whose points are tiles of `height` rows of one view, counted from
/// any of them, or -1.
static int64_t findTileAxis(rtile::FuncOp func, int64_t height) {
  for (auto product : func.getBody().front().getOps<arith::MulIOp>()) {
    APInt factor;
    Value tile = product.getLhs();
    if (!matchPattern(product.getRhs(), m_ConstantInt(&factor))) {
      tile = product.getRhs();
      if (!matchPattern(product.getLhs(), m_ConstantInt(&factor)))
        continue;
    }
    SmallVector<int64_t> axes;
    collectAxes(func, tile, axes);
    if (factor.getSExtValue() == height && axes.size() == 1)
      return axes.front();
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

/// Rows of its row axis that one point's view reads, dynamic if only a launch
/// knows them.
static int64_t getRows(rtile::ViewOp view) {
  rtile::ViewType type = view.getType();
  int64_t rows = view.getStaticIndices();
  if (!type.isSegmented())
    return rows;
  return ShapedType::isDynamic(rows) ? type.getSegmentLength()
                                     : std::min(rows, type.getSegmentLength());
}

namespace {
/// Points that share keys and values of a cache; see rtile.walk.
struct Section {
  int64_t points = 0, rows = 0;
  SmallVector<int64_t> length;
};
} // namespace

/// `points` of query heads have keys and values of a cache's size together.
static Section chooseSection(rtile::FuncOp func, const Products &products) {
  // Of a row of the row axis, in keys and values together; a rate leaves out
  // rows.
  double rowBytes = 0;
  int64_t group = 1, rows = 0;
  bool known = true;
  rtile::ViewOp keys;
  SmallVector<Value> seen;
  for (const Feed &feed : products.feeds) {
    rtile::LoadOp load = feed.load;
    auto view = load.getView().getDefiningOp<rtile::ViewOp>();
    if (feed.use == Use::Left || !view ||
        llvm::is_contained(seen, load.getView()))
      continue;
    seen.push_back(load.getView());
    group = std::max(group, getHeadsOfKeyHead(view));
    rtile::ViewType type = view.getType();
    if (!type.isStatic()) {
      known = false;
      continue;
    }
    rowBytes += 2.0 * type.getShape().back() / type.getRate();
    rows = getRows(view);
    keys = keys ? keys : view;
  }
  if (!known || !keys)
    return {usualHeads * group};
  int64_t cachedRows = std::max<int64_t>(cachedBytes / rowBytes, 1);
  if (!ShapedType::isDynamic(rows))
    return {std::max<int64_t>(cachedRows / std::max<int64_t>(rows, 1), 1) *
            group};
  ValueRange parameters = func.getParameters();
  auto argument = llvm::find(parameters, keys.getBuffer());
  if (argument == parameters.end())
    return {usualHeads * group};
  return {
      group,
      cachedRows,
      {std::distance(parameters.begin(), argument), keys.getAxes().front()}};
}

/// Of a kernel whose steps multiply tiles of rows and of columns of its grid:
/// the axes of both, or -1.
static std::pair<int64_t, int64_t> findProductAxes(rtile::FuncOp func,
                                                   const Products &products) {
  int64_t rows = -1, columns = -1;
  if (func.getGridRank() != 2)
    return {rows, columns};
  for (const Feed &feed : products.feeds) {
    rtile::LoadOp load = feed.load;
    if (!isInLoop(load))
      continue;
    int64_t &found = feed.use == Use::Left ? rows : columns;
    SmallVector<int64_t> axes;
    for (Value offset : load.getOffsets())
      collectAxes(func, offset, axes);
    if (axes.size() != 1 || (found >= 0 && found != axes.front()))
      return {-1, -1};
    found = axes.front();
  }
  return {rows, columns};
}

/// Blocks that run at once share what they load: of a square of the result they
/// load the least. As many rows of tiles as make it one are walked through side
/// by side.
static std::optional<Walk> chooseProductWalk(rtile::FuncOp func,
                                             const Products &products) {
  auto [rows, columns] = findProductAxes(func, products);
  if (rows < 0 || columns < 0 || rows == columns)
    return std::nullopt;
  rtile::DotOp dot = products.dots.front();
  RankedTensorType tile = getTile(dot.getResult().getType());
  // About the number of multiprocessors of the GPUs that have this form.
  constexpr double blocks = 128;
  auto section = std::max<int64_t>(
      std::lround(std::sqrt(blocks * tile.getDimSize(1) / tile.getDimSize(0))),
      1);
  return Walk{
      rtile::WalkAttr::get(func.getContext(), rtile::Dispatch::strided,
                           {rows, columns}, {}, section, 0, {}, 0),
      llvm::formatv("blocks take points in turn, {0} rows of tiles side by "
                    "side, so that those that run at once load the same tiles",
                    section)
          .str()};
}

static std::string describe(const Section &section) {
  if (section.points == 0)
    return "";
  std::string heads = llvm::formatv("{0} heads", section.points).str();
  if (section.rows)
    heads = llvm::formatv("heads with {0} rows", section.rows).str();
  return ", in sections of " + heads + " whose keys and values stay in a cache";
}

bool schedule::hasListOfTiles(rtile::FuncOp func) {
  for (auto loop : func.getBody().front().getOps<scf::ForOp>()) {
    SmallVector<int64_t> axes;
    collectAxes(func, loop.getUpperBound(), axes);
    if (!axes.empty() && !loop.getBody()->getOps<rtile::DotOp>().empty())
      return true;
  }
  return false;
}

/// Tiles of a list have the keys of several segments: those of segments that
/// follow each other share them. The first tiles of a section have the longest
/// lists, under causality the last ones (`AttentionToTile`).
static Walk chooseListWalk(rtile::FuncOp func, const Products &products,
                           int64_t tile) {
  SmallVector<int64_t> places, order;
  func.walk([&](rtile::ViewOp view) {
    if (view.getSegment() && isa<rtile::FuncOp>(view->getParentOp()))
      collectAxes(func, view.getSegment(), places);
  });
  for (bool isPlace : {true, false})
    for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
      if (axis != tile && llvm::is_contained(places, axis) == isPlace)
        order.push_back(axis);
  double segmentBytes = 0;
  SmallVector<Value> seen;
  for (const Feed &feed : products.feeds) {
    TypedValue<rtile::ViewType> view = products.getChannelView(feed);
    rtile::ViewType type = view.getType();
    if (feed.use == Use::Left || llvm::is_contained(seen, view) ||
        !type.isStatic())
      continue;
    seen.push_back(view);
    double rows = type.isSegmented() ? type.getSegmentLength() : 1;
    segmentBytes += 2.0 * rows * type.getShape().back();
  }
  auto section = std::max<int64_t>(
      static_cast<int64_t>(cachedBytes / std::max(segmentBytes, 1.0)), 1);
  order.push_back(tile);
  SmallVector<int64_t> backwards;
  func.walk([&](rtile::VisibleOp seen) {
    if (seen.getCausal())
      backwards = {tile};
  });
  return {
      rtile::WalkAttr::get(func.getContext(), rtile::Dispatch::dynamic, order,
                           backwards, section, 0, {}, 0),
      llvm::formatv("tiles have lists of keys of different lengths, so blocks "
                    "take points as they come, the longest first, in sections "
                    "of {0} segments whose keys and values stay in a cache",
                    section)
          .str()};
}

/// Where points have parts of one run of keys, those that run at once are parts
/// of the same sequence: so each block has as much of it as any other one,
/// however its length differs from those of others. Heads come first, whose
/// rows are neighbours in memory.
static std::optional<Walk> choosePartsWalk(rtile::FuncOp func, int64_t tile) {
  bool hasParts = func.walk([](rtile::RunOp run) {
                        return run.getPart().empty() ? WalkResult::advance()
                                                     : WalkResult::interrupt();
                      })
                      .wasInterrupted();
  if (!hasParts || tile < 0)
    return std::nullopt;
  SmallVector<int64_t> order;
  for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
    if (axis != tile)
      order.push_back(axis);
  order.insert(order.begin() + std::min<size_t>(order.size(), 1), tile);
  return Walk{rtile::WalkAttr::get(func.getContext(), rtile::Dispatch::strided,
                                   order, {}, 0, 0, {}, 0),
              "points have parts of their keys, so blocks take them in turn, "
              "those of one sequence after those of another"};
}

Walk schedule::chooseWalk(rtile::FuncOp func, const Products &products) {
  // From keys to queries the relation is that of a window to the right, of
  // which the first tiles see most.
  bool limited = false, firstSeeMost = false;
  func.walk([&](rtile::RunOp run) {
    auto keys = run.getKey().getDefiningOp<rtile::ViewOp>();
    limited |= run.getCausal() || run.getWindow() || (keys && keys.getFirst());
    std::optional<ArrayRef<int64_t>> window = run.getWindow();
    firstSeeMost |=
        window && !run.getCausal() && (*window)[0] >= 0 && (*window)[1] < 0;
  });
  MLIRContext *context = func.getContext();
  int64_t tile = findTileAxis(func, products.getHeight());
  if (std::optional<Walk> walk = choosePartsWalk(func, tile))
    return *walk;
  if (tile >= 0 && hasListOfTiles(func))
    return chooseListWalk(func, products, tile);
  if (!limited)
    if (std::optional<Walk> walk = chooseProductWalk(func, products))
      return *walk;
  if (!limited)
    return {rtile::WalkAttr::get(context, rtile::Dispatch::strided, {}, {}, 0,
                                 0, {}, 0),
            "every tile sees the same keys, so blocks take points in turn"};
  if (tile < 0)
    return {rtile::WalkAttr::get(context, rtile::Dispatch::each, {}, {}, 0, 0,
                                 {}, 0),
            "one block a point, in the grid's order"};

  // Heads come first, then the batch or segments, whichever the grid has first:
  // what neighbours share in memory, they read together. The tiles of a section
  // come last, so that the longest ones of all its heads come first.
  SmallVector<int64_t> places{tile};
  func.walk([&](rtile::ViewOp view) {
    if (view.getSegment())
      collectAxes(func, view.getSegment(), places);
  });
  SmallVector<int64_t> order;
  for (bool isPlace : {false, true})
    for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
      if (axis != tile && llvm::is_contained(places, axis) == isPlace)
        order.push_back(axis);
  Section section = order.empty() ? Section() : chooseSection(func, products);
  order.push_back(tile);
  SmallVector<int64_t> reversed;
  if (!firstSeeMost)
    reversed.push_back(tile);
  return {rtile::WalkAttr::get(context, rtile::Dispatch::dynamic, order,
                               reversed, section.points, section.rows,
                               section.length,
                               section.points ? pointsPerBlock : 0),
          std::string("tiles see different numbers of keys, so blocks take "
                      "points as they come, the ") +
              (firstSeeMost ? "first" : "last") + " tiles first" +
              describe(section)};
}
