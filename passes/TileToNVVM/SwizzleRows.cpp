//===- SwizzleRows.cpp - Which tiles lie swizzled ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESWIZZLEROWS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// True if matrix instructions, and nothing else, read the image that the load
/// fills.
bool isForMatrices(rtile::LoadOp load) {
  bool some = false;
  for (OpOperand &use : load->getUses())
    if (needsImage(use) && isLoadedImage(use)) {
      if (!getBlockProduct(use.getOwner()).isOfMatrices())
        return false;
      some = true;
    }
  return some;
}

struct SwizzleRows : ringlet::impl::RTileSwizzleRowsBase<SwizzleRows> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    if (!row->hasCpAsync)
      return;
    // Slots of channels have a layout of their own.
    if (failed(forEachPlainKernel(
            getOperation(), [&](rtile::FuncOp func) { choose(func, *row); })))
      signalPassFailure();
  }

  void choose(rtile::FuncOp func, const arch::GPUArch &row) {
    int64_t sums = Fragments::of(func).rowBlocks(getHeight(func)) *
                   getSumColumns(func) / 2;
    int64_t swizzled = 0, all = 0;
    func.walk([&](rtile::LoadOp load) {
      if (!isForMatrices(load))
        return;
      ++all;
      if (!cost::isWorthSwizzling(getImage(load), double(sums),
                                  row.sumRegisters))
        return;
      ++swizzled;
      load->setAttr(swizzledAttr, UnitAttr::get(func.getContext()));
    });
    if (all)
      remark::passed(func.getLoc(), remark::RemarkOpts::name("SwizzleRows")
                                        .category("rtile-gpu-swizzle-rows")
                                        .function(func.getSymName()))
          << llvm::formatv("{0}: {1} of {2} operands of mma swizzled in shared "
                           "memory, beside sums in {3} of {4} registers",
                           func.getSymName(), swizzled, all, sums,
                           row.sumRegisters)
                 .str();
  }
};

} // namespace
