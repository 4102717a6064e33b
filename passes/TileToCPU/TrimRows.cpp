//===- TrimRows.cpp - Leave out panels without rows -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/MapVector.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILETRIMROWS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// The tile's height; 0 of what is no tile.
int64_t getTileHeight(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getDimSize(0) : 0;
}

/// True if `op` reads or makes a tile of `height` rows of which others than
/// those of one panel matter to a row.
bool mixesRows(Operation *op, int64_t height) {
  auto isTall = [&](Type type) { return getTileHeight(type) == height; };
  if (runsAlone(op))
    return llvm::any_of(op->getOperandTypes(), isTall) ||
           llvm::any_of(op->getResultTypes(), isTall);
  // A load that is read as a whole fills all of its rows.
  if (isa<rtile::LoadOp>(op))
    return false;
  bool mixes = false;
  for (Value result : op->getResults())
    if (isTall(result.getType()))
      walkUses(result, [&](OpOperand &, bool whole) { mixes |= whole; });
  return mixes;
}

/// True if a panel of a tile of `height` rows is worked on in `op` or inside.
bool hasPanels(Operation *op, int64_t height) {
  return op
      ->walk([&](Operation *inner) {
        bool works = getGroup(inner) >= 0 ||
                     isa<rtile::LoadOp, scf::ForOp, scf::IfOp>(inner);
        return WalkResult(works && llvm::any_of(inner->getResultTypes(),
                                                [&](Type type) {
                                                  return getTileHeight(type) ==
                                                         height;
                                                })
                              ? failure()
                              : success());
      })
      .wasInterrupted();
}

struct TrimRows : ringlet::impl::RTileTrimRowsBase<TrimRows> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      func->removeDiscardableAttr(trimmedRowsAttr);
      llvm::MapVector<int64_t, SmallVector<rtile::StoreOp>> stores;
      func.walk([&](rtile::StoreOp store) {
        stores[getTile(store.getTile()).getDimSize(0)].push_back(store);
      });
      SmallVector<int64_t> heights;
      for (auto &[height, ofHeight] : stores)
        if (isTrimmable(func, height, ofHeight))
          heights.push_back(height);
      if (heights.empty())
        return;
      func->setAttr(trimmedRowsAttr,
                    Builder(func.getContext()).getDenseI64ArrayAttr(heights));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("TrimRows")
                                        .category("rtile-trim-rows")
                                        .function(func.getSymName()))
          << "panels without rows are left out";
    });
  }

  static bool isTrimmable(rtile::FuncOp func, int64_t height,
                          ArrayRef<rtile::StoreOp> stores) {
    Geometry geometry = Geometry::of(func);
    Operation *known = getRowsKnown(stores);
    if (geometry.panels(height) == 1 || !known)
      return false;
    for (Operation &op : func.getBody().front()) {
      if (&op == known)
        break;
      if (hasPanels(&op, height))
        return false;
    }
    return !func.walk([&](Operation *op) {
                  return WalkResult(mixesRows(op, height) ? failure()
                                                          : success());
                })
                .wasInterrupted();
  }
};

} // namespace
