//===- PlanWriter.cpp - rplan.func to an artefact's plan ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/AbiTypes.h"
#include "lib/Compiler/PlanWriterState.h"
#include "passes/TileCode/TableKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;
using abi::ExprOp;

PlanWriter::PlanWriter(rplan::FuncOp plan, abi::FunctionT &function,
                       std::vector<std::unique_ptr<abi::ConstantT>> &constants)
    : function(function), constants(constants), exprs(function) {
  function.name = plan.getSymName().str();
  for (BlockArgument argument : plan.getBody().getArguments()) {
    auto entry = std::make_unique<abi::ArgumentT>();
    auto type = cast<MemRefType>(argument.getType());
    entry->name =
        cast<StringAttr>(plan.getNames()[argument.getArgNumber()]).str();
    entry->dtype = toAbi(type.getElementType());
    entry->sizes = toAbiSizes(type.getShape());
    entry->is_output =
        argument.getArgNumber() >= static_cast<unsigned>(plan.getNumInputs());
    function.arguments.push_back(std::move(entry));
  }
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static ExprOp wordFor(rplan::MachineNumber number) {
  switch (number) {
  case rplan::MachineNumber::multiprocessors:
    return ExprOp::Multiprocessors;
  case rplan::MachineNumber::rank:
    return ExprOp::Rank;
  case rplan::MachineNumber::ranks:
    return ExprOp::Ranks;
  }
  llvm_unreachable("every number has a word");
}

FailureOr<uint32_t> PlanWriter::expr(State &state, Value value) {
  auto known = state.exprs.find(value);
  if (known != state.exprs.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  FailureOr<uint32_t> result = failure();
  if (!op)
    return emitError(value.getLoc(), "expected an integer that the plan "
                                     "computes, found an argument");
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    result = exprs.constant(constant.getBitWidth() == 1
                                ? int64_t(constant.getZExtValue())
                                : constant.getSExtValue());
  else if (auto size = dyn_cast<rplan::SizeOp>(op))
    result = sizeOf(state, size);
  else if (auto read = dyn_cast<rplan::ReadOp>(op)) {
    auto scalar = dyn_cast<BlockArgument>(read.getScalar());
    if (!scalar || function.arguments[scalar.getArgNumber()]->is_output)
      return read.emitOpError("expected an input of the plan");
    result = exprs.scalar(scalar.getArgNumber());
  } else if (auto machine = dyn_cast<rplan::MachineOp>(op))
    result = exprs.machine(wordFor(machine.getNumber()));
  else
    result = arithmetic(state, op);
  if (succeeded(result))
    state.exprs[value] = *result;
  return result;
}

FailureOr<uint32_t> PlanWriter::sizeOf(State &state, rplan::SizeOp op) {
  unsigned axis = op.getAxis();
  Value buffer = op.getBuffer();
  if (auto aligned = buffer.getDefiningOp<rplan::AlignedOp>())
    buffer = aligned.getInput();
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return exprs.size(argument.getArgNumber(), axis);
  auto type = cast<MemRefType>(op.getBuffer().getType());
  if (!type.isDynamicDim(axis))
    return exprs.constant(type.getDimSize(axis));
  Operation *source = op.getBuffer().getDefiningOp();
  if (auto workspace = dyn_cast<rplan::WorkspaceOp>(source))
    return expr(state, workspace.getSizes()[type.getDynamicDimIndex(axis)]);
  if (auto constant = dyn_cast<rplan::ConstantOp>(source))
    return exprs.constant(constant.getValue().getShapedType().getDimSize(axis));
  if (auto table = dyn_cast<rplan::OrderTableOp>(source))
    return expr(state, table.getLength());
  if (auto table = dyn_cast<rplan::OrdinalTableOp>(source)) {
    FailureOr<uint32_t> first = expr(state, table.getFirst());
    if (failed(first))
      return failure();
    int64_t volume = table.getOrder().getOrder()->period();
    return exprs.binary(ExprOp::Sub, exprs.constant(volume), *first);
  }
  return op.emitOpError("expected an argument, a workspace or a table");
}

// Conditions are the numbers 0 and 1, so that choices need no words of their
// own in the artefact's arithmetic.
FailureOr<uint32_t> PlanWriter::arithmetic(State &state, Operation *op) {
  SmallVector<uint32_t, 3> in;
  for (Value operand : op->getOperands()) {
    FailureOr<uint32_t> number = expr(state, operand);
    if (failed(number))
      return failure();
    in.push_back(*number);
  }
  auto zero = [&] { return exprs.constant(0); };
  auto one = [&] { return exprs.constant(1); };
  auto sub = [&](uint32_t a, uint32_t b) {
    return exprs.binary(ExprOp::Sub, a, b);
  };
  /// 1 if a < b, else 0.
  auto less = [&](uint32_t a, uint32_t b) {
    return exprs.binary(ExprOp::Min, one(),
                        exprs.binary(ExprOp::Max, zero(), sub(b, a)));
  };
  auto simple = [](Operation *op) -> std::optional<ExprOp> {
    return llvm::TypeSwitch<Operation *, std::optional<ExprOp>>(op)
        .Case([](arith::AddIOp) { return ExprOp::Add; })
        .Case([](arith::SubIOp) { return ExprOp::Sub; })
        .Case([](arith::MulIOp) { return ExprOp::Mul; })
        .Case([](arith::FloorDivSIOp) { return ExprOp::FloorDiv; })
        .Case([](arith::CeilDivSIOp) { return ExprOp::CeilDiv; })
        .Case<arith::MinSIOp, arith::AndIOp>([](auto) { return ExprOp::Min; })
        .Case<arith::MaxSIOp, arith::OrIOp>([](auto) { return ExprOp::Max; })
        .Default([](Operation *) { return std::nullopt; });
  };
  bool isBitwise = isa<arith::AndIOp, arith::OrIOp>(op);
  if (std::optional<ExprOp> word = simple(op))
    if (!isBitwise || op->getResult(0).getType().isInteger(1))
      return exprs.binary(*word, in[0], in[1]);

  // The artefact rounds down; these round towards zero. With a positive
  // divisor that is the same for each sign apart.
  if (isa<arith::RemSIOp, arith::DivSIOp>(op)) {
    std::optional<int64_t> divisor = exprs.constantOf(in[1]);
    if (divisor && *divisor > 0) {
      ExprOp word =
          isa<arith::RemSIOp>(op) ? ExprOp::FloorMod : ExprOp::FloorDiv;
      uint32_t positive = exprs.binary(ExprOp::Max, in[0], zero());
      uint32_t negative = exprs.binary(ExprOp::Max, sub(zero(), in[0]), zero());
      return sub(exprs.binary(word, positive, in[1]),
                 exprs.binary(word, negative, in[1]));
    }
    return op->emitOpError("expected a divisor that is a positive constant");
  }
  if (isa<arith::IndexCastOp>(op) &&
      (op->getOperand(0).getType().isInteger(64) ||
       op->getResult(0).getType().isInteger(64)))
    return in[0];
  if (isa<arith::SelectOp>(op)) {
    uint32_t yes = exprs.binary(ExprOp::Mul, in[0], in[1]);
    uint32_t no = exprs.binary(ExprOp::Mul, sub(one(), in[0]), in[2]);
    return exprs.binary(ExprOp::Add, yes, no);
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      return less(in[0], in[1]);
    case arith::CmpIPredicate::sgt:
      return less(in[1], in[0]);
    case arith::CmpIPredicate::sle:
      return sub(one(), less(in[1], in[0]));
    case arith::CmpIPredicate::sge:
      return sub(one(), less(in[0], in[1]));
    case arith::CmpIPredicate::ne:
      return exprs.binary(ExprOp::Max, less(in[0], in[1]), less(in[1], in[0]));
    case arith::CmpIPredicate::eq:
      return sub(one(), exprs.binary(ExprOp::Max, less(in[0], in[1]),
                                     less(in[1], in[0])));
    default:
      break;
    }
    return op->emitOpError("expected a signed comparison");
  }
  return op->emitOpError("has no word in the arithmetic of a plan");
}

//===----------------------------------------------------------------------===//
// Buffers and steps
//===----------------------------------------------------------------------===//

FailureOr<uint32_t> PlanWriter::buffer(State &state, Value value) {
  auto [place, isNew] =
      state.buffers.try_emplace(value, uint32_t(state.plan->buffers.size()));
  uint32_t number = place->second;
  if (!isNew) {
    const abi::BufferT &known = *state.plan->buffers[number];
    if (known.kind == abi::BufferKind::Aligned)
      state.copies.push_back(known.first_step);
    return number;
  }
  FailureOr<std::unique_ptr<abi::BufferT>> entry = makeBuffer(state, value);
  if (failed(entry))
    return failure();
  state.plan->buffers.push_back(std::move(*entry));
  return number;
}

FailureOr<std::unique_ptr<abi::BufferT>> PlanWriter::makeBuffer(State &state,
                                                                Value value) {
  auto entry = std::make_unique<abi::BufferT>();
  auto set = [&](uint32_t &place, Value number) {
    FailureOr<uint32_t> known = expr(state, number);
    place = succeeded(known) ? *known : 0;
    return succeeded(known);
  };
  bool good = true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    entry->kind = abi::BufferKind::Argument;
    entry->index = argument.getArgNumber();
  } else if (auto aligned = value.getDefiningOp<rplan::AlignedOp>()) {
    entry->kind = abi::BufferKind::Aligned;
    entry->index = cast<BlockArgument>(aligned.getInput()).getArgNumber();
    entry->first_step = static_cast<uint32_t>(state.plan->steps.size());
    good = set(entry->worth, aligned.getWorth());
  } else if (auto workspace = value.getDefiningOp<rplan::WorkspaceOp>()) {
    auto type = cast<MemRefType>(value.getType());
    entry->kind = abi::BufferKind::Workspace;
    entry->dtype = toAbi(type.getElementType());
    if (entry->dtype == abi::DType::None)
      return workspace.emitOpError("expected elements that an artefact can "
                                   "name, found ")
             << type.getElementType();
    auto dynamic = workspace.getSizes().begin();
    for (int64_t size : type.getShape()) {
      uint32_t &extent = entry->sizes.emplace_back();
      if (ShapedType::isDynamic(size))
        good &= set(extent, *dynamic++);
      else
        extent = exprs.constant(size);
    }
  } else if (auto constant = value.getDefiningOp<rplan::ConstantOp>()) {
    entry->kind = abi::BufferKind::Constant;
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    FailureOr<uint32_t> number = failure();
    if (elements)
      number = addConstant(elements, constants);
    if (failed(number))
      return constant.emitOpError(
                 "expected numbers written as dense<...>, found ")
             << constant.getValue();
    entry->index = *number;
  } else if (auto table = value.getDefiningOp<rplan::OrderTableOp>()) {
    entry->kind = abi::BufferKind::OrderTable;
    entry->order = toAbi(table.getOrder());
    entry->inverse = table.getInverse();
    auto kernel = state.kernels.find(code::getTableKernelName(table));
    if (kernel != state.kernels.end())
      entry->fill = static_cast<int32_t>(kernel->getValue());
    good = set(entry->length, table.getLength());
  } else if (auto table = value.getDefiningOp<rplan::OrdinalTableOp>()) {
    good = succeeded(ordinalTable(state, table, *entry));
  } else if (auto index = value.getDefiningOp<rplan::TileIndexOp>()) {
    good = succeeded(tileIndex(state, index, *entry));
  } else {
    return emitError(value.getLoc(), "expected an argument, a workspace or a "
                                     "table as a buffer");
  }
  if (!good)
    return failure();
  return entry;
}

