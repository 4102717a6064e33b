//===- ChooseTiling.cpp - Choose tile shapes by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/CPU.h"
#include "lib/Cost/CPUTiling.h"
#include "passes/AttentionOpt/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCHOOSETILING
#include "passes/AttentionOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Rows of a segment that one head visits, as far as types tell.
int64_t getRowsOfSegment(attn::AttentionOp op, attn::BranchAttr branch) {
  if (branch.isRuntimeR())
    return 0;
  int64_t length = op.getQuery().getType().getDimSize(op.getSequenceAxis());
  bool bounded = !branch.isUnbounded() && !branch.isRuntimeW();
  if (bounded && (ShapedType::isDynamic(length) || branch.getW() < length))
    length = branch.getW();
  if (ShapedType::isDynamic(length))
    return 0;
  return llvm::divideCeil(std::max<int64_t>(length, 1), branch.getR());
}

struct ChooseTiling : ringlet::impl::RingletChooseTilingBase<ChooseTiling> {
  using Base::Base;

  void runOnOperation() override {
    std::string error;
    const arch::CPULevel *row = arch::lookupCPULevel(level, &error);
    if (!row) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    cost::CPUCore core{row->lanes(), row->l1Bytes, row->l2Bytes};
    getOperation()->walk([&](attn::AttentionOp op) {
      if (op.getTilings())
        return;
      SmallVector<Attribute> tilings;
      for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
        cost::BranchShape shape{op.getHeadDim(), op.getValueDim(),
                                getRowsOfSegment(op, branch), op.getCausal()};
        cost::CPUTiling tiling = cost::chooseTiling(core, shape);
        tilings.push_back(
            attn::TilingAttr::get(op.getContext(), tiling.query, tiling.key));
        remark::passed(op.getLoc(), remark::RemarkOpts::name("ChooseTiling")
                                        .category("ringlet-choose-tiling"))
            << ("branch " + std::to_string(index) + " on " + row->name + ": " +
                cost::explain(tiling));
      }
      op.setTilingsAttr(ArrayAttr::get(op.getContext(), tilings));
    });
  }
};

} // namespace
