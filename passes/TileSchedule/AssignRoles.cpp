//===- AssignRoles.cpp - One role loads, one computes -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/ListReads.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"
#include "passes/TileSchedule/Skeleton.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEASSIGNROLES
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// `loc` as the name of a value, `base` followed by `suffix`.
Location nameAfter(Location loc, StringRef suffix) {
  StringRef base = "tile";
  if (auto name = dyn_cast<NameLoc>(loc))
    base = name.getName();
  base.consume_back("_tile");
  return NameLoc::get(
      StringAttr::get(loc.getContext(), base.str() + suffix.str()), loc);
}

class RoleBuilder {
public:
  RoleBuilder(rtile::FuncOp func, const Products &products)
      : func(func), body(func.getBody().front()),
        schedule(func.getScheduleAttr()), builder(func.getContext()) {
    for (const Feed &feed : products.feeds) {
      feeds.insert({feed.load, feed});
      views[feed.load] = products.getChannelView(feed);
    }
  }

  LogicalResult build(std::string &reason);

private:
  using Key = std::pair<Value, Use>;
  Key getKey(rtile::LoadOp load) {
    return {views.lookup(load), feeds.lookup(load).use};
  }
  bool isFeed(Operation *op) { return feeds.contains(op); }

  void findShared();
  void makeChannels();
  rtile::RoleOp makeRole(StringRef name);
  void makeLoadRole(const Skeleton &skeleton);
  void makeComputeRole(const Skeleton &skeleton);
  SmallVector<rtile::LoadOp> getTogether(rtile::LoadOp first);
  Value await(OpBuilder &at, rtile::LoadOp load);
  void release(rtile::ReadOp read);

  rtile::FuncOp func;
  Block &body;
  rtile::ScheduleAttr schedule;
  OpBuilder builder;
  llvm::MapVector<Operation *, Feed> feeds;
  /// Of the channels of loads.
  llvm::DenseMap<Operation *, Value> views;
  /// Scalars and views, which stay in the body of the function.
  llvm::DenseSet<Operation *> shared;
  llvm::MapVector<Key, rtile::ChannelOp> channels;
  /// Slots awaited already for a load further down.
  llvm::DenseMap<Operation *, Value> awaited;
  SmallVector<rtile::ReadOp> reads;
};

} // namespace

/// What all roles know: operations, loops among them, that do not touch tiles,
/// depend on nothing that does, and read nothing but lists.
void RoleBuilder::findShared() {
  for (Operation &op : body) {
    auto isScalar = [](Type type) { return !getTile(type); };
    auto isShared = [&](Value value) {
      Operation *source = value.getDefiningOp();
      return !source || shared.contains(source) || op.isAncestor(source);
    };
    auto canBeShared = [&](Operation *part) {
      bool hasNoEffect = isa<scf::ForOp, scf::IfOp>(part) ||
                         isMemoryEffectFree(part) || rtile::readsList(part);
      return hasNoEffect && llvm::all_of(part->getResultTypes(), isScalar) &&
             llvm::all_of(part->getOperands(), isShared);
    };
    bool isAll = !op.hasTrait<OpTrait::IsTerminator>();
    op.walk([&](Operation *part) { isAll &= canBeShared(part); });
    if (isAll)
      shared.insert(&op);
  }
}

/// A channel for each view and way to use its tiles, with the slots of the
/// schedule if a loop fills it.
void RoleBuilder::makeChannels() {
  for (auto &[op, feed] : feeds) {
    bool inLoop = isInLoop(op);
    rtile::ChannelOp &channel = channels[getKey(feed.load)];
    int64_t slots = inLoop ? schedule.getSlotsOf(feed.getBuffer()) : 1;
    if (channel) {
      channel.setSlots(std::max<int64_t>(channel.getSlots(), slots));
      continue;
    }
    auto view = feed.load.getView();
    channel = rtile::ChannelOp::create(
        builder, nameAfter(view.getLoc(), "_slots"),
        rtile::ChannelType::get(view.getType().getTileType()), slots,
        /*offset=*/nullptr, /*barriers=*/nullptr);
  }
}

rtile::RoleOp RoleBuilder::makeRole(StringRef name) {
  rtile::ScheduleRoleAttr shape = schedule.getRole(name);
  auto role = rtile::RoleOp::create(builder, func.getLoc(), name,
                                    shape.getWarps(), shape.getRegisters());
  role.getBody().emplaceBlock();
  return role;
}

void RoleBuilder::makeLoadRole(const Skeleton &skeleton) {
  auto role = makeRole(loadRole);
  OpBuilder inside = OpBuilder::atBlockBegin(&role.getBody().front());
  skeleton.copyTo(inside, [&](OpBuilder &at, Operation *op,
                              IRMapping &mapping) {
    if (!isFeed(op))
      return false;
    auto load = cast<rtile::LoadOp>(op);
    Value slot = rtile::AcquireOp::create(at, nameAfter(op->getLoc(), "_slot"),
                                          channels[getKey(load)].getResult());
    SmallVector<Value> offsets;
    for (Value offset : load.getOffsets())
      offsets.push_back(mapping.lookupOrDefault(offset));
    rtile::CopyOp::create(at, op->getLoc(),
                          mapping.lookupOrDefault(load.getView()), offsets,
                          slot);
    return true;
  });
}

