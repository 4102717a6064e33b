//===- StartDots.cpp - Products beside other work -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESTARTDOTS
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// A name for what becomes of the value named by `loc`.
Location named(Location loc, StringRef suffix) {
  auto name = dyn_cast<NameLoc>(loc);
  if (!name)
    return loc;
  return NameLoc::get(
      StringAttr::get(loc.getContext(), name.getName().str() + suffix.str()),
      loc);
}

/// True if `tile` is, at once or in a later step, the left operand of a
/// product that is read from registers.
bool feedsProduct(Value tile) {
  SmallVector<Value> pending{tile};
  llvm::SmallDenseSet<Value> seen;
  auto add = [&](Value value) {
    if (seen.insert(value).second)
      pending.push_back(value);
  };
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<rtile::DotOp, rtile::StartDotOp>(user))
        return true;
      if (auto loop = dyn_cast<scf::ForOp>(user)) {
        if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&use)) {
          add(argument);
          add(loop.getTiedLoopResult(&use));
        }
      } else if (isa<scf::YieldOp>(user) &&
                 isa<scf::ForOp, scf::IfOp>(user->getParentOp())) {
        unsigned number = use.getOperandNumber();
        if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp()))
          add(loop.getRegionIterArg(number));
        add(user->getParentOp()->getResult(number));
      }
    }
  return false;
}

/// True if `op` writes registers that a product reads.
bool roundsOperand(Operation *op) {
  return isa<arith::TruncFOp>(op) && feedsProduct(op->getResult(0));
}

/// True if nothing in `op` has to wait for products that were started before:
/// neither writes of their operands nor products of a loop or branch, which
/// finish in there.
bool isFreeOfProducts(Operation *op) {
  return !op->walk([&](Operation *inner) {
              bool isInner =
                  inner != op && isa<rtile::DotOp, rtile::FinishDotOp>(inner);
              return WalkResult(failure(isInner || roundsOperand(inner)));
            }).wasInterrupted();
}

/// The products of one block of a role.
class BlockSchedule {
public:
  explicit BlockSchedule(Block &block) : block(block) {}

  /// Returns how many products run beside other work.
  int64_t run(bool turns);

private:
  bool isAtHand(Value operand, Operation *place);
  void startEarly(MutableArrayRef<rtile::DotOp> dots);
  rtile::StartDotOp start(rtile::DotOp dot);
  void finishBeforeUse(rtile::DotOp dot, rtile::StartDotOp started);
  void finishAfterOtherWork(rtile::DotOp dot, rtile::StartDotOp started);
  llvm::DenseSet<Operation *> findSources(rtile::DotOp dot, ValueRange roots);
  llvm::DenseSet<Operation *> findLaterParts(rtile::DotOp dot);
  llvm::DenseSet<Operation *> findLate(rtile::DotOp dot);
  void finishInOrder();
  void takeTurns(MutableArrayRef<rtile::StartDotOp> started);

  Block &block;
  /// Products that were moved up to the one before.
  llvm::DenseSet<Operation *> followers;
  /// Products of a batch that have not been finished.
  llvm::DenseSet<Operation *> running;
};

} // namespace

/// True if `operand` is there at `place`, or can be read there.
bool BlockSchedule::isAtHand(Value operand, Operation *place) {
  Operation *source = operand.getDefiningOp();
  if (!source || source->getBlock() != &block || source->isBeforeInBlock(place))
    return true;
  auto read = dyn_cast<rtile::ReadOp>(source);
  return read && isAtHand(read.getSlot(), place);
}

/// Moves each product up to the one before it, if its operands are there.
void BlockSchedule::startEarly(MutableArrayRef<rtile::DotOp> dots) {
  for (auto [before, dot] : llvm::zip(dots, dots.drop_front())) {
    Operation *place = before;
    bool inOneStep = true;
    for (Operation *op = place->getNextNode(); op != dot;
         op = op->getNextNode())
      inOneStep &= op->getNumRegions() == 0;
    if (!inOneStep)
      continue;
    auto atHand = [&](Value operand) { return isAtHand(operand, place); };
    if (!llvm::all_of(dot->getOperands(), atHand))
      continue;
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      Operation *source = operand.getDefiningOp();
      if (source && source->getBlock() == &block &&
          place->isBeforeInBlock(source)) {
        source->moveAfter(place);
        place = source;
      }
    }
    dot->moveAfter(place);
    followers.insert(dot);
  }
}

