//===- RowKernels.cpp - Fill, finish and reorder -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/RowOrder.h"
#include "passes/AttentionToTile/ScoreUnits.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ringlet;

namespace {

/// Rows of a tile of several columns, of whole rows of one element each, and
/// the most columns of one.
constexpr int64_t tileRows = 32, singleRows = 256;
constexpr int64_t maxColumns = 256;
/// Rows of a point where there is little to do, or hardly ever anything.
constexpr int64_t rowsOfLongPoint = 1024;
/// The same where there may be much to do, but on some rows only.
constexpr int64_t rowsOfFinishPoint = 256;

/// A kernel that works on each tile of rows along one axis of tensors of one
/// shape; further axes are axes of the grid.
class RowKernel {
public:
  RowKernel(HostPlan &plan, const Twine &name, int64_t axis,
            const HostTensor &shape)
      : k(plan, name), plan(plan), axis(axis), shape(shape) {}

  /// Rows of a tile.
  int64_t height() const {
    return axis < shape.getType().getRank() - 1 ? tileRows : singleRows;
  }

  /// Adds the grid, a point for each tile of rows; after the buffers are
  /// declared.
  void declareGrid() { declareGrid(height()); }
  /// The same, a point for so many rows.
  void declareGrid(int64_t rowsOfPoint) {
    row = k.addGridAxis("tile", plan.ceilDiv(shape.sizes[axis], rowsOfPoint));
    int64_t last = shape.getType().getRank() - 1;
    if (axis < last) {
      int64_t width = shape.getType().getDimSize(last);
      columns = ShapedType::isDynamic(width) ? 64 : std::min(width, maxColumns);
      columns = std::max<int64_t>(columns, 1);
      if (columns != width)
        column = k.addGridAxis("column_tile",
                               plan.ceilDiv(shape.sizes[last], columns));
    }
    for (int64_t other = last; other >= 0; --other)
      if (other != axis && !(other == last && axis < last))
        fixed.push_back(
            k.addGridAxis("axis" + std::to_string(other), shape.sizes[other]));
    std::reverse(fixed.begin(), fixed.end());
    row = k.mul("row", row, rowsOfPoint);
    column = column ? k.mul("column", column, columns) : k.constant(0);
  }

  /// The rows of this tile; what `rows` says of them beside their numbers.
  Value view(StringRef name, Value buffer, Type element,
             const KernelBuilder::Rows &rows = {}) {
    SmallVector<Value> axes;
    auto next = fixed.begin();
    int64_t last = shape.getType().getRank() - 1;
    for (int64_t i = 0; i <= last; ++i)
      axes.push_back(i == axis || (i == last && axis < last) ? Value()
                                                             : *next++);
    auto type = rtile::ViewType::get(tileShape(), element, /*segmentLength=*/0,
                                     /*rate=*/1, /*indexed=*/bool(rows.table));
    return k.view(name, buffer, axes, type, rows);
  }

  /// Where the rows of a point of `rowsOfPoint` end, of `rows` rows.
  Value getPointEnd(Value rows, int64_t rowsOfPoint = rowsOfLongPoint) {
    Value next = k.add("next_point", row, k.constant(rowsOfPoint));
    return k.create<arith::MinSIOp>("end_tile", next, rows);
  }

  SmallVector<int64_t> tileShape() {
    SmallVector<int64_t> sides{height()};
    if (axis < shape.getType().getRank() - 1)
      sides.push_back(columns);
    return sides;
  }

  Value load(StringRef name, Value view) {
    return k.create<rtile::LoadOp>(name, view, offsets());
  }
  void store(Value tile, Value view) {
    rtile::StoreOp::create(k.getBuilder(), plan.getLoc(), tile, view,
                           offsets());
  }

