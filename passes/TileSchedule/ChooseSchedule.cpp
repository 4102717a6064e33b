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

/// Registers of a thread that hold neither tiles nor their sums, on average:
/// addresses, loop counters, row statistics. Kernels with less ran without
/// spills and kept their speed down to the second number.
constexpr int64_t otherRegisters = 40;
constexpr int64_t leastOtherRegisters = 32;
/// Most registers that setmaxnreg gives usefully: a thread can name 255.
constexpr int64_t mostRegisters = 240;
/// What the thread that copies has enough with, whatever it copies.
constexpr int64_t amplyToLoad = 56;
/// Columns of a panel of a slot (`#rtile.swizzled`).
constexpr int64_t panelColumns = 64;
/// Most rows that the copy engine takes at once.
constexpr int64_t mostBoxRows = 256;
/// Most columns of a product and of what it sums over.
constexpr int64_t mostColumns = 256;
/// Kept free: panels begin at multiples of it.
constexpr int64_t reservedShared = 1024;
/// Two barriers for each slot.
constexpr int64_t barrierBytes = 16;

std::string number(int64_t value) { return std::to_string(value); }

/// What the tiles of a kernel need.
class Sizes {
public:
  explicit Sizes(Products &products) {
    for (rtile::DotOp dot : products.dots) {
      RankedTensorType lhs = getTile(dot.getLhs().getType());
      int64_t columns = getTile(dot.getResult().getType()).getDimSize(1);
      if (getLoad(dot.getLhs())) {
        scores = std::max(scores, columns);
        depth = std::max(depth, lhs.getDimSize(1));
      } else {
        sums = std::max(sums, columns);
        weights = std::max(weights, lhs.getDimSize(1));
      }
    }
    groups = products.getHeight() / groupRows;
    llvm::SmallVector<std::pair<Value, Use>> seen;
    for (Feed feed : products.feeds) {
      std::pair<Value, Use> key(feed.load.getView(), feed.use);
      if (llvm::is_contained(seen, key))
        continue;
      seen.push_back(key);
      bool inLoop = !isa<rtile::FuncOp>(feed.load->getParentOp());
      RankedTensorType tile = getTile(feed.load.getResult().getType());
      int64_t bytes = tile.getDimSize(0) *
                          llvm::alignTo(tile.getDimSize(1), panelColumns) * 2 +
                      barrierBytes;
      (inLoop ? looped : once) += bytes;
    }
  }

  /// A row of 64 columns of f32 for every two threads of a group.
  int64_t getRegisters(int64_t others, bool withQuery) const {
    return sums / 2 + scores / 2 + weights / 4 + others +
           (withQuery ? llvm::divideCeil(depth, 16) * 4 : 0);
  }
  int64_t getSharedBytes(int64_t slots) const { return once + slots * looped; }

  int64_t groups = 0, scores = 0, sums = 0, weights = 0, depth = 0;

private:
  int64_t once = 0, looped = 0;
};

