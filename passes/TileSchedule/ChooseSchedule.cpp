//===- ChooseSchedule.cpp - Warps, registers, slots, walk -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileOpt/RowRange.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"
#include "passes/TileSchedule/Walk.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSESCHEDULE
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

constexpr StringLiteral passName = "rtile-choose-schedule";

std::string number(int64_t value) { return std::to_string(value); }

/// What the tiles of a kernel need.
cost::ScheduledTiles measure(Products &products) {
  cost::ScheduledTiles tiles;
  for (rtile::DotOp dot : products.dots) {
    RankedTensorType lhs = getTile(dot.getLhs().getType());
    int64_t columns = getTile(dot.getResult().getType()).getDimSize(1);
    if (getLoad(dot.getLhs())) {
      tiles.scores = std::max(tiles.scores, columns);
      tiles.depth = std::max(tiles.depth, lhs.getDimSize(1));
    } else {
      tiles.sums = std::max(tiles.sums, columns);
      tiles.weights = std::max(tiles.weights, lhs.getDimSize(1));
    }
  }
  tiles.groups = products.getHeight() / groupRows;
  llvm::SmallVector<std::pair<Value, Use>> seen;
  for (Feed feed : products.feeds) {
    std::pair<Value, Use> key(feed.load.getView(), feed.use);
    if (llvm::is_contained(seen, key))
      continue;
    seen.push_back(key);
    bool inLoop = !isa<rtile::FuncOp>(feed.load->getParentOp());
    RankedTensorType tile = getTile(feed.load.getResult().getType());
    (inLoop ? tiles.stepBytes : tiles.onceBytes) +=
        cost::slotBytes(tile.getDimSize(0), tile.getDimSize(1));
  }
  return tiles;
}

/// Why the copy engine cannot fetch `load`, or "".
std::string checkCopy(rtile::LoadOp load, bool isKey) {
  rtile::ViewType view = load.getView().getType();
  int64_t rows = view.getShape().front(), columns = view.getShape().back();
  if (view.getIndexed())
    return "expected views of rows at equal distances, found an indexed one";
  if (!view.isStatic())
    return "expected views whose w and rate are known, found ? (B1)";
  auto op = load.getView().getDefiningOp<rtile::ViewOp>();
  if (op && (op.getPositions() || (op.getOrder() && getRowStep(op) != 1)))
    return "expected views of rows by their positions, side by side where they "
           "are in an order (O1, O2)";
  if (columns % cost::kColumnStep != 0)
    return "expected rows of a multiple of 16 bytes, found " +
           number(columns * 2) + " (" + number(columns) +
           " elements; nearest " +
           number(llvm::alignTo(columns, cost::kColumnStep)) + ")";
  if (columns > cost::kMostColumns)
    return "expected views of at most " + number(cost::kMostColumns) +
           " columns to multiply, found " + number(columns);
  if (rows > cost::kMostBoxRows)
    return "expected tiles of at most " + number(cost::kMostBoxRows) +
           " rows to copy, found " + number(rows);
  if (isKey && rows % cost::kKeyStep != 0)
    return "expected key tiles of a multiple of " + number(cost::kKeyStep) +
           " rows, found " + number(rows) + "; nearest " +
           number(llvm::alignTo(rows, cost::kKeyStep));
  return "";
}

struct ChooseSchedule : ringlet::impl::RTileChooseScheduleBase<ChooseSchedule> {
  using Base::Base;

  void runOnOperation() override {
    std::string error;
    const arch::GPUArch *row = arch::lookupGPUArch(level, &error);
    if (!row) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getRecipe() || func.getScheduled())
        return;
      std::string reason;
      FailureOr<Schedule> schedule = choose(func, *row, reason);
      if (failed(schedule))
        return keepPlain(func, "ChooseSchedule", passName, reason);
      func->setAttr(scheduleAttr, schedule->toAttr(func.getContext()));
      remark::passed(
          func.getLoc(),
          remark::RemarkOpts::name("ChooseSchedule").category(passName))
          << (func.getSymName().str() + ": " + reason);
    });
  }

  FailureOr<Schedule> choose(rtile::FuncOp func, const arch::GPUArch &row,
                             std::string &reason);
};

} // namespace

FailureOr<Schedule> ChooseSchedule::choose(rtile::FuncOp func,
                                           const arch::GPUArch &row,
                                           std::string &reason) {
  if (!row.hasScheduledForm()) {
    reason = std::string("expected an architecture with products of groups of "
                         "warps and a copy engine, found ") +
             row.name;
    return failure();
  }
  FailureOr<Products> products = findProducts(func, reason);
  if (failed(products))
    return failure();
  for (Feed feed : products->feeds) {
    reason = checkCopy(feed.load, feed.use != Use::Left);
    if (!reason.empty())
      return failure();
  }

  cost::ScheduledTiles tiles = measure(*products);
  cost::GPUCore core = cost::GPUCore::of(row, /*hasMma=*/true, spareRegisters);
  std::optional<cost::ScheduleResources> given =
      cost::findResources(core, tiles, reason);
  if (!given)
    return failure();
  Walk walk = chooseWalk(func, *products);
  int64_t warps = tiles.groups * groupWarps;
  auto [registers, loadRegisters] = given->registers;
  reason =
      number(warps) + " warps compute, " + number(groupWarps) + " for every " +
      number(groupRows) + " of " + number(tiles.groups * groupRows) +
      " rows, with " + number(registers) + " registers a thread (" +
      number(tiles.registers(given->queryInRegisters)) +
      " for tiles, query tile in " +
      (given->queryInRegisters ? "registers" : "shared memory") + "), " +
      number(groupWarps) + " load with " + number(loadRegisters) + "; " +
      number(given->slots) + (given->slots == 1 ? " slot, " : " slots, ") +
      number(tiles.sharedBytes(given->slots)) + " of " +
      number(cost::slotLimit(core)) + " bytes of shared memory; " + walk.reason;
  return Schedule{warps,         groupWarps,   registers,
                  loadRegisters, given->slots, given->queryInRegisters,
                  walk.attr};
}
