//===- ChooseSchedule.cpp - Warps, registers, slots, walk -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileOpt/RowRange.h"
#include "passes/TileSchedule/LiveTiles.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"
#include "passes/TileSchedule/SpareRegisters.h"
#include "passes/TileSchedule/Walk.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSESCHEDULE
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// Left operands that come once and that products of every step use: to read
/// them to registers saves reading them from shared memory as often.
SmallVector<Feed> findLeftOperands(const Products &products) {
  SmallVector<Feed> left;
  for (const Feed &feed : products.feeds) {
    rtile::LoadOp load = feed.load;
    if (feed.use == Use::Left && feed.getBuffer() >= 0 && !isInLoop(load) &&
        llvm::any_of(load->getUsers(), isInLoop))
      left.push_back(feed);
  }
  return left;
}

/// Whether blocks take points as they come, each with keys of its segment.
bool areShort(const Products &products, const Walk &walk) {
  return walk.attr.getDispatch() == rtile::Dispatch::dynamic &&
         llvm::any_of(products.feeds, [](Feed feed) {
           return isInLoop(feed.load) &&
                  feed.load.getView().getType().isSegmented();
         });
}

/// What the tiles of a kernel need.
cost::ScheduledTiles measure(rtile::FuncOp func, const Products &products,
                             const Walk &walk, int64_t groups) {
  cost::ScheduledTiles tiles;
  tiles.groups = groups;
  tiles.areShort = areShort(products, walk);
  tiles.leftInStep = llvm::all_of(products.dots, [](rtile::DotOp dot) {
    rtile::LoadOp load = getLoad(dot.getLhs());
    return load && isInLoop(load);
  });
  tiles.live = cost::peakRegisters(findLiveTiles(func, tiles.groups));
  tiles.loadsByList = hasListOfTiles(func);
  for (Feed feed : findLeftOperands(products))
    tiles.left.push_back(cost::leftRegisters(
        getTile(feed.load.getResult().getType()).getDimSize(1)));
  // A channel may be filled in front of a loop and then in it.
  llvm::MapVector<std::pair<Value, Use>, bool> channels;
  for (Feed feed : products.feeds)
    channels[{products.getChannelView(feed), feed.use}] |= isInLoop(feed.load);
  for (auto &[key, inLoop] : channels) {
    RankedTensorType tile =
        cast<rtile::ViewType>(key.first.getType()).getTileType();
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
  if (op && op.getPages())
    return "expected views of rows side by side, found one of pages (S4)";
  if (op && (op.getPositions() || (op.getOrder() && getRowStep(op) != 1)))
    return "expected views of rows by their positions, side by side where they "
           "are in an order (O1, O2)";
  if (columns % cost::kColumnStep != 0)
    return llvm::formatv("expected rows of a multiple of 16 bytes, found {0} "
                         "({1} elements; nearest {2})",
                         columns * 2, columns,
                         llvm::alignTo(columns, cost::kColumnStep))
        .str();
  if (columns > cost::kMostColumns)
    return llvm::formatv(
               "expected views of at most {0} columns to multiply, found {1}",
               cost::kMostColumns, columns)
        .str();
  if (rows > cost::kMostBoxRows)
    return llvm::formatv(
               "expected tiles of at most {0} rows to copy, found {1}",
               cost::kMostBoxRows, rows)
        .str();
  if (isKey && rows % cost::kKeyStep != 0)
    return llvm::formatv("expected key tiles of a multiple of {0} rows, found "
                         "{1}; nearest {2}",
                         cost::kKeyStep, rows,
                         llvm::alignTo(rows, cost::kKeyStep))
        .str();
  return "";
}

/// Why roles of the schedule that a kernel came with are not those that it
/// needs, or "".
std::string checkRoles(rtile::ScheduleAttr schedule, int64_t height) {
  for (StringRef name : {loadRole, computeRole})
    if (!schedule.getRole(name))
      return ("expected a schedule with a role '" + name + "'").str();
  int64_t warps = schedule.getRole(computeRole).getWarps();
  // A group has 64 rows or a multiple of that.
  if (warps % groupWarps != 0 || height % (warps / groupWarps * groupRows) != 0)
    return llvm::formatv("expected a schedule with {0} warps that compute, {1} "
                         "for every {2} rows, or a part of them, found {3}",
                         height / groupRows * groupWarps, groupWarps, groupRows,
                         warps)
        .str();
  return "";
}

/// The first left operands, which are read to registers.
SmallVector<rtile::ScheduleOperandAttr> readToRegisters(MLIRContext *context,
                                                        ArrayRef<Feed> left) {
  SmallVector<rtile::ScheduleOperandAttr> operands;
  for (const Feed &feed : left) {
    auto operand = rtile::ScheduleOperandAttr::get(
        context, feed.getBuffer(), /*slots=*/0, rtile::Place::registers);
    if (!llvm::is_contained(operands, operand))
      operands.push_back(operand);
  }
  return operands;
}

/// Where left operands that come once are.
std::string describeLeft(size_t count, size_t inRegisters) {
  if (count == 0)
    return "";
  std::string whose = count == 1
                          ? "left operand"
                          : llvm::formatv("{0} left operands", count).str();
  if (inRegisters == 0)
    return ", " + whose + " in shared memory";
  if (inRegisters == count)
    return ", " + whose + " in registers";
  return llvm::formatv(", {0} of {1} in registers", inRegisters, whose).str();
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
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      if ((!func.getRecipe() && !func.getSchedule()) || func.getScheduled())
        return WalkResult::advance();
      std::string reason;
      FailureOr<rtile::ScheduleAttr> schedule = choose(func, *row, reason);
      if (failed(schedule))
        return WalkResult(func.emitError(reason));
      func.setScheduleAttr(*schedule);
      func->removeAttr(spareRegistersAttr);
      remark::passed(func.getLoc(), remark::RemarkOpts::name("ChooseSchedule")
                                        .category("rtile-choose-schedule")
                                        .function(func.getSymName()))
          << (func.getSymName().str() + ": " + reason);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  FailureOr<rtile::ScheduleAttr>
  choose(rtile::FuncOp func, const arch::GPUArch &row, std::string &reason);
};

} // namespace

