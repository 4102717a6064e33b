//===- Plan.cpp - Operations of the host's part ---------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan runs twice. The first time, buffers get sizes but no memory and
// launches do nothing: all requirements are checked "before anything is
// allocated or launched", wherever they stand.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "lib/Layout/Order.h"

#include "mlir/IR/SymbolTable.h"

#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

static LogicalResult runSize(Machine &machine, const Instruction &instruction) {
  auto op = cast<rplan::SizeOp>(instruction.op);
  machine.intResult(instruction)[0] =
      machine.operand(instruction, 0).buffer->sizes[op.getAxis()];
  return success();
}

static LogicalResult runRead(Machine &machine, const Instruction &instruction) {
  const Buffer &buffer = *machine.operand(instruction, 0).buffer;
  if (!buffer.isArgument)
    return machine.fail(instruction, "expected a scalar argument in host "
                                     "memory, found a buffer of the plan");
  std::memcpy(&machine.intResult(instruction)[0], buffer.data, sizeof(int64_t));
  return success();
}

static bool holds(rplan::Comparison comparison, int64_t lhs, int64_t rhs) {
  switch (comparison) {
  case rplan::Comparison::eq:
    return lhs == rhs;
  case rplan::Comparison::ne:
    return lhs != rhs;
  case rplan::Comparison::lt:
    return lhs < rhs;
  case rplan::Comparison::le:
    return lhs <= rhs;
  }
  return false;
}

static LogicalResult runRequire(Machine &machine,
                                const Instruction &instruction) {
  auto op = cast<rplan::RequireOp>(instruction.op);
  int64_t lhs = machine.scalar(instruction, 0);
  int64_t rhs = machine.scalar(instruction, 1);
  if (holds(op.getComparison(), lhs, rhs))
    return success();
  return machine.fail(instruction, op.getMessage() + ", found " + Twine(lhs) +
                                       " and " + Twine(rhs));
}

/// Makes a buffer with the sizes of `type`, of which `dynamic` fills the '?'.
static Buffer &makeBuffer(Machine &machine, MemRefType type, DType dtype,
                          ArrayRef<int64_t> dynamic) {
  Buffer &buffer = machine.run.addBuffer();
  buffer.dtype = dtype;
  size_t next = 0;
  for (int64_t size : type.getShape())
    buffer.sizes.push_back(ShapedType::isDynamic(size) ? dynamic[next++]
                                                       : size);
  return buffer;
}

static LogicalResult runWorkspace(Machine &machine,
                                  const Instruction &instruction) {
  auto type = cast<MemRefType>(instruction.op->getResult(0).getType());
  std::string name;
  llvm::raw_string_ostream(name) << type.getElementType();
  std::optional<DType> dtype = parseDType(name);
  if (!dtype)
    return machine.fail(instruction,
                        "expected a known element type, found " + name);
  SmallVector<int64_t> sizes;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    sizes.push_back(machine.scalar(instruction, i));
    if (sizes.back() < 0)
      return machine.fail(instruction, "expected sizes of at least 0, found " +
                                           Twine(sizes.back()));
  }
  Buffer &buffer = makeBuffer(machine, type, *dtype, sizes);
  machine[instruction.results[0]].buffer = &buffer;
  return machine.run.checking ? success()
                              : machine.run.allocate(buffer, instruction.op);
}

static LogicalResult runOrderTable(Machine &machine,
                                   const Instruction &instruction) {
  auto op = cast<rplan::OrderTableOp>(instruction.op);
  auto type = cast<MemRefType>(op.getResult().getType());
  int64_t length = machine.scalar(instruction, 0);
  std::shared_ptr<const layout::Order> order = op.getOrder().getOrder();
  if (!order)
    return machine.fail(instruction, "expected a legal order (O1)");
  std::string error = order->validate(length);
  if (!error.empty())
    return machine.fail(instruction, error);
  Buffer &buffer = makeBuffer(machine, type, DType::i64, {length});
  buffer.readOnly = true;
  machine[instruction.results[0]].buffer = &buffer;
  if (machine.run.checking)
    return success();
  if (failed(machine.run.allocate(buffer, instruction.op)))
    return failure();
  for (int64_t m = 0; m < length; ++m) {
    int64_t entry =
        op.getInverse() ? order->slot(m, length) : order->token(m, length);
    std::memcpy(buffer.data + m * static_cast<int64_t>(sizeof entry), &entry,
                sizeof entry);
  }
  return success();
}

static LogicalResult runLaunch(Machine &machine,
                               const Instruction &instruction) {
  if (machine.run.checking)
    return success();
  auto op = cast<rplan::LaunchOp>(instruction.op);
  size_t gridRank = op.getGrid().size();
  SmallVector<int64_t> grid;
  SmallVector<const Datum *> arguments;
  // Here every kernel runs: nothing is ever filled in place of one.
  for (size_t i = 0; i < gridRank + op.getArgs().size(); ++i) {
    if (i < gridRank)
      grid.push_back(machine.scalar(instruction, i));
    else
      arguments.push_back(&machine.operand(instruction, i));
  }
  return machine.run.launchKernel(
      op, SymbolTable::lookupNearestSymbolFrom(op, op.getKernelAttr()), grid,
      arguments);
}

void interpreter::registerPlan(HandlerTable &table) {
  table["rplan.size"] = runSize;
  table["rplan.read"] = runRead;
  table["rplan.require"] = runRequire;
  table["rplan.workspace"] = runWorkspace;
  table["rplan.order_table"] = runOrderTable;
  table["rplan.launch"] = runLaunch;
}
