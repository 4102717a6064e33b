//===- Decisions.cpp - What the CPU passes write into the IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

const arch::CPULevel *cpu::lookupLevel(Operation *op, StringRef name) {
  std::string error;
  const arch::CPULevel *row = arch::lookupCPULevel(name.str(), &error);
  if (!row)
    emitError(op->getLoc()) << error;
  return row;
}

bool cpu::isRowParallel(Operation *op) {
  if (op->getNumResults() != 1 || !getTile(op->getResult(0)))
    return false;
  if (isa<arith::ConstantOp>(op))
    return false;
  return isa<rtile::DotOp, rtile::ReduceOp>(op) ||
         isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

bool cpu::runsAlone(Operation *op) {
  return isa<rtile::FoldOp, rtile::SliceOp, rtile::JoinOp, rtile::AnyOp>(op);
}

bool cpu::isRepeated(Operation *op) {
  return op && op->getNumResults() == 1 && getTile(op->getResult(0)) &&
         isa<arith::ConstantOp, rtile::BroadcastOp, rtile::VisibleOp>(op) &&
         getGroup(op) < 0;
}

static int64_t getInteger(Operation *op, StringRef name) {
  auto attr = op ? op->getAttrOfType<IntegerAttr>(name) : IntegerAttr();
  return attr ? attr.getInt() : -1;
}

Operation *cpu::getRowsKnown(ArrayRef<rtile::StoreOp> stores) {
  Operation *last = nullptr;
  rtile::StoreOp first = stores.front();
  for (rtile::StoreOp store : stores) {
    Value row = store.getOffsets()[0], view = store.getView();
    if (row != first.getOffsets()[0])
      return nullptr;
    for (Value value : {view, row}) {
      Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      if (!isa<rtile::FuncOp>(op->getParentOp()))
        return nullptr;
      if (!last || last->isBeforeInBlock(op))
        last = op;
    }
  }
  return last;
}

int64_t cpu::getTrimmed(Operation *op) { return getInteger(op, trimmedAttr); }
int64_t cpu::getGroup(Operation *op) { return getInteger(op, groupAttr); }
int64_t cpu::getPhase(Operation *op) { return getInteger(op, phaseAttr); }

static RankedTensorType getWalked(Operation *op) {
  if (auto reduce = dyn_cast<rtile::ReduceOp>(op))
    return getTile(reduce.getInput());
  return getTile(op->getResult(0));
}

int64_t cpu::getHeight(Operation *op) { return getWalked(op).getDimSize(0); }

int64_t cpu::getWidth(Operation *op) {
  RankedTensorType tile = getWalked(op);
  return tile.getRank() == 2 ? tile.getDimSize(1) : 0;
}

static bool readsWhole(Operation *op, unsigned operand) {
  if (auto broadcast = dyn_cast<rtile::BroadcastOp>(op))
    return broadcast.getColumns();
  return isa<rtile::DotOp>(op) && operand == 1;
}

static void walkUses(Value tile, bool whole,
                     function_ref<void(OpOperand &, bool)> use) {
  for (OpOperand &operand : tile.getUses()) {
    Operation *user = operand.getOwner();
    bool all = whole || readsWhole(user, operand.getOperandNumber());
    if (isRepeated(user))
      ::walkUses(user->getResult(0), all, use);
    else
      use(operand, all);
  }
}

void cpu::walkUses(Value tile, function_ref<void(OpOperand &, bool)> use) {
  ::walkUses(tile, false, use);
}

static void walkOperands(Operation *op, bool whole,
                         function_ref<void(Value, bool)> operand) {
  for (OpOperand &value : op->getOpOperands()) {
    if (!getTile(value.get()))
      continue;
    bool all = whole || readsWhole(op, value.getOperandNumber());
    if (isRepeated(value.get().getDefiningOp()))
      ::walkOperands(value.get().getDefiningOp(), all, operand);
    else
      operand(value.get(), all);
  }
}

void cpu::walkOperands(Operation *op, function_ref<void(Value, bool)> operand) {
  ::walkOperands(op, false, operand);
}

bool cpu::isLocal(Value tile) {
  int64_t group = getGroup(tile.getDefiningOp());
  if (group < 0)
    return false;
  bool local = true;
  walkUses(tile, [&](OpOperand &use, bool whole) {
    local &= !whole && getGroup(use.getOwner()) == group;
  });
  return local;
}

bool cpu::needsPlace(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (isa<rtile::DotOp>(op))
    return true;
  if (getTile(tile).getRank() == 1)
    return !isLocal(tile);
  bool needed = false;
  walkUses(tile, [&](OpOperand &use, bool whole) {
    needed |= whole || getGroup(use.getOwner()) != getGroup(op) ||
              getPhase(use.getOwner()) != getPhase(op);
  });
  return needed;
}

bool cpu::hasForm(rtile::LoadOp load, StringRef form) {
  auto forms = load->getAttrOfType<ArrayAttr>(formsAttr);
  return forms && llvm::any_of(forms.getAsRange<StringAttr>(),
                               [&](StringAttr one) { return one == form; });
}

Pairs cpu::getPairs(rtile::LoadOp load) {
  auto pairs = load->getAttrOfType<StringAttr>(pairsAttr);
  if (!pairs)
    return Pairs::None;
  return pairs == "rows" ? Pairs::Rows : Pairs::Columns;
}

rtile::LoadOp cpu::getPairedLoad(Value tile) {
  auto load = tile.getDefiningOp<rtile::LoadOp>();
  return load && getPairs(load) != Pairs::None ? load : rtile::LoadOp();
}

bool cpu::feedsAMX(rtile::LoadOp load) {
  return llvm::any_of(load->getUsers(),
                      [](Operation *user) { return user->hasAttr(amxAttr); });
}

bool cpu::isNarrow(rtile::DotOp dot) {
  auto func = dot->getParentOfType<rtile::FuncOp>();
  return getInteger(func, narrowAttr) == getHeight(dot);
}

bool cpu::endsInZeros(rtile::LoadOp load) {
  return feedsAMX(load) || llvm::any_of(load->getUsers(), [](Operation *user) {
           auto dot = dyn_cast<rtile::DotOp>(user);
           return dot && isNarrow(dot);
         });
}

bool cpu::isF32InMemory(rtile::LoadOp load) {
  auto view = load.getView().getDefiningOp<rtile::ViewOp>();
  return view && view.getBufferType().getElementType().isF32();
}

bool cpu::isReadAsStored(rtile::LoadOp load) {
  if (getTile(load).getRank() != 2 || load->use_empty())
    return false;
  bool isF32 = isF32InMemory(load);
  int64_t lanes = getInteger(load->getParentOfType<rtile::FuncOp>(), lanesAttr);
  return llvm::all_of(load->getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<rtile::DotOp>(use.getOwner());
    return dot && use.getOperandNumber() == 1 &&
           (isNarrow(dot) || (isF32 && getHeight(dot) <= lanes));
  });
}

