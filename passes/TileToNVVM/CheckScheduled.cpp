//===- CheckScheduled.cpp - What roles may consist of on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/CheckScheduled.h"
#include "dialects/Tile/IR/ListReads.h"
#include "passes/TileCode/Scalars.h"
#include "passes/TileOpt/CheckKernels.h"
#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using code::getTile;

namespace {

/// Columns that lie in the same places of every thread.
constexpr int64_t columnBlock = 8;

LogicalResult checkTile(Operation *op, RankedTensorType tile) {
  Type element = tile.getElementType();
  if (tile.getRank() > 2 || !(element.isF32() || element.isF16() ||
                              element.isBF16() || element.isInteger(1)))
    return op->emitOpError("expected tiles of 1 or 2 axes of f32, f16, bf16 or "
                           "i1 in a role, found ")
           << tile;
  if (!tile.getEncoding())
    return op->emitOpError("expected a tile with an encoding in a role, found ")
           << tile << "; rtile-encode-tiles gives it one";
  return success();
}

LogicalResult checkStart(rtile::StartDotOp op) {
  auto role = op->getParentOfType<rtile::RoleOp>();
  return ringlet::gpu::getAsyncProduct().check(op, role.getWarps());
}

/// Which products are under way is known at each place: a wait counts those
/// that were started later.
class ProductCheck {
public:
  LogicalResult checkBlock(Block &block);

private:
  using Products = SmallVector<Value>;

  LogicalResult checkLoop(scf::ForOp loop);
  LogicalResult checkBranch(scf::IfOp branch);
  LogicalResult finish(Operation *op, Value pending);
  void rename(ValueRange from, ValueRange to) {
    for (auto [old, value] : llvm::zip_equal(from, to))
      llvm::replace(underWay, Value(old), Value(value));
  }

  /// In the order of their starts.
  Products underWay;
};

LogicalResult ProductCheck::finish(Operation *op, Value pending) {
  auto *at = llvm::find(underWay, pending);
  if (at == underWay.end())
    return op->emitOpError(
        "expected a product that is under way here and waited "
        "for once");
  underWay.erase(at);
  return success();
}

LogicalResult ProductCheck::checkLoop(scf::ForOp loop) {
  rename(loop.getInitArgs(), loop.getRegionIterArgs());
  Products before = underWay;
  if (failed(checkBlock(*loop.getBody())))
    return failure();
  rename(loop.getYieldedValues(), loop.getRegionIterArgs());
  if (underWay != before)
    return loop.emitOpError(
        "expected a step to end with the products under way "
        "that the next one begins with, in their order");
  rename(loop.getRegionIterArgs(), loop.getResults());
  return success();
}

LogicalResult ProductCheck::checkBranch(scf::IfOp branch) {
  Products before = underWay;
  auto checkSide = [&](Region &region, Products &after) -> LogicalResult {
    underWay = before;
    if (!region.empty()) {
      if (failed(checkBlock(region.front())))
        return failure();
      if (branch.getNumResults())
        rename(region.front().getTerminator()->getOperands(),
               branch.getResults());
    }
    after = underWay;
    return success();
  };
  Products first, second;
  if (failed(checkSide(branch.getThenRegion(), first)) ||
      failed(checkSide(branch.getElseRegion(), second)))
    return failure();
  if (first != second)
    return branch.emitOpError("expected both sides to leave the same products "
                              "under way");
  return success();
}

LogicalResult ProductCheck::checkBlock(Block &block) {
  for (Operation &op : block) {
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](rtile::StartDotOp start) {
              underWay.push_back(start.getResult());
              return success();
            })
            .Case<rtile::FinishDotOp, rtile::WaitDotOp>(
                [&](auto op) { return finish(op, op.getPending()); })
            .Case([&](rtile::InTurnOp turn) -> LogicalResult {
              Block &body = turn.getBody().front();
              if (failed(checkBlock(body)))
                return failure();
              rename(body.getTerminator()->getOperands(), turn.getResults());
              return success();
            })
            .Case([&](scf::ForOp loop) { return checkLoop(loop); })
            .Case([&](scf::IfOp branch) { return checkBranch(branch); })
            .Default([](Operation *) { return success(); });
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult checkTurn(rtile::InTurnOp op) {
  for (Type type : op.getResultTypes())
    if (!isa<rtile::PendingType>(type))
      return op.emitOpError("expected a turn that yields products under way, "
                            "found ")
             << type;
  return success();
}

LogicalResult checkWidth(Operation *op, RankedTensorType tile) {
  if (tile.getDimSize(1) % columnBlock == 0)
    return success();
  return op->emitOpError("expected a multiple of ")
         << columnBlock << " columns in a role, found " << tile;
}

/// Lists are read by all threads of a role alike.
LogicalResult checkListRead(memref::LoadOp op) {
  if (rtile::readsList(op))
    return success();
  return op.emitOpError(
             "expected a list of i32 or i64 that is a parameter of the "
             "kernel, found ")
         << op.getMemRefType();
}

/// A slot may pass through loops, but always of one channel.
LogicalResult checkSlot(Operation *op, Value slot) {
  SmallVector<Value> pending{slot};
  llvm::SmallDenseSet<Value> seen{slot}, channels;
  auto add = [&](Value value) {
    if (seen.insert(value).second)
      pending.push_back(value);
  };
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    scf::ForOp loop;
    unsigned number = 0;
    if (auto acquire = value.getDefiningOp<rtile::AcquireOp>()) {
      channels.insert(acquire.getChannel());
    } else if (auto await = value.getDefiningOp<rtile::AwaitOp>()) {
      channels.insert(
          await.getChannels()[cast<OpResult>(value).getResultNumber()]);
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      number = argument.getArgNumber() - 1;
    } else if ((loop = value.getDefiningOp<scf::ForOp>())) {
      number = cast<OpResult>(value).getResultNumber();
    }
    if (loop) {
      add(loop.getInitArgs()[number]);
      add(loop.getYieldedValues()[number]);
    } else if (!value.getDefiningOp<rtile::AcquireOp>() &&
               !value.getDefiningOp<rtile::AwaitOp>()) {
      channels.clear();
      break;
    }
  }
  if (channels.size() == 1)
    return success();
  return op->emitOpError("expected a slot of one channel that was acquired or "
                         "awaited and passes through loops at most");
}

