//===- Program.cpp - A function made ready to run -------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Program.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

/// More than any tile of a view; a guard against absurd constants.
static constexpr int64_t kMaxElements = int64_t(1) << 22;
/// Nesting of loops; a guard of the stack.
static constexpr int kMaxDepth = 64;

std::string interpreter::describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << loc.getFilename().getValue() << ':' << loc.getLine() << ':'
           << loc.getColumn();
  else
    stream << op->getLoc();
  stream << ": '" << op->getName() << "' op ";
  return text;
}

namespace {
class Compiler {
public:
  Compiler(Program &program, std::string *error)
      : program(program), error(error) {}

  bool run();

private:
  bool fail(Operation *op, const Twine &message) {
    *error = describe(op) + message.str();
    return false;
  }
  std::optional<SlotType> typeOf(Type type);
  bool addSlot(Value value, Operation *op, uint32_t &slot);
  bool compileBlock(Block &block, Sequence &sequence, int depth);
  FailureOr<bool> compileSchedule(Operation *op, int depth);
  bool compileOp(Operation *op, Sequence &sequence, int depth);
  bool compileConstant(arith::ConstantOp op, uint32_t slot);

  Program &program;
  std::string *error;
  DenseMap<Value, uint32_t> slots;
};
} // namespace

static const HandlerTable &handlers() {
  static const HandlerTable table = [] {
    HandlerTable table;
    registerArith(table);
    registerArithFloat(table);
    registerMath(table);
    registerControl(table);
    registerViews(table);
    registerVisibility(table);
    registerElements(table);
    registerTiles(table);
    registerPlan(table);
    registerRing(table);
    registerRoles(table);
    return table;
  }();
  return table;
}

/// The elements of a tile that can be run: of any encoding of rtile, since
/// where a tile lies does not change what it is.
static std::optional<int64_t> countElements(RankedTensorType tile) {
  Attribute encoding = tile.getEncoding();
  if (!tile.hasStaticShape() ||
      (encoding && !isa<rtile::RTileDialect>(encoding.getDialect())))
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : tile.getShape()) {
    if (size > kMaxElements)
      return std::nullopt;
    count *= size;
    if (count > kMaxElements)
      return std::nullopt;
  }
  return count;
}

std::optional<SlotType> Compiler::typeOf(Type type) {
  SlotType slot;
  if (isa<MemRefType>(type)) {
    slot.kind = Kind::Buffer;
    return slot;
  }
  if (isa<rtile::ViewType>(type)) {
    slot.kind = Kind::View;
    return slot;
  }
  // Says nothing: the order of steps is that of the program.
  if (isa<rplan::EventType, rplan::ChunksType>(type))
    return slot;
  auto holds = [&](RankedTensorType tile,
                   Kind kind) -> std::optional<SlotType> {
    if (!countElements(tile))
      return std::nullopt;
    slot.kind = kind;
    return slot;
  };
  if (auto channel = dyn_cast<rtile::ChannelType>(type))
    return holds(channel.getTile(), Kind::Channel);
  if (auto handle = dyn_cast<rtile::SlotType>(type))
    return holds(handle.getTile(), Kind::Slot);
  if (auto pending = dyn_cast<rtile::PendingType>(type))
    return holds(pending.getTile(), Kind::Pending);
  if (auto tile = dyn_cast<RankedTensorType>(type)) {
    std::optional<int64_t> count = countElements(tile);
    if (!count)
      return std::nullopt;
    slot.count = *count;
    type = tile.getElementType();
  }
  if (type.isF16()) {
    slot.kind = Kind::F16;
  } else if (type.isBF16()) {
    slot.kind = Kind::BF16;
  } else if (type.isF32()) {
    slot.kind = Kind::F32;
  } else if (auto integer = dyn_cast<IntegerType>(type)) {
    if (!integer.isSignless() || integer.getWidth() < 1 ||
        integer.getWidth() > 64)
      return std::nullopt;
    slot.width = integer.getWidth();
  } else if (!type.isIndex()) {
    return std::nullopt;
  }
  return slot;
}

bool Compiler::addSlot(Value value, Operation *op, uint32_t &slot) {
  std::optional<SlotType> type = typeOf(value.getType());
  if (!type) {
    std::string text;
    llvm::raw_string_ostream(text) << value.getType();
    return fail(op, "expected values of index, integers up to 64 bits, f16, "
                    "bf16, f32, tiles of them (of static shape, at most " +
                        Twine(kMaxElements) +
                        " elements, encoded by rtile or not), buffers, views, "
                        "channels, slots and products, found " +
                        text);
  }
  slot = program.types.size();
  program.types.push_back(*type);
  slots[value] = slot;
  return true;
}

bool Compiler::run() {
  Operation *function = program.function;
  if (function->getNumRegions() != 1 || !function->getRegion(0).hasOneBlock())
    return fail(function, "expected a body of one block");
  return compileBlock(function->getRegion(0).front(), program.body, 0);
}

