//===- ChooseCombine.cpp - How kernels compute several branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/BranchScores.h"
#include "lib/Cost/GPUSchedule.h"
#include "passes/AttentionOpt/ChooseRecipe.h"
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

/// Cycles of a processor, or a multiprocessor, for a row of a chain.
static double getChainCycles(attn::AttentionOp op, const arch::Target &target,
                             const cost::BranchScores &scores) {
  double cycles = 0;
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange()))
    cycles += getHeadShare(op, branch) * scores.ofBranches[index] *
              choosePlainTiling(op, branch, target).cyclesPerScore;
  return cycles;
}

/// Cycles of a processor for a row of a union.
static double getPlainUnionCycles(attn::AttentionOp op,
                                  const arch::Target &target,
                                  const cost::BranchScores &scores,
                                  const layout::UnionShape &shape) {
  PlainTiling tiling = choosePlainTiling(op, attn::getAtoms(op), target);
  int64_t rows = std::min(tiling.tiling.getQuery(), shape.width / shape.rate);
  return scores.ofUnion * tiling.cyclesPerScore +
         cost::cyclesOfPlace * scores.places / static_cast<double>(rows);
}

/// What a GPU needs to run a union as a scheduled kernel and does not have, or
/// the cycles of a multiprocessor for a row.
static std::string getScheduledUnionCycles(attn::AttentionOp op,
                                           const arch::Target &target,
                                           const cost::BranchScores &scores,
                                           double &cycles) {
  std::string reason;
  if (findAttentionRecipe(op, target, reason).empty())
    return reason;
  cost::GPUCore core = getGPUCore(
      *target.gpu, op.getQuery().getType().getElementType(), /*spare=*/0);
  cost::GPUSchedule schedule =
      cost::chooseSchedule(core, getBranchShape(op, attn::getAtoms(op)));
  if (!schedule.fits)
    return "expected tiles that a multiprocessor holds, found " +
           cost::explain(schedule);
  cycles = cost::countCyclesOfRow(schedule, scores.ofUnion);
  return "";
}

/// By the cost model, which speaks of rows of a sequence that fills the longest
/// segment.
Choice ChooseCombine::choose(attn::AttentionOp op, const arch::Target &target) {
  Choice result;
  result.isMissed = true;
  result.reason = attn::whyNotUnion(op);
  if (!result.reason.empty())
    return result;
  layout::UnionShape shape = attn::getUnionShape(op);
  std::optional<cost::BranchScores> scores = countScores(op);
  if (!scores) {
    result.reason = "expected branches with segments whose keys can be counted";
    return result;
  }
  double all = 0;
  op.setCombine(attn::Combine::Union);
  if (target.gpu)
    result.reason = getScheduledUnionCycles(op, target, *scores, all);
  else
    all = getPlainUnionCycles(op, target, *scores, shape);
  op.removeCombineAttr();
  if (!result.reason.empty())
    return result;
  double chain = getChainCycles(op, target, *scores);
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