static RankedTensorType getWords(RankedTensorType tile, int64_t perColumn,
                                 int64_t perRow) {
  return RankedTensorType::get(
      {static_cast<int64_t>(llvm::divideCeil(tile.getDimSize(0), perColumn)),
       static_cast<int64_t>(llvm::divideCeil(tile.getDimSize(1), perRow))},
      IntegerType::get(tile.getContext(), 32));
}

RankedTensorType cpu::pairColumns(RankedTensorType tile) {
  return getWords(tile, 1, 2);
}

RankedTensorType cpu::getStored(rtile::LoadOp load) {
  RankedTensorType tile = getTile(load);
  switch (getPairs(load)) {
  case Pairs::None:
    return tile;
  case Pairs::Columns:
    return pairColumns(tile);
  case Pairs::Rows:
    return getWords(tile, 2, 1);
  }
  llvm_unreachable("all cases are above");
}

bool cpu::weavesInPanels(rtile::LoadOp load) {
  return getPairs(load) == Pairs::Rows && !hasForm(load, "rows");
}

RankedTensorType cpu::getCopied(rtile::LoadOp load) {
  if (!weavesInPanels(load))
    return getStored(load);
  RankedTensorType words = pairColumns(getTile(load));
  // Rows of zeros fill the last register.
  int64_t rows = llvm::alignTo(words.getDimSize(0), 2 * amxSide);
  return RankedTensorType::get({rows, words.getDimSize(1)},
                               words.getElementType());
}

Geometry Geometry::of(rtile::FuncOp func) {
  return {getInteger(func, lanesAttr), getInteger(func, panelAttr),
          getInteger(func, rowPaddingAttr), getInteger(func, narrowAttr)};
}

bool Geometry::isDecided(rtile::FuncOp func) {
  Geometry geometry = of(func);
  return geometry.lanes > 0 && geometry.panel > 0 && geometry.rowPadding > 0;
}

int64_t Geometry::tileBytes(RankedTensorType tile) const {
  int64_t rows = paddedRows(tile.getDimSize(0));
  // One value a row fills a vector, repeated where rows are few.
  return tile.getRank() == 1 ? 4 * std::max(rows, lanes)
                             : 4 * rows * paddedColumns(tile.getDimSize(1));
}
