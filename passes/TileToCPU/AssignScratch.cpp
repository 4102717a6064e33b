//===- AssignScratch.cpp - Where tiles lie in scratch memory -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"
#include "passes/TileToCPU/ScratchPlan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEASSIGNSCRATCH
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Points in time of a kernel's operations, in the order of emission.
class Timeline {
public:
  explicit Timeline(rtile::FuncOp func) { number(func.getBody().front()); }

  int64_t at(Operation *op) const {
    int64_t group = getGroup(op);
    return group < 0 ? begins.lookup(op)
                     : groups.lookup(group).begin + getPhase(op);
  }
  /// End of an operation with regions.
  int64_t endOf(Operation *op) const { return ends.lookup(op); }
  Lifetime getGroupSpan(int64_t group) const { return groups.lookup(group); }

private:
  void number(Block &block) {
    // A group runs where its last member stands.
    DenseMap<int64_t, Operation *> last;
    DenseMap<int64_t, int64_t> phases;
    for (Operation &op : block)
      if (int64_t group = getGroup(&op); group >= 0) {
        last[group] = &op;
        phases[group] = std::max(phases[group], getPhase(&op) + 1);
      }
    for (Operation &op : block) {
      int64_t group = getGroup(&op);
      if (group >= 0) {
        if (last[group] != &op)
          continue;
        groups[group] = {now, now + phases[group] - 1};
        now += phases[group];
        continue;
      }
      begins[&op] = now++;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
      if (op.getNumRegions())
        ends[&op] = now++;
    }
  }

  int64_t now = 0;
  DenseMap<Operation *, int64_t> begins, ends;
  DenseMap<int64_t, Lifetime> groups;
};

/// Collects the places of one kernel, shares them and writes the result.
class Assignment {
public:
  Assignment(rtile::FuncOp func)
      : func(func), geometry(Geometry::of(func)), time(func) {}

  void run() {
    // What the input may say already is no decision of this pass.
    func.walk([](Operation *op) {
      op->removeDiscardableAttr(slotsAttr);
      op->removeDiscardableAttr(localAttr);
    });
    func.walk<WalkOrder::PreOrder>([&](Operation *op) { addPlaces(op); });
    // Loops first: what they carry is read and written most often.
    func.walk([&](scf::ForOp loop) { shareCarried(loop); });
    func.walk([&](scf::IfOp branch) { shareResults(branch); });
    func.walk([&](Operation *op) { shareOperand(op); });
    func.walk([&](scf::ForOp loop) { addTemporaries(loop); });
    int64_t bytes = plan.allocate();
    func.walk([&](Operation *op) { write(op); });
    Builder builder(func.getContext());
    func->setAttr(scratchAttr, builder.getI64IntegerAttr(bytes));
    remark::passed(func.getLoc(), remark::RemarkOpts::name("AssignScratch")
                                      .category("rtile-assign-scratch")
                                      .function(func.getSymName()))
        << llvm::formatv("{0}: {1} bytes of scratch memory a thread",
                         func.getSymName(), bytes)
               .str();
  }

private:
  static std::string getShape(RankedTensorType tile, bool local,
                              StringRef form = "panels") {
    std::string shape = form.str() + (local ? " local" : "");
    for (int64_t size : tile.getShape())
      shape += llvm::formatv(" {0}", size).str();
    return shape;
  }

  int64_t addPlace(RankedTensorType tile, bool local = false,
                   StringRef form = "panels") {
    int64_t bytes =
        local ? geometry.panelBytes(tile.getDimSize(0), tile.getDimSize(1))
        : form == "rows"
            ? geometry.rowsBytes(tile.getDimSize(0), tile.getDimSize(1))
            : geometry.tileBytes(tile);
    return plan.addPlace(bytes, getShape(tile, local, form));
  }

  void addPlaces(Operation *op) {
    if (auto load = dyn_cast<rtile::LoadOp>(op))
      return addLoad(load);
    if (auto store = dyn_cast<rtile::StoreOp>(op))
      return addStore(store);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return addLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return addBranch(branch);
    if (runsAlone(op))
      return addAlone(op);
    if (getGroup(op) < 0)
      return;
    Value tile = op->getResult(0);
    if (auto dot = dyn_cast<rtile::DotOp>(op))
      addDot(dot);
    if (!needsPlace(tile))
      return;
    bool local = isLocal(tile);
    int64_t place = addPlace(getTile(tile), local);
    places[tile] = place;
    Lifetime span = time.getGroupSpan(getGroup(op));
    int64_t begin = time.at(op);
    auto [exact, wide] = getLastUse(tile, begin, span.end, local);
    if (local)
      wide = exact;
    plan.addLifetime(place, {begin, exact}, {local ? begin : span.begin, wide});
  }

