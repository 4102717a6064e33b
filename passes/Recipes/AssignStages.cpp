//===- AssignStages.cpp - Which products run later -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose operands are made of another product of its step can only run
// when that one has been finished and worked on: nothing in the step can run
// beside it. A step later it can, beside the products that begin that step and
// the arithmetic on them. The pass only says so, in `rtile.stage`.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/TileOpt/LoopRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEASSIGNSTAGES
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The stages of one loop's operations.
/// Whether an index is made of one number of fewer bits here.
bool widensIndex(Operation *op) {
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return cast.getType().isIndex() && cast.getIn().getType().isInteger(32);
  return isa<arith::AddIOp, arith::MulIOp>(op) &&
         op->getResult(0).getType().isIndex() &&
         llvm::count_if(op->getOperands(), [&](Value operand) {
           Operation *source = operand.getDefiningOp();
           return source && source->getBlock() == op->getBlock() &&
                  widensIndex(source);
         }) == 1;
}

/// Makes what widens `use` for its owner alone.
void widenAlone(OpOperand &use) {
  Operation *source = use.get().getDefiningOp();
  if (!source || source->getBlock() != use.getOwner()->getBlock() ||
      !widensIndex(source))
    return;
  if (!source->hasOneUse()) {
    OpBuilder builder(use.getOwner());
    source = builder.clone(*source);
    use.set(source->getResult(0));
  }
  for (OpOperand &inner : source->getOpOperands())
    widenAlone(inner);
}

/// Every load widens the numbers of its view and place for itself.
void widenForLoads(Block &block) {
  for (auto load : llvm::make_early_inc_range(block.getOps<rtile::LoadOp>())) {
    auto view = load.getView().getDefiningOp<rtile::ViewOp>();
    if (view && view->getBlock() == &block && view->hasOneUse())
      for (OpOperand &use : view->getOpOperands())
        widenAlone(use);
    for (OpOperand &use : load->getOpOperands())
      widenAlone(use);
  }
}

class LoopStages {
public:
  LoopStages(scf::ForOp loop, int64_t mostStage)
      : loop(loop), mostStage(mostStage) {}

  /// False, with the reason, if no operation should run later or some must not.
  bool assign(std::string &why);
  /// Writes the attributes.
  void annotate();
  /// Loads for products of different stages become one load for each.
  void reload();

  bool isLate(Operation *op) const { return stages.lookup(op) > 0; }
  int64_t countProducts() const {
    return llvm::count_if(stages, [](auto entry) {
      return entry.second > 0 && isa<rtile::DotOp>(entry.first);
    });
  }
  scf::ForOp getLoop() const { return loop; }
  SmallVector<Operation *> getLate() {
    SmallVector<Operation *> late;
    for (Operation &op : loop.getBody()->without_terminator())
      if (isLate(&op))
        late.push_back(&op);
    return late;
  }

private:
  Operation *getSource(Value value);
  int64_t getDepth(Operation *op);
  void findStages();
  void sinkLoads();
  bool findHead(std::string &why);
  bool checkMemory(std::string &why);
  bool checkHead(std::string &why);

  scf::ForOp loop;
  int64_t mostStage;
  /// How many products stand one behind the other on the way to a value.
  DenseMap<Operation *, int64_t> depths;
  DenseMap<Operation *, int64_t> stages;
  /// The last of the products that begin a step.
  rtile::DotOp head;
};

/// The operation of the step that makes `value`, or null.
Operation *LoopStages::getSource(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? loop.getBody()->findAncestorOpInBlock(*op) : nullptr;
}

/// Products on the way to the results of `op`, without those that only add to
/// the same sum.
int64_t LoopStages::getDepth(Operation *op) {
  auto [known, isNew] = depths.try_emplace(op, 0);
  if (!isNew)
    return known->second;
  int64_t depth = 0;
  op->walk([&](Operation *inner) {
    auto dot = dyn_cast<rtile::DotOp>(inner);
    for (OpOperand &operand : inner->getOpOperands()) {
      Operation *source = getSource(operand.get());
      if (!source || source == op)
        continue;
      bool isInit = dot && operand.get() == dot.getInit();
      int64_t add = isa<rtile::DotOp>(source) && !isInit ? 1 : 0;
      depth = std::max(depth, getDepth(source) + add);
    }
  });
  return depths[op] = depth;
}

