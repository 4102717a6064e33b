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
// product of the last values. The role that loads goes on to the next point at
// the same place, so that its tiles come as early as the others ask for them.
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

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

/// A role: its head, which stands before the loops, the loops, and its tail.
class PointOverlap {
public:
  explicit PointOverlap(rtile::RoleOp role)
      : func(role->getParentOfType<rtile::FuncOp>()), role(role),
        block(role.getBody().front()) {}

  /// Of a role with products; failure: `reason` says what was expected.
  LogicalResult matchProducts(std::string &reason);
  /// Of a role that copies; false if it has nothing to do earlier.
  bool matchCopies();
  void rewrite();

private:
  /// An operation of the tail, or of the head for the next point.
  struct Beside {
    Operation *op;
    bool ofNext;
  };

  LogicalResult findHead(ArrayRef<Operation *> loops, std::string &reason);
  SmallVector<Operation *> findStatistics(const Feeding &feed);
  void findFinished();
  void cloneShared(OpBuilder &builder, IRMapping &mapping);
  void makeFirst();
  void makeLast(OpBuilder &builder);
  void makeFollowing(OpBuilder &builder);

  rtile::FuncOp func;
  rtile::RoleOp role;
  Block &block;
  /// Constants excepted; of the tail, what does not stay behind `next`.
  SmallVector<Operation *> head, tail;
  /// Both, in the order in which they run beside each other.
  SmallVector<Beside> order;
  /// What the head and the tail compute for the rest.
  SmallVector<Value> begun, finished;
  rtile::FirstPointOp first;
  rtile::NextPointOp next;
};

} // namespace

//===----------------------------------------------------------------------===//
// Heads and tails
//===----------------------------------------------------------------------===//

template <typename OpT>
static bool holds(Operation *op) {
  return op->getNumRegions() != 0 &&
         op->walk([](OpT) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The loops and conditions in `block` that hold an OpT.
template <typename OpT>
static SmallVector<Operation *> findLoops(Block &block) {
  SmallVector<Operation *> loops;
  for (Operation &op : block)
    if (holds<OpT>(&op))
      loops.push_back(&op);
  return loops;
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

LogicalResult PointOverlap::findHead(ArrayRef<Operation *> loops,
                                     std::string &reason) {
  for (Operation &op : block) {
    if (&op == loops.front())
      break;
    if (!op.hasTrait<OpTrait::ConstantLike>())
      head.push_back(&op);
  }
  llvm::SmallDenseSet<Operation *> inHead(head.begin(), head.end());
  for (Operation *op : head)
    for (Value value : op->getResults()) {
      bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
        return !inHead.contains(block.findAncestorOpInBlock(*user));
      });
      if (!leaves)
        continue;
      RankedTensorType tile = getTile(value.getType());
      if (isa<rtile::SlotType>(value.getType()) ||
          (tile && isa_and_nonnull<rtile::SwizzledAttr>(tile.getEncoding()))) {
        reason = "expected the query tile in registers, found it in its slot, "
                 "which is not free before the last product of scores";
        return failure();
      }
      begun.push_back(value);
    }
  return success();
}

/// What of the tail runs beside the last product, which `feed` feeds: a few
/// values of rows that need nothing of it.
SmallVector<Operation *> PointOverlap::findStatistics(const Feeding &feed) {
  SmallVector<Operation *> found;
  auto isNarrow = [](Type type) {
    RankedTensorType tile = getTile(type);
    return !tile || tile.getRank() < 2;
  };
  auto isThere = [&](Value value) {
    Operation *source = value.getDefiningOp();
    return !source || source->getBlock() != &block ||
           source->isBeforeInBlock(feed.await) ||
           llvm::is_contained(found, source);
  };
  for (Operation *op = feed.release; op; op = op->getNextNode())
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
        !op->hasTrait<OpTrait::ConstantLike>() &&
        llvm::all_of(op->getResultTypes(), isNarrow) &&
        llvm::all_of(op->getOperands(), isThere))
      found.push_back(op);
  return found;
}

void PointOverlap::findFinished() {
  for (Operation *op : tail)
    for (Value value : op->getResults())
      if (llvm::any_of(value.getUsers(), [&](Operation *user) {
            return !llvm::is_contained(tail, user);
          }))
        finished.push_back(value);
}

LogicalResult PointOverlap::matchProducts(std::string &reason) {
  SmallVector<Operation *> loops = findLoops<rtile::DotOp>(block);
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
  rtile::DotOp scores = before.front(), values = after.front();
  FailureOr<Feeding> ofScores = getFeeding(scores),
                     ofValues = getFeeding(values);
  if (failed(ofScores) || failed(ofValues)) {
    reason = "expected the first and the last product to read tiles of their "
             "own";
    return failure();
  }
  if (failed(findHead(loops, reason)))
    return failure();
  tail = {ofValues->await, ofValues->read, values, ofValues->release};
  SmallVector<Operation *> statistics = findStatistics(*ofValues);
  llvm::append_range(tail, statistics);
  findFinished();
  // Both products need nothing but their tiles, so they start together.
  for (Operation *op : head) {
    order.push_back({op, true});
    if (op == ofScores->await)
      order.push_back({ofValues->await, false});
    if (op != scores)
      continue;
    order.push_back({ofValues->read, false});
    order.push_back({values, false});
    for (Operation *other : statistics)
      order.push_back({other, false});
  }
  order.push_back({ofValues->release, false});
  return success();
}