  void addDot(rtile::DotOp dot) {
    Lifetime span = time.getGroupSpan(getGroup(dot));
    if (dot->hasAttr(repackAttr)) {
      repacked[dot] = addPlace(getTile(dot.getRhs()), false, "rows");
      // Packed before the first panel.
      plan.addLifetime(repacked[dot], span, span);
    } else if (dot->hasAttr(pairedAttr) && !getPairedLoad(dot.getLhs())) {
      // Pairs are made of one panel after the other.
      RankedTensorType pairs = pairColumns(getTile(dot.getLhs()));
      repacked[dot] = addPlace(pairs, /*local=*/true);
      Lifetime point = {time.at(dot), time.at(dot)};
      plan.addLifetime(repacked[dot], point, point);
    }
  }

  void addLoad(rtile::LoadOp load) {
    int64_t begin = time.at(load);
    RankedTensorType tile = getStored(load);
    bool inPlace = tile.getRank() == 1 || hasForm(load, "panels");
    if (inPlace)
      places[load] = addPlace(tile);
    auto [exact, wide] = getLastUse(load, begin, begin, false);
    if (inPlace)
      plan.addLifetime(places[load], {begin, exact}, {begin, wide});
    if (tile.getRank() == 1)
      return;
    // Memory is read in rows, if only to make panels of them.
    rows[load] = addPlace(getCopied(load), false, "rows");
    int64_t end = hasForm(load, "rows") ? wide : begin;
    plan.addLifetime(rows[load], {begin, end}, {begin, end});
  }

  void addStore(rtile::StoreOp store) {
    auto load = store.getTile().getDefiningOp<rtile::LoadOp>();
    RankedTensorType tile = getTile(store.getTile());
    if (tile.getRank() == 1 || (load && hasForm(load, "rows")))
      return;
    rows[store] = addPlace(tile, false, "rows");
    int64_t point = time.at(store);
    plan.addLifetime(rows[store], {point, point}, {point, point});
  }

  void addAlone(Operation *op) {
    Value result = op->getResult(0);
    if (!getTile(result))
      return;
    int64_t begin = time.at(op);
    places[result] = addPlace(getTile(result));
    auto [exact, wide] = getLastUse(result, begin, begin, false);
    plan.addLifetime(places[result], {begin, exact}, {begin, wide});
  }