/// Products behind others run later, and what needs them runs no earlier.
void LoopStages::findStages() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    int64_t stage = 0;
    if (isa<rtile::DotOp>(op))
      stage = std::min(getDepth(&op), mostStage);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = getSource(operand); source && source != &op)
          stage = std::max(stage, stages.lookup(source));
    });
    stages[&op] = stage;
  }
}

/// Tiles are loaded in the stage that needs them, and their views are made
/// there, of narrow numbers: a carried tile would hold its place for a step
/// longer, and a wide number takes two registers.
void LoopStages::sinkLoads() {
  for (Operation &op : llvm::reverse(loop.getBody()->without_terminator())) {
    if (!isa<rtile::LoadOp, rtile::ViewOp>(op) && !widensIndex(&op))
      continue;
    if (op.use_empty())
      continue;
    int64_t stage = std::numeric_limits<int64_t>::max();
    for (Operation *user : op.getUsers()) {
      Operation *top = loop.getBody()->findAncestorOpInBlock(*user);
      stage = std::min(stage, top->hasTrait<OpTrait::IsTerminator>()
                                  ? int64_t(0)
                                  : stages.lookup(top));
    }
    stages[&op] = stage;
  }
}

bool LoopStages::checkMemory(std::string &why) {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (mayWrite(&op)) {
      why = "expected loops that write nothing, found " +
            op.getName().getStringRef().str();
      return false;
    }
    if (isLate(&op) && op.getNumRegions() != 0) {
      why = "expected operations without regions behind a product that runs "
            "late, found " +
            op.getName().getStringRef().str();
      return false;
    }
  }
  return true;
}

/// Products of stage 0 at the beginning of the step, with nothing but loads and
/// scalars between them.
bool LoopStages::findHead(std::string &why) {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isLate(&op))
      continue;
    if (auto dot = dyn_cast<rtile::DotOp>(op)) {
      head = dot;
      continue;
    }
    bool isTile =
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (head && isTile && !isa<rtile::LoadOp>(op))
      break;
  }
  if (!head)
    why = "expected another product ahead of the one to delay, found none";
  return static_cast<bool>(head);
}

/// A late product of the step before stands behind the head: nothing up to
/// there may need it.
bool LoopStages::checkHead(std::string &why) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [argument, next] :
       llvm::zip_equal(loop.getRegionIterArgs(), yield->getOperands())) {
    Operation *source = getSource(next);
    if (!source || !isLate(source))
      continue;
    for (Operation *user : argument.getUsers()) {
      Operation *top = loop.getBody()->findAncestorOpInBlock(*user);
      if (isLate(top) || head->isBeforeInBlock(top))
        continue;
      why = "expected another product ahead of all that needs the one to "
            "delay, found " +
            top->getName().getStringRef().str() + " ahead of it";
      return false;
    }
    if (stages.lookup(source) > 1) {
      why = llvm::formatv("expected a product that runs 1 step late, found one "
                          "of stage {0} that the next step needs",
                          stages.lookup(source))
                .str();
      return false;
    }
  }
  return true;
}

bool LoopStages::assign(std::string &why) {
  findStages();
  if (countProducts() == 0) {
    why = "expected a product behind another one of its step, found none";
    return false;
  }
  sinkLoads();
  for (Operation &op : loop.getBody()->without_terminator())
    if (isa<rtile::LoadOp>(op) && !isLate(&op))
      for (OpOperand &use : op.getUses())
        if (isLate(loop.getBody()->findAncestorOpInBlock(*use.getOwner()))) {
          why = "expected tiles for late products alone, found a load that "
                "another product of the step needs, too";
          return false;
        }
  return checkMemory(why) && findHead(why) && checkHead(why);
}

void LoopStages::reload() {
  findStages();
  for (auto load :
       llvm::make_early_inc_range(loop.getBody()->getOps<rtile::LoadOp>())) {
    SmallVector<OpOperand *> late;
    for (OpOperand &use : load.getResult().getUses())
      if (isLate(loop.getBody()->findAncestorOpInBlock(*use.getOwner())))
        late.push_back(&use);
    if (late.empty() || load.getResult().hasNUses(late.size()))
      continue;
    OpBuilder builder(load);
    builder.setInsertionPointAfter(load);
    Operation *again = builder.clone(*load);
    for (OpOperand *use : late)
      use->set(again->getResult(0));
  }
  stages.clear();
  depths.clear();
}