rtile::StartDotOp BlockSchedule::start(rtile::DotOp dot) {
  OpBuilder builder(dot);
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  return rtile::StartDotOp::create(builder, named(dot.getLoc(), "_started"),
                                   rtile::PendingType::get(type), dot.getLhs(),
                                   dot.getRhs(), dot.getInit(),
                                   /*onto=*/Value(), dot.getTransposed());
}

static void replace(rtile::DotOp dot, rtile::FinishDotOp finish) {
  dot.getResult().replaceAllUsesWith(finish.getResult());
  dot.erase();
}

/// Finishes `dot` where its result is used, or registers are written that it
/// may be reading.
void BlockSchedule::finishBeforeUse(rtile::DotOp dot,
                                    rtile::StartDotOp started) {
  Operation *last = dot;
  auto uses = [&](Operation *op) {
    return llvm::any_of(dot->getUsers(), [&](Operation *user) {
      return block.findAncestorOpInBlock(*user) == op;
    });
  };
  if (!dot.getResult().use_empty())
    for (Operation *op = dot->getNextNode(); !uses(op) && isFreeOfProducts(op);
         op = op->getNextNode())
      last = op;
  OpBuilder builder(started->getContext());
  builder.setInsertionPointAfter(last);
  replace(dot, rtile::FinishDotOp::create(builder, dot.getLoc(),
                                          dot.getResult().getType(),
                                          started.getResult(), ValueRange()));
}

/// Everything in the block behind `dot` that `roots` are computed from.
llvm::DenseSet<Operation *> BlockSchedule::findSources(rtile::DotOp dot,
                                                       ValueRange roots) {
  llvm::DenseSet<Operation *> sources;
  SmallVector<Value> pending(roots);
  while (!pending.empty()) {
    Operation *source = pending.pop_back_val().getDefiningOp();
    if (source && source->getBlock() == &block &&
        dot->isBeforeInBlock(source) && sources.insert(source).second)
      pending.append(source->operand_begin(), source->operand_end());
  }
  return sources;
}

/// What is computed for the second and later parts of joined tiles alone: it
/// is left for the time after `dot`, so that the first part runs beside it.
llvm::DenseSet<Operation *> BlockSchedule::findLaterParts(rtile::DotOp dot) {
  llvm::DenseSet<Operation *> first, later;
  for (auto join : block.getOps<rtile::JoinOp>()) {
    if (!dot->isBeforeInBlock(join))
      continue;
    for (Operation *op : findSources(dot, join.getInputs().take_front()))
      first.insert(op);
    for (Operation *op : findSources(dot, join.getInputs().drop_front()))
      later.insert(op);
  }
  for (Operation *op : first)
    later.erase(op);
  return later;
}

/// Operations after `dot` that have to wait for it, or had better do so.
llvm::DenseSet<Operation *> BlockSchedule::findLate(rtile::DotOp dot) {
  llvm::DenseSet<Operation *> late;
  llvm::DenseSet<Operation *> laterParts = findLaterParts(dot);
  SmallVector<Operation *> early;
  auto mustWait = [&](Operation *op) {
    bool waits = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *source = operand.getDefiningOp();
        waits |= source && (late.contains(source) || running.contains(source));
      }
    });
    if (waits || op->hasTrait<OpTrait::IsTerminator>() ||
        op->getNumRegions() != 0)
      return true;
    if (isa<rtile::DotOp>(op))
      return !running.contains(op);
    // The product that was started before this one finishes before it.
    if (auto finish = dyn_cast<rtile::FinishDotOp>(op)) {
      Operation *start = finish.getPending().getDefiningOp();
      return !start || start->getBlock() != &block ||
             !start->isBeforeInBlock(dot);
    }
    return !isMemoryEffectFree(op) || laterParts.contains(op) ||
           roundsOperand(op);
  };
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    if (mustWait(op))
      late.insert(op);
    else
      early.push_back(op);
  }
  // To repeat a value along columns is no work that hides a product, and what
  // is repeated late needs no registers until then.
  for (Operation *op : llvm::reverse(early)) {
    auto isLate = [&](Operation *user) {
      return late.contains(block.findAncestorOpInBlock(*user));
    };
    if (isa<rtile::BroadcastOp, arith::ConstantOp>(op) &&
        llvm::all_of(op->getUsers(), isLate))
      late.insert(op);
  }
  return late;
}