LogicalResult PlanWriter::tileIndex(State &state, rplan::TileIndexOp op,
                                    abi::BufferT &entry) {
  entry.kind = abi::BufferKind::TileIndex;
  entry.tiles = std::make_unique<abi::TileIndexT>();
  abi::TileIndexT &tiles = *entry.tiles;
  layout::TilePattern pattern = op.getPattern();
  if (op.getOrder())
    tiles.order = toAbi(*op.getOrder());
  tiles.w = pattern.segment;
  tiles.rate = pattern.rate;
  tiles.first_residue = pattern.residues.first;
  tiles.residues = pattern.residues.count;
  tiles.causal = pattern.causal;
  tiles.window_left = pattern.windowLeft.value_or(-1);
  tiles.window_right = pattern.windowRight.value_or(-1);
  tiles.grid = pattern.grid;
  tiles.reach = pattern.reach;
  tiles.query_rows = static_cast<uint32_t>(pattern.queryRows);
  tiles.key_rows = static_cast<uint32_t>(pattern.keyRows);
  for (auto [value, place] :
       {std::pair<Value, uint32_t *>{op.getQueryLength(), &tiles.query_length},
        {op.getQueryOffset(), &tiles.query_offset},
        {op.getKeyLength(), &tiles.key_length},
        {op.getTiles(), &tiles.tiles},
        {op.getSegments(), &tiles.segments},
        {op.getFirstSegment(), &tiles.first_segment}}) {
    FailureOr<uint32_t> number = expr(state, value);
    if (failed(number))
      return failure();
    *place = *number;
  }
  return success();
}

