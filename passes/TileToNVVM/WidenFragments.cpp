//===- WidenFragments.cpp - Products that widen what they read --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "lib/Cost/GPUTiling.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEWIDENFRAGMENTS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// Columns that threads hold side by side then, and those of block 0: a tile of
/// no more has no other block.
constexpr int64_t adjacent = 4;
constexpr int64_t columnsOfBlock = 2;

/// The load that fills the right operand's image with bytes; null if there is
/// none, or if somebody else reads it.
rtile::LoadOp getBytesLoad(rtile::DotOp dot, const arch::GPUArch &arch) {
  rtile::LoadOp load = getImageLoad(dot.getRhs());
  if (!load || !isOfBytes(load) ||
      !getBlockProduct(dot).widens(getTile(load).getElementType(), arch))
    return nullptr;
  bool isRightAlone = llvm::all_of(load->getUses(), [](OpOperand &use) {
    return isa<rtile::DotOp>(use.getOwner()) && use.getOperandNumber() == 1;
  });
  return isRightAlone ? load : nullptr;
}

/// True if a thread can hold its part of a value of `op` in columns that many
/// side by side.
bool fitsColumns(Operation *op) {
  Fragments layout{1, adjacent};
  auto isWhole = [&](int64_t columns) {
    return columns % layout.columnsAtOnce() == 0;
  };
  for (Value result : op->getResults())
    if (RankedTensorType tile = getTile(result))
      if (tile.getRank() == 2 && tile.getDimSize(1) > columnsOfBlock &&
          !isWhole(tile.getDimSize(1)))
        return false;
  auto slice = dyn_cast<rtile::SliceOp>(op);
  return !slice || isWhole(slice.getBegin());
}

struct WidenFragments : ringlet::impl::RTileWidenFragmentsBase<WidenFragments> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    // Slots of channels hold what products of warp groups take.
    if (failed(forEachPlainKernel(
            getOperation(), [&](rtile::FuncOp func) { choose(func, *row); })))
      signalPassFailure();
  }

  void choose(rtile::FuncOp func, const arch::GPUArch &row) {
    int64_t warps = Fragments::of(func).warps;
    llvm::SetVector<Operation *> loads;
    bool takesAll = true;
    func.walk([&](Operation *op) {
      takesAll &= fitsColumns(op);
      if (auto dot = dyn_cast<rtile::DotOp>(op)) {
        rtile::LoadOp load = getBytesLoad(dot, row);
        takesAll &=
            load && cost::widensInRegisters(warps, getTile(load).getDimSize(1));
        if (load)
          loads.insert(load);
      }
    });
    if (!takesAll || loads.empty())
      return;
    Builder builder(func.getContext());
    for (Operation *load : loads)
      load->setAttr(narrowAttr, builder.getUnitAttr());
    func->setAttr(adjacentAttr, builder.getI64IntegerAttr(adjacent));
    remark::passed(func.getLoc(), remark::RemarkOpts::name("WidenFragments")
                                      .category("rtile-gpu-widen-fragments")
                                      .function(func.getSymName()))
        << llvm::formatv("{0}: {1} operands of mma lie in shared memory in 8 "
                         "bits and are widened in registers",
                         func.getSymName(), loads.size())
               .str();
  }
};

} // namespace
