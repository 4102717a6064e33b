//===- SkipEmptyPoints.cpp - Points of a grid without rows -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid over sequences has points for as many rows as they may have. Where
// the sequence of a point is shorter, its tile has no row, nothing that it
// computes is stored, and roles need not begin: neither to copy what nobody
// needs, nor to multiply it.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileSchedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESKIPEMPTYPOINTS
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Whether rows of one number exist in both views or in none.
bool haveSameRows(rtile::ViewOp a, rtile::ViewOp b) {
  rtile::ViewType x = a.getType(), y = b.getType();
  return a.getOrigin() == b.getOrigin() && a.getSegment() == b.getSegment() &&
         a.getResidue() == b.getResidue() && a.getFirst() == b.getFirst() &&
         a.getEnd() == b.getEnd() && a.getRows() == b.getRows() &&
         a.getPages() == b.getPages() &&
         x.getSegmentLength() == y.getSegmentLength() &&
         x.getRate() == y.getRate();
}

/// A store such that all stores of the kernel are to its rows, which are those
/// of a part of an axis; null if there is none, or if the roles do not share
/// where it is.
rtile::StoreOp findStore(rtile::FuncOp func) {
  rtile::StoreOp found;
  bool isOne = true;
  auto isShared = [&](Value value) {
    return value.getParentBlock() == &func.getBody().front();
  };
  func.walk([&](rtile::StoreOp store) {
    auto view = store.getView().getDefiningOp<rtile::ViewOp>();
    if (!view || !view.getFirst() || !isShared(view) ||
        !isShared(store.getOffsets().front())) {
      isOne = false;
      return;
    }
    if (!found)
      found = store;
    isOne &= found.getOffsets().front() == store.getOffsets().front() &&
             haveSameRows(found.getView().getDefiningOp<rtile::ViewOp>(), view);
  });
  return isOne ? found : rtile::StoreOp();
}

/// Roles do what they do only if the first row of `store` exists.
void guardRoles(rtile::FuncOp func, rtile::StoreOp store) {
  SmallVector<rtile::RoleOp> roles(func.getBody().getOps<rtile::RoleOp>());
  ImplicitLocOpBuilder builder(store.getLoc(), roles.front());
  auto named = [&](StringRef name) {
    return NameLoc::get(builder.getStringAttr(name), store.getLoc());
  };
  auto bounds =
      rtile::BoundsOp::create(builder, named("bounds"), store.getView());
  Value hasRows = arith::CmpIOp::create(
      builder, named("has_rows"), arith::CmpIPredicate::slt,
      store.getOffsets().front(), bounds.getEnd());
  for (rtile::RoleOp role : roles) {
    Block &body = role.getBody().front();
    OpBuilder inside = OpBuilder::atBlockBegin(&body);
    auto choice = scf::IfOp::create(inside, role.getLoc(), hasRows,
                                    /*withElseRegion=*/false);
    Operation *end = choice.thenBlock()->getTerminator();
    while (Operation *next = choice->getNextNode())
      next->moveBefore(end);
  }
}

struct SkipEmptyPoints
    : ringlet::impl::RTileSkipEmptyPointsBase<SkipEmptyPoints> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getScheduled())
        return;
      rtile::StoreOp store = findStore(func);
      if (!store)
        return;
      guardRoles(func, store);
      remark::passed(func.getLoc(), remark::RemarkOpts::name("SkipEmptyPoints")
                                        .category("rtile-skip-empty-points")
                                        .function(func.getSymName()))
          << (func.getSymName() + ": roles skip points whose tile has no row")
                 .str();
    });
  }
};

} // namespace
