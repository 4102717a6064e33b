//===- EmitNarrow.cpp - Matrix products of few rows -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With fewer rows than lanes, lanes are not rows. In a product with keys they
// lie along the depth: as many sums as a vector has lanes, of some columns of
// the result times all rows, are added up across their lanes at the end, which
// gives one vector of the result's panel. In a product with values they lie
// along the columns of the result, whose rows are woven into a panel behind the
// loop over the depth.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

/// Vectors of the depth that are multiplied without a loop.
static constexpr int64_t fewSteps = 8;

void Emitter::emitNarrowDot(rtile::DotOp dot, Panel &panel) {
  if (dot.getTransposed())
    return emitAlongDepth(dot, panel);
  int64_t vectors =
      geometry.paddedColumns(getTile(dot.getResult()).getDimSize(1)) /
      geometry.lanes;
  // As many sums as lanes: enough to hide the latency of a multiply-add, and no
  // more than half of the registers.
  int64_t together = panel.columns;
  for (int64_t first = 0; first < vectors; first += together)
    emitColumnsBlock(dot, panel, first, std::min(together, vectors - first));
}

Value Emitter::getRight(rtile::DotOp dot) {
  // A load has its rows in its second slot, and so has a repacked operand.
  Operation *packed = dot->hasAttr(repackAttr) ? dot.getOperation()
                                               : dot.getRhs().getDefiningOp();
  return getPlace(getSlots(packed)[1]);
}

Emitter::StoredRows Emitter::getStoredRows(rtile::DotOp dot) {
  auto load = dot.getRhs().getDefiningOp<rtile::LoadOp>();
  if (load && isReadAsStored(load))
    return storedRows.lookup(load);
  RankedTensorType tile = load ? getStored(load) : getTile(dot.getRhs());
  int64_t stride = geometry.rowStride(tile.getDimSize(1));
  return {getRight(dot), b.i64(stride), b.getF32Type(), stride};
}

//===----------------------------------------------------------------------===//
// Lanes along the depth
//===----------------------------------------------------------------------===//

/// Adds two vectors, picked from `a` and `b` by `mask` and by `mask` with
/// `distance` added.
static Value addPicked(CodeBuilder &b, Value x, Value y, ArrayRef<int32_t> mask,
                       int32_t distance) {
  SmallVector<int32_t> other;
  for (int32_t lane : mask)
    other.push_back(lane + distance);
  Value low = b.shuffle(x, y, mask);
  Value high = b.shuffle(x, y, other);
  return arith::AddFOp::create(b, low, high);
}

/// One vector, of which each lane is the sum of all lanes of the vector of that
/// number. There are as many vectors as lanes. Each step halves their number by
/// two instructions that pick and one that adds; all but the last ones stay
/// within 128 bits.
static Value sumLanes(CodeBuilder &b, SmallVector<Value> vectors) {
  auto lanes = static_cast<int32_t>(vectors.size());
  constexpr int32_t quad = 4;
  auto halve = [&](ArrayRef<int32_t> mask, int32_t distance) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < vectors.size(); i += 2)
      next.push_back(addPicked(b, vectors[i], vectors[i + 1], mask, distance));
    vectors = std::move(next);
  };
  SmallVector<int32_t> single, twice;
  for (int32_t first = 0; first < lanes; first += quad) {
    single.append({first, first + lanes, first + 1, first + lanes + 1});
    twice.append({first, first + 1, first + lanes, first + lanes + 1});
  }
  halve(single, 2);
  halve(twice, 2);
  // Each quad has the sums of four vectors, of its own lanes of them.
  SmallVector<int32_t> even;
  for (int32_t first = 0; first < 2 * lanes; first += 2 * quad)
    for (int32_t lane = 0; lane < quad; ++lane)
      even.push_back(first + lane);
  while (vectors.size() > 1)
    halve(even, quad);
  return vectors.front();
}

