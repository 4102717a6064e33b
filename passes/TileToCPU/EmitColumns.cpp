//===- EmitColumns.cpp - Operations that move columns -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

/// No operation is in this group: every value is read where it lies.
static constexpr int64_t noGroup = -2;

void Emitter::emitColumns(Operation *op) {
  Value result = op->getResult(0);
  RankedTensorType tile = getTile(result);
  int64_t width = tile.getDimSize(1);
  forEachPanel(tile.getDimSize(0), [&](Panel &panel) {
    Value to = getPanelAddress(result, panel);
    auto read = [&](Value input, Value index) {
      Column column(index, noGroup, noGroup);
      return getColumnValue(input, panel, column);
    };
    auto write = [&](Value index, Value vector) {
      storeTile(vector, b.at(to, b.mul(index, getVectorBytes(panel))));
    };
    for (Value input : op->getOperands())
      prepare(input, panel, noGroup, noGroup);
    if (auto slice = dyn_cast<rtile::SliceOp>(op)) {
      Value begin = b.i64(slice.getBegin());
      b.loop(0, width, 1, [&](Value index) {
        write(index, read(slice.getInput(), b.add(begin, index)));
      });
    } else if (auto fold = dyn_cast<rtile::FoldOp>(op)) {
      int64_t columns = getTile(fold.getInput()).getDimSize(1);
      b.loop(0, width, 1, [&](Value index) {
        // Not from zero, which a sum of -0 would not survive.
        SmallVector<Value> sum{read(fold.getInput(), index)};
        sum = b.loop(1, columns / width, 1, sum,
                     [&](Value turn, ValueRange before) {
                       Value at = b.add(index, b.mul(turn, width));
                       return SmallVector<Value>{arith::AddFOp::create(
                           b, before[0], read(fold.getInput(), at))};
                     });
        write(index, sum[0]);
      });
    } else {
      int64_t begin = 0;
      for (Value input : op->getOperands()) {
        int64_t columns = getTile(input).getDimSize(1);
        Value first = b.i64(begin);
        b.loop(0, columns, 1, [&](Value index) {
          write(b.add(first, index), read(input, index));
        });
        begin += columns;
      }
    }
  });
}

void Emitter::emitAny(rtile::AnyOp op) {
  Value input = op.getInput();
  RankedTensorType tile = getTile(input);
  int64_t height = tile.getDimSize(0);
  int64_t rows = geometry.panelRows(height);
  Type words = b.getVector(b.getI32Type(), rows);
  auto widen = [&](Value mask) {
    return arith::ExtSIOp::create(b, words, mask);
  };
  auto join = [&](Value some, Value more) {
    return SmallVector<Value>{arith::OrIOp::create(b, some, more)};
  };
  SmallVector<Value> found{b.integer(words, 0)};
  found = b.loop(
      0, geometry.panels(height), 1, found, [&](Value index, ValueRange so) {
        Panel panel(geometry, height);
        panel.index = index;
        Value here;
        if (tile.getRank() == 1) {
          here = widen(getRowValue(input, panel));
        } else {
          prepare(input, panel, noGroup, noGroup);
          SmallVector<Value> columns{b.integer(words, 0)};
          here =
              b.loop(0, tile.getDimSize(1), 1, columns,
                     [&](Value at, ValueRange before) {
                       Column column(at, noGroup, noGroup);
                       return join(before[0],
                                   widen(getColumnValue(input, panel, column)));
                     })[0];
        }
        // The last panel may have more rows than the tile.
        Value left = b.sub(b.i64(height), b.mul(index, rows));
        Value limit =
            b.splat(arith::TruncIOp::create(b, b.getI32Type(), left), rows);
        Value exists = widen(b.less(b.iota(rows), limit));
        return join(so[0], b.both(here, exists));
      });
  Value bits = found[0];
  if (rows > 1)
    bits = LLVM::vector_reduce_or::create(b, b.getI32Type(), bits);
  bind(op.getResult(),
       b.compare(arith::CmpIPredicate::ne, bits, b.integer(b.getI32Type(), 0)));
}
