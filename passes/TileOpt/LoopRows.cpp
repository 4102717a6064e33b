//===- LoopRows.cpp - Loops that hand a state on -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/LoopRows.h"

#include "dialects/Tile/IR/ListReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ringlet;

LoopRow ringlet::getLoopRow(scf::ForOp first) {
  LoopRow row{first};
  while (first.getNumResults() != 0) {
    auto users = first->getUsers();
    auto next =
        users.empty() ? scf::ForOp() : dyn_cast<scf::ForOp>(*users.begin());
    if (!next || next->getBlock() != first->getBlock() ||
        !llvm::all_of(users, [&](Operation *user) { return user == next; }) ||
        !llvm::equal(next.getInitArgs(), first.getResults()))
      break;
    row.push_back(next);
    first = next;
  }
  return row;
}

SmallVector<LoopRow> ringlet::getLoopRows(rtile::FuncOp func) {
  SmallVector<LoopRow> rows;
  DenseSet<Operation *> seen;
  func.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (seen.contains(loop))
      return;
    rows.push_back(getLoopRow(loop));
    seen.insert(rows.back().begin(), rows.back().end());
  });
  return rows;
}

bool ringlet::mayWrite(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool isFine = isa<rtile::LoadOp>(inner) || rtile::readsList(inner) ||
                      inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                      isMemoryEffectFree(inner);
        return isFine ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

Location ringlet::named(Location loc, StringRef name) {
  if (auto old = dyn_cast<NameLoc>(loc))
    loc = old.getChildLoc();
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

Location ringlet::nameLike(Value value, StringRef suffix, Location loc) {
  auto name = dyn_cast<NameLoc>(value.getLoc());
  return name ? named(loc, (name.getName().getValue() + suffix).str()) : loc;
}

Value ringlet::createSplat(OpBuilder &builder, StringRef name, double number,
                           RankedTensorType like) {
  auto value = builder.getFloatAttr(like.getElementType(), number);
  return arith::ConstantOp::create(builder,
                                   named(builder.getUnknownLoc(), name),
                                   DenseElementsAttr::get(like, value));
}

void ringlet::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