LogicalResult PlanWriter::ordinalTable(State &state, rplan::OrdinalTableOp op,
                                       abi::BufferT &entry) {
  entry.kind = abi::BufferKind::OrdinalTable;
  entry.order = toAbi(op.getOrder());
  FailureOr<uint32_t> first = expr(state, op.getFirst());
  if (failed(first))
    return failure();
  entry.first = *first;
  if (!op.getLength())
    return success();
  entry.rows = true;
  if (op.getMemory())
    entry.memory = toAbi(*op.getMemory());
  FailureOr<uint32_t> length = expr(state, op.getLength());
  FailureOr<uint32_t> offset = expr(state, op.getOffset());
  if (failed(length) || failed(offset))
    return failure();
  entry.length = *length;
  entry.offset = *offset;
  return success();
}

FailureOr<abi::LaunchT> PlanWriter::makeLaunch(State &state, Operation *op,
                                               StringRef name, ValueRange grid,
                                               ValueRange args) {
  auto kernel = state.kernels.find(name);
  if (kernel == state.kernels.end())
    return op->emitOpError("expected a kernel, found no code for @") << name;
  abi::LaunchT launch;
  launch.kernel = kernel->second;
  for (Value extent : grid) {
    FailureOr<uint32_t> number = expr(state, extent);
    if (failed(number))
      return failure();
    launch.grid.push_back(*number);
  }
  for (Value arg : args) {
    bool isBuffer = isa<MemRefType>(arg.getType());
    FailureOr<uint32_t> number =
        isBuffer ? buffer(state, arg) : expr(state, arg);
    if (failed(number))
      return failure();
    launch.args.emplace_back(isBuffer ? abi::LaunchArgKind::Buffer
                                      : abi::LaunchArgKind::Expr,
                             *number);
  }
  return launch;
}

