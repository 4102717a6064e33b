//===- OverlapPoints.cpp - The next point beside this one -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At the end of a point of the grid a role that computes has one product left,
// the last values, and nothing to do beside it; at the beginning of the next
// point it has one product, the first scores, and nothing beside it either.
// With the two side by side, the exponentials of the first scores run under the
// product of the last values.
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEOVERLAPPOINTS
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// What feeds a product with a tile from a channel that is awaited for it
/// alone.
struct Feeding {
  rtile::AwaitOp await;
  rtile::ReadOp read;
  rtile::ReleaseOp release;
};

/// One role that computes: its head, before the loops, its loops and its tail.
class PointOverlap {
public:
  explicit PointOverlap(rtile::RoleOp role)
      : func(role->getParentOfType<rtile::FuncOp>()), role(role),
        block(role.getBody().front()) {}

  /// Failure: `reason` says what was expected.
  LogicalResult match(std::string &reason);
  void rewrite();

private:
  LogicalResult findParts(std::string &reason);
  void findStatistics();
  bool isBeside(Operation *op);
  void makeFirst();
  void makeLast(OpBuilder &builder);
  void makeFollowing(OpBuilder &builder);
  void cloneShared(OpBuilder &builder, IRMapping &mapping);
  void findFinished();

  rtile::FuncOp func;
  rtile::RoleOp role;
  Block &block;
  /// The first scores and the last values.
  rtile::DotOp scores, values;
  Feeding scoresFeed, valuesFeed;
  /// What the role does before its loops, constants excepted.
  SmallVector<Operation *> head;
  /// What runs beside the last product because it does not need it.
  SmallVector<Operation *> statistics;
  /// What the head computes for the rest; what the last product and the
  /// statistics do.
  SmallVector<Value> begun, finished;
  rtile::FirstPointOp first;
  rtile::NextPointOp next;
};

} // namespace

static bool holdsDots(Operation *op) {
  return op->getNumRegions() != 0 && op->walk([](rtile::DotOp) {
                                         return WalkResult::interrupt();
                                       }).wasInterrupted();
}

/// The right operand's way to `dot`, if it is read for this product alone.
static FailureOr<Feeding> getFeeding(rtile::DotOp dot) {
  auto read = dot.getRhs().getDefiningOp<rtile::ReadOp>();
  auto await =
      read ? read.getSlot().getDefiningOp<rtile::AwaitOp>() : rtile::AwaitOp();
  if (!await || await.getSlots().size() != 1 || !read.getTile().hasOneUse() ||
      await->getBlock() != dot->getBlock())
    return failure();
  for (Operation *user : await.getSlots().front().getUsers())
    if (auto release = dyn_cast<rtile::ReleaseOp>(user);
        release && release->getBlock() == dot->getBlock())
      return Feeding{await, read, release};
  return failure();
}

LogicalResult PointOverlap::findParts(std::string &reason) {
  SmallVector<Operation *> loops;
  for (Operation &op : block)
    if (holdsDots(&op))
      loops.push_back(&op);
  if (loops.empty()) {
    reason = "expected products in a loop, found none";
    return failure();
  }
  SmallVector<rtile::DotOp> before, after;
  for (auto dot : block.getOps<rtile::DotOp>())
    (dot->isBeforeInBlock(loops.front()) ? before : after).push_back(dot);
  if (before.size() != 1 || after.size() != 1) {
    reason =
        "expected one product before the loops and one after them, found " +
        std::to_string(before.size()) + " and " + std::to_string(after.size());
    return failure();
  }
  scores = before.front();
  values = after.front();
  FailureOr<Feeding> ofScores = getFeeding(scores),
                     ofValues = getFeeding(values);
  if (failed(ofScores) || failed(ofValues)) {
    reason = "expected the first and the last product to read tiles of their "
             "own";
    return failure();
  }
  scoresFeed = *ofScores;
  valuesFeed = *ofValues;
  for (Operation &op : block) {
    if (&op == loops.front())
      break;
    if (!op.hasTrait<OpTrait::ConstantLike>())
      head.push_back(&op);
  }
  return success();
}

LogicalResult PointOverlap::match(std::string &reason) {
  rtile::WalkAttr walk = func.getWalkAttr();
  if (!walk || walk.getDispatch() != rtile::Dispatch::strided) {
    reason = "expected points whose order is known, a strided walk, found " +
             (walk ? rtile::stringifyDispatch(walk.getDispatch()).str()
                   : std::string("one point a block"));
    return failure();
  }
  if (failed(findParts(reason)))
    return failure();
  llvm::SmallDenseSet<Operation *> inHead(head.begin(), head.end());
  for (Operation *op : head)
    for (Value value : op->getResults()) {
      bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
        return !inHead.contains(block.findAncestorOpInBlock(*user));
      });
      if (!leaves)
        continue;
      auto tile = getTile(value.getType());
      if (isa<rtile::SlotType>(value.getType()) ||
          (tile && isa_and_nonnull<rtile::SwizzledAttr>(tile.getEncoding()))) {
        reason = "expected the query tile in registers, found it in its slot, "
                 "which is not free before the last product of scores";
        return failure();
      }
      begun.push_back(value);
    }
  findStatistics();
  findFinished();
  return success();
}

/// True if `op`, of the tail, runs beside the last product: a few values of
/// rows that need nothing of it.
bool PointOverlap::isBeside(Operation *op) {
  auto isNarrow = [](Type type) {
    RankedTensorType tile = getTile(type);
    return !tile || tile.getRank() < 2;
  };
  auto isThere = [&](Value value) {
    Operation *source = value.getDefiningOp();
    return !source || source->getBlock() != &block ||
           source->isBeforeInBlock(valuesFeed.await) ||
           llvm::is_contained(statistics, source);
  };
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() &&
         llvm::all_of(op->getResultTypes(), isNarrow) &&
         llvm::all_of(op->getOperands(), isThere);
}

