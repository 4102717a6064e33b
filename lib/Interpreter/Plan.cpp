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
#include "lib/Layout/IndexTable.h"
#include "lib/Layout/TileIndex.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseSet.h"

#include <cstring>
#include <deque>
#include <map>

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
  std::string rule = op.getRule() ? (" (" + *op.getRule() + ")").str() : "";
  return machine.fail(instruction, op.getMessage() + ", found " + Twine(lhs) +
                                       " and " + Twine(rhs) + rule);
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

/// The result of `instruction`: a table of `size` numbers.
static LogicalResult makeTable(Machine &machine, const Instruction &instruction,
                               int64_t size,
                               function_ref<int64_t(int64_t)> entry) {
  auto type = cast<MemRefType>(instruction.op->getResult(0).getType());
  Buffer &buffer = makeBuffer(machine, type, DType::i64, {size});
  buffer.readOnly = true;
  machine[instruction.results[0]].buffer = &buffer;
  if (machine.run.checking)
    return success();
  if (failed(machine.run.allocate(buffer, instruction.op)))
    return failure();
  for (int64_t m = 0; m < size; ++m) {
    int64_t value = entry(m);
    std::memcpy(buffer.data + m * static_cast<int64_t>(sizeof value), &value,
                sizeof value);
  }
  return success();
}

static LogicalResult runOrderTable(Machine &machine,
                                   const Instruction &instruction) {
  auto op = cast<rplan::OrderTableOp>(instruction.op);
  int64_t length = machine.scalar(instruction, 0);
  std::shared_ptr<const layout::Order> order = op.getOrder().getOrder();
  if (!order)
    return machine.fail(instruction, "expected a legal order (O1)");
  std::string error = order->validate(length);
  if (!error.empty())
    return machine.fail(instruction, error);
  return makeTable(machine, instruction, length, [&](int64_t m) {
    return op.getInverse() ? order->slot(m, length) : order->token(m, length);
  });
}

static LogicalResult runOrdinalTable(Machine &machine,
                                     const Instruction &instruction) {
  auto op = cast<rplan::OrdinalTableOp>(instruction.op);
  layout::OrdinalTable key{op.getOrder().getOrder(),
                           machine.scalar(instruction, 0), std::nullopt};
  if (op.getLength())
    key.rows = {machine.scalar(instruction, 1), machine.scalar(instruction, 2),
                op.getMemory() ? op.getMemory()->getOrder() : nullptr};
  std::string error = layout::validate(key);
  if (!error.empty())
    return machine.fail(instruction, error);
  // One by one, as the rules say it.
  return makeTable(
      machine, instruction, layout::sizeOf(key), [&](int64_t entry) -> int64_t {
        int64_t ordinal = key.first + entry;
        int64_t position = ordinal < 0
                               ? ordinal
                               : key.order->token(ordinal, key.order->period());
        if (!key.rows)
          return position;
        auto [length, offset, memory] = *key.rows;
        __int128 token = __int128(position) - offset;
        if (token < 0 || token >= length)
          return -1;
        return memory ? memory->slot(int64_t(token), length) : int64_t(token);
      });
}

static LogicalResult runTileIndex(Machine &machine,
                                  const Instruction &instruction) {
  auto op = cast<rplan::TileIndexOp>(instruction.op);
  layout::TilePattern pattern = op.getPattern();
  auto scalar = [&](unsigned i) { return machine.scalar(instruction, i); };
  layout::TileSizes sizes{scalar(0), scalar(1), scalar(2),
                          scalar(3), scalar(4), scalar(5)};
  std::string error = layout::TileIndex::validate(pattern, sizes);
  if (!error.empty())
    return machine.fail(instruction, error);
  std::vector<int64_t> table = *layout::TileIndex(pattern, sizes).table();
  return makeTable(machine, instruction, static_cast<int64_t>(table.size()),
                   [&](int64_t entry) { return table[entry]; });
}