bool PointOverlap::matchCopies() {
  SmallVector<Operation *> loops = findLoops<rtile::AcquireOp>(block);
  std::string reason;
  if (loops.empty() || failed(findHead(loops, reason)))
    return false;
  for (Operation *op = loops.back()->getNextNode(); op; op = op->getNextNode())
    if (!op->hasTrait<OpTrait::ConstantLike>())
      tail.push_back(op);
  // The head first: in this order the tiles are asked for, and those of the
  // next point have the longer way.
  for (Operation *op : head)
    order.push_back({op, true});
  for (Operation *op : tail)
    order.push_back({op, false});
  return !head.empty() && !tail.empty();
}

//===----------------------------------------------------------------------===//
// The new form
//===----------------------------------------------------------------------===//

static Location named(StringRef name, Location loc) {
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

static SmallVector<Type> getTypes(ArrayRef<Value> values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return value.getType(); });
}

/// Makes what is not inside of `op` use its results in place of `values`.
static void replaceOutside(Operation *op, ArrayRef<Value> values) {
  for (auto [value, result] : llvm::zip_equal(values, op->getResults()))
    Value(value).replaceUsesWithIf(result, [&](OpOperand &use) {
      return !op->isAncestor(use.getOwner());
    });
}

void PointOverlap::makeFirst() {
  OpBuilder builder(head.back()->getNextNode());
  first = rtile::FirstPointOp::create(builder, named("begun", role.getLoc()),
                                      getTypes(begun));
  Block &body = first.getBody().emplaceBlock();
  for (Operation *op : head)
    op->moveBefore(&body, body.end());
  replaceOutside(first, begun);
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
  auto grid = func.getGridPoint();
  SmallVector<Location> places;
  for (Value index : grid)
    places.push_back(index.getLoc());
  Block *body = builder.createBlock(&next.getFollowing(), {},
                                    SmallVector<Type>(TypeRange(grid)), places);
  IRMapping ofNext, ofThis;
  ofNext.map(grid, body->getArguments());
  cloneShared(builder, ofNext);
  for (size_t i = 0; i < order.size(); ++i) {
    auto [op, isNext] = order[i];
    IRMapping &mapping = isNext ? ofNext : ofThis;
    Operation *other = i + 1 < order.size() ? order[i + 1].op : nullptr;
    if (!isa<rtile::AwaitOp>(op) || !isa_and_nonnull<rtile::AwaitOp>(other)) {
      builder.clone(*op, mapping);
      continue;
    }
    // What is awaited in a row is awaited together.
    SmallVector<Value> channels(op->getOperands());
    llvm::append_range(channels, other->getOperands());
    auto both = rtile::AwaitOp::create(builder, op->getLoc(), channels);
    mapping.map(op->getResults(),
                both.getSlots().take_front(op->getNumResults()));
    (order[++i].ofNext ? ofNext : ofThis)
        .map(other->getResults(),
             both.getSlots().drop_front(op->getNumResults()));
  }
  SmallVector<Value> yielded;
  for (Value value : finished)
    yielded.push_back(ofThis.lookup(value));
  for (Value value : begun)
    yielded.push_back(ofNext.lookup(value));
  rtile::YieldOp::create(builder, role.getLoc(), yielded);
}

void PointOverlap::makeLast(OpBuilder &builder) {
  Block *body = builder.createBlock(&next.getLast());
  for (Operation *op : tail)
    op->moveBefore(body, body->end());
  rtile::YieldOp::create(builder, role.getLoc(), finished);
  replaceOutside(next, finished);
}

void PointOverlap::rewrite() {
  // All that is inside of the new operations may use constants.
  Operation *front = &block.front();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (op.hasTrait<OpTrait::ConstantLike>() && &op != front)
      op.moveBefore(front);
  OpBuilder builder(tail.front());
  next = rtile::NextPointOp::create(builder, named("finished", role.getLoc()),
                                    getTypes(finished));
  makeFollowing(builder);
  makeLast(builder);
  // Last, since the head was what the next point's was copied from.
  makeFirst();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What keeps points of `func` apart whatever its roles are, or "".
static std::string checkWalk(rtile::FuncOp func) {
  rtile::WalkAttr walk = func.getWalkAttr();
  if (!walk || walk.getDispatch() != rtile::Dispatch::strided)
    return "expected points whose order is known, a strided walk, found " +
           (walk ? rtile::stringifyDispatch(walk.getDispatch()).str()
                 : std::string("one point a block"));
  for (auto view : func.getBody().getOps<rtile::ViewOp>())
    if (view.getType().isSegmented())
      return "expected views without segments, found w = " +
             std::to_string(view.getType().getSegmentLength()) +
             ": where two points lie takes more registers than two products "
             "leave";
  return "";
}

namespace {

struct OverlapPoints : ringlet::impl::RTileOverlapPointsBase<OverlapPoints> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getScheduled() || !holds<rtile::DotOp>(func))
        return;
      auto options = remark::RemarkOpts::name("OverlapPoints")
                         .category("rtile-overlap-points");
      std::string name = func.getSymName().str();
      std::string reason = checkWalk(func);
      std::vector<PointOverlap> overlaps;
      for (auto role : func.getBody().getOps<rtile::RoleOp>()) {
        if (!reason.empty())
          break;
        PointOverlap overlap(role);
        if (holds<rtile::DotOp>(role)
                ? succeeded(overlap.matchProducts(reason))
                : holds<rtile::CopyOp>(role) && overlap.matchCopies())
          overlaps.push_back(std::move(overlap));
      }
      if (!reason.empty()) {
        remark::missed(func.getLoc(), options)
            << (name + ": points do not overlap: " + reason);
        return;
      }
      for (PointOverlap &overlap : overlaps)
        overlap.rewrite();
      remark::passed(func.getLoc(), options)
          << (name + ": the first scores of a point are computed beside the "
                     "last product of the point before");
    });
  }
};

} // namespace
