//===- EmitRows.cpp - Groups of operations on panels of rows -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Elementwise.h"
#include "passes/TileToCPU/Emitter.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

//===----------------------------------------------------------------------===//
// Registers and panels
//===----------------------------------------------------------------------===//

Type Emitter::getRegisterType(RankedTensorType tile, int64_t lanes) {
  Type element = tile.getElementType();
  if (isa<FloatType>(element))
    element = b.getF32Type();
  return b.getVector(element, lanes);
}

Value Emitter::loadTile(RankedTensorType tile, Value pointer, int64_t lanes) {
  int64_t alignment = std::min<int64_t>(4 * lanes, 64);
  if (!tile.getElementType().isInteger(1))
    return b.load(getRegisterType(tile, lanes), pointer, alignment);
  Type words = b.getVector(b.getI32Type(), lanes);
  return b.compare(arith::CmpIPredicate::ne, b.load(words, pointer, alignment),
                   b.integer(words, 0));
}

void Emitter::storeTile(Value vector, Value pointer) {
  Type type = vector.getType();
  int64_t alignment = std::min<int64_t>(4 * CodeBuilder::lanesOf(vector), 64);
  if (getElementTypeOrSelf(type).isInteger(1))
    vector = arith::ExtSIOp::create(
        b, CodeBuilder::withElement(type, b.getI32Type()), vector);
  b.store(vector, pointer, alignment);
}

Value Emitter::getPanelAddress(int64_t slot, RankedTensorType tile, bool local,
                               const Panel &panel) {
  Value place = getPlace(slot);
  if (local)
    return place;
  int64_t bytes = tile.getRank() == 1
                      ? getVectorBytes(panel)
                      : geometry.panelBytes(panel.height, tile.getDimSize(1));
  return b.at(place, b.mul(panel.index, bytes));
}

Value Emitter::getPanelAddress(Value tile, const Panel &panel) {
  Operation *op = tile.getDefiningOp();
  return getPanelAddress(getSlot(tile), getTile(tile),
                         op && op->hasAttr(localAttr), panel);
}

void Emitter::forEachPanel(int64_t height, function_ref<void(Panel &)> body) {
  Panel panel(geometry, height);
  int64_t count = geometry.panels(height);
  if (count == 1) {
    panel.index = b.i64(0);
    return body(panel);
  }
  b.loop(b.i64(0), getPanels(height), b.i64(1), [&](Value index) {
    panel.index = index;
    body(panel);
  });
}

//===----------------------------------------------------------------------===//
// Panels without rows
//===----------------------------------------------------------------------===//

void Emitter::findTrimmedRows(rtile::FuncOp func) {
  auto heights = func->getAttrOfType<DenseI64ArrayAttr>(trimmedRowsAttr);
  if (!heights)
    return;
  for (int64_t height : heights.asArrayRef()) {
    TrimmedRows trimmed{height, {}, nullptr, nullptr};
    func.walk([&](rtile::StoreOp store) {
      if (getTile(store.getTile()).getDimSize(0) == height)
        trimmed.stores.push_back(store);
    });
    trimmed.known = getRowsKnown(trimmed.stores);
    trimmedRows.push_back(trimmed);
  }
}

void Emitter::countPanels(Operation *op) {
  for (TrimmedRows &trimmed : trimmedRows) {
    if (trimmed.known != op)
      continue;
    Value row = getScalar(trimmed.stores.front().getOffsets()[0]);
    Value count = b.i64(0);
    for (rtile::StoreOp store : trimmed.stores)
      count = b.max(count, b.sub(views[store.getView()].rows.end, row));
    int64_t panelRows = geometry.panelRows(trimmed.height);
    PositionBuilder position(b, b.getI64Type());
    Value panels = position.ceilDiv(count, panelRows);
    trimmed.panels = b.min(panels, b.i64(geometry.panels(trimmed.height)));
  }
}

Value Emitter::getPanels(int64_t height) {
  for (const TrimmedRows &trimmed : trimmedRows)
    if (trimmed.height == height && trimmed.panels)
      return trimmed.panels;
  return b.i64(geometry.panels(height));
}

//===----------------------------------------------------------------------===//
// Values of one column
//===----------------------------------------------------------------------===//

Value Emitter::emitConstant(arith::ConstantOp op, int64_t lanes) {
  auto splat = cast<SplatElementsAttr>(op.getValue());
  Type type = getRegisterType(getTile(op), lanes);
  if (isa<FloatType>(splat.getElementType()))
    return b.real(type, splat.getSplatValue<APFloat>().convertToDouble());
  return b.integer(type, splat.getSplatValue<APInt>().getSExtValue());
}

Value Emitter::getRowValue(Value tile, Panel &panel) {
  if (Value known = panel.rowValues.lookup(tile))
    return known;
  Value result;
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>();
      constant && isRepeated(constant)) {
    result = emitConstant(constant, panel.lanes());
  } else {
    result =
        loadTile(getTile(tile), getPanelAddress(tile, panel), panel.lanes());
  }
  panel.rowValues[tile] = result;
  return result;
}