template <typename OpT, typename ActionT>
void PlanWriter::addQueued(State &state, OpT op, ActionT action) {
  auto number = static_cast<uint32_t>(state.plan->steps.size());
  abi::StepT &step = addStep(state, std::move(action));
  step.queue = static_cast<abi::Queue>(op.getQueue());
  for (Value event : op.getWaits())
    step.waits.push_back(state.events.lookup(event));
  // Copies of inputs are steps of the queue compute.
  if (op.getQueue() != rplan::Queue::compute)
    llvm::append_range(step.waits, state.copies);
  state.copies.clear();
  llvm::sort(step.waits);
  step.waits.erase(llvm::unique(step.waits), step.waits.end());
  if (op.getEvent())
    state.events[op.getEvent()] = number;
}

LogicalResult PlanWriter::launch(State &state, rplan::LaunchOp op) {
  FailureOr<abi::LaunchT> launch =
      makeLaunch(state, op, op.getKernel(), op.getGrid(), op.getArgs());
  if (failed(launch))
    return failure();
  if (op.getFallback()) {
    FailureOr<abi::LaunchT> other =
        makeLaunch(state, op, *op.getFallback(), op.getFallbackGrid(),
                   op.getFallbackArgs());
    if (failed(other))
      return failure();
    launch->otherwise = std::make_unique<abi::LaunchT>(std::move(*other));
  }
  addQueued(state, op, std::move(*launch));
  return success();
}

LogicalResult PlanWriter::copy(State &state, rplan::CopyOp op) {
  FailureOr<uint32_t> source = buffer(state, op.getSource());
  FailureOr<uint32_t> destination = buffer(state, op.getDestination());
  if (failed(source) || failed(destination))
    return failure();
  abi::CopyT copy;
  copy.source = *source;
  copy.destination = *destination;
  addQueued(state, op, std::move(copy));
  return success();
}

LogicalResult PlanWriter::align(State &state, rplan::AlignedOp op) {
  FailureOr<abi::LaunchT> launch = makeLaunch(
      state, op, op.getKernel(), op.getGrid(), {op.getInput(), op.getResult()});
  if (failed(launch))
    return failure();
  addStep(state, std::move(*launch));
  return success();
}

