//===- OrderGrid.cpp - In which order points of a grid run -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where heads lie within the rows of a sequence, those of one head are on as
// many pages as those of all. So all heads of a segment run before the next
// segment: addresses of its pages are known, and its lines not far away.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SmallBitVector.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECPUORDERGRID
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Calls `use` for each axis of a buffer that a view of rows holds fixed at a
/// point of the grid's `axis`; `inside`: it counts within a row.
void walkFixed(rtile::FuncOp func,
               function_ref<void(unsigned axis, bool inside)> use) {
  Block::BlockArgListType points = func.getGridPoint();
  func.walk([&](rtile::ViewOp view) {
    ArrayRef<int64_t> axes = view.getAxes();
    if (axes.size() != 2)
      return;
    auto fixed = view.getFixed().begin();
    for (int64_t axis = 0; axis < view.getBufferType().getRank(); ++axis) {
      if (llvm::is_contained(axes, axis))
        continue;
      Value at = *fixed++;
      for (auto [number, point] : llvm::enumerate(points))
        if (at == point)
          use(number, axis > axes[0]);
    }
  });
}

/// The axes of the grid, the fastest one first.
SmallVector<int64_t> getOrder(rtile::FuncOp func) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, func.getGridRank()));
  llvm::SmallBitVector inside(order.size()), outside(order.size());
  walkFixed(func, [&](unsigned axis, bool isInside) {
    (isInside ? inside : outside).set(axis);
  });
  // Tiles of one head and segment share keys and values: they stay together.
  if (!order.empty())
    std::stable_partition(order.begin() + 1, order.end(), [&](int64_t axis) {
      return inside[axis] && !outside[axis];
    });
  return order;
}

struct OrderGrid : ringlet::impl::RTileCPUOrderGridBase<OrderGrid> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      func->removeDiscardableAttr(gridOrderAttr);
      SmallVector<int64_t> order = getOrder(func);
      if (llvm::is_sorted(order))
        return;
      func->setAttr(gridOrderAttr,
                    Builder(func.getContext()).getDenseI64ArrayAttr(order));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("OrderGrid")
                                        .category("rtile-cpu-order-grid"))
          << (func.getName() + ": what lies within a row runs before the next "
                               "segment")
                 .str();
    });
  }
};

} // namespace
