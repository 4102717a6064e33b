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
#include "llvm/Support/MathExtras.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSESCHEDULE
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

bool isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() != nullptr;
}

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
    channels[{products.getChannelView(feed), feed.use}] |=
        !isa<rtile::FuncOp>(feed.load->getParentOp());
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

/// Why roles of the schedule that a kernel came with are not those that it
/// needs, or "".
std::string checkRoles(rtile::ScheduleAttr schedule, int64_t height) {
  for (StringRef name : {loadRole, computeRole})
    if (!schedule.getRole(name))
      return ("expected a schedule with a role '" + name + "'").str();
  int64_t warps = schedule.getRole(computeRole).getWarps();
  // A group has 64 rows or a multiple of that.
  if (warps % groupWarps != 0 || height % (warps / groupWarps * groupRows) != 0)
    return "expected a schedule with " +
           number(height / groupRows * groupWarps) + " warps that compute, " +
           number(groupWarps) + " for every " + number(groupRows) +
           " rows, or a part of them, found " + number(warps);
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
  std::string whose =
      count == 1 ? "left operand" : number(count) + " left operands";
  if (inRegisters == 0)
    return ", " + whose + " in shared memory";
  if (inRegisters == count)
    return ", " + whose + " in registers";
  return ", " + number(inRegisters) + " of " + whose + " in registers";
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
  reason = number(warps) + " warps compute, " + number(groupWarps) +
           " for every " + number(products->getHeight() / tiles.groups) +
           " of " + number(products->getHeight()) + " rows, with " +
           number(registers) + " registers a thread (" +
           number(tiles.registers(given->leftInRegisters)) + " for tiles" +
           describeLeft(left.size(), given->leftInRegisters) + "), " +
           number(groupWarps) + " load with " + number(loadRegisters) + "; " +
           number(given->slots) + (given->slots == 1 ? " slot, " : " slots, ") +
           number(tiles.sharedBytes(given->slots)) + " of " +
           number(cost::slotLimit(core)) + " bytes of shared memory; " +
           walk.reason;
  MLIRContext *context = func.getContext();
  auto getRole = [&](StringRef name, int64_t warps, int64_t registers) {
    return rtile::ScheduleRoleAttr::get(context, name, warps, registers);
  };
  return rtile::ScheduleAttr::get(
      context,
      {getRole(loadRole, groupWarps, loadRegisters),
       getRole(computeRole, warps, registers)},
      given->slots, walk.attr,
      readToRegisters(context,
                      ArrayRef(left).take_front(given->leftInRegisters)));
}