/// How the parts of threads lie in a slot is known of these tiles.
LogicalResult checkInSlot(Operation *op, RankedTensorType tile) {
  Attribute encoding = tile.getEncoding();
  if (isa_and_nonnull<rtile::SwizzledAttr>(encoding))
    return success();
  int64_t width = tile.getShape().back(), rows = tile.getDimSize(0);
  bool isNarrow = tile.getElementTypeBitWidth() == 16;
  if (tile.getRank() == 1 && isNarrow)
    return op->emitOpError(
               "expected a tile of one axis in a slot to be of f32, "
               "found ")
           << tile;
  // Two blocks of columns at a time are written, and one is read.
  int64_t columns = isNarrow && isa<rtile::WriteOp>(op) ? 16 : 8;
  int64_t warps = rtile::getWarpsOf(tile);
  bool alongColumns = tile.getRank() == 1 && ringlet::gpu::isAlongColumns(tile);
  if ((tile.getRank() == 2 || alongColumns) && width % columns != 0)
    return op->emitOpError("expected a multiple of ")
           << columns << " columns, found " << tile;
  if (warps != 0 && !alongColumns && rows % (16 * warps) != 0)
    return op->emitOpError("expected a multiple of ")
           << 16 * warps << " rows, 16 for each warp of the role, found "
           << tile;
  return success();
}

/// Control that is the same for all threads of a role: what no tile decides.
LogicalResult checkCommon(Operation *op) {
  if (auto view = dyn_cast<rtile::ViewOp>(op)) {
    if (!isa<BlockArgument>(view.getBuffer()))
      return op->emitOpError("expected buffers that are parameters of the "
                             "kernel");
    if (!view.getType().isStatic())
      return op->emitOpError("expected a w and rate that are known in a "
                             "scheduled kernel, found ")
             << view.getType() << " (B1)";
    if (view.getPages())
      return op->emitOpError("expected no pages of rows: they have no lowering "
                             "in a scheduled kernel yet (S4)");
    return success();
  }
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return checkSize(dim);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return checkListRead(load);
  if (isa<scf::ForOp, scf::IfOp>(op)) {
    WalkResult result = op->walk([&](Operation *inner) {
      return WalkResult(inner == op ? success() : checkCommon(inner));
    });
    return failure(result.wasInterrupted());
  }
  if (isa<rtile::ChannelOp, rtile::RunOp, rtile::BoundsOp, rtile::ReturnOp,
          scf::YieldOp>(op) ||
      isa<arith::ArithDialect>(op->getDialect()))
    return success();
  return op->emitOpError("is an operation that scheduled kernels on a GPU do "
                         "not have outside of roles");
}

