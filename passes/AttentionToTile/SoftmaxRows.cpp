//===- SoftmaxRows.cpp - Where a softmax begins and ends -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/SoftmaxRows.h"

#include <numeric>

using namespace mlir;
using namespace ringlet;

/// Most columns of an accumulator in memory that are read at a time, beside one
/// of `columns` in registers.
static int64_t getColumnsOfPart(int64_t columns) {
  return columns <= 128 ? 32 : 16;
}

SoftmaxRows::SoftmaxRows(KernelBuilder &k, Attention &attention,
                         const SoftmaxEnds &ends, unsigned branch)
    : k(k), attention(attention), ends(ends), branch(branch) {
  auto *left = std::get_if<SoftmaxState>(&ends.after);
  auto *ended = std::get_if<SoftmaxResult>(&ends.after);
  auto add = [&](StringRef name, const HostTensor &tensor) {
    return tensor ? k.addBuffer(name, tensor.buffer) : Value();
  };
  const HostTensor &to = left ? left->accumulator : ended->output;
  HostTensor from;
  if (ends.before)
    from = ends.before->accumulator;
  else if (ended)
    from = ended->addend;
  bool inPlace = from.buffer == to.buffer;
  if (!inPlace)
    partial = add("partial", from);
  target = k.addBuffer(ended && ended->isWhole ? "O" : "partial", to.buffer);
  if (inPlace)
    partial = target;
  if (const SoftmaxState *any = left          ? left
                                : ends.before ? &*ends.before
                                              : nullptr) {
    maxima = add("row_max", any->maximum);
    sums = add("row_sum", any->sum);
  }
  if (ended)
    lse = add("LSE", ended->lse);
  if (lse && attention.sizes[branch].number)
    number = k.addScalar("branch", attention.sizes[branch].number);
  if (ends.totals)
    ofTotals = {add("totals", ends.totals->accumulator),
                add("total_max", ends.totals->maximum),
                add("total_sum", ends.totals->sum)};
  if (ends.edge) {
    ofEdge.output = add("O", ends.edge->result.output);
    ofEdge.lse = add("LSE", ends.edge->result.lse);
  }
  redo = add("redo", ends.marks);
  if (ended)
    sinks = add("sinks", ended->sinks);
}

Value SoftmaxRows::viewWide(StringRef name, Value buffer,
                            const KernelBuilder::Rows &rows, int64_t columns) {
  auto element = cast<MemRefType>(buffer.getType()).getElementType();
  SmallVector<Value> axes = grid->getAxes(grid->getPoint().head);
  if (Value number = grid->getPoint().state)
    axes.insert(axes.begin(), number);
  return k.view(name, buffer, axes,
                view->getType({tileRows, columns}, element, rows), rows);
}

Value SoftmaxRows::viewOfRows(StringRef name, Value buffer,
                              ArrayRef<Value> axes,
                              const KernelBuilder::Rows &rows, int64_t count) {
  return k.view(name, buffer, axes,
                view->getType({count}, k.getBuilder().getF32Type(), rows),
                rows);
}

Value SoftmaxRows::viewOutput(StringRef name, const KernelBuilder::Rows &rows) {
  return viewWide(name, target, rows, attention.op.getValueDim());
}

Value SoftmaxRows::viewSinks(StringRef name, const KernelBuilder::Rows &rows) {
  if (!sinks)
    return nullptr;
  return viewOfRows(name, sinks, {grid->getPoint().head, nullptr}, rows,
                    tileRows);
}

/// The number of the branch that a row is in, of a union by its head.
Value SoftmaxRows::findBranch() {
  if (!attention.op.isUnion())
    return number ? number : k.constant(branch);
  Value head = grid->getPoint().head, found = k.constant(0);
  for (auto [index, of] : llvm::enumerate(attention.op.getBranchRange())) {
    Value begin = k.constant(of.getHeadBegin());
    Value end = k.constant(of.getHeadEnd(attention.op.getQueryHeads()));
    Value isBehind = k.create<arith::CmpIOp>(
        "is_behind", arith::CmpIPredicate::sge, head, begin);
    Value isBefore = k.create<arith::CmpIOp>(
        "is_before", arith::CmpIPredicate::slt, head, end);
    Value has = k.create<arith::AndIOp>("has_branch", isBehind, isBefore);
    Value number = k.constant(index);
    found = k.create<arith::SelectOp>("branch", has, number, found);
  }
  return found;
}

/// One lse for each branch where branches are added up (R2).
Value SoftmaxRows::viewLse(StringRef name, const KernelBuilder::Rows &rows) {
  if (!lse)
    return nullptr;
  SmallVector<Value> axes = grid->getRowAxes();
  if (attention.isSum())
    axes.insert(axes.begin(), findBranch());
  return viewOfRows(name, lse, axes, rows, tileRows);
}

Value SoftmaxRows::viewMarks(const AttentionGrid &atGrid,
                             const KernelBuilder::Rows &where, int64_t w,
                             int64_t count) {
  auto type = rtile::ViewType::get({count}, k.getBuilder().getF32Type(), w,
                                   /*rate=*/1, /*indexed=*/false);
  return k.view("redo_group", redo, atGrid.getRowAxes(), type, where);
}

void SoftmaxRows::makeViews(const AttentionGrid &atGrid, BranchView &ofBranch,
                            const KernelBuilder::Rows &rows, int64_t ofTile,
                            int64_t ofGroup, bool inParts) {
  grid = &atGrid;
  view = &ofBranch;
  tileRows = ofTile;
  auto *ended = std::get_if<SoftmaxResult>(&ends.after);
  int64_t all = attention.op.getValueDim();
  int64_t few = std::gcd(all, getColumnsOfPart(all)),
          some = inParts ? few : all;
  Value to = viewWide(ended && ended->isWhole ? "o" : "partial_rows", target,
                      rows, ended ? all : some);
  Value from;
  if (partial)
    from =
        partial == target ? to : viewWide("partial_rows", partial, rows, some);
  SmallVector<Value> axes = grid->getRowAxes();
  if (Value number = grid->getPoint().state)
    axes.insert(axes.begin(), number);
  auto viewRows = [&](StringRef name, Value buffer, int64_t count) {
    if (!buffer)
      return Value();
    SmallVector<Value> all(axes);
    // Rows that do not follow each other have an axis of one element last.
    if (cast<MemRefType>(buffer.getType()).getRank() > int64_t(axes.size()))
      all.push_back(k.constant(0));
    return viewOfRows(name, buffer, all, rows, count);
  };
  Value maximum = viewRows("maxima", maxima, tileRows);
  Value sum = viewRows("sums", sums, tileRows);
  Value sinkRows = viewSinks("sink_rows", rows);
  marks = viewRows("redo_rows", redo, tileRows);
  if (ofGroup)
    groupMarks = viewRows("redo_group", redo, ofGroup);
  Value lseRows = viewLse("lse", rows);
  if (ends.before)
    before = StateViews{from, maximum, sum};
  if (ended)
    result = ResultViews{to, ends.before ? Value() : from, lseRows, sinkRows};
  else
    state = StateViews{to, maximum, sum};
  if (ends.edge)
    edge = ResultViews{viewWide("o", ofEdge.output, rows, all), Value(),
                       viewRows("lse", ofEdge.lse, tileRows), Value()};
  if (ends.totals)
    totals = StateViews{viewWide("total_rows", ofTotals.accumulator, rows, few),
                        viewRows("total_maxima", ofTotals.maximum, tileRows),
                        viewRows("total_sums", ofTotals.sum, tileRows)};
}