static LogicalResult runMachine(Machine &machine,
                                const Instruction &instruction) {
  const Options &options = machine.run.options;
  int64_t &result = machine.intResult(instruction)[0];
  switch (cast<rplan::MachineOp>(instruction.op).getNumber()) {
  case rplan::MachineNumber::multiprocessors:
    result = options.multiprocessors;
    break;
  case rplan::MachineNumber::rank:
    result = options.rank;
    break;
  case rplan::MachineNumber::ranks:
    result = options.ranks;
    break;
  }
  return success();
}

static LogicalResult runConstant(Machine &machine,
                                 const Instruction &instruction) {
  auto op = cast<rplan::ConstantOp>(instruction.op);
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  std::string name;
  llvm::raw_string_ostream(name) << op.getValue().getElementType();
  std::optional<DType> dtype = parseDType(name);
  if (!value || !dtype)
    return machine.fail(instruction, "expected numbers of a known type, "
                                     "written as dense<...>, found " +
                                         name);
  Buffer &buffer = machine.run.addBuffer();
  buffer.dtype = *dtype;
  llvm::append_range(buffer.sizes, value.getType().getShape());
  buffer.readOnly = true;
  machine[instruction.results[0]].buffer = &buffer;
  if (machine.run.checking)
    return success();
  if (failed(machine.run.allocate(buffer, op)))
    return failure();
  if (value.getElementType().isInteger(1)) {
    // A byte each, however MLIR packs them.
    llvm::copy(value.getValues<bool>(), buffer.data);
    return success();
  }
  ArrayRef<char> raw = value.getRawData();
  int64_t copies = value.isSplat() ? value.getNumElements() : 1;
  for (int64_t i = 0; i < copies; ++i)
    std::memcpy(buffer.data + i * static_cast<int64_t>(raw.size()), raw.data(),
                raw.size());
  return success();
}

/// The launch of a plan whose operands begin at `first`.
static LogicalResult launch(Machine &machine, const Instruction &instruction,
                            FlatSymbolRefAttr kernel, size_t gridFirst,
                            size_t gridRank, size_t argsFirst, size_t args) {
  SmallVector<int64_t> grid;
  SmallVector<const Datum *> arguments;
  for (size_t i = 0; i < gridRank; ++i)
    grid.push_back(machine.scalar(instruction, gridFirst + i));
  for (size_t i = 0; i < args; ++i)
    arguments.push_back(&machine.operand(instruction, argsFirst + i));
  Operation *op = instruction.op;
  return machine.run.launchKernel(
      op, SymbolTable::lookupNearestSymbolFrom(op, kernel), grid, arguments);
}

static LogicalResult runLaunch(Machine &machine,
                               const Instruction &instruction) {
  if (machine.run.checking)
    return success();
  auto op = cast<rplan::LaunchOp>(instruction.op);
  const Options &options = machine.run.options;
  // A range of nothing has no place.
  auto at = [](OperandRange range) {
    return range.empty() ? 0u : range.getBeginOperandIndex();
  };
  // Here every kernel runs on any buffers.
  bool runsOther = op.getFallback() && options.chooseFreely &&
                   mix(options.seed.value_or(0), {machine.run.launch}) % 2 == 1;
  if (runsOther)
    return launch(machine, instruction, op.getFallbackAttr(),
                  at(op.getFallbackGrid()), op.getFallbackGrid().size(),
                  at(op.getFallbackArgs()), op.getFallbackArgs().size());
  return launch(machine, instruction, op.getKernelAttr(), at(op.getGrid()),
                op.getGrid().size(), at(op.getArgs()), op.getArgs().size());
}

static LogicalResult runCopy(Machine &machine, const Instruction &instruction) {
  const Buffer &from = *machine.operand(instruction, 0).buffer;
  const Buffer &to = *machine.operand(instruction, 1).buffer;
  for (auto [axis, size] : llvm::enumerate(from.sizes))
    if (size != to.sizes[axis])
      return machine.fail(instruction, "expected a destination of size " +
                                           Twine(size) + " on axis " +
                                           Twine(axis) + ", found " +
                                           Twine(to.sizes[axis]));
  if (machine.run.checking)
    return success();
  auto addressOf = [](const Buffer &buffer, const int64_t *indices) {
    int64_t offset = 0;
    for (auto [axis, stride] : llvm::enumerate(buffer.strides))
      offset += indices[axis] * stride;
    return buffer.data + offset * sizeOf(buffer.dtype);
  };
  forEachIndex(Shape(from.sizes.begin(), from.sizes.end()),
               [&](const int64_t *indices) {
                 std::memcpy(addressOf(to, indices), addressOf(from, indices),
                             sizeOf(from.dtype));
               });
  return success();
}

