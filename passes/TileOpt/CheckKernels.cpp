//===- CheckKernels.cpp - What no target lowers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/CheckKernels.h"

#include "dialects/Tile/IR/ListReads.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet;

namespace {

/// Elementwise operations with a lowering: those that upstream lowers to one
/// instruction on vectors, and those that the emission writes out.
bool isElementwise(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::SelectOp,
             arith::ExtFOp, arith::TruncFOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::CmpIOp, arith::MaxSIOp, arith::MinSIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp, math::AbsFOp,
             math::CeilOp, math::ErfOp, math::ExpOp, math::Exp2Op,
             math::FloorOp, math::FmaOp, math::LogOp, math::Log2Op,
             math::RoundEvenOp, math::RsqrtOp, math::SqrtOp, math::TanhOp>(op);
}

LogicalResult checkTile(Operation *op, Type type, StringRef target) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return success();
  if (!tile.hasStaticShape() || tile.getRank() < 1 || tile.getRank() > 2)
    return op->emitOpError("expected tiles of 1 or 2 static axes, found ")
           << tile;
  Type element = tile.getElementType();
  if (!element.isF32() && !element.isF16() && !element.isBF16() &&
      !element.isInteger(1) && !element.isInteger(32))
    return op->emitOpError("expected tiles of f32, f16, bf16, i32 or i1 on a ")
           << target << ", found " << tile;
  if (tile.getEncoding())
    return op->emitOpError("expected tiles without encoding, found ") << tile;
  return success();
}

/// Scalars that need no library: LLVM calls one for wider types, and has no
/// instructions for narrower floats.
bool isScalar(Type type) {
  return type.isIndex() || type.isF16() || type.isBF16() || type.isF32() ||
         type.isF64() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
}

LogicalResult checkScalars(Operation *op, StringRef target) {
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return checkSize(dim);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    if (!isa<BlockArgument>(load.getMemRef()))
      return op->emitOpError("expected a parameter of the kernel");
    if (!rtile::isListElement(load.getType()) && !load.getType().isInteger(1))
      return op->emitOpError("expected a number of i32, i64 or i1, found ")
             << load.getType();
    return success();
  }
  if (!isa<arith::ArithDialect>(op->getDialect()))
    return op->emitOpError("is an operation that the ")
           << target << " lowering does not cover";
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes())))
    if (!isScalar(type))
      return op->emitOpError("expected index, integers of at most 64 bits, "
                             "f16, bf16, f32 or f64 outside tiles, found ")
             << type;
  return success();
}

LogicalResult checkCarried(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isScalar(type) && !isa<RankedTensorType>(type))
      return op->emitOpError("expected scalars and tiles as results, found ")
             << type;
  return success();
}

/// Operations whose f32 result, rounded again to 16 bits, is not always that of
/// one rounding.
bool roundsTwice(Operation *op) {
  if (!isa<math::FmaOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return false;
  auto elementOf = [](Value value) { return getElementTypeOrSelf(value); };
  return !elementOf(op->getResult(0)).isF32() &&
         !elementOf(op->getOperand(0)).isInteger(1);
}

/// Operations that take columns apart or put them together.
bool isOnColumns(Operation *op) {
  return isa<rtile::FoldOp, rtile::AnyOp, rtile::SliceOp, rtile::JoinOp,
             rtile::RebaseOp>(op);
}

/// On a GPU, a thread holds the same part of every eight columns: whole blocks
/// of them can be moved.
LogicalResult checkBlocks(Operation *op) {
  constexpr int64_t block = 8;
  auto refuse = [&](StringRef what, int64_t found) -> LogicalResult {
    return op->emitOpError("expected a multiple of ")
           << block << " " << what << " on a GPU, found " << found;
  };
  auto getWidth = [](Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    return type.getRank() == 2 ? type.getDimSize(1) : block;
  };
  if (auto slice = dyn_cast<rtile::SliceOp>(op);
      slice && slice.getBegin() % block != 0)
    return refuse("as the first column", slice.getBegin());
  if (auto fold = dyn_cast<rtile::FoldOp>(op); fold && getWidth(fold) % block)
    return refuse("columns", getWidth(fold));
  if (auto rebase = dyn_cast<rtile::RebaseOp>(op);
      rebase && getWidth(rebase.getSums()) % block)
    return refuse("columns of sums", getWidth(rebase.getSums()));
  if (auto join = dyn_cast<rtile::JoinOp>(op))
    for (Value input : join.getInputs().drop_back())
      if (getWidth(input) % block)
        return refuse("columns", getWidth(input));
  return success();
}

/// Tables and masks are read where they lie.
LogicalResult checkTables(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()) && !isa<BlockArgument>(operand))
      return op->emitOpError("expected tables and masks that are parameters of "
                             "the kernel");
  return success();
}

