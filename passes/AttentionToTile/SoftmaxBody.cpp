//===- SoftmaxBody.cpp - Streaming softmax of a tile of queries -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/SoftmaxBody.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

/// Smallest finite f32: a maximum that every score exceeds, and finite, so
/// that score - maximum is -inf and not NaN for a masked score.
static constexpr double lowest = -std::numeric_limits<float>::max();
/// Smallest normal f32: a divisor for rows that saw no key.
static constexpr double tiny = std::numeric_limits<float>::min();
/// Sums up to 2^-60 may have lost weights to underflow.
static constexpr double least = 0x1p-60;

/// Exponents up to here are exact where a kernel with a recipe takes the
/// difference of an unrounded product and a rounded maximum.
static constexpr double farthest = 0x1p16;

/// What is widened becomes as the queries are (S6).
static Type getTileElement(Attention &attention) {
  return attention.query.getElementType();
}

static int64_t getWidth(Value view) {
  return cast<rtile::ViewType>(view.getType()).getShape()[1];
}

SoftmaxBody::SoftmaxBody(KernelBuilder &k, Attention &attention,
                         attn::TilingAttr tiling)
    : k(k), op(attention.op), units(op), keyRows(tiling.getKey()),
      rowType(k.tileType({tiling.getQuery()})),
      scoreType(k.tileType({tiling.getQuery(), keyRows})),
      wideType(k.tileType({tiling.getQuery(), op.getValueDim()})),
      valueElement(getTileElement(attention)) {
  if (Precision precision = op.getProductPrecision();
      precision != Precision::f32)
    ofProducts = rtile::PrecisionAttr::get(op.getContext(), precision);
}

SoftmaxBody::SoftmaxBody(KernelBuilder &k, Attention &attention,
                         int64_t elements, Value firstElement)
    : k(k), op(attention.op), units(op), keyRows(0),
      rowType(k.tileType({elements})), wideType(rowType),
      firstElement(firstElement), valueElement(getTileElement(attention)) {}

Value SoftmaxBody::alongColumns(StringRef name, Value rows, int64_t columns) {
  auto type = cast<RankedTensorType>(rows.getType());
  return k.create<rtile::BroadcastOp>(
      name,
      RankedTensorType::get({type.getDimSize(0), columns},
                            type.getElementType()),
      rows, /*columns=*/false);
}

Value SoftmaxBody::alongValues(StringRef name, Value rows) {
  return isOneRow() ? rows : alongColumns(name, rows, wideType.getDimSize(1));
}

SoftmaxBody::State SoftmaxBody::begin(const std::optional<StateViews> &before,
                                      Value row) {
  Value floor = k.splat("lowest", lowest, rowType);
  Value zero = k.splat("zero", 0.0, wideType);
  Value none = k.splat("none", 0.0, rowType);
  if (!before)
    return {floor, none, zero};
  // Rows that no branch reached have the sum 0, and nothing else that is
  // defined.
  Value sum = k.load("l_before", before->sum, row);
  Value some =
      k.create<arith::CmpFOp>("has_keys", arith::CmpFPredicate::OGT, sum, none);
  Value maximum = k.create<arith::SelectOp>(
      "m_before", some, k.load("maxima_tile", before->maximum, row), floor);
  Value partial = k.load("partial_tile", before->accumulator, row);
  Value accumulator = k.create<arith::SelectOp>(
      "acc_before", alongValues("has_keys_wide", some), partial, zero);
  return {maximum, sum, accumulator};
}

void SoftmaxBody::makeConstants() {
  auto factor = [&](StringRef name, double number, bool always) {
    return number == 1 && !always ? Value() : k.splat(name, number, scoreType);
  };
  ofProduct = factor("scale", units.ofProduct, units.isCapped);
  ofCap = factor("cap", units.ofCap, /*always=*/false);
  hidden = k.splat("hidden", -infinity, scoreType);
  unit = k.splat("unit", units.exponent, scoreType);
  rowUnit = k.splat("unit_of_rows", units.exponent, rowType);
}

