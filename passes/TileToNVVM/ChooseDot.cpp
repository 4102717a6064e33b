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
  }
};

} // namespace