void Emitter::emitAlongDepth(rtile::DotOp dot, Panel &panel) {
  RankedTensorType rightType = getTile(dot.getRhs());
  int64_t rowBytes = geometry.rowStride(rightType.getDimSize(1));
  int64_t lanes = geometry.lanes;
  int64_t steps = geometry.paddedColumns(rightType.getDimSize(1)) / lanes;
  Type vector = b.getVector(b.getF32Type(), lanes);
  Value left = getPlace(getSlots(dot.getLhs().getDefiningOp())[1]);
  StoredRows right = getStoredRows(dot);
  int64_t elementBytes = right.element.getIntOrFloatBitWidth() / 8;
  Value result = getPanelAddress(dot.getResult(), panel);
  auto emitBlock = [&](Value column) {
    SmallVector<Value> keys{b.at(right.base, b.mul(column, right.stride))};
    while (static_cast<int64_t>(keys.size()) < panel.columns)
      keys.push_back(b.at(keys.back(), right.stride));
    auto emitStep = [&](Value step, ValueRange before) {
      SmallVector<Value> lefts, after;
      Value leftStep = b.at(left, b.mul(step, 4 * lanes));
      for (int64_t row = 0; row < panel.rows; ++row)
        lefts.push_back(b.load(vector, b.at(leftStep, row * rowBytes),
                               Geometry::rowAlignment));
      for (Value key : keys) {
        Value place = b.at(key, b.mul(step, elementBytes * lanes));
        if (right.ahead)
          prefetch(b, b.at(place, right.ahead), elementBytes * lanes);
        Value one = loadWidened(right.element, lanes, place);
        for (Value of : lefts)
          after.push_back(b.fma(of, one, before[after.size()]));
      }
      return after;
    };
    SmallVector<Value> sums(lanes, b.real(vector, 0.0));
    if (steps <= fewSteps)
      for (int64_t step = 0; step < steps; ++step)
        sums = emitStep(b.i64(step), sums);
    else
      sums = b.loop(0, steps, 1, sums, emitStep);
    Value sum = sumLanes(b, sums);
    if (dot.getInit()) {
      Column at(column, getGroup(dot), getPhase(dot));
      Value init = getColumnValue(dot.getInit(), panel, at);
      sum = arith::AddFOp::create(b, init, sum);
    }
    storeTile(sum, b.at(result, b.mul(column, getVectorBytes(panel))));
  };
  auto [begin, end] = getColumns(dot, panel);
  b.loop(begin, end, b.i64(panel.columns), emitBlock);
}

//===----------------------------------------------------------------------===//
// Lanes along the columns of the result
//===----------------------------------------------------------------------===//

/// The elements of all rows with one column behind those with the column
/// before: as many vectors as rows, a power of two.
static SmallVector<Value> weaveRows(CodeBuilder &b, ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return llvm::to_vector(rows);
  SmallVector<Value> even, odd, woven;
  for (auto [index, row] : llvm::enumerate(rows))
    (index % 2 ? odd : even).push_back(row);
  even = weaveRows(b, even);
  odd = weaveRows(b, odd);
  auto lanes = static_cast<int32_t>(CodeBuilder::lanesOf(rows.front()));
  for (auto [x, y] : llvm::zip_equal(even, odd))
    for (int32_t first : {0, lanes / 2}) {
      SmallVector<int32_t> mask;
      for (int32_t lane = first; lane < first + lanes / 2; ++lane)
        mask.append({lane, lane + lanes});
      woven.push_back(b.shuffle(x, y, mask));
    }
  return woven;
}