SoftmaxBody::State SoftmaxBody::visit(StringRef name,
                                      const KeyTiles::Range &range,
                                      KeyTiles &keys, Value queryTile,
                                      const State &initial,
                                      function_ref<KeyStep(Value)> getStep) {
  makeConstants();
  OpBuilder &body = k.getBuilder();
  auto loop = k.create<scf::ForOp>(
      "state", range.begin, range.end, range.step,
      ValueRange{initial.maximum, initial.sum, initial.accumulator});
  loop.getInductionVar().setLoc(k.named(name));
  // A softmax takes its keys in any order, and those that no row sees for
  // nothing.
  loop->setAttr(rtile::kUnorderedAttr, body.getUnitAttr());
  constexpr StringRef stateNames[] = {"m", "l", "acc"};
  for (auto [argument, name] :
       llvm::zip_equal(loop.getRegionIterArgs(), stateNames))
    argument.setLoc(k.named(name));
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  KeyStep step = getStep(loop.getInductionVar());
  ValueRange state = loop.getRegionIterArgs();
  auto yield = [&](ValueRange next) {
    scf::YieldOp::create(body, k.getLoc(), next);
  };
  Value some =
      step.isMasked ? keys.mayBeSeen(step.place, step.keyRow) : Value();
  if (some) {
    auto branch = k.create<scf::IfOp>("next_state", state.getTypes(), some,
                                      /*withElseRegion=*/true);
    body.setInsertionPointToStart(branch.thenBlock());
    yield(addKeys(keys, step, queryTile, state));
    body.setInsertionPointToStart(branch.elseBlock());
    yield(state);
    body.setInsertionPointAfter(branch);
    yield(branch.getResults());
  } else {
    yield(addKeys(keys, step, queryTile, state));
  }
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

SoftmaxBody::State SoftmaxBody::visit(KeyTiles &keys,
                                      const KeyTiles::Place &place, Value value,
                                      Value queryTile, const State &initial,
                                      Value shift) {
  KeyTiles::Range range = keys.getRange(place);
  return visit("key_row", range, keys, queryTile, initial, [&](Value at) {
    return KeyStep{place, value, keys.getRow(at), shift};
  });
}

/// In units (section 3).
Value SoftmaxBody::getScores(Value product) {
  Value scores = product;
  if (ofProduct)
    scores = k.create<arith::MulFOp>(units.isCapped ? "scaled" : "scores",
                                     scores, ofProduct);
  if (units.isCapped)
    scores = k.create<math::TanhOp>("capped", scores);
  if (ofCap)
    scores = k.create<arith::MulFOp>("scores", scores, ofCap);
  return scores;
}

Value SoftmaxBody::scaleValues(Value accumulator, Value ofRows) {
  return k.create<arith::MulFOp>("acc_values", accumulator,
                                 alongValues("v_scale_wide", ofRows));
}

/// The state after one more tile of keys.
SmallVector<Value> SoftmaxBody::addKeys(KeyTiles &keys, const KeyStep &step,
                                        Value queryTile, ValueRange state) {
  Value m = state[0], l = state[1], acc = state[2];
  const KeyTiles::Place &place = step.place;
  Value keyRow = step.keyRow;
  Value keyTile = k.load("k_tile", place.key, keyRow);
  Value product =
      k.create<rtile::DotOp>("product", scoreType, queryTile, keyTile, Value(),
                             /*transposed=*/true, ofProducts);
  if (keyScale)
    product = k.create<arith::MulFOp>(
        "key_product", product,
        alongColumns("k_scale_wide", keyScale, keyRows));
  Value scores = getScores(product);
  Value masked = scores;
  if (step.isMasked)
    masked = k.create<arith::SelectOp>(
        "masked_scores", keys.getMask(place, keyRow), scores, hidden);

  Value tileMaximum =
      k.create<rtile::ReduceOp>("tile_max", rtile::ReduceKind::max, masked);
  Value newMaximum = k.create<arith::MaximumFOp>("m_new", m, tileMaximum);
  // Keys that count several times have weights that are so many times as large.
  Value reference = newMaximum;
  if (step.shift)
    reference = k.create<arith::SubFOp>("m_shifted", newMaximum, step.shift);
  Value weights =
      weigh(k, "p", masked, alongColumns("m_wide", reference, keyRows), unit);
  Value decay = weigh(k, "alpha", m, newMaximum, rowUnit);
  Value tileSum =
      k.create<rtile::ReduceOp>("tile_sum", rtile::ReduceKind::sum, weights);
  Value newSum = k.create<arith::AddFOp>(
      "l_new", k.create<arith::MulFOp>("l_decayed", l, decay), tileSum);

  // R4: the sum is of the weights as computed, the product of them rounded.
  Value rounded = k.convert("p_rounded", weights, valueElement);
  Value valueTile = k.load("v_tile", step.value, keyRow);
  Value decayed = k.create<arith::MulFOp>("acc_decayed", acc,
                                          alongValues("alpha_wide", decay));
  Value newAccumulator = k.create<rtile::DotOp>(
      "acc_new", acc.getType(), rounded, valueTile, decayed,
      /*transposed=*/false, ofProducts);
  return {newMaximum, newSum, newAccumulator};
}

/// Sum or accumulator show it. Elements that are not finite make the sum of
/// them so, too.
Value SoftmaxBody::findFine(const State &state) {
  auto isBetween = [&](StringRef name, Value value, double low, double high) {
    Value above = k.create<arith::CmpFOp>("above", arith::CmpFPredicate::OGT,
                                          value, k.splat("low", low, rowType));
    Value below =
        k.create<arith::CmpFOp>("below", arith::CmpFPredicate::OLT, value,
                                k.splat("high", high, rowType));
    return k.create<arith::AndIOp>(name, above, below);
  };
  Value total = k.create<rtile::ReduceOp>("acc_sum", rtile::ReduceKind::sum,
                                          state.accumulator);
  Value totalIsFine = isBetween("acc_fine", total, -infinity, infinity);
  Value fine = k.create<arith::AndIOp>(
      "fine", isBetween("sum_fine", state.sum, least, infinity), totalIsFine);
  double far = farthest / units.exponent;
  if (far < std::numeric_limits<float>::max())
    fine = k.create<arith::AndIOp>(
        "fine_and_near", fine, isBetween("max_fine", state.maximum, -far, far));
  return fine;
}

void SoftmaxBody::storeMarks(Value fine, Value view, Value row, Value isEmpty) {
  Value one = k.splat("one", 1.0, rowType);
  Value none = k.splat("none", 0.0, rowType);
  Value mark = k.create<arith::SelectOp>("mark", fine, none, one);
  if (isEmpty)
    mark = k.create<arith::SelectOp>("mark", isEmpty, none, mark);
  k.store(mark, view, row);
}

/// Another maximum that weights may be measured by, so that their sum is near 1
/// and its logarithm keeps its digits.
Value SoftmaxBody::normalize(const State &state) {
  auto rebase = k.create<rtile::RebaseOp>(
      "normal", k.splat("none", 0.0, rowType), state.sum, ValueRange(),
      k.getBuilder().getI64IntegerAttr(0), IntegerAttr());
  Value distance = k.create<arith::MulFOp>(
      "normal_distance", rebase.getNewReference(),
      k.splat("exponent_of_rows", 1 / units.exponent, rowType));
  return k.create<arith::AddFOp>("m_normal", state.maximum, distance);
}

/// Rows of which no key was seen say nothing of the maximum; where the sum of
/// `before` is 0, nothing else is defined there.
SoftmaxBody::JoinedRows SoftmaxBody::joinRows(const State &own, Value counts,
                                              const StateViews *before,
                                              Value row, bool isNormal) {
  Value none = k.splat("none", 0.0, rowType);
  Value floor = k.splat("lowest", lowest, rowType);
  Value exponent = k.splat("unit_of_rows", units.exponent, rowType);
  auto unless0 = [&](StringRef name, Value sum) -> Value {
    return k.create<arith::CmpFOp>(name, arith::CmpFPredicate::UNE, sum, none);
  };
  Value sum, maximum, had;
  auto read = [&] {
    sum = k.load("l_before", before->sum, row);
    maximum = k.load("maxima_tile", before->maximum, row);
  };
  // A lane of a GPU writes for the others of its row: all have read what was
  // there when a warp has met to find a new reference.
  if (before && !counts)
    read();
  Value some = unless0("has_keys", own.sum);
  counts = counts ? k.create<arith::AndIOp>("counts", counts, some) : some;
  auto choose = [&](StringRef name, Value some, Value value, Value other) {
    return k.create<arith::SelectOp>(name, some, value, other);
  };
  JoinedRows joined{};
  Value normal = isNormal ? own.maximum : normalize(own);
  joined.maximum = choose("m_normal", counts, normal, floor);
  if (before) {
    if (!sum)
      read();
    joined.had = had = unless0("had_keys", sum);
    maximum = choose("m_before", had, maximum, floor);
    joined.maximum =
        k.create<arith::MaximumFOp>("m_joined", maximum, joined.maximum);
  }
  Value beta = weigh(k, "beta", own.maximum, joined.maximum, exponent);
  joined.ofOwn = choose("beta", counts, beta, none);
  Value ownSum = choose("l_own", counts, own.sum, none);
  joined.sum = k.create<arith::MulFOp>("l_scaled", ownSum, joined.ofOwn);
  if (!before)
    return joined;
  Value alpha = weigh(k, "alpha", maximum, joined.maximum, exponent);
  joined.ofBefore = choose("alpha", had, alpha, none);
  Value decayed = k.create<arith::MulFOp>("l_decayed", sum, joined.ofBefore);
  joined.sum = k.create<arith::AddFOp>("l_joined", decayed, joined.sum);
  return joined;
}

/// Some columns from `first` on, as many as `before` is a view of.
Value SoftmaxBody::joinColumns(Value own, const JoinedRows &rows, Value before,
                               int64_t first, Value row) {
  auto type = cast<RankedTensorType>(own.getType());
  int64_t width = type.getDimSize(1);
  Value zero = k.splat("zero", 0.0, type), none = k.splat("none", 0.0, rowType);
  // A factor of 0 leaves what is not finite.
  auto scale = [&](StringRef name, Value tile, Value factor) {
    Value some = k.create<arith::CmpFOp>("counts", arith::CmpFPredicate::OGT,
                                         factor, none);
    Value wide = alongColumns("counts_wide", some, width);
    tile = k.create<arith::SelectOp>(name, wide, tile, zero);
    return k.create<arith::MulFOp>(name, tile,
                                   alongColumns("factor_wide", factor, width));
  };
  Value scaled = scale("acc_scaled", own, rows.ofOwn);
  if (!before)
    return scaled;
  Value other = k.load("partial_tile", before, row,
                       type == wideType ? Value() : k.constant(first));
  return k.create<arith::AddFOp>(
      "acc_joined", scale("acc_decayed", other, rows.ofBefore), scaled);
}

SmallVector<Value> SoftmaxBody::cutColumns(Value tile, int64_t width) {
  int64_t all = wideType.getDimSize(1);
  if (width == all)
    return {tile};
  SmallVector<Value> columns;
  for (int64_t first = 0; first < all; first += width)
    columns.push_back(k.create<rtile::SliceOp>(
        "acc_columns", k.tileType({wideType.getDimSize(0), width}), tile,
        first));
  return columns;
}

/// One of two values of a type; the other one is not computed.
Value SoftmaxBody::choose(StringRef name, Type type, Value condition,
                          function_ref<Value()> some,
                          function_ref<Value()> other) {
  OpBuilder &builder = k.getBuilder();
  auto branch = k.create<scf::IfOp>(name, TypeRange{type}, condition,
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, make] : {std::pair(branch.thenBlock(), some),
                             std::pair(branch.elseBlock(), other)}) {
    builder.setInsertionPointToStart(block);
    scf::YieldOp::create(builder, k.getLoc(), make());
  }
  return branch.getResult(0);
}

