//===- PipelineRow.cpp - What one pipeline can be made of -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/PipelineRow.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ringlet;

rtile::StageAttr ringlet::getStage(Operation *op) {
  return op->getAttrOfType<rtile::StageAttr>(rtile::kStageAttr);
}

bool ringlet::isLate(Operation *op) {
  rtile::StageAttr stage = op ? getStage(op) : rtile::StageAttr();
  return stage && stage.getStage() > 0;
}

SmallVector<Value> ringlet::getStageOperands(Operation *op) {
  SmallVector<Value> operands(op->getOperands());
  if (auto dot = dyn_cast<rtile::DotOp>(op); dot && !dot.getInit())
    operands.push_back(nullptr);
  return operands;
}

/// Late operations in front of `loop` that make what it starts from, in order.
static SmallVector<Operation *> getFront(scf::ForOp loop) {
  DenseSet<Operation *> found;
  SmallVector<Value> work(loop.getInitArgs());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == loop->getBlock() && isLate(op) &&
        found.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> front(found.begin(), found.end());
  llvm::sort(front,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return front;
}

bool PipelineRow::collect(ArrayRef<scf::ForOp> loops, std::string &why) {
  if (hasFront) {
    steps.push_back({nullptr, getFront(loops.front())});
    if (steps.back().late.empty())
      return fail(why, "expected a step in front of the loops, found none");
  }
  for (scf::ForOp loop : loops) {
    Step step{loop, {}};
    for (Operation &op : loop.getBody()->without_terminator())
      if (isLate(&op))
        step.late.push_back(&op);
    steps.push_back(step);
  }
  return true;
}

bool PipelineRow::areAlike(std::string &why) {
  const Step &first = getFirstLoop();
  if (first.late.empty())
    return fail(why, "expected operations of later stages, found none");
  for (const Step &step : steps) {
    if (step.late.size() != first.late.size())
      return fail(why, "expected as many late operations in each step, found " +
                           Twine(first.late.size()) + " and " +
                           Twine(step.late.size()));
    for (auto [a, b] : llvm::zip_equal(first.late, step.late))
      if (a->getName() != b->getName() || a->getNumRegions() != 0 ||
          a->getAttrDictionary() != b->getAttrDictionary() ||
          a->getResultTypes() != b->getResultTypes() ||
          getStageOperands(a).size() != getStageOperands(b).size())
        return fail(why, "expected the same late operations in each step, "
                         "found " +
                             a->getName().getStringRef() + " and " +
                             b->getName().getStringRef());
  }
  return true;
}

bool PipelineRow::findCrossings(std::string &why) {
  const Step &first = getFirstLoop();
  for (auto [number, op] : llvm::enumerate(first.late)) {
    for (int64_t i = 0, e = getStageOperands(op).size(); i < e; ++i) {
      SmallVector<Value> values;
      SmallVector<int64_t> makers;
      for (const Step &step : steps) {
        values.push_back(getStageOperands(step.late[number])[i]);
        makers.push_back(step.getNumber(values.back()));
      }
      if (!llvm::all_equal(makers))
        return fail(why, "expected the same operands of late operations in "
                         "each step, found others");
      bool isInside =
          llvm::any_of(llvm::zip_equal(steps, values), [](auto pair) {
            auto [step, value] = pair;
            return value && step.isInside(value);
          });
      if (makers.front() >= 0 || (!isInside && llvm::all_equal(values)))
        continue;
      Crossing *known = llvm::find_if(crossings, [&](const Crossing &other) {
        return other.values == values;
      });
      if (known == crossings.end()) {
        auto some = llvm::find_if(values, [](Value v) { return v != nullptr; });
        crossings.push_back({values, {}, some->getType()});
        known = &crossings.back();
      }
      known->uses.emplace_back(number, i);
      for (Value value : values)
        if (value && value.getType() != known->type)
          return fail(why, "expected operands of one type in all steps");
    }
  }
  return true;
}

bool PipelineRow::findSlots(std::string &why) {
  auto getMaker = [](const Step &step, Value value) {
    int64_t number = step.getNumber(value);
    return std::pair<int64_t, unsigned>(
        number, number < 0 ? 0 : cast<OpResult>(value).getResultNumber());
  };
  scf::ForOp firstLoop = getFirstLoop().getLoop();
  for (unsigned slot = 0; slot < firstLoop.getNumRegionIterArgs(); ++slot) {
    SmallVector<std::pair<int64_t, unsigned>> makers;
    for (const Step &step : steps) {
      Value next =
          step.getLoop()
              ? step.getLoop().getBody()->getTerminator()->getOperand(slot)
              : firstLoop.getInitArgs()[slot];
      makers.push_back(getMaker(step, next));
    }
    if (!llvm::all_equal(makers))
      return fail(why, "expected the same carried values from late operations "
                       "of all steps, found others");
    lateSlots.push_back(makers.front());
  }
  // Nothing else may need a step in front of the row.
  for (const Step &step : steps)
    for (Operation *op : step.late)
      for (Operation *user : op->getUsers())
        if (!step.getLoop() && user != firstLoop &&
            !llvm::is_contained(step.late, user))
          return fail(why, "expected late operations in front of loops to "
                           "serve these, found a use by " +
                               user->getName().getStringRef());
  return true;
}

/// A pass does what its order allows: operations of a stage that depend on each
/// other, and those of stage 0 on late ones of the step before.
bool PipelineRow::checkOrder(std::string &why) {
  for (const Step &step : steps) {
    if (!step.getLoop())
      continue;
    int64_t cluster = 0;
    DenseMap<Operation *, std::pair<int64_t, int64_t>> places;
    for (Operation &op : step.getLoop().getBody()->without_terminator()) {
      rtile::StageAttr stage = getStage(&op);
      cluster = stage ? stage.getCluster() : cluster;
      std::pair<int64_t, int64_t> place(stage ? stage.getStage() : 0, cluster);
      places[&op] = place;
      std::string problem;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          Operation *source = operand.getDefiningOp();
          source =
              source ? step.getLoop().getBody()->findAncestorOpInBlock(*source)
                     : nullptr;
          if (source && source != &op) {
            auto from = places.lookup(source);
            bool isCrossing = from.first == 0 && place.first > 0;
            if (from.first > place.first ||
                (!isCrossing && from.second > place.second))
              problem = source->getName().getStringRef();
          }
          auto argument = dyn_cast<BlockArgument>(operand);
          if (!argument || argument.getOwner() != step.getLoop().getBody() ||
              argument == step.getLoop().getInductionVar() || place.first > 0)
            continue;
          int64_t maker = lateSlots[argument.getArgNumber() - 1].first;
          if (maker >= 0 &&
              (getStage(step.late[maker]).getStage() > 1 ||
               getStage(step.late[maker]).getCluster() > place.second))
            problem = step.late[maker]->getName().getStringRef();
        }
      });
      if (!problem.empty())
        return fail(why, "expected " + op.getName().getStringRef() +
                             " in a stage and cluster behind those of " +
                             problem + " that it needs, found it before");
    }
  }
  return true;
}