void Emitter::prepare(Value tile, Panel &panel, int64_t group, int64_t phase) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return;
  if (isRepeated(op) || (getGroup(op) == group && getPhase(op) == phase)) {
    if (auto mask = dyn_cast<rtile::VisibleOp>(op))
      return prepareMask(mask, panel);
    if (auto broadcast = dyn_cast<rtile::BroadcastOp>(op)) {
      Value input = broadcast.getInput();
      if (!broadcast.getColumns() || isRepeated(input.getDefiningOp()))
        getRowValue(input, panel);
      return;
    }
    for (Value operand : op->getOperands())
      if (getTile(operand))
        prepare(operand, panel, group, phase);
  }
}

Value Emitter::getColumnValue(Value tile, Panel &panel, Column &column) {
  if (Value known = column.values.lookup(tile))
    return known;
  Operation *op = tile.getDefiningOp();
  Value result;
  bool here = op && (isRepeated(op) || (getGroup(op) == column.group &&
                                        getPhase(op) == column.phase));
  if (!here) {
    Value toColumn = b.mul(column.index, getVectorBytes(panel));
    Value from = b.at(getPanelAddress(tile, panel), toColumn);
    result = loadTile(getTile(tile), from, panel.lanes());
  } else if (isa<arith::ConstantOp>(op)) {
    result = emitConstant(cast<arith::ConstantOp>(op), panel.lanes());
  } else if (auto mask = dyn_cast<rtile::VisibleOp>(op)) {
    result = emitMask(mask, panel, column);
  } else if (auto broadcast = dyn_cast<rtile::BroadcastOp>(op)) {
    Value input = broadcast.getInput();
    if (!broadcast.getColumns() || isRepeated(input.getDefiningOp()))
      return getRowValue(input, panel);
    Value toColumn = b.mul(column.index, 4);
    Value from = b.at(getPlace(getSlot(input)), toColumn);
    result = b.splat(loadTile(getTile(input), from, 1), panel.lanes());
  } else if (op->hasAttr(unroundedAttr)) {
    result = getColumnValue(op->getOperand(0), panel, column);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getTile(operand)
                             ? getColumnValue(operand, panel, column)
                             : getScalar(operand));
    result = emitElementwise(b, op, operands);
  }
  column.values[tile] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Emitter::emitGroup(ArrayRef<Operation *> members) {
  SmallVector<SmallVector<Operation *>> phases;
  for (Operation *op : members) {
    phases.resize(std::max<size_t>(phases.size(), getPhase(op) + 1));
    phases[getPhase(op)].push_back(op);
    if (auto dot = dyn_cast<rtile::DotOp>(op);
        dot && dot->hasAttr(repackAttr)) {
      RankedTensorType tile = getTile(dot.getRhs());
      Value panels = getPlace(getSlot(dot.getRhs()));
      Value rows = getPlace(getSlots(op)[1]);
      repack(rows, panels, getPanels(tile.getDimSize(0)), tile.getDimSize(0),
             tile.getDimSize(1), /*toPanels=*/false);
    }
  }
  arith::SelectOp trimming;
  for (Operation *op : members)
    if (isa<arith::SelectOp>(op) && op->hasAttr(trimmedAttr))
      trimming = cast<arith::SelectOp>(op);
  forEachPanel(getHeight(members.front()), [&](Panel &panel) {
    if (trimming)
      trim(trimming.getCondition().getDefiningOp<rtile::VisibleOp>(),
           getTrimmed(trimming), panel);
    for (ArrayRef<Operation *> phase : phases) {
      // Of a product's phase, it comes last.
      b.setLoc(phase.back()->getLoc());
      if (auto dot = dyn_cast<rtile::DotOp>(phase.back()))
        emitDot(dot, panel);
      else if (getWidth(phase.front()) == 0)
        emitRowsPhase(phase, panel);
      else
        emitColumnsPhase(phase, panel);
    }
  });
}

std::pair<Value, Value> Emitter::getColumns(Operation *op, const Panel &panel) {
  if (op->hasAttr(trimmedAttr))
    return panel.trimmed;
  return {b.i64(0), b.i64(getWidth(op))};
}

void Emitter::emitRowsPhase(ArrayRef<Operation *> members, Panel &panel) {
  // Another value may get the place of an operand: all reads come first.
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      if (getTile(operand) &&
          !llvm::is_contained(members, operand.getDefiningOp()))
        getRowValue(operand, panel);
  for (Operation *op : members) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      panel.rowValues[constant] = emitConstant(constant, panel.lanes());
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getTile(operand) ? getRowValue(operand, panel)
                                          : getScalar(operand));
    panel.rowValues[op->getResult(0)] = emitElementwise(b, op, operands);
  }
  for (Operation *op : members)
    if (getSlot(op->getResult(0)) >= 0)
      storeTile(panel.rowValues[op->getResult(0)],
                getPanelAddress(op->getResult(0), panel));
}

