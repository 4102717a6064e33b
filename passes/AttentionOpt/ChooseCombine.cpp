//===- ChooseCombine.cpp - How kernels compute several branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/BranchScores.h"
#include "passes/AttentionOpt/Passes.h"
#include "passes/AttentionOpt/PlainTiling.h"

#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCHOOSECOMBINE
#include "passes/AttentionOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// A way, and why it is taken, or why another one is not.
struct Choice {
  attn::Combine combine = attn::Combine::Chain;
  std::string reason;
  bool isMissed = false;
};

struct ChooseCombine : ringlet::impl::RingletChooseCombineBase<ChooseCombine> {
  using Base::Base;

  void runOnOperation() override;

private:
  Choice choose(attn::AttentionOp op, const arch::Target &target);
};

} // namespace

static std::string toText(double value, const char *format) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// By the cost model, which speaks of rows of a sequence that fills the longest
/// segment.
Choice ChooseCombine::choose(attn::AttentionOp op, const arch::Target &target) {
  Choice result;
  result.isMissed = true;
  result.reason = attn::whyNotUnion(op);
  if (!result.reason.empty())
    return result;
  if (target.gpu) {
    result.reason = "expected a CPU, for which its cost is known";
    return result;
  }
  layout::UnionShape shape = attn::getUnionShape(op);
  std::optional<cost::BranchScores> scores =
      cost::countScores(shape, op.getCausal());
  if (!scores) {
    result.reason = "expected branches with segments whose keys can be counted";
    return result;
  }
  double chain = 0;
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
    int64_t end =
        branch.hasAllHeads() ? op.getQueryHeads() : branch.getHeadEnd();
    double share = static_cast<double>(end - branch.getHeadBegin()) /
                   static_cast<double>(op.getQueryHeads());
    chain += share * scores->ofBranches[index] *
             choosePlainTiling(op, branch, target).cyclesPerScore;
  }
  PlainTiling tiling = choosePlainTiling(op, attn::getAtoms(op), target);
  int64_t rows = std::min(tiling.tiling.getQuery(), shape.width / shape.rate);
  double all = scores->ofUnion * tiling.cyclesPerScore +
               cost::cyclesOfPlace * scores->places *
                   static_cast<double>(shape.branches.size()) /
                   static_cast<double>(rows);
  bool isLess = all < chain;
  result.combine = isLess ? attn::Combine::Union : attn::Combine::Chain;
  result.isMissed = !isLess;
  result.reason = "union of " + toText(scores->ofUnion, "%.0f") +
                  " scores a row, " + toText(all / 1000, "%.1f") +
                  " thousand cycles by the cost model; chain " +
                  toText(chain / 1000, "%.1f");
  return result;
}

void ChooseCombine::runOnOperation() {
  std::string error;
  arch::Target target = arch::lookupTarget(level, &error);
  if (target && combine != "auto" && !attn::symbolizeCombine(combine))
    error = "expected one of auto, chain, union, found '" + combine + "'";
  if (!error.empty()) {
    emitError(getOperation()->getLoc()) << error;
    return signalPassFailure();
  }
  auto options = remark::RemarkOpts::name("ChooseCombine")
                     .category("ringlet-choose-combine");
  WalkResult walk = getOperation()->walk([&](attn::AttentionOp op) {
    if (op.getCombine() || op.getTilings() || op.getBranches().size() < 2)
      return WalkResult::advance();
    Choice choice;
    if (combine == "auto") {
      choice = choose(op, target);
    } else {
      choice.combine = *attn::symbolizeCombine(combine);
      choice.reason = combine + ", which was asked for";
      std::string problem = attn::whyNotUnion(op);
      if (choice.combine == attn::Combine::Union && !problem.empty()) {
        op.emitOpError("combine = union is not possible: ") << problem;
        return WalkResult::interrupt();
      }
    }
    if (choice.isMissed)
      remark::missed(op.getLoc(), options) << ("no union: " + choice.reason);
    else
      remark::passed(op.getLoc(), options) << choice.reason;
    if (choice.combine == attn::Combine::Union)
      op.setCombine(choice.combine);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    signalPassFailure();
}