/// True if `op` begins a role or a channel, which are no instructions.
FailureOr<bool> Compiler::compileSchedule(Operation *op, int depth) {
  if (auto channel = dyn_cast<rtile::ChannelOp>(op)) {
    ChannelCode &code = program.channels.emplace_back();
    code.op = op;
    if (!addSlot(channel.getResult(), op, code.slot))
      return failure();
    return true;
  }
  auto role = dyn_cast<rtile::RoleOp>(op);
  if (!role)
    return false;
  unsigned number = program.roles.size();
  RoleCode &code = program.roles.emplace_back();
  code.op = op;
  bool takesTurns =
      role.walk([](rtile::InTurnOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (takesTurns)
    code.groups = role.getWarps() / 4;
  for (ChannelCode &channel : program.channels)
    for (Operation *user : channel.op->getUsers()) {
      auto &users =
          isa<rtile::AcquireOp>(user) ? channel.writers : channel.readers;
      if (role->isAncestor(user) && !llvm::is_contained(users, number))
        users.push_back(number);
    }
  if (!compileBlock(role.getBody().front(), code.body, depth + 1))
    return failure();
  return true;
}

bool Compiler::compileBlock(Block &block, Sequence &sequence, int depth) {
  if (depth > kMaxDepth)
    return fail(block.getParentOp(),
                "expected at most " + Twine(kMaxDepth) + " nested regions");
  for (BlockArgument argument : block.getArguments())
    if (!addSlot(argument, block.getParentOp(),
                 sequence.arguments.emplace_back()))
      return false;
  for (Operation &op : block) {
    if (!op.hasTrait<OpTrait::IsTerminator>()) {
      FailureOr<bool> isDone = compileSchedule(&op, depth);
      if (failed(isDone) || (!*isDone && !compileOp(&op, sequence, depth)))
        return false;
      continue;
    }
    if (!isa<rtile::ReturnOp, rtile::YieldOp, rplan::ReturnOp>(op) &&
        op.getName().getStringRef() != "scf.yield")
      return fail(&op, "is not supported by the interpreter");
    for (Value operand : op.getOperands())
      sequence.yields.push_back(slots.lookup(operand));
  }
  return true;
}

bool Compiler::compileOp(Operation *op, Sequence &sequence, int depth) {
  // A plan has no tiles and a kernel launches nothing. Plans are run twice,
  // see Plan.cpp, which only works for what may stand in one.
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == (isa<rplan::FuncOp>(program.function) ? "rtile" : "rplan"))
    return fail(op, "cannot stand in " +
                        program.function->getName().getStringRef());
  auto handler = handlers().find(op->getName().getStringRef());
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant && handler == handlers().end())
    return fail(op, "is not supported by the interpreter");

  Instruction instruction;
  instruction.op = op;
  for (Value operand : op->getOperands())
    instruction.operands.push_back(slots.lookup(operand));
  for (Region &region : op->getRegions()) {
    Sequence &body = instruction.bodies.emplace_back();
    if (region.empty())
      continue;
    if (!region.hasOneBlock())
      return fail(op, "expected regions of one block");
    if (!compileBlock(region.front(), body, depth + 1))
      return false;
  }
  for (Value result : op->getResults())
    if (!addSlot(result, op, instruction.results.emplace_back()))
      return false;
  if (constant)
    return compileConstant(constant, instruction.results[0]);
  instruction.handler = handler->second.run;
  instruction.leave = handler->second.leave;
  sequence.code.push_back(std::move(instruction));
  return true;
}

/// The value of an integer attribute's content, sign-extended.
static int64_t toInt(const APInt &value) {
  return value.getBitWidth() <= 64 ? value.getSExtValue() : 0;
}

static float toFloat(APFloat value) {
  bool inexact;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToFloat();
}

bool Compiler::compileConstant(arith::ConstantOp op, uint32_t slot) {
  const SlotType &type = program.types[slot];
  Datum datum;
  Attribute value = op.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    datum.ints.assign(1, toInt(integer.getValue()));
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    datum.floats.assign(1, toFloat(number.getValue()));
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (type.isFloat()) {
      if (dense.isSplat())
        datum.floats.assign(type.count,
                            toFloat(dense.getSplatValue<APFloat>()));
      else
        for (APFloat element : dense.getValues<APFloat>())
          datum.floats.push_back(toFloat(element));
    } else {
      if (dense.isSplat())
        datum.ints.assign(type.count, toInt(dense.getSplatValue<APInt>()));
      else
        for (APInt element : dense.getValues<APInt>())
          datum.ints.push_back(toInt(element));
    }
  } else {
    return fail(op, "expected an integer, a float or a dense constant");
  }
  program.constants.emplace_back(slot, std::move(datum));
  return true;
}

bool Program::compile(Operation *op, std::string *error) {
  function = op;
  return Compiler(*this, error).run();
}
