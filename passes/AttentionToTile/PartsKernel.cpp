//===- PartsKernel.cpp - Few queries over parts of the keys -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where there are few queries, keys are what can be shared out: a point streams
// a tile of queries over a part of its keys, and a second kernel merges what
// the parts of each row leave. Heads that share keys are rows of one tile, so
// that keys and values are read once for all of them.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/ScoreUnits.h"
#include "passes/AttentionToTile/TileKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

namespace {

/// Rows of a tile of the merging kernel.
constexpr int64_t mergeRows = 16;

attn::TilingAttr getTiling(attn::SplitKVAttr split) {
  return attn::TilingAttr::get(split.getContext(), split.getRows(),
                               split.getKey());
}

/// Several branches share a kernel, which is told their sizes.
BranchSizes getSizes(Attention &attention, unsigned branch) {
  BranchSizes sizes = attention.sizes[branch];
  sizes.areOperands = attention.sizes.size() > 1;
  return sizes;
}

class PartsEmitter : TileKernel {
public:
  PartsEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const PartsKernel &kernel)
      : TileKernel(plan, name, attention, kernel.ends, kernel.branch,
                   getSizes(attention, kernel.branch), getTiling(kernel.split)),
        kernel(kernel) {
    headsOfTile = kernel.split.getHeads();
  }

  void emit();

private:
  const PartsKernel &kernel;
};

} // namespace

void PartsEmitter::emit() {
  attn::BranchAttr branch = attention.getBranch(kernel.branch);
  grid.setHeadsOfTile(headsOfTile);
  keys.setHeadsOfTile(headsOfTile);
  grid.count(branch.getHeadBegin(),
             branch.getHeadEnd(attention.op.getQueryHeads()));
  grid.addParts(kernel.first, kernel.count);
  declareGrid();
  const AttentionGrid::Point &point = grid.getPoint();
  keys.takePart(point.part, grid.getParts());
  residue = view.getResidue(plan, kernel.branch, point.head, point.keyHead);
  viewQueries();
  KeyViews keyViews = viewKeys(getRows(Side::Key, point.segment, residue));
  viewResults(/*groupRows=*/0);
  Value row = getFirstRow("row", queryView, point.tile);
  KeyTiles::Place place{queryView,  row,     keyViews.key,
                        point.tile, nullptr, residue};
  SoftmaxBody::State state = body.begin(std::nullopt, row);
  state = body.visit(keys, place, keyViews.value,
                     k.load("q_tile", queryView, row), state);
  store(state, row, TileRows());
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const PartsKernel &kernel) {
  PartsEmitter(plan, name, attention, kernel).emit();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {

/// Rows of all heads of a query stand one behind the other in a tile.
class MergeEmitter {
public:
  MergeEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const MergeKernel &kernel)
      : plan(plan), attention(attention), kernel(kernel), k(plan, name),
        split(attention.op.getSplitKvAttr()), columns(getColumns()) {}

  void emit();

private:
  using State = SoftmaxBody::State;

  int64_t getColumns() {
    int64_t all = attention.op.getValueDim(), some = split.getMergeColumns();
    return some == 0 ? all : std::min(some, all);
  }
  void declare();
  /// A view of the point's sequence, or if `ofState` of what a part left of it.
  Value viewWide(StringRef name, Value buffer, Value ofState = {});
  Value viewRows(StringRef name, Value buffer, Value ofState = {});
  Value widen(StringRef name, Value rows);
  /// What part `number` left; nothing where there is no such part.
  State loadState(Value number);
  State mergeStates(ArrayRef<State> states, const State &before);
  /// Merges the parts from `first` on that are read at a time.
  State mergeFrom(Value first, const State &before);

  HostPlan &plan;
  Attention &attention;
  const MergeKernel &kernel;
  KernelBuilder k;
  attn::SplitKVAttr split;
  int64_t columns;
  /// Parameters; null where there is none.
  Value accumulator, maxima, sums, output, lse, sinks, count;
  Value batch, row;
  /// The first column of the point's tile; null where it has all of them.
  Value column;
  KernelBuilder::Rows rows;
};

} // namespace

void MergeEmitter::declare() {
  auto add = [&](StringRef name, const HostTensor &tensor) {
    return tensor ? k.addBuffer(name, tensor.buffer) : Value();
  };
  accumulator = add("partial", kernel.states.accumulator);
  maxima = add("row_max", kernel.states.maximum);
  sums = add("row_sum", kernel.states.sum);
  output = add("O", kernel.result.output);
  lse = add("LSE", kernel.result.lse);
  sinks = add("sinks", kernel.result.sinks);
  count = k.addScalar("states", kernel.count);
  rows.heads = attention.op.getQueryHeads();
  Value all = plan.mul(attention.query.sizes[attention.op.getSequenceAxis()],
                       plan.constant(rows.heads));
  Value tile = k.addGridAxis("tile", plan.ceilDiv(all, mergeRows));
  if (int64_t tiles = llvm::divideCeil(attention.op.getValueDim(), columns);
      tiles != 1)
    column = k.addGridAxis("column_tile", plan.constant(tiles));
  batch = k.addGridAxis("batch", attention.query.sizes[0]);
  row = k.mul("row", tile, mergeRows);
  if (column)
    column = k.mul("column", column, columns);
}

