//===- EmitAMX.cpp - Matrix products by tile registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction adds to a register of 16 rows and 16 columns of f32 the
// product of two others: 16 rows of 32 bf16, and 16 pairs of rows of 16 bf16.
// Results lie in panels, whose columns are vectors in sequence, so it is their
// transpose that is computed:
//
//   result^T   16 columns of the result, 16 rows of the panel
//   right^T    16 columns of the result, 32 steps of the depth
//   left^T     16 pairs of steps of the depth, 16 rows of the panel
//
// The last is a panel of pairs as it is. The second is a transposed operand in
// rows, as keys are, or else one of which pairs of rows share words, in panels.
// Every register is loaded from where its part lies and the result stored to
// its panel; no element is moved for it.
//
// Sizes that are no multiples fill registers as well: steps of the depth that
// do not exist are zero in both operands, and what columns of the result that
// do not exist get, nobody reads.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

/// The eight tile registers: up to two times two sums, and as many of either
/// operand as a step of the depth needs for them.
static constexpr int64_t firstSum = 0, firstRight = 4, firstLeft = 6;
static constexpr int64_t sumsPerRight = 2, tileRegisters = 8;

static constexpr int64_t rowBytes = 4 * amxSide;

static void call(CodeBuilder &b, StringRef name, ArrayRef<Value> arguments) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86." + name),
                                arguments);
}

static Value getRegister(CodeBuilder &b, int64_t number) {
  return b.integer(b.getI8Type(), number);
}

/// Where the words of a tile register lie: its first row, and how many bytes
/// there are from one to the next.
namespace {
struct Rows {
  Value start;
  Value stride;
};
} // namespace

static void loadRegister(CodeBuilder &b, int64_t number, const Rows &rows) {
  call(b, "tileloadd64", {getRegister(b, number), rows.start, rows.stride});
}

void cpu::setUpTileRegisters(CodeBuilder &b) {
  // The layout of the configuration: palette, bytes of a row of each register
  // as 16 bits, rows of each register.
  constexpr int64_t size = 64, widths = 16, heights = 48;
  SmallVector<int8_t> bytes(size, 0);
  bytes[0] = 1;
  for (int64_t number = 0; number < tileRegisters; ++number) {
    bytes[widths + 2 * number] = rowBytes;
    bytes[heights + number] = amxSide;
  }
  auto type = VectorType::get(size, b.getI8Type());
  Value memory = LLVM::AllocaOp::create(b, b.getPointer(), type, b.i64(1));
  b.store(arith::ConstantOp::create(
              b, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes))),
          memory, 1);
  call(b, "ldtilecfg", {memory});
}

void cpu::releaseTileRegisters(CodeBuilder &b) { call(b, "tilerelease", {}); }

void Emitter::storeInit(rtile::DotOp dot, Panel &panel) {
  Value init = dot.getInit();
  if (!isRepeated(init.getDefiningOp()) &&
      getSlot(init) == getSlot(dot.getResult()))
    return;
  Value result = getPanelAddress(dot.getResult(), panel);
  b.loop(
      0, getTile(init).getDimSize(1), 1,
      [&](Value index) {
        Column column(index, getGroup(dot), getPhase(dot));
        Value place = b.at(result, b.mul(index, getVectorBytes(panel)));
        storeTile(getColumnValue(init, panel, column), place);
      },
      Unroll::ByLLVM);
}

void Emitter::emitTileBlocks(rtile::DotOp dot, Panel &panel, Value left,
                             int64_t first, int64_t width, int64_t count) {
  rtile::LoadOp load = getPairedLoad(dot.getRhs());
  RankedTensorType stored = getStored(load);
  bool transposed = dot.getTransposed();
  int64_t pairs = stored.getDimSize(transposed ? 1 : 0);
  int64_t rights = width / amxSide, lefts = panel.rows / amxSide;
  Value right = getPlace(getSlots(load)[transposed ? 1 : 0]);
  Value result = getPanelAddress(dot.getResult(), panel);
  Value vectorBytes = b.i64(getVectorBytes(panel));

  // Of the right operand, its part for 16 columns of the result and 16 pairs.
  int64_t panelRows = geometry.panelRows(stored.getDimSize(0));
  int64_t columnBytes =
      transposed ? geometry.rowStride(stored.getDimSize(1)) : 4 * panelRows;
  Value rightStride = b.i64(columnBytes);
  auto getRight = [&](Value column, Value pair) {
    Value start = b.at(right, b.mul(column, columnBytes));
    if (!transposed) {
      Value perPanel = b.i64(panelRows);
      Value panel = arith::DivUIOp::create(b, pair, perPanel);
      start =
          b.at(start, b.mul(panel, geometry.panelBytes(stored.getDimSize(0),
                                                       stored.getDimSize(1))));
      pair = arith::RemUIOp::create(b, pair, perPanel);
    }
    return Rows{b.at(start, b.mul(pair, 4)), rightStride};
  };
  // Of the left operand and of the result, the part for 16 rows of the panel.
  auto getPart = [&](Value panelStart, Value vector, int64_t part) {
    Value start = b.at(panelStart, b.mul(vector, vectorBytes));
    return Rows{b.at(start, part * rowBytes), vectorBytes};
  };

  auto emitBlock = [&](Value start) {
    auto forEachSum = [&](function_ref<void(int64_t, const Rows &)> body) {
      for (int64_t i = 0; i < rights; ++i)
        for (int64_t j = 0; j < lefts; ++j)
          body(firstSum + i * sumsPerRight + j,
               getPart(result, b.add(start, b.i64(i * amxSide)), j));
    };
    forEachSum([&](int64_t sum, const Rows &rows) {
      if (dot.getInit())
        loadRegister(b, sum, rows);
      else
        call(b, "tilezero", {getRegister(b, sum)});
    });
    auto [begin, end] = getSteps(dot, llvm::alignTo(pairs, amxSide), panel);
    b.loop(
        begin, end, b.i64(amxSide),
        [&](Value pair) {
          for (int64_t j = 0; j < lefts; ++j)
            loadRegister(b, firstLeft + j, getPart(left, pair, j));
          for (int64_t i = 0; i < rights; ++i) {
            loadRegister(b, firstRight + i,
                         getRight(b.add(start, b.i64(i * amxSide)), pair));
            for (int64_t j = 0; j < lefts; ++j)
              call(b, "tdpbf16ps",
                   {getRegister(b, firstSum + i * sumsPerRight + j),
                    getRegister(b, firstRight + i),
                    getRegister(b, firstLeft + j)});
          }
        },
        Unroll::ByLLVM);
    forEachSum([&](int64_t sum, const Rows &rows) {
      call(b, "tilestored64", {getRegister(b, sum), rows.start, rows.stride});
    });
  };
  if (dot->hasAttr(trimmedAttr)) {
    auto [begin, end] = panel.trimmed;
    return b.loop(begin, end, b.i64(width), emitBlock);
  }
  if (count == 1)
    return emitBlock(b.i64(first));
  b.loop(first, first + width * count, width, emitBlock);
}