void LoopStages::annotate() {
  MLIRContext *context = loop.getContext();
  bool isBehind = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    int64_t cluster = isLate(&op) ? 1 : isBehind ? 2 : 0;
    op.setAttr(rtile::kStageAttr,
               rtile::StageAttr::get(context, stages.lookup(&op), cluster));
    isBehind |= &op == head.getOperation();
  }
}

//===----------------------------------------------------------------------===//
// A step in front of a row
//===----------------------------------------------------------------------===//

/// Finds what corresponds to late operations of a loop in a step that was
/// peeled off in front of it.
class FrontMatcher {
public:
  explicit FrontMatcher(LoopStages &stages) : stages(stages) {}

  bool match() {
    scf::ForOp loop = stages.getLoop();
    Operation *yield = loop.getBody()->getTerminator();
    for (auto [init, next] :
         llvm::zip_equal(loop.getInitArgs(), yield->getOperands()))
      if (isLate(next) && !match(next, init))
        return false;
    if (found.size() != stages.getLate().size())
      return false;
    // What is moved away may have no other users.
    DenseSet<Operation *> inFront;
    for (auto [late, op] : found)
      inFront.insert(op);
    return llvm::all_of(inFront, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) {
        return user == loop || inFront.contains(user);
      });
    });
  }

  void annotate() {
    for (auto [late, op] : found)
      op->setAttr(rtile::kStageAttr, late->getAttr(rtile::kStageAttr));
  }

private:
  bool isLate(Value value) {
    return value.getDefiningOp() && stages.isLate(value.getDefiningOp());
  }

  /// Whether `front` is made like `value`, the result of a late operation.
  bool match(Value value, Value front) {
    Operation *late = value.getDefiningOp(), *op = front.getDefiningOp();
    if (!op || op->getBlock() != stages.getLoop()->getBlock() ||
        op->getName() != late->getName() ||
        op->getResultTypes() != late->getResultTypes() ||
        cast<OpResult>(value).getResultNumber() !=
            cast<OpResult>(front).getResultNumber())
      return false;
    auto [known, isNew] = found.try_emplace(late, op);
    if (!isNew)
      return known->second == op;
    // A first product may begin the sum.
    if (op->getNumOperands() != late->getNumOperands() &&
        !isa<rtile::DotOp>(op))
      return false;
    for (auto [a, b] : llvm::zip(late->getOperands(), op->getOperands()))
      if (a.getType() != b.getType() || (isLate(a) && !match(a, b)))
        return false;
    return true;
  }

  LoopStages &stages;
  DenseMap<Operation *, Operation *> found;
};

struct AssignStages : ringlet::impl::RTileAssignStagesBase<AssignStages> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getScheduled())
        for (const LoopRow &row : getLoopRows(func))
          assign(row);
    });
  }

  void assign(const LoopRow &row);
};

} // namespace

void AssignStages::assign(const LoopRow &row) {
  auto hasProduct = [](scf::ForOp loop) {
    return !loop.getBody()->getOps<rtile::DotOp>().empty();
  };
  if (llvm::none_of(row, hasProduct))
    return;
  std::vector<LoopStages> all;
  std::string why;
  widenForLoads(*row.front()->getBlock());
  for (scf::ForOp loop : row) {
    widenForLoads(*loop.getBody());
    LoopStages &stages = all.emplace_back(loop, mostStage);
    if (reload)
      stages.reload();
    if (stages.assign(why))
      continue;
    remark::missed(loop.getLoc(), remark::RemarkOpts::name("AssignStages")
                                      .category("rtile-assign-stages"))
        << why;
    return;
  }
  for (LoopStages &stages : all)
    stages.annotate();
  FrontMatcher front(all.front());
  bool hasFront = front.match();
  if (hasFront)
    front.annotate();
  int64_t count = all.front().countProducts();
  std::string text =
      (count == 1 ? std::string("a product")
                  : llvm::formatv("{0} products", count).str()) +
      " of each step " + (count == 1 ? "runs" : "run") +
      " one step late, beside the first product of the next step";
  remark::passed(
      all.front().getLoop().getLoc(),
      remark::RemarkOpts::name("AssignStages").category("rtile-assign-stages"))
      << text;
}