LogicalResult checkInRole(Operation *op) {
  for (Type type : op->getResultTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type))
      if (failed(checkTile(op, tile)))
        return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<rtile::AcquireOp, rtile::AwaitOp>([](auto op) -> LogicalResult {
        for (Value channel : op->getOperands())
          if (!channel.template getDefiningOp<rtile::ChannelOp>())
            return op.emitOpError("expected a channel made by rtile.channel");
        return success();
      })
      .Case<rtile::CopyOp, rtile::CopyOutOp, rtile::ReleaseOp>(
          [](auto op) { return checkSlot(op, op.getSlot()); })
      .Case<rtile::ReadOp, rtile::WriteOp>([](auto op) -> LogicalResult {
        if (failed(checkSlot(op, op.getSlot())))
          return failure();
        return checkInSlot(op, getTile(op.getTile()));
      })
      .Case([](rtile::StartDotOp op) { return checkStart(op); })
      .Case<rtile::FinishDotOp, rtile::WaitDotOp>(
          [](auto) { return success(); })
      .Case([](rtile::InTurnOp op) { return checkTurn(op); })
      .Case([](rtile::FoldOp op) { return checkWidth(op, getTile(op)); })
      .Case([](rtile::SliceOp op) -> LogicalResult {
        if (op.getBegin() % columnBlock != 0)
          return op.emitOpError("expected a multiple of ")
                 << columnBlock << " as the first column, found "
                 << op.getBegin();
        return checkWidth(op, getTile(op));
      })
      .Case([](rtile::JoinOp op) -> LogicalResult {
        for (Value input : op.getInputs())
          if (failed(checkWidth(op, getTile(input))))
            return failure();
        return success();
      })
      .Case([](rtile::RebaseOp op) -> LogicalResult {
        RankedTensorType sums = getTile(op.getSums());
        return sums.getRank() == 1 ? success() : checkWidth(op, sums);
      })
      .Case<rtile::StoreOp, rtile::ReduceOp, rtile::VisibleOp, rtile::LoadOp,
            rtile::BroadcastOp, rtile::YieldOp, scf::ForOp, scf::IfOp,
            scf::YieldOp>([](auto) { return success(); })
      .Case([](memref::LoadOp op) { return checkListRead(op); })
      // Rows beside those of the role's own views, as other residues are.
      .Case<rtile::ViewOp, rtile::RunOp, rtile::BoundsOp>(
          [](Operation *op) { return checkCommon(op); })
      .Default([](Operation *op) -> LogicalResult {
        bool onTiles = llvm::any_of(op->getResultTypes(), [](Type type) {
          return isa<RankedTensorType>(type);
        });
        constexpr StringLiteral uncovered =
            "is an operation that roles on a GPU do not cover";
        if (onTiles)
          return checkElementwise(op, "GPU", uncovered);
        if (isa<arith::ArithDialect>(op->getDialect()))
          return success();
        return op->emitOpError(uncovered);
      });
}

LogicalResult checkRole(rtile::RoleOp role, int64_t firstWarp) {
  if (role.getRegisters() && (role.getWarps() % 4 != 0 || firstWarp % 4 != 0))
    return role.emitOpError("expected groups of four warps to have registers "
                            "of their own, found warps ")
           << firstWarp << " to " << firstWarp + role.getWarps() - 1;
  if (role.getRegisters() % 8 != 0 ||
      (role.getRegisters() && role.getRegisters() < 24))
    return role.emitOpError("expected a multiple of 8 registers from 24 on, "
                            "found ")
           << role.getRegisters();
  bool failed = mlir::failed(ProductCheck().checkBlock(role.getBody().front()));
  role.getBody().walk([&](Operation *op) {
    failed |= mlir::failed(checkInRole(op));
    if (isa<rtile::StartDotOp>(op) && firstWarp % 4 != 0 && !failed) {
      op->emitOpError("expected a role with products to begin with a group of "
                      "four warps, found warp ")
          << firstWarp;
      failed = true;
    }
  });
  return failure(failed);
}

} // namespace

LogicalResult ringlet::gpu::checkScheduled(rtile::FuncOp func) {
  auto roles = func.getBody().getOps<rtile::RoleOp>();
  if (ringlet::gpu::isDynamic(func) &&
      llvm::count_if(roles, ringlet::gpu::isSingleThread) != 1)
    return func.emitOpError("expected one role without tiles in registers to "
                            "take the points of a dynamic walk, found ")
           << llvm::count_if(roles, ringlet::gpu::isSingleThread);
  bool failed = false;
  int64_t warps = 0;
  for (Operation &op : func.getBody().front()) {
    if (auto role = dyn_cast<rtile::RoleOp>(op)) {
      failed |= mlir::failed(checkRole(role, warps));
      warps += role.getWarps();
    } else {
      failed |= mlir::failed(checkCommon(&op));
    }
  }
  return failure(failed);
}