void Emitter::emitColumnsBlock(rtile::DotOp dot, Panel &panel, int64_t first,
                               int64_t vectors) {
  RankedTensorType rightType = getTile(dot.getRhs());
  int64_t depth = rightType.getDimSize(0), lanes = geometry.lanes;
  int64_t columnBytes = getVectorBytes(panel);
  Type vector = b.getVector(b.getF32Type(), lanes);
  Value left = getPanelAddress(dot.getLhs(), panel);
  StoredRows right = getStoredRows(dot);
  int64_t vectorBytes = lanes * right.element.getIntOrFloatBitWidth() / 8;
  SmallVector<Value> sums(panel.rows * vectors, b.real(vector, 0.0));
  auto [begin, end] = getSteps(dot, depth, panel);
  sums = b.loop(begin, end, 1, sums, [&](Value step, ValueRange before) {
    Value weights = b.at(left, b.mul(step, columnBytes));
    Value values = b.at(right.base, b.mul(step, right.stride));
    SmallVector<Value> rights, after;
    if (right.ahead) {
      Value next = b.at(values, right.ahead);
      prefetch(b, b.at(next, first * vectorBytes), vectors * vectorBytes);
    }
    for (int64_t i = 0; i < vectors; ++i)
      rights.push_back(loadWidened(right.element, lanes,
                                   b.at(values, (first + i) * vectorBytes)));
    for (int64_t row = 0; row < panel.rows; ++row) {
      Value one = b.load(b.getF32Type(), b.at(weights, 4 * row), 4);
      Value weight = b.splat(one, lanes);
      for (Value of : rights)
        after.push_back(b.fma(weight, of, before[after.size()]));
    }
    return after;
  });
  // Before anything is stored, as the result may lie where what it begins with
  // is computed from.
  Value result = getPanelAddress(dot.getResult(), panel);
  SmallVector<std::pair<Value, Value>> found;
  for (int64_t i = 0; i < vectors; ++i) {
    SmallVector<Value> rows;
    for (int64_t row = 0; row < panel.rows; ++row)
      rows.push_back(sums[row * vectors + i]);
    for (auto [index, sum] : llvm::enumerate(weaveRows(b, rows))) {
      int64_t column = (first + i) * lanes + index * panel.columns;
      if (dot.getInit()) {
        Column at(b.i64(column), getGroup(dot), getPhase(dot));
        Value init = getColumnValue(dot.getInit(), panel, at);
        sum = arith::AddFOp::create(b, init, sum);
      }
      found.emplace_back(sum, b.at(result, column * columnBytes));
    }
  }
  for (auto [value, place] : found)
    storeTile(value, place);
}

//===----------------------------------------------------------------------===//
// Rows to panels and back
//===----------------------------------------------------------------------===//

/// What `weaveRows` was given.
static SmallVector<Value> unweaveRows(CodeBuilder &b, ArrayRef<Value> woven) {
  if (woven.size() == 1)
    return llvm::to_vector(woven);
  auto lanes = static_cast<int32_t>(CodeBuilder::lanesOf(woven.front()));
  SmallVector<Value> sides[2];
  for (int32_t side : {0, 1}) {
    SmallVector<int32_t> mask;
    for (int32_t lane = side; lane < 2 * lanes; lane += 2)
      mask.push_back(lane);
    for (size_t i = 0; i < woven.size(); i += 2)
      sides[side].push_back(b.shuffle(woven[i], woven[i + 1], mask));
    sides[side] = unweaveRows(b, sides[side]);
  }
  SmallVector<Value> rows;
  for (auto [even, odd] : llvm::zip_equal(sides[0], sides[1]))
    rows.append({even, odd});
  return rows;
}

void Emitter::repackNarrow(Value rows, Value panel, int64_t height,
                           int64_t width, bool toPanels) {
  int64_t lanes = geometry.lanes, rowBytes = geometry.rowStride(width);
  Type vector = b.getVector(b.getF32Type(), lanes);
  b.loop(0, geometry.paddedColumns(width), lanes, [&](Value column) {
    Value inRows = b.at(rows, b.mul(column, 4));
    Value inPanel = b.at(panel, b.mul(column, 4 * height));
    SmallVector<Value> block;
    for (int64_t i = 0; i < height; ++i)
      block.push_back(
          toPanels ? b.load(vector, b.at(inRows, i * rowBytes),
                            Geometry::rowAlignment)
                   : b.load(vector, b.at(inPanel, i * 4 * lanes), 4 * lanes));
    block = toPanels ? weaveRows(b, block) : unweaveRows(b, block);
    for (auto [i, value] : llvm::enumerate(block))
      if (toPanels)
        b.store(value, b.at(inPanel, i * 4 * lanes), 4 * lanes);
      else
        b.store(value, b.at(inRows, i * rowBytes), Geometry::rowAlignment);
  });
}

void Emitter::repeatRows(Value place, int64_t height) {
  auto lanes = static_cast<int32_t>(geometry.lanes);
  SmallVector<int32_t> mask;
  for (int32_t lane = 0; lane < lanes; ++lane)
    mask.push_back(lane % static_cast<int32_t>(height));
  Type all = b.getVector(b.getF32Type(), lanes);
  Value found = b.load(all, place, 4 * lanes);
  b.store(b.shuffle(found, found, mask), place, 4 * lanes);
}