/// Registers of a reduction: the value so far and, for max and min, whose
/// instructions drop a NaN, whether one was seen.
static void startReduction(CodeBuilder &b, rtile::ReduceOp op, int64_t lanes,
                           SmallVectorImpl<Value> &registers) {
  Type type = b.getVector(b.getF32Type(), lanes);
  double infinity = std::numeric_limits<double>::infinity();
  if (op.getKind() == rtile::ReduceKind::sum) {
    registers.push_back(b.real(type, 0.0));
    return;
  }
  registers.push_back(b.real(
      type, op.getKind() == rtile::ReduceKind::max ? -infinity : infinity));
  registers.push_back(b.integer(b.getVector(b.getI32Type(), lanes), 0));
}

static void stepReduction(CodeBuilder &b, rtile::ReduceOp op, Value value,
                          ValueRange &before, SmallVectorImpl<Value> &after) {
  Value so = before.front();
  before = before.drop_front();
  if (op.getKind() == rtile::ReduceKind::sum) {
    after.push_back(arith::AddFOp::create(b, so, value));
    return;
  }
  auto better = op.getKind() == rtile::ReduceKind::max
                    ? arith::CmpFPredicate::OGT
                    : arith::CmpFPredicate::OLT;
  after.push_back(b.select(b.compare(better, value, so), value, so));
  Value nan = arith::ExtSIOp::create(
      b, CodeBuilder::withElement(value.getType(), b.getI32Type()),
      b.compare(arith::CmpFPredicate::UNO, value, value));
  after.push_back(arith::OrIOp::create(b, before.front(), nan));
  before = before.drop_front();
}

/// Joins the columns that a vector has, lanes `rows` apart: then all lanes of a
/// row have what `join` makes of them.
static Value joinColumns(CodeBuilder &b, Value vector, int64_t rows,
                         function_ref<Value(Value, Value)> join) {
  int64_t lanes = CodeBuilder::lanesOf(vector);
  for (int64_t distance = rows; distance < lanes; distance *= 2) {
    SmallVector<int32_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane)
      mask.push_back(lane ^ distance);
    vector = join(vector, b.shuffle(vector, vector, mask));
  }
  return vector;
}

static Value endReduction(CodeBuilder &b, rtile::ReduceOp op, int64_t rows,
                          ArrayRef<Value> &registers) {
  Value result = registers.front();
  registers = registers.drop_front();
  if (op.getKind() == rtile::ReduceKind::sum)
    return joinColumns(b, result, rows, [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    });
  auto better = op.getKind() == rtile::ReduceKind::max
                    ? arith::CmpFPredicate::OGT
                    : arith::CmpFPredicate::OLT;
  result = joinColumns(b, result, rows, [&](Value x, Value y) {
    return b.select(b.compare(better, y, x), y, x);
  });
  Value nan =
      joinColumns(b, registers.front(), rows, [&](Value x, Value y) -> Value {
        return arith::OrIOp::create(b, x, y);
      });
  registers = registers.drop_front();
  return b.select(
      b.compare(arith::CmpIPredicate::ne, nan, b.integer(nan.getType(), 0)),
      b.real(result.getType(), std::numeric_limits<double>::quiet_NaN()),
      result);
}

void Emitter::emitColumnsPhase(ArrayRef<Operation *> members, Panel &panel) {
  int64_t group = getGroup(members.front());
  int64_t phase = getPhase(members.front());
  SmallVector<Value> registers;
  for (Operation *op : members) {
    prepare(op->getResult(0), panel, group, phase);
    if (auto reduce = dyn_cast<rtile::ReduceOp>(op))
      startReduction(b, reduce, panel.lanes(), registers);
  }
  auto [begin, end] = getColumns(members.front(), panel);
  registers = b.loop(
      begin, end, panel.columns, registers,
      [&](Value index, ValueRange before) {
        Column column(index, group, phase);
        SmallVector<Value> after;
        for (Operation *op : members) {
          if (auto reduce = dyn_cast<rtile::ReduceOp>(op))
            stepReduction(b, reduce,
                          getColumnValue(reduce.getInput(), panel, column),
                          before, after);
          else
            getColumnValue(op->getResult(0), panel, column);
        }
        // Another value may have the place of an operand: all
        // writes come last.
        for (Operation *op : members)
          if (Value result = op->getResult(0);
              !isa<rtile::ReduceOp>(op) && getSlot(result) >= 0) {
            Value toColumn = b.mul(index, getVectorBytes(panel));
            Value place = b.at(getPanelAddress(result, panel), toColumn);
            storeTile(getColumnValue(result, panel, column), place);
          }
        return after;
      });
  ArrayRef<Value> rest = registers;
  for (Operation *op : members) {
    auto reduce = dyn_cast<rtile::ReduceOp>(op);
    if (!reduce)
      continue;
    Value result = panel.rowValues[reduce] =
        endReduction(b, reduce, panel.rows, rest);
    if (getSlot(reduce) >= 0)
      storeTile(result, getPanelAddress(reduce, panel));
  }
}