/// Splits what follows `dot` into work beside the product and work after it.
void BlockSchedule::finishAfterOtherWork(rtile::DotOp dot,
                                         rtile::StartDotOp started) {
  llvm::DenseSet<Operation *> late = findLate(dot);
  SmallVector<Operation *> lateInOrder;
  SmallVector<Value> after;
  Operation *lastEarly = nullptr;
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    if (late.contains(op)) {
      lateInOrder.push_back(op);
      continue;
    }
    lastEarly = op;
    auto isLate = [&](Operation *user) {
      return late.contains(block.findAncestorOpInBlock(*user));
    };
    if (isa<rtile::FinishDotOp, rtile::DotOp>(op) || op->use_empty() ||
        !llvm::all_of(op->getUsers(), isLate))
      continue;
    for (Value result : op->getResults())
      if (RankedTensorType tile = getTile(result.getType());
          tile && tile.getElementType().isF32())
        after.push_back(result);
  }
  for (Operation *op : lateInOrder)
    op->moveBefore(&block, block.end());
  OpBuilder builder(dot.getContext());
  builder.setInsertionPointAfter(lastEarly ? lastEarly : dot);
  replace(dot, rtile::FinishDotOp::create(builder, dot.getLoc(),
                                          dot.getResult().getType(),
                                          started.getResult(), after));
}

/// A product that is waited for is waited for with all that were started before
/// it: none of these finishes later. Whoever waits earlier than planned has
/// less done beside its product.
void BlockSchedule::finishInOrder() {
  SmallVector<rtile::StartDotOp> starts(block.getOps<rtile::StartDotOp>());
  Operation *next = nullptr;
  for (rtile::StartDotOp start : llvm::reverse(starts)) {
    auto finish = cast<rtile::FinishDotOp>(*start->user_begin());
    if (next && next->isBeforeInBlock(finish)) {
      SmallVector<Value> after(
          llvm::make_filter_range(finish.getAfter(), [&](Value value) {
            Operation *source = value.getDefiningOp();
            return !source || source->getBlock() != &block ||
                   source->isBeforeInBlock(next);
          }));
      finish.getAfterMutable().assign(after);
      finish->moveBefore(next);
    }
    next = finish;
  }
}

/// Puts starts that follow each other in a body of rtile.in_turn.
void BlockSchedule::takeTurns(MutableArrayRef<rtile::StartDotOp> started) {
  OpBuilder builder(started.back());
  SmallVector<Type> types;
  for (rtile::StartDotOp start : started)
    types.push_back(start.getResult().getType());
  auto turn = rtile::InTurnOp::create(builder, started.front().getLoc(), types);
  Block &body = turn.getBody().emplaceBlock();
  SmallVector<Value> yielded;
  for (auto [start, result] : llvm::zip(started, turn.getResults())) {
    start.getResult().replaceAllUsesWith(result);
    start->moveBefore(&body, body.end());
    yielded.push_back(start.getResult());
  }
  builder.setInsertionPointToEnd(&body);
  rtile::YieldOp::create(builder, turn.getLoc(), yielded);
}