/// Late loads would pass what the next step writes, and early ones what stood
/// before them.
bool PipelineRow::checkMemory(std::string &why) {
  bool isReading = llvm::any_of(getFirstLoop().late, [](Operation *op) {
    return !isMemoryEffectFree(op);
  });
  if (hasFront && isReading)
    for (Operation *op = steps.front().late.front();
         op != getFirstLoop().getLoop(); op = op->getNextNode())
      if (mayWrite(op))
        return fail(why, "expected nothing to write between a step and its "
                         "loop, found " +
                             op->getName().getStringRef());
  for (const Step &step : steps) {
    for (Operation *op : step.late)
      if (!isa<rtile::LoadOp>(op) && !isMemoryEffectFree(op))
        return fail(why, "expected late operations that load or compute, "
                         "found " +
                             op->getName().getStringRef());
    if (!step.getLoop())
      continue;
    Operation *writer = nullptr;
    bool keepsOrder = true;
    int64_t cluster = 0, latest = 0;
    for (Operation &op : step.getLoop().getBody()->without_terminator()) {
      if (rtile::StageAttr stage = getStage(&op))
        cluster = stage.getCluster();
      if (isLate(&op) || isMemoryEffectFree(&op))
        continue;
      keepsOrder &= cluster >= latest;
      latest = cluster;
      if (mayWrite(&op))
        writer = &op;
    }
    if (writer && (isReading || !keepsOrder))
      return fail(why, "expected loops that write nothing, or loads in their "
                       "order, found " +
                           writer->getName().getStringRef());
  }
  return true;
}

std::optional<PipelineRow> PipelineRow::match(ArrayRef<scf::ForOp> loops,
                                              bool hasFront, std::string &why) {
  PipelineRow row;
  row.hasFront = hasFront;
  if (row.collect(loops, why) && row.areAlike(why) && row.findCrossings(why) &&
      row.findSlots(why) && row.checkOrder(why) && row.checkMemory(why))
    return row;
  return std::nullopt;
}