/// Some columns at a time: more would find no registers beside the accumulator.
/// A condition of their own keeps the loads of some behind those before.
SoftmaxBody::State SoftmaxBody::join(const State &own, Value counts,
                                     const std::optional<StateViews> &before,
                                     Value row, bool isNormal, Value reads) {
  const StateViews *views = before ? &*before : nullptr;
  JoinedRows rows = joinRows(own, counts, views, row, isNormal);
  int64_t width = wideType.getDimSize(1);
  if (before)
    width = getWidth(before->accumulator);
  if (isNormal && rows.had)
    reads = k.create<rtile::AnyOp>("any_before", rows.had);
  SmallVector<Value> columns;
  for (Value part : cutColumns(own.accumulator, width)) {
    int64_t first = width * int64_t(columns.size());
    auto joinWith = [&](Value other) {
      return joinColumns(part, rows, other, first, row);
    };
    Value other = views ? views->accumulator : Value();
    columns.push_back(reads ? choose(
                                  "acc_joined", part.getType(), reads,
                                  [&] { return joinWith(other); },
                                  [&] { return joinWith(nullptr); })
                            : joinWith(other));
  }
  Value accumulator = columns.front();
  if (columns.size() != 1)
    accumulator = k.create<rtile::JoinOp>("acc_joined", wideType, columns);
  return {rows.maximum, rows.sum, accumulator};
}