int64_t BlockSchedule::run(bool turns) {
  SmallVector<rtile::DotOp> dots(block.getOps<rtile::DotOp>());
  if (dots.empty())
    return 0;
  startEarly(dots);
  SmallVector<SmallVector<rtile::DotOp>> batches;
  for (rtile::DotOp dot : dots) {
    if (!followers.contains(dot))
      batches.emplace_back();
    batches.back().push_back(dot);
  }
  SmallVector<SmallVector<rtile::StartDotOp>> started;
  for (ArrayRef<rtile::DotOp> batch : batches) {
    SmallVector<rtile::StartDotOp> &starts = started.emplace_back();
    running.insert_range(batch);
    for (rtile::DotOp dot : batch) {
      rtile::StartDotOp pending = starts.emplace_back(start(dot));
      Operation *done = dot;
      if (dot.getInit())
        finishAfterOtherWork(dot, pending);
      else
        finishBeforeUse(dot, pending);
      running.erase(done);
    }
  }
  finishInOrder();
  if (turns && isa<scf::ForOp>(block.getParentOp()))
    for (MutableArrayRef<rtile::StartDotOp> starts : started)
      takeTurns(starts);
  return llvm::count_if(
      block.getOps<rtile::FinishDotOp>(),
      [](rtile::FinishDotOp finish) { return !finish.getAfter().empty(); });
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// The operation after which `user` no longer reads a slot.
static Operation *getEnd(Operation *user) {
  auto started = dyn_cast<rtile::StartDotOp>(user);
  if (!started)
    return user;
  Value pending = started.getResult();
  while (!pending.use_empty()) {
    OpOperand &use = *pending.use_begin();
    if (!isa<rtile::YieldOp>(use.getOwner()))
      return use.getOwner();
    pending = use.getOwner()->getParentOp()->getResult(use.getOperandNumber());
  }
  return user;
}

/// Puts `release` behind everything that reads its slot.
static void placeRelease(rtile::ReleaseOp release) {
  Value slot = release.getSlot();
  Block *block = release->getBlock();
  Operation *last = slot.getDefiningOp();
  auto extend = [&](Operation *op) {
    Operation *around = block->findAncestorOpInBlock(*op);
    if (around && last->isBeforeInBlock(around))
      last = around;
  };
  for (Operation *user : slot.getUsers()) {
    auto read = dyn_cast<rtile::ReadOp>(user);
    if (!read)
      continue;
    extend(read);
    auto tile = cast<RankedTensorType>(read.getTile().getType());
    if (isa_and_nonnull<rtile::FragmentAttr>(tile.getEncoding()))
      continue;
    for (Operation *reader : read.getTile().getUsers())
      extend(getEnd(reader));
  }
  release->moveAfter(last);
}

namespace {

struct StartDots : ringlet::impl::RTileStartDotsBase<StartDots> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](rtile::RoleOp role) {
      SmallVector<Block *> blocks;
      int64_t count = 0;
      role.walk([&](rtile::DotOp dot) {
        ++count;
        if (!llvm::is_contained(blocks, dot->getBlock()))
          blocks.push_back(dot->getBlock());
      });
      if (blocks.empty())
        return;
      // Where slots are given back follows from where products finish.
      SmallVector<rtile::ReleaseOp> releases;
      SmallVector<Block *> homes;
      role.walk([&](rtile::ReleaseOp release) {
        releases.push_back(release);
        homes.push_back(release->getBlock());
      });
      for (auto [release, home] : llvm::zip(releases, homes)) {
        // At the end of its block it is in nobody's way.
        if (home->mightHaveTerminator() &&
            home->back().hasTrait<OpTrait::IsTerminator>())
          release->moveBefore(home->getTerminator());
        else
          release->moveBefore(home, home->end());
      }
      bool takeTurns = turns && role.getWarps() >= 2 * groupWarps;
      int64_t hidden = 0;
      for (Block *block : blocks)
        hidden += BlockSchedule(*block).run(takeTurns);
      for (rtile::ReleaseOp release : releases)
        placeRelease(release);
      remark::passed(
          role.getLoc(),
          remark::RemarkOpts::name("StartDots")
              .category("rtile-start-dots")
              .function(role->getParentOfType<rtile::FuncOp>().getSymName()))
          << llvm::formatv(
                 "{0}: {1} of {2} products run beside work that does not need "
                 "them{3}",
                 role->getParentOfType<rtile::FuncOp>().getSymName(), hidden,
                 count, (takeTurns ? ", groups start them in turn" : ""))
                 .str();
    });
  }
};

} // namespace