  KernelBuilder k;
  HostPlan &plan;
  int64_t axis;
  HostTensor shape;
  Value row, column;
  int64_t columns = 0;
  SmallVector<Value> fixed;

private:
  SmallVector<Value> offsets() {
    SmallVector<Value> list{row};
    if (tileShape().size() == 2)
      list.push_back(column);
    return list;
  }
};

/// A tile with one value everywhere, for `rows` of `buffer`.
class FillTile {
public:
  FillTile(RowKernel &kernel, Value buffer, const KernelBuilder::Rows &rows,
           double value)
      : kernel(kernel) {
    Type element = kernel.shape.getElementType();
    view = kernel.view("x", buffer, element, rows);
    tile = kernel.k.splat("value", value,
                          RankedTensorType::get(kernel.tileShape(), element));
  }
  /// At the rows of the kernel's point from `begin` to `end`, tile by tile.
  void store(Value begin, Value end) {
    KernelBuilder &k = kernel.k;
    auto loop =
        k.create<scf::ForOp>("tiles", begin, end, k.constant(kernel.height()));
    loop.getInductionVar().setLoc(k.named("tile_row"));
    kernel.row = loop.getInductionVar();
    OpBuilder::InsertionGuard guard(k.getBuilder());
    k.getBuilder().setInsertionPointToStart(loop.getBody());
    kernel.store(tile, view);
  }

private:
  RowKernel &kernel;
  Value view, tile;
};

} // namespace

void ringlet::emitKernel(HostPlan &plan, const Twine &name, Attention &,
                         const FillKernel &fill) {
  RowKernel kernel(plan, name, fill.axis, fill.tensor);
  Value buffer = kernel.k.addBuffer("X", fill.tensor.buffer);
  kernel.declareGrid(rowsOfLongPoint);
  Value rows = kernel.k.size("rows", buffer, fill.axis);
  FillTile tile(kernel, buffer, {}, fill.value);
  tile.store(kernel.row, kernel.getPointEnd(rows));
  kernel.k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const FillPastKernel &fill) {
  Value slots = attention.rows.getQuerySlots();
  RowKernel kernel(plan, name, fill.axis, fill.tensor);
  KernelBuilder &k = kernel.k;
  Value buffer = k.addBuffer("X", fill.tensor.buffer);
  Value list = k.addBuffer("ends", fill.ends.buffer);
  KernelBuilder::Rows rows;
  if (slots)
    rows.table = k.addBuffer("slots", slots);
  kernel.declareGrid(rowsOfLongPoint);
  rows.end = k.size("rows", buffer, fill.axis);
  Value sequence = fill.sequenceAxis ? kernel.fixed[*fill.sequenceAxis]
                                     : k.add("last", k.size("entries", list, 0),
                                             k.constant(-1));
  rows.first =
      k.readIndex("sequence_end", list, sequence, k.constant(0), rows.end);

  // From the first tile of the point that has such a row.
  Value existing = k.create<arith::MaxSIOp>(
      "rows_existing",
      k.create<arith::SubIOp>("rows_before", rows.first, kernel.row),
      k.constant(0));
  int64_t height = kernel.height();
  Value whole =
      k.mul("whole_rows", k.div("whole_tiles", existing, height), height);
  Value begin = k.add("first_tile", kernel.row, whole);
  Value end = kernel.getPointEnd(rows.end);
  FillTile(kernel, buffer, rows, fill.value).store(begin, end);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name, Attention &,
                         const SinkKernel &sinks) {
  RowKernel kernel(plan, name, /*axis=*/0, sinks.rows);
  KernelBuilder &k = kernel.k;
  Value from = k.addBuffer("sink", sinks.sink.buffer);
  Value to = k.addBuffer("sinks", sinks.rows.buffer);
  kernel.declareGrid();
  Type f32 = k.getBuilder().getF32Type();
  Value heads = k.view("sink_of_heads", from, {nullptr},
                       rtile::ViewType::get({kernel.height()}, f32), {});
  Value tile = k.load("sink_tile", heads, kernel.row);
  Value view = kernel.view("rows", to, f32);
  kernel.store(k.create<rtile::BroadcastOp>("sink_of_rows",
                                            k.tileType(kernel.tileShape()),
                                            tile, /*columns=*/false),
               view);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name, Attention &,
                         const JoinPaddingKernel &join) {
  RowKernel kernel(plan, name, /*axis=*/1, join.rows);
  KernelBuilder &k = kernel.k;
  Value from = k.addBuffer("padding", join.counts.buffer);
  Value to = k.addBuffer("sinks", join.rows.buffer);
  kernel.declareGrid();
  Type f32 = k.getBuilder().getF32Type();
  // The rows of this head lie behind those of the heads before it.
  Value length = k.size("rows", to, 1);
  Value head = kernel.fixed.front();
  KernelBuilder::Rows ofHead;
  ofHead.first = k.create<arith::MulIOp>("rows_before", head, length);
  ofHead.end = k.add("rows_end", ofHead.first, length);
  ofHead.origin =
      k.create<arith::SubIOp>("first_ordinal", k.constant(0), ofHead.first);
  Value counts = k.view("padding_rows", from, {nullptr},
                        rtile::ViewType::get({kernel.height()}, f32), ofHead);
  Value count = kernel.load("count", counts);
  Value logit = k.create<math::LogOp>("padding_logit", count);
  Value rows = kernel.view("rows", to, f32);
  if (join.hasSinks) {
    Value sink = kernel.load("sink", rows);
    // Minus infinity is no distance away from itself.
    auto type = cast<RankedTensorType>(count.getType());
    Value some =
        k.create<arith::CmpFOp>("has_padding", arith::CmpFPredicate::OGT, count,
                                k.splat("none", 0.0, type));
    Value greater = k.create<arith::MaximumFOp>("greater", sink, logit);
    Value distance = k.create<math::AbsFOp>(
        "distance", k.create<arith::SubFOp>("difference", sink, logit));
    Value weight = k.create<math::ExpOp>(
        "weight", k.create<arith::NegFOp>("below", distance));
    Value one = k.splat("one", 1.0, type);
    Value rest = k.create<math::LogOp>(
        "rest", k.create<arith::AddFOp>("weights", weight, one));
    Value sum = k.create<arith::AddFOp>("sum", greater, rest);
    logit = k.create<arith::SelectOp>("sink_and_padding", some, sum, sink);
  }
  kernel.store(logit, rows);
  k.launch();
}