Value MergeEmitter::viewWide(StringRef name, Value buffer, Value ofState) {
  SmallVector<Value> axes{batch, nullptr, k.constant(0), nullptr};
  if (ofState)
    axes.insert(axes.begin(), ofState);
  return k.view(
      name, buffer, axes,
      rtile::ViewType::get({mergeRows, columns},
                           cast<MemRefType>(buffer.getType()).getElementType()),
      rows);
}

Value MergeEmitter::viewRows(StringRef name, Value buffer, Value ofState) {
  SmallVector<Value> axes{batch, k.constant(0), nullptr};
  if (ofState)
    axes.insert(axes.begin(), ofState);
  if (buffer == sinks)
    axes.erase(axes.begin());
  return k.view(name, buffer, axes,
                rtile::ViewType::get({mergeRows}, k.getBuilder().getF32Type()),
                rows);
}

Value MergeEmitter::widen(StringRef name, Value tile) {
  Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  return k.create<rtile::BroadcastOp>(
      name, RankedTensorType::get({mergeRows, columns}, element), tile,
      /*columns=*/false);
}

/// Where a sum is 0, nobody has written the rest. One that is no number is
/// none, and shows in the result.
MergeEmitter::State MergeEmitter::loadState(Value number) {
  Value exists;
  if (split.getMergeStates() != 1) {
    exists = k.create<arith::CmpIOp>("exists", arith::CmpIPredicate::slt,
                                     number, count);
    Value last = k.create<arith::SubIOp>("last", count, k.constant(1));
    number = k.create<arith::MinSIOp>("number", number, last);
  }
  Value sum = k.load("l_part", viewRows("sums", sums, number), row);
  auto type = cast<RankedTensorType>(sum.getType());
  Value none = k.splat("none", 0.0, type);
  if (exists)
    sum = k.create<arith::SelectOp>("l_or_none", exists, sum, none);
  Value some =
      k.create<arith::CmpFOp>("has_keys", arith::CmpFPredicate::UNE, sum, none);
  Value maximum =
      k.load("maxima_tile", viewRows("maxima", maxima, number), row);
  double lowest = -std::numeric_limits<float>::max();
  maximum = k.create<arith::SelectOp>("m_part", some, maximum,
                                      k.splat("lowest", lowest, type));
  Value partial =
      k.load("partial_tile", viewWide("partial_rows", accumulator, number), row,
             column);
  Value zero = k.splat("zero", 0.0, cast<RankedTensorType>(partial.getType()));
  partial = k.create<arith::SelectOp>("acc_part", widen("has_keys_wide", some),
                                      partial, zero);
  return {maximum, sum, partial};
}

MergeEmitter::State MergeEmitter::mergeStates(ArrayRef<State> states,
                                              const State &before) {
  State next;
  next.maximum = before.maximum;
  for (const State &state : states)
    next.maximum =
        k.create<arith::MaximumFOp>("m_new", next.maximum, state.maximum);
  Value unit = k.splat("unit", ScoreUnits(attention.op).exponent,
                       cast<RankedTensorType>(before.sum.getType()));
  auto scale = [&](StringRef name, const State &state) -> State {
    Value weight = weigh(k, name, state.maximum, next.maximum, unit);
    Value sum = k.create<arith::MulFOp>("l_scaled", state.sum, weight);
    Value partial = k.create<arith::MulFOp>("acc_scaled", state.accumulator,
                                            widen("weights_wide", weight));
    return {Value(), sum, partial};
  };
  State total = scale("alpha", before);
  for (const State &state : states) {
    State scaled = scale("beta", state);
    total.sum = k.create<arith::AddFOp>("l_new", total.sum, scaled.sum);
    total.accumulator = k.create<arith::AddFOp>("acc_new", total.accumulator,
                                                scaled.accumulator);
  }
  return {next.maximum, total.sum, total.accumulator};
}

MergeEmitter::State MergeEmitter::mergeFrom(Value first, const State &before) {
  SmallVector<State> states;
  for (int64_t i = 0; i < split.getMergeStates(); ++i) {
    Value number = first;
    if (i != 0)
      number = k.add("number", first, k.constant(i));
    states.push_back(loadState(number));
  }
  return mergeStates(states, before);
}

void MergeEmitter::emit() {
  declare();
  SoftmaxBody body(k, attention, mergeRows, columns, column);
  // First: so it is known which rows there are.
  ResultViews views;
  views.output = viewWide("o", output);
  if (lse)
    views.lse = viewRows("lse", lse);
  if (sinks)
    views.sinks = viewRows("sink_rows", sinks);
  State first = body.begin(std::nullopt, row);
  Value zero = k.constant(0), step = k.constant(split.getMergeStates());
  auto loop = k.create<scf::ForOp>(
      "state", zero, count, step,
      ValueRange{first.maximum, first.sum, first.accumulator});
  loop.getInductionVar().setLoc(k.named("number"));
  {
    OpBuilder &builder = k.getBuilder();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    auto before = loop.getRegionIterArgs();
    State next =
        mergeFrom(loop.getInductionVar(), {before[0], before[1], before[2]});
    scf::YieldOp::create(builder, k.getLoc(),
                         ValueRange{next.maximum, next.sum, next.accumulator});
  }
  body.store({loop.getResult(0), loop.getResult(1), loop.getResult(2)},
             kernel.result, views, row);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const MergeKernel &kernel) {
  MergeEmitter(plan, name, attention, kernel).emit();
}