FailureOr<rtile::ScheduleAttr> ChooseSchedule::choose(rtile::FuncOp func,
                                                      const arch::GPUArch &row,
                                                      std::string &reason) {
  if (!row.hasScheduledForm()) {
    reason = whyNoRoles(row);
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

  if (rtile::ScheduleAttr known = func.getScheduleAttr()) {
    reason = checkRoles(known, products->getHeight());
    if (!reason.empty())
      return failure();
    reason = "the schedule that it came with";
    return known;
  }
  int64_t spare = spareRegisters;
  if (auto own = func->getAttrOfType<IntegerAttr>(spareRegistersAttr))
    spare = own.getInt();
  cost::GPUCore core = cost::GPUCore::of(row, /*hasMma=*/true, spare);
  // A group has 64 rows, or 128 where so many groups would have too few
  // registers or where they do nothing but multiply: two are enough for that.
  int64_t groups = products->getHeight() / groupRows;
  Walk walk = chooseWalk(func, *products);
  cost::ScheduledTiles tiles = measure(func, *products, walk, groups);
  std::optional<cost::ScheduleResources> given;
  std::string otherReason;
  auto giveWideGroups = [&] {
    cost::ScheduledTiles wide = measure(func, *products, walk, groups / 2);
    given = cost::findResources(core, wide, otherReason);
    if (given)
      tiles = wide;
  };
  bool mayBeWide = groups % 2 == 0;
  if (mayBeWide && tiles.leftInStep && groups > 2)
    giveWideGroups();
  if (!given)
    given = cost::findResources(core, tiles, reason);
  if (!given && mayBeWide)
    giveWideGroups();
  if (!given)
    return failure();
  SmallVector<Feed> left = findLeftOperands(*products);
  int64_t warps = tiles.groups * groupWarps;
  auto [registers, loadRegisters] = given->registers;
  std::string ofBlocks =
      tiles.blocks > 1
          ? llvm::formatv(", {0} blocks a multiprocessor", tiles.blocks).str()
          : "";
  reason =
      llvm::formatv("{0} warps compute, {1} for every {2} of {3} rows, with "
                    "{4} registers a thread ({5} for tiles{6}), {7} load with "
                    "{8}{9}; {10}{11}{12} of {13} bytes of shared memory; {14}",
                    warps, groupWarps, products->getHeight() / tiles.groups,
                    products->getHeight(), registers,
                    tiles.registers(given->leftInRegisters),
                    describeLeft(left.size(), given->leftInRegisters),
                    groupWarps, loadRegisters, ofBlocks, given->slots,
                    given->slots == 1 ? " slot, " : " slots, ",
                    tiles.sharedBytes(given->slots),
                    cost::slotLimit(core, tiles.blocks), walk.reason)
          .str();
  MLIRContext *context = func.getContext();
  auto getRole = [&](StringRef name, int64_t warps, int64_t registers) {
    return rtile::ScheduleRoleAttr::get(context, name, warps, registers);
  };
  return rtile::ScheduleAttr::get(
      context,
      {getRole(loadRole, groupWarps, loadRegisters),
       getRole(computeRole, warps, registers)},
      tiles.blocks, given->slots, walk.attr,
      readToRegisters(context,
                      ArrayRef(left).take_front(given->leftInRegisters)));
}