/// A view of `[head, sequence]` for a kernel whose last fixed axis is the head.
static Value viewSinks(RowKernel &kernel, Value sinks) {
  KernelBuilder &k = kernel.k;
  return k.view(
      "sink_rows", sinks, {kernel.fixed.back(), nullptr},
      rtile::ViewType::get({kernel.height()}, k.getBuilder().getF32Type()), {});
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name, Attention &,
                         const FillSinkLseKernel &fill) {
  RowKernel kernel(plan, name, fill.lse.sizes.size() - 1, fill.lse);
  KernelBuilder &k = kernel.k;
  Value from = k.addBuffer("sinks", fill.sinks.buffer);
  Value to = k.addBuffer("LSE", fill.lse.buffer);
  kernel.declareGrid();
  Value view = kernel.view("lse", to, k.getBuilder().getF32Type());
  kernel.store(kernel.load("sink", viewSinks(kernel, from)), view);
  k.launch();
}

/// The output that sums `rows` and the accumulator make; `sinks` is null if
/// there are none.
static Value divideBySums(RowKernel &kernel, const ScoreUnits &units,
                          Value accumulator, Value sums, Value maxima,
                          Value sinks) {
  KernelBuilder &k = kernel.k;
  auto wide = cast<RankedTensorType>(accumulator.getType());
  SmallVector<Value> rowAxes(kernel.fixed);
  rowAxes.push_back(nullptr);
  auto type =
      rtile::ViewType::get({kernel.height()}, k.getBuilder().getF32Type());
  auto loadRows = [&](StringRef label, StringRef name, Value buffer) {
    return k.load(label, k.view(name, buffer, rowAxes, type, {}), kernel.row);
  };
  auto widen = [&](StringRef label, Value value) -> Value {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    return k.create<rtile::BroadcastOp>(label, wide.clone(element), value,
                                        /*columns=*/false);
  };
  Value rows = loadRows("l", "sums", sums), divisor = rows;
  if (sinks) {
    SunkRows sunk =
        addSink(k, units, loadRows("m", "maxima", maxima), rows,
                k.load("sink", viewSinks(kernel, sinks), kernel.row));
    accumulator = k.create<arith::MulFOp>("decayed", accumulator,
                                          widen("decay_wide", sunk.decay));
    divisor = sunk.sum;
  }
  Value quotient = k.create<arith::DivFOp>("quotient", accumulator,
                                           widen("l_wide", divisor));
  Value zero = k.splat("zero", 0.0, wide);
  return k.create<arith::SelectOp>(
      "out", widen("has_keys_wide", hasKeys(k, rows)), quotient, zero);
}

