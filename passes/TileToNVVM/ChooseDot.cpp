//===- ChooseDot.cpp - Instructions of matrix products -*- C++ -*-===//
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
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSEDOT
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

struct ChooseDot : ringlet::impl::RTileChooseDotBase<ChooseDot> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    Builder builder(&getContext());
    getOperation()->walk([&](rtile::DotOp dot) {
      dot->setAttr(dotAttr,
                   builder.getStringAttr(chooseProduct(dot, *row).getName()));
    });
    getOperation()->walk(
        [&](rtile::FuncOp func) { explainPrecision(func, *row); });
  }

  /// What becomes of factors of f32 (R7).
  void explainPrecision(rtile::FuncOp func, const arch::GPUArch &row) {
    Precision precision = Precision::f32;
    func.walk([&](rtile::DotOp dot) {
      precision = std::max(precision, dot.getProductPrecision());
    });
    if (precision == Precision::f32)
      return;
    StringRef name = func.getSymName(), word = nameOf(precision);
    auto options = remark::RemarkOpts::name("ChooseDot")
                       .category("rtile-gpu-choose-dot")
                       .function(name);
    if (row.hasMmaOfParts(precision)) {
      remark::passed(func.getLoc(), options)
          << llvm::formatv("{0}: products of f32 are of {1}, by mma: factors "
                           "are {2} in registers",
                           name, word, isSplit(precision) ? "split" : "rounded")
                 .str();
      return;
    }
    std::string names;
    for (const arch::GPUArch &other : arch::getGPUArchs())
      if (other.hasMmaOfParts(precision))
        names += (names.empty() ? "" : ", ") + std::string(other.name);
    remark::missed(func.getLoc(), options)
        << llvm::formatv("{0}: products that may be of {1} are of f32: "
                         "expected an architecture with matrix instructions "
                         "for them ({2}), found {3} (R7)",
                         name, word, names, row.name)
               .str();
  }
};

} // namespace
