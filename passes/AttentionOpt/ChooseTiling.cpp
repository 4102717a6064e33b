//===- ChooseTiling.cpp - Choose tile shapes by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/GPUTiling.h"
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

/// Rows of the tiles of Q and of K and V, and why.
struct Choice {
  int64_t query, key;
  std::string reason;
};

Choice chooseFor(const arch::CPULevel &row, const cost::BranchShape &shape) {
  cost::CPUCore core{row.lanes(), row.l1Bytes, row.l2Bytes};
  cost::CPUTiling tiling = cost::chooseTiling(core, shape);
  return {tiling.query, tiling.key, cost::explain(tiling)};
}

Choice chooseFor(const arch::GPUArch &row, const cost::BranchShape &shape,
                 Type element) {
  bool hasMma = (element.isF16() && row.mmaDepthF16 > 0) ||
                (element.isBF16() && row.mmaDepthBF16 > 0);
  cost::GPUCore core{row.sharedBytes,   row.sharedBytesOfSM,
                     row.registersOfSM, row.registersOfThread,
                     row.threadsOfSM,   hasMma};
  cost::GPUTiling tiling =
      cost::chooseTiling(core, shape, element.getIntOrFloatBitWidth() / 8);
  return {tiling.query, tiling.key, cost::explain(tiling)};
}

struct ChooseTiling : ringlet::impl::RingletChooseTilingBase<ChooseTiling> {
  using Base::Base;

  void runOnOperation() override {
    std::string error;
    arch::Target target = arch::lookupTarget(level, &error);
    if (!target) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    getOperation()->walk([&](attn::AttentionOp op) {
      if (op.getTilings())
        return;
      SmallVector<Attribute> tilings;
      for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
        cost::BranchShape shape{op.getHeadDim(), op.getValueDim(),
                                getRowsOfSegment(op, branch), op.getCausal()};
        Choice choice =
            target.cpu ? chooseFor(*target.cpu, shape)
                       : chooseFor(*target.gpu, shape,
                                   op.getQuery().getType().getElementType());
        tilings.push_back(
            attn::TilingAttr::get(op.getContext(), choice.query, choice.key));
        remark::passed(op.getLoc(), remark::RemarkOpts::name("ChooseTiling")
                                        .category("ringlet-choose-tiling"))
            << ("branch " + std::to_string(index) + " on " + target.name() +
                ": " + choice.reason);
      }
      op.setTilingsAttr(ArrayAttr::get(op.getContext(), tilings));
    });
  }
};

} // namespace