/// `first` and the loads after it in its loop whose slots are awaited with it:
/// they go to products that need nothing else of the step, which can all be
/// started at its beginning.
SmallVector<rtile::LoadOp> RoleBuilder::getTogether(rtile::LoadOp first) {
  Block *block = first->getBlock();
  SmallVector<rtile::LoadOp> together{first};
  if (!isa<scf::ForOp>(block->getParentOp()))
    return together;
  auto isAtHand = [&](Value value) {
    Operation *source = value.getDefiningOp();
    return !source || source->getBlock() != block || isFeed(source);
  };
  auto needsNothingElse = [&](rtile::LoadOp load) {
    return llvm::all_of(load->getUsers(), [&](Operation *dot) {
      return dot->getBlock() == block &&
             llvm::all_of(dot->getOperands(), isAtHand);
    });
  };
  if (!needsNothingElse(first))
    return together;
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    if (!isFeed(op))
      continue;
    auto load = cast<rtile::LoadOp>(op);
    bool isTwice = llvm::any_of(together, [&](rtile::LoadOp other) {
      return getKey(other) == getKey(load);
    });
    // A channel's slots come in the order of its loads.
    if (isTwice)
      break;
    if (needsNothingElse(load))
      together.push_back(load);
  }
  return together;
}

/// The slot for `load`, awaited now unless it has been.
Value RoleBuilder::await(OpBuilder &at, rtile::LoadOp load) {
  if (Value slot = awaited.lookup(load))
    return slot;
  SmallVector<rtile::LoadOp> together = getTogether(load);
  SmallVector<Value> sources;
  SmallVector<Type> types;
  for (rtile::LoadOp each : together) {
    sources.push_back(channels[getKey(each)].getResult());
    types.push_back(
        rtile::SlotType::get(each.getView().getType().getTileType()));
  }
  auto op = rtile::AwaitOp::create(at, nameAfter(load.getLoc(), "_slot"), types,
                                   sources);
  for (auto [each, slot] : llvm::zip(together, op.getSlots()))
    awaited[each] = slot;
  return op.getSlots().front();
}

/// Gives the slot of `read` back: at once if the tile is in registers, else
/// after its last use.
void RoleBuilder::release(rtile::ReadOp read) {
  Operation *last = read;
  auto tile = cast<RankedTensorType>(read.getTile().getType());
  if (isa_and_nonnull<rtile::SwizzledAttr>(tile.getEncoding()))
    for (Operation *user : read.getTile().getUsers()) {
      Operation *around = read->getBlock()->findAncestorOpInBlock(*user);
      if (last->isBeforeInBlock(around))
        last = around;
    }
  OpBuilder after(read.getContext());
  after.setInsertionPointAfter(last);
  rtile::ReleaseOp::create(after, read.getLoc(), read.getSlot());
}

void RoleBuilder::makeComputeRole(const Skeleton &skeleton) {
  auto role = makeRole(computeRole);
  OpBuilder inside = OpBuilder::atBlockBegin(&role.getBody().front());
  MLIRContext *context = func.getContext();
  skeleton.copyTo(inside, [&](OpBuilder &at, Operation *op,
                              IRMapping &mapping) {
    if (!isFeed(op))
      return false;
    auto load = cast<rtile::LoadOp>(op);
    Value slot = await(at, load);
    Feed feed = feeds.lookup(op);
    Attribute place = rtile::SwizzledAttr::get(context);
    // Where others read a tile, rtile-encode-tiles finds out where they do.
    if (feed.isElementwise)
      place = nullptr;
    else if (feed.use == Use::Left &&
             schedule.getLeftOf(feed.getBuffer()) == rtile::Place::registers)
      place = rtile::FragmentAttr::get(context, role.getWarps());
    auto type = cast<RankedTensorType>(load.getResult().getType());
    auto read = rtile::ReadOp::create(
        at, op->getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType(), place),
        slot);
    mapping.map(load.getResult(), read.getTile());
    reads.push_back(read);
    return true;
  });
  for (rtile::ReadOp read : reads)
    release(read);
}

LogicalResult RoleBuilder::build(std::string &reason) {
  for (StringRef name : {loadRole, computeRole})
    if (!schedule.getRole(name)) {
      reason = ("expected a schedule with a role '" + name + "'").str();
      return failure();
    }
  findShared();
  auto isShared = [&](Operation *op) { return shared.contains(op); };
  Skeleton loading(body, isShared), computing(body, isShared);
  for (auto &[op, feed] : feeds) {
    loading.addRoot(op, op->getOperands());
    computing.addRoot(op, {});
  }
  func.walk([&](rtile::StoreOp store) {
    computing.addRoot(store, store->getOperands());
  });
  for (Value value : loading.getNeeded())
    if (getTile(value.getType())) {
      reason = "expected loads of rows that do not depend on tiles, found one "
               "that does";
      return failure();
    }

  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    if (!isShared(&op))
      old.push_back(&op);
  builder.setInsertionPoint(body.getTerminator());
  makeChannels();
  for (rtile::ScheduleRoleAttr role : schedule.getRoles())
    if (role.getName() == loadRole)
      makeLoadRole(loading);
    else if (role.getName() == computeRole)
      makeComputeRole(computing);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  func.removeRecipeAttr();
  func.removeScheduleAttr();
  func.setScheduled(true);
  func.setWalkAttr(schedule.getWalk());
  if (schedule.getBlocks() > 1)
    func.setBlocks(schedule.getBlocks());
  return success();
}

namespace {

struct AssignRoles : ringlet::impl::RTileAssignRolesBase<AssignRoles> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getScheduleAttr() || func.getScheduled())
        return WalkResult::advance();
      std::string reason;
      FailureOr<Products> products = findProducts(func, reason);
      if (failed(products) ||
          failed(RoleBuilder(func, *products).build(reason)))
        return WalkResult(func.emitError(reason));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("AssignRoles")
                                        .category("rtile-assign-roles")
                                        .function(func.getSymName()))
          << llvm::formatv(
                 "{0}: one role copies the tiles of {1} channels, one "
                 "computes",
                 func.getSymName(),
                 llvm::range_size(
                     func.getBody().front().getOps<rtile::ChannelOp>()))
                 .str();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