/// Those of a tile of an output.
static Value loadSums(RowKernel &kernel, Value sums) {
  KernelBuilder &k = kernel.k;
  SmallVector<Value> axes(kernel.fixed);
  axes.push_back(nullptr);
  auto type =
      rtile::ViewType::get({kernel.height()}, k.getBuilder().getF32Type());
  return k.load("l", k.view("sums", sums, axes, type, {}), kernel.row);
}

/// Which rows have not ended.
static Value areOpen(KernelBuilder &k, Value sums) {
  auto type = cast<RankedTensorType>(sums.getType());
  return k.create<arith::CmpFOp>("open", arith::CmpFPredicate::UNE, sums,
                                 k.splat("ended", endedSum, type));
}

/// `result`, but in rows whose sums say that they have ended what `view` has.
static Value keepEnded(RowKernel &kernel, Value sums, Value result,
                       Value view) {
  KernelBuilder &k = kernel.k;
  OpBuilder &builder = k.getBuilder();
  auto type = cast<RankedTensorType>(result.getType());
  Value ended = k.create<arith::CmpFOp>(
      "ended", arith::CmpFPredicate::OEQ, sums,
      k.splat("ended", endedSum, cast<RankedTensorType>(sums.getType())));
  auto branch = k.create<scf::IfOp>("out_or_ended", TypeRange{type},
                                    k.create<rtile::AnyOp>("some_ended", ended),
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, k.getLoc(), result);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value wide = k.create<rtile::BroadcastOp>(
      "ended_wide", type.clone(builder.getI1Type()), ended, /*columns=*/false);
  Value before = kernel.load("o_tile", view);
  Value chosen =
      k.create<arith::SelectOp>("out_or_ended", wide, before, result);
  scf::YieldOp::create(builder, k.getLoc(), chosen);
  return branch.getResult(0);
}