LogicalResult PlanWriter::require(State &state, rplan::RequireOp op) {
  FailureOr<uint32_t> lhs = expr(state, op.getLhs());
  FailureOr<uint32_t> rhs = expr(state, op.getRhs());
  if (failed(lhs) || failed(rhs))
    return failure();
  abi::RequireT require;
  require.compare = static_cast<abi::Compare>(op.getComparison());
  require.lhs = *lhs;
  require.rhs = *rhs;
  require.message = op.getMessage().str();
  require.rule = op.getRule().value_or("").str();
  addStep(state, std::move(require));
  return success();
}

LogicalResult PlanWriter::addPlan(rplan::FuncOp plan,
                                  const llvm::StringMap<uint32_t> &kernels,
                                  const llvm::StringMap<uint32_t> &functions,
                                  uint32_t codeObject) {
  for (auto [argument, entry] :
       llvm::zip(plan.getBody().getArguments(), function.arguments))
    if (entry->dtype == abi::DType::None)
      return plan.emitError("argument '")
             << entry->name << "' has elements that an artefact cannot name: "
             << argument.getType();
  function.plans.push_back(std::make_unique<abi::PlanT>());
  State state(function.plans.back().get(), kernels, functions);
  state.plan->code_objects.push_back(codeObject);
  for (Operation &op : plan.getBody().front()) {
    LogicalResult result = success();
    if (auto call = dyn_cast<rplan::LaunchOp>(op))
      result = launch(state, call);
    else if (auto step = dyn_cast<rplan::CopyOp>(op))
      result = copy(state, step);
    else if (auto begin = dyn_cast<rplan::ExchangeOp>(op))
      result = exchange(state, begin);
    else if (auto chunks = dyn_cast<rplan::AttendOp>(op))
      result = attend(state, chunks);
    else if (auto input = dyn_cast<rplan::AlignedOp>(op))
      result = align(state, input);
    else if (auto condition = dyn_cast<rplan::RequireOp>(op))
      result = require(state, condition);
    else if (isa_and_present<arith::ArithDialect>(op.getDialect()) &&
             !op.hasTrait<OpTrait::ConstantLike>())
      // In order, so that no chain of operations is followed by recursion.
      result = expr(state, op.getResult(0));
    if (failed(result))
      return failure();
  }
  if (function.plans.size() == 1)
    inferOutputSizes(state, plan);
  return success();
}

/// An output's size that the plan requires to be equal to something known
/// before the call is that: callers can allocate outputs by it. Sizes of other
/// outputs count once they are known.
void PlanWriter::inferOutputSizes(State &state, rplan::FuncOp plan) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
  auto outputAxis = [&](Value value) {
    auto size = value.getDefiningOp<rplan::SizeOp>();
    auto argument =
        size ? dyn_cast<BlockArgument>(size.getBuffer()) : BlockArgument();
    bool isOutput =
        argument && function.arguments[argument.getArgNumber()]->is_output;
    return isOutput ? std::optional(std::make_pair(argument.getArgNumber(),
                                                   unsigned(size.getAxis())))
                    : std::nullopt;
  };
  auto learn = [&](Value output, Value other) {
    auto axis = outputAxis(output);
    if (!axis || known.count(*axis))
      return false;
    uint32_t number = state.exprs.lookup(other);
    if (exprs.readsMore(number)) {
      auto source = outputAxis(other);
      if (!source || !known.count(*source))
        return false;
      number = known[*source];
    }
    known[*axis] = number;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto op : plan.getBody().getOps<rplan::RequireOp>())
      if (op.getComparison() == rplan::Comparison::eq)
        changed |=
            learn(op.getLhs(), op.getRhs()) || learn(op.getRhs(), op.getLhs());
  }
  for (auto [index, argument] : llvm::enumerate(function.arguments)) {
    if (!argument->is_output)
      continue;
    std::vector<uint32_t> sizes;
    for (auto [axis, size] : llvm::enumerate(argument->sizes)) {
      auto entry = known.find({uint32_t(index), uint32_t(axis)});
      if (size >= 0)
        sizes.push_back(exprs.constant(size));
      else if (entry != known.end())
        sizes.push_back(entry->second);
    }
    if (sizes.size() == argument->sizes.size())
      argument->size_exprs = std::move(sizes);
  }
}
