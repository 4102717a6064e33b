//===- RowKernels.cpp - Fill, finish and reorder -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/Kernels.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ringlet;

namespace {

/// Rows of a tile, and the most columns of one.
constexpr int64_t tileRows = 32;
constexpr int64_t maxColumns = 256;

/// A kernel that works on each tile of rows along one axis of tensors of one
/// shape; further axes are axes of the grid.
class RowKernel {
public:
  RowKernel(HostPlan &plan, const Twine &name, int64_t axis,
            const HostTensor &shape)
      : k(plan, name), plan(plan), axis(axis), shape(shape) {}

  /// Adds the grid; after the buffers are declared.
  void declareGrid() {
    row = k.addGridAxis("tile", plan.ceilDiv(shape.sizes[axis], tileRows));
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
    row = k.mul("row", row, tileRows);
    column = column ? k.mul("column", column, columns) : k.constant(0);
  }

  Value view(StringRef name, Value buffer, Type element, Value table = {}) {
    SmallVector<Value> axes;
    auto next = fixed.begin();
    int64_t last = shape.getType().getRank() - 1;
    for (int64_t i = 0; i <= last; ++i)
      axes.push_back(i == axis || (i == last && axis < last) ? Value()
                                                             : *next++);
    auto type = rtile::ViewType::get(tileShape(), element, /*segmentLength=*/0,
                                     /*rate=*/1, /*indexed=*/bool(table));
    return k.view(name, buffer, axes, type, {{}, {}, {}, table});
  }

  SmallVector<int64_t> tileShape() {
    SmallVector<int64_t> sides{tileRows};
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

} // namespace

void ringlet::emitFill(HostPlan &plan, const Twine &name,
                       const HostTensor &tensor, int64_t axis, double value) {
  RowKernel kernel(plan, name, axis, tensor);
  Value buffer = kernel.k.addBuffer("X", tensor.buffer);
  kernel.declareGrid();
  Value view = kernel.view("x", buffer, tensor.getElementType());
  Value tile = kernel.k.splat(
      "value", value,
      RankedTensorType::get(kernel.tileShape(), tensor.getElementType()));
  kernel.store(tile, view);
  kernel.k.launch();
}

void ringlet::emitFinish(HostPlan &plan, const Twine &name,
                         attn::AttentionOp op, const HostTensor &partial,
                         const HostTensor &lse, const HostTensor &output) {
  RowKernel kernel(plan, name, /*axis=*/1, output);
  KernelBuilder &k = kernel.k;
  bool inPlace = partial.buffer == output.buffer;
  bool isSum = op.getMix() == attn::Mix::Sum;
  Value from = k.addBuffer("partial", partial.buffer);
  Value to = inPlace ? from : k.addBuffer("O", output.buffer);
  Value lseBuffer = isSum ? Value() : k.addBuffer("LSE", lse.buffer);
  kernel.declareGrid();
  Type f32 = k.getBuilder().getF32Type();
  Value fromView = kernel.view("partial_rows", from, f32);
  Value toView =
      inPlace ? fromView : kernel.view("o", to, output.getElementType());
  Value result = kernel.load("partial_tile", fromView);
  auto wide = cast<RankedTensorType>(result.getType());
  if (isSum) {
    if (op.getOutputScale())
      result = k.create<arith::MulFOp>(
          "out_scaled", result,
          k.splat("output_scale", op.getOutputScale()->convertToDouble(),
                  wide));
  } else {
    // Rows that no branch reached hold nothing.
    RankedTensorType rows = k.tileType({tileRows});
    Value lseView =
        k.view("lse", lseBuffer, {kernel.fixed[0], kernel.fixed[1], nullptr},
               rtile::ViewType::get({tileRows}, f32), {});
    Value total =
        k.create<rtile::LoadOp>("lse_rows", lseView, ValueRange{kernel.row});
    Value some = k.create<arith::CmpFOp>(
        "has_keys", arith::CmpFPredicate::OGT, total,
        k.splat("minus_inf", -std::numeric_limits<double>::infinity(), rows));
    Value mask = k.create<rtile::BroadcastOp>(
        "has_keys_wide",
        RankedTensorType::get(wide.getShape(), k.getBuilder().getI1Type()),
        some, /*columns=*/false);
    result = k.create<arith::SelectOp>("out", mask, result,
                                       k.splat("zero", 0.0, wide));
  }
  kernel.store(k.convert("out_rounded", result, output.getElementType()),
               toView);
  k.launch();
}

void ringlet::emitReorder(HostPlan &plan, const Twine &name, int64_t axis,
                          const HostTensor &from, rlayout::OrderAttr fromOrder,
                          const HostTensor &to, rlayout::OrderAttr toOrder) {
  if (fromOrder && fromOrder.isIdentity())
    fromOrder = nullptr;
  if (toOrder && toOrder.isIdentity())
    toOrder = nullptr;
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
  Value x = kernel.view("x", X, from.getElementType(), fromTable);
  Value y = kernel.view("y", Y, to.getElementType(), toTable);
  kernel.store(kernel.load("x_tile", x), y);
  k.launch();
}