/// Calls `write` for each tile of the kernel's point that has rows which have
/// not ended: of most there is none.
static void forOpenTiles(RowKernel &kernel, Value buffer, Value sums,
                         function_ref<void(Value sums)> write) {
  KernelBuilder &k = kernel.k;
  OpBuilder &builder = k.getBuilder();
  Value rows = k.size("rows", buffer, kernel.axis);
  Value end = kernel.getPointEnd(rows, rowsOfFinishPoint);
  auto loop = k.create<scf::ForOp>("tiles", kernel.row, end,
                                   k.constant(kernel.height()));
  loop.getInductionVar().setLoc(k.named("tile_row"));
  kernel.row = loop.getInductionVar();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value ofRows = loadSums(kernel, sums);
  Value some = k.create<rtile::AnyOp>("some_open", areOpen(k, ofRows));
  auto branch = scf::IfOp::create(builder, k.getLoc(), some,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  write(ofRows);
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const FinishKernel &finish) {
  attn::AttentionOp op = attention.op;
  const HostTensor &output = finish.output;
  const SoftmaxState &state = finish.state;
  RowKernel kernel(plan, name, op.getSequenceAxis(), output);
  KernelBuilder &k = kernel.k;
  bool inPlace = state.accumulator.buffer == output.buffer;
  auto addBuffer = [&](StringRef name, const HostTensor &tensor) {
    return tensor ? k.addBuffer(name, tensor.buffer) : Value();
  };
  Value from = addBuffer("partial", state.accumulator);
  Value to = inPlace ? from : addBuffer("O", output);
  Value sums = addBuffer("row_sum", state.sum);
  Value sinks = addBuffer("sinks", finish.sinks);
  Value maxima = sinks ? addBuffer("row_max", state.maximum) : Value();
  kernel.declareGrid(finish.mayHaveEnded ? rowsOfFinishPoint : kernel.height());
  Type f32 = k.getBuilder().getF32Type();
  Value fromView = kernel.view("partial_rows", from, f32);
  Value toView =
      inPlace ? fromView : kernel.view("o", to, output.getElementType());
  auto write = [&](Value ofRows) {
    Value result = kernel.load("partial_tile", fromView);
    if (sums)
      result =
          divideBySums(kernel, ScoreUnits(op), result, sums, maxima, sinks);
    else if (op.getOutputScale())
      result = k.create<arith::MulFOp>(
          "out_scaled", result,
          k.splat("output_scale", op.getOutputScale()->convertToDouble(),
                  cast<RankedTensorType>(result.getType())));
    result = k.convert("out_rounded", result, output.getElementType());
    kernel.store(ofRows ? keepEnded(kernel, ofRows, result, toView) : result,
                 toView);
  };
  if (finish.mayHaveEnded)
    forOpenTiles(kernel, to, sums, write);
  else
    write(nullptr);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const FinishLseKernel &finish) {
  ScoreUnits units(attention.op);
  RowKernel kernel(plan, name, finish.lse.sizes.size() - 1, finish.lse);
  KernelBuilder &k = kernel.k;
  Value maxima = k.addBuffer("row_max", finish.state.maximum.buffer);
  Value sums = k.addBuffer("row_sum", finish.state.sum.buffer);
  Value result = k.addBuffer("LSE", finish.lse.buffer);
  Value sinks =
      finish.sinks ? k.addBuffer("sinks", finish.sinks.buffer) : Value();
  kernel.declareGrid();
  Type f32 = k.getBuilder().getF32Type();
  Value m = kernel.load("m", kernel.view("maxima", maxima, f32));
  Value l = kernel.load("l", kernel.view("sums", sums, f32));
  auto rows = cast<RankedTensorType>(l.getType());
  Value total, none;
  if (sinks) {
    none = kernel.load("sink", viewSinks(kernel, sinks));
    SunkRows sunk = addSink(k, units, m, l, none);
    total = makeLse(k, sunk.score, sunk.sum);
  } else {
    total = makeLse(k, toScores(k, units, m), l);
  }
  Value some = hasKeys(k, l);
  if (!none)
    none = k.splat("minus_inf", -infinity, rows);
  Value chosen = k.create<arith::SelectOp>("lse_rows", some, total, none);
  Value view = kernel.view("lse", result, f32);
  if (finish.mayHaveEnded) {
    Value before = kernel.load("lse_before", view);
    chosen = k.create<arith::SelectOp>("lse_or_ended", areOpen(k, l), chosen,
                                       before);
  }
  kernel.store(chosen, view);
  k.launch();
}

/// Copies rows of X to rows of Y.
static void copy(RowKernel &kernel, Value X,
                 const KernelBuilder::Rows &fromRows, Value Y,
                 const KernelBuilder::Rows &toRows) {
  Type element = kernel.shape.getElementType();
  Value x = kernel.view("x", X, element, fromRows);
  Value y = kernel.view("y", Y, element, toRows);
  kernel.store(kernel.load("x_tile", x), y);
}

Value ringlet::emitAligned(HostPlan &plan, const Twine &name, int64_t axis,
                           const HostTensor &input, Value worth) {
  RowKernel kernel(plan, name, axis, input);
  KernelBuilder &k = kernel.k;
  Value X = k.addBuffer("X", input.buffer);
  Value Y = k.addBuffer("aligned", input.buffer);
  kernel.declareGrid();
  copy(kernel, X, {}, Y, {});
  return k.align(input.buffer, worth);
}

void ringlet::emitReorder(HostPlan &plan, const Twine &name, int64_t axis,
                          const HostTensor &from, rlayout::OrderAttr fromOrder,
                          const HostTensor &to, rlayout::OrderAttr toOrder) {
  fromOrder = dropIdentity(fromOrder);
  toOrder = dropIdentity(toOrder);
  RowKernel kernel(plan, name, axis, to);
  KernelBuilder &k = kernel.k;
  Value X = k.addBuffer("X", from.buffer);
  Value Y = k.addBuffer("Y", to.buffer);
  // From linear order, slot m of the result takes token pi(m). Otherwise the
  // rows of the kernel are tokens, and each side says in which slot it has
  // them.
  Value length = to.sizes[axis];
  Value fromTable, toTable;
  if (fromOrder) {
    fromTable =
        k.addBuffer("from_slot", plan.orderTable(fromOrder, length, true));
    if (toOrder)
      toTable = k.addBuffer("to_slot", plan.orderTable(toOrder, length, true));
  } else if (toOrder) {
    fromTable = k.addBuffer("token", plan.orderTable(toOrder, length, false));
  }
  kernel.declareGrid();
  KernelBuilder::Rows fromRows, toRows;
  fromRows.table = fromTable;
  toRows.table = toTable;
  copy(kernel, X, fromRows, Y, toRows);
  k.launch();
}