/// Why the copy engine cannot fetch `load`, or "".
std::string checkCopy(rtile::LoadOp load, bool isKey) {
  rtile::ViewType view = load.getView().getType();
  int64_t rows = view.getShape().front(), columns = view.getShape().back();
  if (view.getIndexed())
    return "expected views of rows at equal distances, found an indexed one";
  if (!view.isStatic())
    return "expected views whose w and rate are known, found ? (B1)";
  if (auto op = load.getView().getDefiningOp<rtile::ViewOp>();
      op && (op.getPositions() || (op.getOrder() && getRowStep(op) != 1)))
    return "expected views of rows by their positions, side by side where they "
           "are in an order (O1, O2)";
  if (columns * 2 % 16 != 0)
    return "expected rows of a multiple of 16 bytes, found " +
           number(columns * 2) + " (" + number(columns) +
           " elements; nearest " + number(llvm::alignTo(columns, 8)) + ")";
  if (columns > mostColumns)
    return "expected views of at most " + number(mostColumns) +
           " columns to multiply, found " + number(columns);
  if (rows > mostBoxRows)
    return "expected tiles of at most " + number(mostBoxRows) +
           " rows to copy, found " + number(rows);
  if (isKey && rows % 16 != 0)
    return "expected key tiles of a multiple of 16 rows, found " +
           number(rows) + "; nearest " + number(llvm::alignTo(rows, 16));
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

/// Registers of a thread of each group, the one that loads included, together:
/// what they begin with. Groups that ask for more would wait for ever.
int64_t getAllRegisters(const arch::GPUArch &row, int64_t groups) {
  int64_t threads = (groups + 1) * groupWarps * arch::kWarpThreads;
  return row.launchRegisters(threads) * (groups + 1);
}

/// Registers of a thread of the two roles: the one that loads needs few, and
/// what it leaves is shared by the groups that compute.
std::pair<int64_t, int64_t> shareRegisters(const arch::GPUArch &row,
                                           int64_t groups) {
  int64_t together = getAllRegisters(row, groups);
  int64_t load = groups <= 2 ? 40 : 32;
  int64_t compute =
      std::min<int64_t>((together - load) / groups / 8 * 8, mostRegisters);
  return {compute, load};
}

/// Lets the role that loads have `amplyToLoad` registers where those that
/// compute do with what is left: coordinates of dilated segments and a walk
/// that fetches its points take more than 40.
void giveToLoad(const arch::GPUArch &row, int64_t groups, int64_t needed,
                int64_t &compute, int64_t &load) {
  int64_t left = (getAllRegisters(row, groups) - amplyToLoad) / groups / 8 * 8;
  if (left < needed)
    return;
  compute = std::min(left, mostRegisters);
  load = amplyToLoad;
}

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

  Sizes sizes(*products);
  int64_t warps = sizes.groups * groupWarps;
  constexpr int64_t mostGroups =
      arch::kMaxBlockThreads / arch::kWarpThreads / groupWarps - 1;
  if (sizes.groups > mostGroups) {
    reason = "expected at most " + number(mostGroups * groupRows) +
             " query rows, found " + number(sizes.groups * groupRows);
    return failure();
  }
  auto [registers, loadRegisters] = shareRegisters(row, sizes.groups);
  int64_t least = sizes.getRegisters(leastOtherRegisters, false);
  if (least > registers) {
    reason = "expected at most " + number(registers) + " registers a thread, " +
             number(sizes.groups) + " groups of 64 rows, found " +
             number(least) + ": " + number(sizes.sums / 2) + " for sums, " +
             number(sizes.scores / 2) + " for scores, " +
             number(sizes.weights / 4) + " for weights, " +
             number(leastOtherRegisters) + " for the rest";
    return failure();
  }
  int64_t limit = row.sharedBytes - reservedShared;
  int64_t slots = sizes.getSharedBytes(2) <= limit ? 2 : 1;
  if (sizes.getSharedBytes(slots) > limit) {
    reason = "expected at most " + number(limit) +
             " bytes of shared memory on " + row.name + ", found " +
             number(sizes.getSharedBytes(slots)) +
             " for one slot of each channel";
    return failure();
  }
  bool queryInRegisters =
      sizes.getRegisters(otherRegisters + spareRegisters, true) <= registers;
  giveToLoad(row, sizes.groups,
             sizes.getRegisters(otherRegisters, queryInRegisters), registers,
             loadRegisters);
  Walk walk = chooseWalk(func, *products);
  reason = number(warps) + " warps compute, " + number(groupWarps) +
           " for every " + number(groupRows) + " of " +
           number(sizes.groups * groupRows) + " rows, with " +
           number(registers) + " registers a thread (" +
           number(sizes.getRegisters(0, queryInRegisters)) +
           " for tiles, query tile in " +
           (queryInRegisters ? "registers" : "shared memory") + "), " +
           number(groupWarps) + " load with " + number(loadRegisters) + "; " +
           number(slots) + (slots == 1 ? " slot, " : " slots, ") +
           number(sizes.getSharedBytes(slots)) + " of " + number(limit) +
           " bytes of shared memory; " + walk.reason;
  return Schedule{warps, groupWarps,       registers, loadRegisters,
                  slots, queryInRegisters, walk.attr};
}
