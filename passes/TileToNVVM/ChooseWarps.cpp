//===- ChooseWarps.cpp - How many warps run a kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUTiling.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSEWARPS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

struct ChooseWarps : ringlet::impl::RTileChooseWarpsBase<ChooseWarps> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // Roles say how many warps they have.
      if (func.getScheduled())
        return;
      int64_t height = getHeight(func);
      int64_t columns = getSumColumns(func);
      int64_t warps = cost::chooseWarps(height, columns, isAllOfMatrices(func));
      Builder builder(func.getContext());
      func->setAttr(warpsAttr, builder.getI64IntegerAttr(warps));
      remark::passed(func.getLoc(), remark::RemarkOpts::name("ChooseWarps")
                                        .category("rtile-gpu-choose-warps")
                                        .function(func.getSymName()))
          << llvm::formatv(
                 "{0}: {1} warps for {2} rows and {3} columns of sums",
                 func.getSymName(), warps, height, columns)
                 .str();
    });
  }
};

} // namespace