LogicalResult check(Operation *op, StringRef target) {
  for (Type type : op->getResultTypes())
    if (failed(checkTile(op, type, target)))
      return failure();
  for (Value operand : op->getOperands())
    if (isa<rtile::ViewType>(operand.getType()) &&
        !operand.getDefiningOp<rtile::ViewOp>())
      return op->emitOpError("expected a view made by rtile.view, found one "
                             "that passes through a block or an operation");
  if (isa<rtile::ReturnOp, rtile::LoadOp, rtile::StoreOp, rtile::VisibleOp,
          rtile::DotOp, rtile::ReduceOp, rtile::BroadcastOp, rtile::FoldOp,
          rtile::AnyOp, rtile::SliceOp, rtile::JoinOp, rtile::RebaseOp,
          rtile::RunOp, rtile::BoundsOp, rtile::ListOp, rtile::AnyBlockOp,
          rtile::GenerateOp, rtile::YieldOp, scf::YieldOp>(op))
    return checkTables(op);
  // Sums of a CPU have parts without memory for them (rtile-split-sums).
  if (target == "CPU" && isa<rtile::TotalsOp>(op))
    return success();
  if (target == "GPU" && isOnColumns(op))
    return checkBlocks(op);
  if (auto view = dyn_cast<rtile::ViewOp>(op)) {
    auto isParameter = [](Value buffer) {
      return !buffer || isa<BlockArgument>(buffer);
    };
    if (!isParameter(view.getBuffer()) || !isParameter(view.getRows()) ||
        !isParameter(view.getPositions()) || !isParameter(view.getPages()))
      return op->emitOpError("expected buffers that are parameters of the "
                             "kernel");
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop.getUnsignedCmp())
    return op->emitOpError("expected a loop over signed numbers, found "
                           "scf.for unsigned");
  if (isa<scf::ForOp, scf::IfOp>(op))
    return checkCarried(op);
  bool onTiles = llvm::any_of(op->getResults(), [](Value result) {
    return isa<RankedTensorType>(result.getType());
  });
  if (!onTiles)
    return checkScalars(op, target);
  return checkElementwise(op, target,
                          ("is an operation on tiles that the " + target +
                           " lowering does not cover")
                              .str());
}

} // namespace

LogicalResult ringlet::checkElementwise(Operation *op, StringRef target,
                                        StringRef uncovered) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (!isa<SplatElementsAttr>(constant.getValue()))
      return op->emitOpError("expected the same value in every element of a "
                             "constant tile on a ")
             << target << "; pass other tables as a buffer";
    return success();
  }
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    if (auto mode = truncate.getRoundingmode();
        mode && *mode != arith::RoundingMode::to_nearest_even)
      return op->emitOpError("expected rounding to_nearest_even, found ")
             << arith::stringifyRoundingMode(*mode) << " (R4)";
  if (roundsTwice(op))
    return op->emitOpError("expected a result of f32, to be rounded once, "
                           "found ")
           << op->getResult(0).getType() << " (R4)";
  if (!isElementwise(op))
    return op->emitOpError(uncovered);
  return success();
}

LogicalResult ringlet::checkSize(memref::DimOp op) {
  if (!isa<BlockArgument>(op.getSource()))
    return op.emitOpError("expected a parameter of the kernel");
  std::optional<int64_t> axis = op.getConstantIndex();
  if (!axis)
    return op.emitOpError("expected a constant axis");
  int64_t rank = cast<MemRefType>(op.getSource().getType()).getRank();
  if (*axis < 0 || *axis >= rank)
    return op.emitOpError("expected an axis in [0, ")
           << rank << "), found " << *axis;
  return success();
}

LogicalResult ringlet::checkKernels(Operation *root, StringRef target) {
  bool failed = false;
  root->walk([&](rtile::FuncOp func) {
    func.getBody().walk(
        [&](Operation *op) { failed |= mlir::failed(check(op, target)); });
  });
  return failure(failed);
}
