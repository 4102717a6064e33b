//===- EncodeTiles.cpp - Where the tiles of roles are -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEENCODETILES
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// Gives every tile of one role an encoding.
class RoleEncoder {
public:
  explicit RoleEncoder(rtile::RoleOp role)
      : role(role), inSlot(rtile::SwizzledAttr::get(role.getContext())),
        inRegisters(
            rtile::FragmentAttr::get(role.getContext(), role.getWarps())) {}

  /// Returns how many tiles turned out to lie in registers.
  FailureOr<int64_t> run();

private:
  void splitConstants();
  LogicalResult findColumns();
  RankedTensorType encode(RankedTensorType tile, Attribute place) {
    return RankedTensorType::get(tile.getShape(), tile.getElementType(), place);
  }
  void encodeReads();
  void encodeValue(Value value);

  rtile::RoleOp role;
  Attribute inSlot, inRegisters;
  /// Tiles of one axis with a value for each column.
  llvm::DenseSet<Value> alongColumns;
  int64_t count = 0;
};

} // namespace

/// A constant tile of one axis for each use: one may be of rows, another one of
/// columns.
void RoleEncoder::splitConstants() {
  SmallVector<arith::ConstantOp> constants;
  role.walk([&](arith::ConstantOp op) {
    if (RankedTensorType tile = getTile(op.getType()))
      if (tile.getRank() == 1 && !tile.getEncoding() && !op->use_empty())
        constants.push_back(op);
  });
  for (arith::ConstantOp op : constants)
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(op->getUses())))
      use.set(OpBuilder(op).clone(*op)->getResult(0));
}

/// The values that go on as `value` under another name: arguments and results
/// of loops, results of branches, and what elementwise operations make of it.
static void addTwins(Value value, function_ref<void(Value)> add) {
  auto addRow = [&](ValueRange values) {
    for (Value other : values)
      if (RankedTensorType tile = getTile(other.getType()))
        if (tile.getRank() == 1)
          add(other);
  };
  auto addOf = [&](Operation *op) {
    if (op->hasTrait<OpTrait::Elementwise>()) {
      addRow(op->getOperands());
      addRow(op->getResults());
    }
  };
  auto addCarried = [&](scf::ForOp loop, unsigned number) {
    add(loop.getInitArgs()[number]);
    add(loop.getRegionIterArgs()[number]);
    add(loop.getYieldedValues()[number]);
    add(loop.getResult(number));
  };
  auto addYielded = [&](Operation *around, unsigned number) {
    if (auto loop = dyn_cast<scf::ForOp>(around))
      return addCarried(loop, number);
    add(around->getResult(number));
    for (Region &region : around->getRegions())
      add(region.front().getTerminator()->getOperand(number));
  };
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      addCarried(loop, argument.getArgNumber() - 1);
  if (auto result = dyn_cast<OpResult>(value)) {
    if (isa<scf::ForOp, scf::IfOp>(result.getOwner()))
      addYielded(result.getOwner(), result.getResultNumber());
    else
      addOf(result.getOwner());
  }
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(user))
      addCarried(loop, use.getOperandNumber() - loop.getNumControlOperands());
    else if (isa<scf::YieldOp>(user))
      addYielded(user->getParentOp(), use.getOperandNumber());
    else
      addOf(user);
  }
}

/// A tile of one axis is of columns if it, or what it goes on as, is repeated
/// along them.
LogicalResult RoleEncoder::findColumns() {
  SmallVector<Value> pending;
  auto add = [&](Value value) {
    if (alongColumns.insert(value).second)
      pending.push_back(value);
  };
  role.walk([&](rtile::BroadcastOp op) {
    if (op.getColumns())
      add(op.getInput());
  });
  while (!pending.empty())
    addTwins(pending.pop_back_val(), add);
  for (Value value : alongColumns) {
    auto ofRows = [](Operation *op) {
      auto broadcast = dyn_cast<rtile::BroadcastOp>(op);
      return isa<rtile::RebaseOp>(op) || (broadcast && !broadcast.getColumns());
    };
    bool isMade = isa_and_nonnull<rtile::ReduceOp, rtile::RebaseOp>(
        value.getDefiningOp());
    if (isMade || llvm::any_of(value.getUsers(), ofRows))
      return emitError(value.getLoc(),
                       "expected a tile of values of rows or of columns, found "
                       "one that is used as both: ")
             << value.getType();
  }
  return success();
}

/// Tiles that were read and not decided about: right operands have to stay.
void RoleEncoder::encodeReads() {
  role.walk([&](rtile::ReadOp read) {
    auto tile = cast<RankedTensorType>(read.getTile().getType());
    if (tile.getEncoding())
      return;
    if (tile.getRank() == 1)
      return; // As any other tile of one axis.
    bool isRight = llvm::any_of(read.getTile().getUsers(), [&](Operation *op) {
      auto start = dyn_cast<rtile::StartDotOp>(op);
      auto dot = dyn_cast<rtile::DotOp>(op);
      return (start && start.getRhs() == read.getTile()) ||
             (dot && dot.getRhs() == read.getTile());
    });
    read.getTile().setType(encode(tile, isRight ? inSlot : inRegisters));
    count += !isRight;
  });
}

void RoleEncoder::encodeValue(Value value) {
  if (auto pending = dyn_cast<rtile::PendingType>(value.getType())) {
    if (!pending.getTile().getEncoding())
      value.setType(
          rtile::PendingType::get(encode(pending.getTile(), inRegisters)));
    return;
  }
  RankedTensorType tile = getTile(value.getType());
  if (!tile || tile.getEncoding())
    return;
  Attribute place = inRegisters;
  if (alongColumns.contains(value))
    place = rtile::FragmentAttr::get(role.getContext(), role.getWarps(),
                                     rtile::Along::columns);
  RankedTensorType encoded = encode(tile, place);
  value.setType(encoded);
  ++count;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(elements.isSplat() ? elements.resizeSplat(encoded)
                                               : elements.reshape(encoded));
}

FailureOr<int64_t> RoleEncoder::run() {
  splitConstants();
  if (failed(findColumns()))
    return failure();
  encodeReads();
  role.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          encodeValue(argument);
    for (Value result : op->getResults())
      encodeValue(result);
  });
  return count;
}

namespace {

struct EncodeTiles : ringlet::impl::RTileEncodeTilesBase<EncodeTiles> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](rtile::RoleOp role) {
      FailureOr<int64_t> count = RoleEncoder(role).run();
      if (failed(count))
        return WalkResult::interrupt();
      if (*count == 0)
        return WalkResult::advance();
      remark::passed(
          role.getLoc(),
          remark::RemarkOpts::name("EncodeTiles")
              .category("rtile-encode-tiles")
              .function(role->getParentOfType<rtile::FuncOp>().getSymName()))
          << llvm::formatv(
                 "{0}: {1} tiles of role {2} lie in registers of {3} warps",
                 role->getParentOfType<rtile::FuncOp>().getSymName(), *count,
                 role.getName(), role.getWarps())
                 .str();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