void PointOverlap::findStatistics() {
  for (Operation *op = valuesFeed.await; op; op = op->getNextNode())
    if (!isa<rtile::AwaitOp, rtile::ReadOp>(op) && isBeside(op))
      statistics.push_back(op);
}

void PointOverlap::findFinished() {
  finished.push_back(values.getResult());
  for (Operation *op : statistics)
    for (Value value : op->getResults())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return !llvm::is_contained(statistics, user);
          }))
        finished.push_back(value);
}

static Location named(StringRef name, Location loc) {
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

static SmallVector<Type> getTypes(ArrayRef<Value> values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return value.getType(); });
}

void PointOverlap::makeFirst() {
  Operation *place = head.back()->getNextNode();
  OpBuilder builder(place);
  first = rtile::FirstPointOp::create(builder, named("begun", role.getLoc()),
                                      getTypes(begun));
  Block &body = first.getBody().emplaceBlock();
  for (Operation *op : head)
    op->moveBefore(&body, body.end());
  for (auto [value, result] : llvm::zip(begun, first.getResults())) {
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !first->isAncestor(use.getOwner());
    });
  }
  builder.setInsertionPointToEnd(&body);
  rtile::YieldOp::create(builder, role.getLoc(), begun);
}

/// What a point needs to know in front of the roles, for the one whose indices
/// are the arguments of the block.
void PointOverlap::cloneShared(OpBuilder &builder, IRMapping &mapping) {
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == &func.getBody().front() &&
           !isa<rtile::ChannelOp>(op);
  };
  for (Operation *op : head)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && options.filter(source)) {
          (void)getBackwardSlice(source, &needed, options);
          needed.insert(source);
        }
    });
  llvm::SmallDenseSet<Value> ofPoint;
  ofPoint.insert_range(func.getGridPoint());
  for (Operation &op : func.getBody().front()) {
    // What is the same at all points is there.
    if (!needed.contains(&op) ||
        llvm::none_of(op.getOperands(),
                      [&](Value value) { return ofPoint.contains(value); }))
      continue;
    builder.clone(op, mapping);
    ofPoint.insert_range(op.getResults());
  }
}

void PointOverlap::makeFollowing(OpBuilder &builder) {
  Region &region = next.getFollowing();
  auto grid = func.getGridPoint();
  SmallVector<Location> places;
  for (Value index : grid)
    places.push_back(index.getLoc());
  Block *body = builder.createBlock(&region, {},
                                    SmallVector<Type>(TypeRange(grid)), places);
  IRMapping mapping;
  mapping.map(grid, body->getArguments());
  cloneShared(builder, mapping);
  for (Operation *op : head) {
    if (op == scoresFeed.await) {
      // Both products need nothing else, so they start together.
      Value sources[] = {scoresFeed.await.getChannels().front(),
                         valuesFeed.await.getChannels().front()};
      auto both = rtile::AwaitOp::create(builder, op->getLoc(), sources);
      mapping.map(op->getResult(0), both.getResult(0));
      mapping.map(valuesFeed.await->getResult(0), both.getResult(1));
      continue;
    }
    builder.clone(*op, mapping);
    if (op != scores)
      continue;
    builder.clone(*valuesFeed.read, mapping);
    builder.clone(*values, mapping);
    for (Operation *other : statistics)
      builder.clone(*other, mapping);
  }
  builder.clone(*valuesFeed.release, mapping);
  SmallVector<Value> yielded;
  for (Value value : finished)
    yielded.push_back(mapping.lookup(value));
  for (Value value : begun)
    yielded.push_back(mapping.lookup(value));
  rtile::YieldOp::create(builder, role.getLoc(), yielded);
}

void PointOverlap::makeLast(OpBuilder &builder) {
  Block *body = builder.createBlock(&next.getLast());
  SmallVector<Operation *> moved{valuesFeed.await, valuesFeed.read, values,
                                 valuesFeed.release};
  moved.append(statistics);
  for (Operation *op : moved)
    op->moveBefore(body, body->end());
  rtile::YieldOp::create(builder, role.getLoc(), finished);
  for (auto [value, result] : llvm::zip(finished, next.getResults())) {
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !next->isAncestor(use.getOwner());
    });
  }
}

void PointOverlap::rewrite() {
  OpBuilder builder(valuesFeed.await);
  next = rtile::NextPointOp::create(builder, named("finished", role.getLoc()),
                                    getTypes(finished));
  makeFollowing(builder);
  makeLast(builder);
  // Last, since the head was what the next point's was copied from.
  makeFirst();
}

namespace {

struct OverlapPoints : ringlet::impl::RTileOverlapPointsBase<OverlapPoints> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::RoleOp role) {
      if (!holdsDots(role))
        return;
      std::string name =
          role->getParentOfType<rtile::FuncOp>().getSymName().str();
      auto options = remark::RemarkOpts::name("OverlapPoints")
                         .category("rtile-overlap-points");
      PointOverlap overlap(role);
      std::string reason;
      if (failed(overlap.match(reason))) {
        remark::missed(role.getLoc(), options)
            << (name + ": points do not overlap: " + reason);
        return;
      }
      overlap.rewrite();
      remark::passed(role.getLoc(), options)
          << (name + ": the first scores of a point are computed beside the "
                     "last product of the point before");
    });
  }
};

} // namespace