void SoftmaxBody::end(const State &state, Value counts,
                      const SoftmaxResult &result, const ResultViews &ofResult,
                      const StateViews &views, Value row) {
  store(state, result, ofResult, row);
  Value sum = k.splat("ended", endedSum, rowType);
  // Whoever computes marked rows again leaves those of others, weighed by 1.
  Value maximum = k.splat("none", 0.0, rowType);
  if (counts) {
    sum = k.create<arith::SelectOp>("l_ended", counts, sum, state.sum);
    maximum =
        k.create<arith::SelectOp>("m_ended", counts, maximum, state.maximum);
  }
  k.store(maximum, views.maximum, row);
  k.store(sum, views.sum, row);
}

void SoftmaxBody::store(const State &state, const StateViews &views,
                        Value row) {
  int64_t first = 0, width = getWidth(views.accumulator);
  for (Value columns : cutColumns(state.accumulator, width)) {
    k.store(columns, views.accumulator, row,
            columns == state.accumulator ? Value() : k.constant(first));
    first += width;
  }
  k.store(state.maximum, views.maximum, row);
  k.store(state.sum, views.sum, row);
}

/// A row without keys has sum and accumulator 0, so its output is 0 and its lse
/// -inf or the sink (R3).
void SoftmaxBody::store(State state, const SoftmaxResult &result,
                        const ResultViews &views, Value row) {
  Value sink, some, score;
  if (views.sinks) {
    sink = isOneRow()
               ? k.repeat("sink", views.sinks, row, rowType.getDimSize(0))
               : k.load("sink", views.sinks, row);
    some = hasKeys(k, state.sum);
    SunkRows sunk = addSink(k, units, state.maximum, state.sum, sink);
    state.accumulator = k.create<arith::MulFOp>(
        "acc_sunk", state.accumulator, alongValues("decay_wide", sunk.decay));
    score = sunk.score;
    state.sum = sunk.sum;
  } else if (views.lse) {
    score = toScores(k, units, state.maximum);
  }
  Value divisor = k.create<arith::MaximumFOp>("divisor", state.sum,
                                              k.splat("tiny", tiny, rowType));
  Value out = k.create<arith::DivFOp>("out", state.accumulator,
                                      alongValues("divisor_wide", divisor));
  if (views.addend)
    out = k.create<arith::AddFOp>(
        "out_sum", k.load("partial_tile", views.addend, row), out);
  if (op.getMix() == attn::Mix::Sum && result.isWhole && op.getOutputScale())
    out = k.create<arith::MulFOp>(
        "out_scaled", out,
        k.splat("output_scale", op.getOutputScale()->convertToDouble(),
                wideType));
  Value place = row;
  if (isOneRow())
    place = firstElement ? firstElement : k.constant(0);
  k.store(k.convert("out_rounded", out, result.output.getElementType()),
          views.output, place);
  if (views.lse)
    storeLse(state, score, sink, some, views.lse, row);
}

/// Of tiles of one row the first one has the row's.
void SoftmaxBody::storeLse(const State &state, Value score, Value sink,
                           Value hasKeys, Value view, Value row) {
  OpBuilder &builder = k.getBuilder();
  OpBuilder::InsertionGuard guard(builder);
  if (firstElement) {
    Value isFirst = k.create<arith::CmpIOp>(
        "is_first", arith::CmpIPredicate::eq, firstElement, k.constant(0));
    auto branch = scf::IfOp::create(builder, k.getLoc(), isFirst);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
  }
  Value lse = makeLse(k, score, state.sum);
  if (sink)
    lse = k.create<arith::SelectOp>("lse_or_sink", hasKeys, lse, sink);
  k.store(lse, view, row);
}
