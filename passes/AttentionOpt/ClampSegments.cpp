//===- ClampSegments.cpp - Drop the bound of long segments -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionOpt/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCLAMPSEGMENTS
#include "passes/AttentionOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// One past the largest position of `op`, if all positions are known and none
/// is negative.
std::optional<int64_t> getPositionBound(attn::AttentionOp op) {
  int64_t axis = op.getSequenceAxis();
  int64_t queries = op.getQuery().getType().getDimSize(axis);
  int64_t keys = op.getKeyRows();
  if (op.isPacked() || op.getQueryLengths() || op.getKeyBegins() ||
      op.getQOffset() || ShapedType::isDynamic(queries) ||
      ShapedType::isDynamic(keys))
    return std::nullopt;
  // S1: query row 0 is at len_k - len_q, so the last rows coincide.
  if (queries > keys)
    return std::nullopt;
  return keys;
}

struct ClampSegments : ringlet::impl::RingletClampSegmentsBase<ClampSegments> {
  void runOnOperation() override {
    getOperation()->walk([&](attn::AttentionOp op) {
      std::optional<int64_t> bound = getPositionBound(op);
      // A pattern order counts segments along the curve, not by position.
      if (!bound || op.getOrdinalOrder())
        return;
      SmallVector<Attribute> branches;
      for (attn::BranchAttr branch : op.getBranchRange()) {
        if (branch.getW() >= *bound && !branch.isUnbounded() &&
            !branch.isRuntimeW()) {
          remark::passed(op.getLoc(), remark::RemarkOpts::name("ClampSegment")
                                          .category("ringlet-clamp-segments"))
              << llvm::formatv(
                     "segment of {0} holds all {1} positions: unbounded",
                     branch.getW(), *bound)
                     .str();
          branch = branch.withW(attn::BranchAttr::kUnbounded);
        }
        branches.push_back(branch);
      }
      op.setBranchesAttr(ArrayAttr::get(op.getContext(), branches));
    });
  }
};

} // namespace
