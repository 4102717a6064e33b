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
    if (kernel.split.getRecipe())
      k.setRecipe(kernel.split.getRecipe());
  }

  void emit();

private:
  void emitIfKeys(const KeyTiles::Place &place, Value values);

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
  emitIfKeys({queryView, row, keyViews.key, point.tile, nullptr, residue},
             keyViews.value);
  k.launch();
}

/// Where sequences differ in length many parts are empty: of them nothing is
/// read, and no more is written than that.
void PartsEmitter::emitIfKeys(const KeyTiles::Place &place, Value values) {
  KeyTiles::Range range = keys.getRange(place);
  Value some = k.create<arith::CmpIOp>("some_keys", arith::CmpIPredicate::slt,
                                       range.begin, range.end);
  OpBuilder &builder = k.getBuilder();
  auto branch = scf::IfOp::create(builder, k.getLoc(), some,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  k.store(body.begin(std::nullopt, place.row).sum, rows.state->sum, place.row);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value queryTile = k.load("q_tile", queryView, place.row);
  SoftmaxBody::State state = body.visit(
      "key_row", range, keys, queryTile, body.begin(std::nullopt, place.row),
      [&](Value at) {
        return SoftmaxBody::KeyStep{place, values, keys.getRow(at), nullptr};
      });
  store(state, place.row, TileRows());
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const PartsKernel &kernel) {
  PartsEmitter(plan, name, attention, kernel).emit();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {

/// A tile has elements of one row of the output, a row for each, and a column
/// for each part: so all that is left of a row is read at a time.
class MergeEmitter {
public:
  MergeEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const MergeKernel &kernel)
      : plan(plan), attention(attention), kernel(kernel), k(plan, name),
        split(kernel.split), elements(getElements()) {}

  void emit();

private:
  using State = SoftmaxBody::State;

  int64_t getElements() {
    int64_t all = attention.op.getValueDim(), some = split.getMergeColumns();
    return some == 0 ? all : std::min(some, all);
  }
  Type tileOf(Type element) {
    return RankedTensorType::get({elements, split.getMergeStates()}, element);
  }
  void declare();
  /// The point's row in a buffer of rows, before `height` - 1 that do not
  /// exist.
  Value viewRow(StringRef name, Value buffer, int64_t height);
  /// What parts have for it there.
  Value viewParts(StringRef name, Value buffer);
  /// What the parts from `first` on have in `buffer`, in each row of a tile.
  Value loadOfParts(StringRef name, Value buffer, Value first);
  Value alongParts(StringRef name, Value rows);
  State mergeFrom(Value first, const State &before);
  void emitLoop(const State &first, SoftmaxBody &body,
                const ResultViews &views);

  HostPlan &plan;
  Attention &attention;
  const MergeKernel &kernel;
  KernelBuilder k;
  attn::SplitKVAttr split;
  int64_t elements;
  /// Parameters; null where there is none.
  Value accumulator, maxima, sums, output, lse, sinks, count;
  Value head, query, batch;
  /// The first element of the point's tile; null where it has all of them.
  Value element;
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
  if (int64_t tiles = llvm::divideCeil(attention.op.getValueDim(), elements);
      tiles != 1)
    element = k.addGridAxis("element_tile", plan.constant(tiles));
  head = k.addGridAxis("head", plan.constant(attention.op.getQueryHeads()));
  query = k.addGridAxis("query",
                        attention.query.sizes[attention.op.getSequenceAxis()]);
  batch = k.addGridAxis("batch", attention.query.sizes[0]);
  if (element)
    element = k.mul("element", element, elements);
}

Value MergeEmitter::viewRow(StringRef name, Value buffer, int64_t height) {
  SmallVector<Value> axes{batch, head, nullptr};
  if (buffer == sinks)
    axes.erase(axes.begin());
  KernelBuilder::Rows rows;
  if (height != 1) {
    rows.first = query;
    rows.end = k.add("next_query", query, k.constant(1));
  }
  return k.view(name, buffer, axes,
                rtile::ViewType::get({height}, k.getBuilder().getF32Type()),
                rows);
}

Value MergeEmitter::viewParts(StringRef name, Value buffer) {
  // What lies behind those of this call has not been written.
  KernelBuilder::Rows rows;
  rows.first = k.constant(0);
  rows.end = count;
  return k.view(name, buffer, {nullptr, batch, head, query},
                rtile::ViewType::get({split.getMergeStates()},
                                     k.getBuilder().getF32Type()),
                rows);
}

Value MergeEmitter::loadOfParts(StringRef name, Value buffer, Value first) {
  Value tile = k.load(name, viewParts("parts", buffer), first);
  return k.create<rtile::BroadcastOp>(name, tileOf(k.getBuilder().getF32Type()),
                                      tile, /*columns=*/true);
}

Value MergeEmitter::alongParts(StringRef name, Value rows) {
  return k.create<rtile::BroadcastOp>(name, tileOf(k.getBuilder().getF32Type()),
                                      rows,
                                      /*columns=*/false);
}

/// Where a sum is 0, nobody has written the rest. One that is no number is
/// none, and shows in the result.
MergeEmitter::State MergeEmitter::mergeFrom(Value first, const State &before) {
  auto wide = cast<RankedTensorType>(tileOf(k.getBuilder().getF32Type()));
  auto row = cast<RankedTensorType>(before.sum.getType());
  // First, as it is most of what is waited for.
  KernelBuilder::Rows rows;
  rows.isTransposed = true;
  Value view = k.view(
      "partial_rows", accumulator, {nullptr, batch, query, head, nullptr},
      rtile::ViewType::get(wide.getShape(), wide.getElementType()), rows);
  Value partial =
      k.load("partial_tile", view, element ? element : k.constant(0), first);
  Value sum = loadOfParts("l_part", sums, first);
  Value none = k.splat("none", 0.0, wide);
  Value some =
      k.create<arith::CmpFOp>("has_keys", arith::CmpFPredicate::UNE, sum, none);
  Value maximum = loadOfParts("maxima_tile", maxima, first);
  Value lowest = k.splat("lowest", -std::numeric_limits<float>::max(), wide);
  maximum = k.create<arith::SelectOp>("m_part", some, maximum, lowest);
  partial = k.create<arith::SelectOp>("acc_part", some, partial, none);

  auto reduce = [&](StringRef name, rtile::ReduceKind kind, Value tile) {
    return k.create<rtile::ReduceOp>(name, kind, tile);
  };
  double exponent = ScoreUnits(attention.op).exponent;
  Value greatest = reduce("tile_max", rtile::ReduceKind::max, maximum);
  State next;
  next.maximum = k.create<arith::MaximumFOp>("m_new", before.maximum, greatest);
  Value alpha = weigh(k, "alpha", before.maximum, next.maximum,
                      k.splat("unit_of_rows", exponent, row));
  Value reference = alongParts("m_wide", next.maximum);
  Value beta =
      weigh(k, "beta", maximum, reference, k.splat("unit", exponent, wide));
  auto add = [&](StringRef name, Value ofParts, Value sumBefore) -> Value {
    Value scaled = k.create<arith::MulFOp>("scaled", ofParts, beta);
    Value kept = k.create<arith::MulFOp>("decayed", sumBefore, alpha);
    Value more = reduce("of_parts", rtile::ReduceKind::sum, scaled);
    return k.create<arith::AddFOp>(name, kept, more);
  };
  next.sum = add("l_new", sum, before.sum);
  next.accumulator = add("acc_new", partial, before.accumulator);
  return next;
}

void MergeEmitter::emitLoop(const State &first, SoftmaxBody &body,
                            const ResultViews &views) {
  Value step = k.constant(split.getMergeStates());
  auto loop = k.create<scf::ForOp>(
      "state", k.constant(0), count, step,
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
             kernel.result, views, query);
}

void MergeEmitter::emit() {
  declare();
  SoftmaxBody body(k, attention, elements, element);
  // First: so it is known which rows there are.
  Type ofOutput = cast<MemRefType>(output.getType()).getElementType();
  ResultViews views;
  views.output =
      k.view("o", output, {batch, query, head, nullptr},
             rtile::ViewType::get({elements}, ofOutput), KernelBuilder::Rows());
  if (lse)
    views.lse = viewRow("lse", lse, elements);
  if (sinks)
    views.sinks = viewRow("sink_rows", sinks, 1);
  emitLoop(body.begin(std::nullopt, query), body, views);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const MergeKernel &kernel) {
  MergeEmitter(plan, name, attention, kernel).emit();
}