  void addLoop(scf::ForOp loop) {
    int64_t begin = time.at(loop), end = time.endOf(loop);
    int64_t yield = time.at(loop.getBody()->getTerminator());
    for (auto [argument, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) {
      if (!getTile(argument))
        continue;
      int64_t place = addPlace(getTile(argument));
      places[argument] = places[result] = place;
      auto [exact, wide] = getLastUse(argument, begin, begin, false);
      plan.addLifetime(place, {begin, exact}, {begin, wide});
      plan.addLifetime(place, {yield, end}, {yield, end});
      std::tie(exact, wide) = getLastUse(result, end, end, false);
      plan.addLifetime(place, {end, exact}, {end, wide});
    }
  }

  void addBranch(scf::IfOp branch) {
    int64_t end = time.endOf(branch);
    for (Value result : branch.getResults()) {
      if (!getTile(result))
        continue;
      int64_t place = places[result] = addPlace(getTile(result));
      for (Block *side : {branch.thenBlock(), branch.elseBlock()}) {
        int64_t yield = time.at(side->getTerminator());
        plan.addLifetime(place, {yield, yield}, {yield, yield});
      }
      auto [exact, wide] = getLastUse(result, end, end, false);
      plan.addLifetime(place, {end, exact}, {end, wide});
    }
  }

  /// Last read of a value, exact and wide, at least `begin` and `wideBegin`.
  std::pair<int64_t, int64_t> getLastUse(Value tile, int64_t begin,
                                         int64_t wideBegin, bool local) {
    int64_t exact = begin, wide = wideBegin;
    walkUses(tile, [&](OpOperand &use, bool whole) {
      Operation *user = use.getOwner();
      int64_t point = time.at(user), widePoint = point;
      if (int64_t group = getGroup(user); group >= 0 && !local) {
        widePoint = time.getGroupSpan(group).end;
        if (whole)
          point = widePoint;
      }
      if (whole || (isa<rtile::DotOp>(user) && use.getOperandNumber() == 0))
        noteOrderedRead(tile, point);
      // What comes from outside a loop is needed until its last turn.
      for (Operation *outer = user->getParentOp();
           !outer->getRegion(0).isAncestor(tile.getParentRegion());
           outer = outer->getParentOp())
        if (isa<scf::ForOp>(outer))
          point = widePoint = std::max(point, time.endOf(outer));
      exact = std::max(exact, point);
      wide = std::max(wide, widePoint);
    });
    return {exact, wide};
  }

  /// A product reads all columns of its left operand for each block of its
  /// result, and every panel may read what is read as a whole: neither can be
  /// one place with what is written at that point.
  void noteOrderedRead(Value tile, int64_t point) {
    if (auto place = places.find(tile); place != places.end())
      plan.forbidUpdate(place->second, point);
  }

  bool share(Value a, Value b) {
    auto first = places.find(a), second = places.find(b);
    return first != places.end() && second != places.end() &&
           plan.tryShare(first->second, second->second);
  }

  void shareCarried(scf::ForOp loop) {
    for (auto [argument, init, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(),
                         loop.getYieldedValues())) {
      share(argument, yielded);
      share(argument, init);
    }
  }

  void shareResults(scf::IfOp branch) {
    if (branch.getNumResults() == 0)
      return;
    for (auto [result, first, second] :
         llvm::zip_equal(branch.getResults(), branch.thenYield().getResults(),
                         branch.elseYield().getResults())) {
      share(result, first);
      share(result, second);
    }
  }

  void shareOperand(Operation *op) {
    if (getGroup(op) < 0)
      return;
    walkOperands(op, [&](Value operand, bool) {
      // A product whose initial value is made inside it takes its place from
      // what that is made of.
      if (!places.count(operand) && operand.getDefiningOp() &&
          getGroup(operand.getDefiningOp()) == getGroup(op))
        walkOperands(operand.getDefiningOp(), [&](Value inner, bool) {
          share(op->getResult(0), inner);
        });
      share(op->getResult(0), operand);
    });
  }

  /// Where a loop yields one of its own places as another, the copies need
  /// places in between.
  void addTemporaries(scf::ForOp loop) {
    int64_t yield = time.at(loop.getBody()->getTerminator());
    auto arguments = loop.getRegionIterArgs();
    for (auto [index, yielded] : llvm::enumerate(loop.getYieldedValues())) {
      auto from = places.find(yielded);
      if (from == places.end())
        continue;
      for (auto [other, argument] : llvm::enumerate(arguments))
        if (other != index && places.count(argument) &&
            plan.isShared(from->second, places[argument])) {
          int64_t place = addPlace(getTile(yielded));
          plan.addLifetime(place, {yield, yield}, {yield, yield});
          temporaries[{loop, index}] = place;
          break;
        }
    }
  }

  int64_t getOffset(int64_t place) { return plan.getOffset(place); }
  int64_t getOffset(Value value) {
    auto place = places.find(value);
    return place == places.end() ? -1 : getOffset(place->second);
  }
  int64_t getRowsOffset(Operation *op) {
    auto place = rows.find(op);
    return place == rows.end() ? -1 : getOffset(place->second);
  }

  void write(Operation *op) {
    SmallVector<int64_t> slots;
    if (isa<rtile::StoreOp>(op)) {
      slots = {getRowsOffset(op)};
    } else if (auto load = dyn_cast<rtile::LoadOp>(op)) {
      slots = {getOffset(load), getRowsOffset(op)};
    } else if (isa<scf::ForOp, scf::IfOp>(op)) {
      for (Value result : op->getResults())
        slots.push_back(getOffset(result));
      for (size_t index = 0; isa<scf::ForOp>(op) && index < op->getNumResults();
           ++index) {
        auto place = temporaries.find({op, index});
        slots.push_back(place == temporaries.end() ? -1
                                                   : getOffset(place->second));
      }
    } else if (runsAlone(op)) {
      slots = {getOffset(op->getResult(0))};
    } else if (getGroup(op) >= 0) {
      slots = {getOffset(op->getResult(0))};
      if (auto place = repacked.find(op); place != repacked.end())
        slots.push_back(getOffset(place->second));
      if (slots[0] >= 0 && isLocal(op->getResult(0)))
        op->setAttr(localAttr, UnitAttr::get(op->getContext()));
    }
    if (!slots.empty())
      op->setAttr(slotsAttr, DenseI64ArrayAttr::get(op->getContext(), slots));
  }

  rtile::FuncOp func;
  Geometry geometry;
  Timeline time;
  ScratchPlan plan;
  DenseMap<Value, int64_t> places;
  /// Places in rows: of loads, and of stores to make rows of panels.
  DenseMap<Operation *, int64_t> rows;
  /// The operand of a product in the form that it is read in.
  DenseMap<Operation *, int64_t> repacked;
  DenseMap<std::pair<Operation *, int64_t>, int64_t> temporaries;
};

struct AssignScratch : ringlet::impl::RTileAssignScratchBase<AssignScratch> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      if (!Geometry::isDecided(func)) {
        func.emitOpError("expected the decisions of rtile-pack-operands");
        return WalkResult::interrupt();
      }
      Assignment(func).run();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