/// Here every input lies badly: it is copied wherever that is worth it.
static LogicalResult runAligned(Machine &machine,
                                const Instruction &instruction) {
  auto op = cast<rplan::AlignedOp>(instruction.op);
  const Datum &input = machine.operand(instruction, 0);
  Datum &result = machine[instruction.results[0]];
  result.buffer = input.buffer;
  size_t gridRank = op.getGrid().size();
  if (!machine.scalar(instruction, 1 + gridRank))
    return success();
  Buffer &copy = machine.run.addBuffer();
  copy.dtype = input.buffer->dtype;
  copy.sizes = input.buffer->sizes;
  result.buffer = &copy;
  if (machine.run.checking)
    return success();
  if (failed(machine.run.allocate(copy, op)))
    return failure();
  SmallVector<int64_t> grid;
  for (size_t i = 0; i < gridRank; ++i)
    grid.push_back(machine.scalar(instruction, 1 + i));
  return machine.run.launchKernel(
      op, SymbolTable::lookupNearestSymbolFrom(op, op.getKernelAttr()), grid,
      {&input, &result});
}

//===----------------------------------------------------------------------===//
// Order of steps
//===----------------------------------------------------------------------===//

namespace {
struct QueuedStep {
  rplan::Queue queue;
  OperandRange waits;
  Value event;
};
} // namespace

static std::optional<QueuedStep> getStep(Operation *op) {
  if (auto launch = dyn_cast<rplan::LaunchOp>(op))
    return QueuedStep{launch.getQueue(), launch.getWaits(), launch.getEvent()};
  if (auto copy = dyn_cast<rplan::CopyOp>(op))
    return QueuedStep{copy.getQueue(), copy.getWaits(), copy.getEvent()};
  if (isa<rplan::ExchangeOp, rplan::AttendOp>(op))
    return QueuedStep{rplan::Queue::compute, op->getOperands().take_front(0),
                      Value()};
  return std::nullopt;
}

void interpreter::drawStepOrder(Program &program, uint64_t seed) {
  std::vector<Instruction> code;
  std::map<rplan::Queue, std::deque<Instruction>> queues;
  for (Instruction &instruction : program.body.code)
    if (std::optional<QueuedStep> step = getStep(instruction.op))
      queues[step->queue].push_back(std::move(instruction));
    else
      code.push_back(std::move(instruction));
  DenseSet<Value> ended;
  auto mayStart = [&](const Instruction &instruction) {
    return llvm::all_of(getStep(instruction.op)->waits,
                        [&](Value event) { return ended.contains(event); });
  };
  // One of the queues always may: the one with the first step that is left.
  while (true) {
    SmallVector<std::deque<Instruction> *> ready;
    for (auto &[number, steps] : queues)
      if (!steps.empty() && mayStart(steps.front()))
        ready.push_back(&steps);
    if (ready.empty())
      break;
    auto drawn = mix(seed, {static_cast<int64_t>(code.size())});
    std::deque<Instruction> &queue = *ready[drawn % ready.size()];
    if (Value event = getStep(queue.front().op)->event)
      ended.insert(event);
    code.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  program.body.code = std::move(code);
}

void interpreter::registerPlan(HandlerTable &table) {
  table["rplan.size"] = runSize;
  table["rplan.read"] = runRead;
  table["rplan.machine"] = runMachine;
  table["rplan.constant"] = runConstant;
  table["rplan.copy"] = runCopy;
  table["rplan.require"] = runRequire;
  table["rplan.workspace"] = runWorkspace;
  table["rplan.order_table"] = runOrderTable;
  table["rplan.ordinal_table"] = runOrdinalTable;
  table["rplan.tile_index"] = runTileIndex;
  table["rplan.aligned"] = runAligned;
  table["rplan.launch"] = runLaunch;
}
