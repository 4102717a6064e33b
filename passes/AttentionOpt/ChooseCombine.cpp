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
#include "lib/Cost/UnionCut.h"
#include "passes/AttentionOpt/ChooseRecipe.h"
#include "passes/AttentionOpt/Passes.h"
#include "passes/AttentionOpt/PlainTiling.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCHOOSECOMBINE
#include "passes/AttentionOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// What the cost model says of a way: cycles of a processor, or a
/// multiprocessor, for a row, or why it is none.
struct Prediction {
  attn::Combine way;
  double cycles = 0;
  std::string problem;
};

/// A way, and why it is taken.
struct CombineChoice {
  attn::Combine combine = attn::Combine::Chain;
  std::string reason;
};

struct ChooseCombine : ringlet::impl::RingletChooseCombineBase<ChooseCombine> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult run(attn::AttentionOp op);

  arch::Target target;
};

/// Predicts what the ways cost that kernels have for several branches.
class Predictor {
public:
  Predictor(attn::AttentionOp op, const arch::Target &target)
      : op(op), target(target), scores(countScores(op)) {}

  /// Whether keys can be counted.
  bool isPossible() const { return scores.has_value(); }
  double getScoresOfUnion() const { return scores->ofUnion; }
  Prediction predict(attn::Combine way);

private:
  double countBranches();
  double countChain();
  double countPlainUnion();
  double countUnion(std::string &problem);
  double countSteps(const cost::GPUCore &core,
                    const cost::GPUSchedule &schedule);

  attn::AttentionOp op;
  const arch::Target &target;
  std::optional<cost::BranchScores> scores;
};

} // namespace

static std::string toText(double value, const char *format) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// The schedule of a branch, or why there is none.
static cost::GPUSchedule getSchedule(attn::AttentionOp op,
                                     attn::BranchAttr branch,
                                     const arch::Target &target,
                                     std::string &problem) {
  cost::GPUSchedule schedule{};
  if (findAttentionRecipe(op, target, problem).empty())
    return schedule;
  problem.clear();
  cost::GPUCore core = getGPUCore(*target.gpu, op, /*spare=*/0);
  schedule = cost::chooseSchedule(core, getBranchShape(op, branch));
  if (!schedule.fits)
    problem = "expected tiles that a multiprocessor holds, found " +
              cost::explain(schedule);
  return schedule;
}

/// A kernel a branch, by its recipe where it has one.
double Predictor::countBranches() {
  double cycles = 0;
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
    double keys = scores->ofBranches[index];
    double ofBranch =
        keys * choosePlainTiling(op, branch, target).cyclesPerScore;
    std::string problem;
    if (target.gpu) {
      cost::GPUSchedule schedule = getSchedule(op, branch, target, problem);
      // Of r rows one sees keys.
      auto rate = static_cast<double>(branch.getR());
      if (problem.empty())
        ofBranch = std::min(
            ofBranch, cost::countCyclesOfRow(schedule, keys * rate) / rate);
    }
    cycles += getHeadShare(op, branch) * ofBranch;
  }
  return cycles;
}

/// What links of a chain leave for each other goes through memory: the first
/// one leaves a state, others find one, too. One that covers every row comes
/// last and writes the output; without it another kernel reads every row's
/// state and writes its output, in half as many bytes.
double Predictor::countChain() {
  double cycles = countBranches();
  if (!target.gpu || op.getBranches().size() == 1)
    return cycles;
  double rows = 0, least = 1;
  bool coversAll = false;
  for (attn::BranchAttr branch : op.getBranchRange()) {
    double share =
        getHeadShare(op, branch) / static_cast<double>(branch.getR());
    rows += share;
    least = std::min(least, share);
    coversAll |= share == 1;
  }
  double moved = 2 * rows - least + (coversAll ? -1 : 1.5);
  return cycles + moved * cost::countCyclesOfState(op.getValueDim());
}

double Predictor::countPlainUnion() {
  layout::UnionShape shape = attn::getUnionShape(op);
  PlainTiling tiling = choosePlainTiling(op, attn::getAtoms(op), target);
  int64_t rows = std::min(tiling.tiling.getQuery(), shape.width / shape.rate);
  return scores->ofUnion * tiling.cyclesPerScore +
         cost::cyclesOfPlace * scores->places / static_cast<double>(rows);
}

/// Of a causal union of nested branches, as it is cut.
double Predictor::countSteps(const cost::GPUCore &core,
                             const cost::GPUSchedule &schedule) {
  layout::UnionShape shape = attn::getUnionShape(op);
  double steps = 0;
  for (const cost::UnionPart &part :
       cost::cutCausalUnion(shape, schedule.query, schedule.key))
    steps += cost::countSteps(shape, part, schedule.query, schedule.key);
  // What one costs that hides nothing.
  cost::BranchShape whole = getBranchShape(op, attn::getAtoms(op));
  whole.causal = false;
  whole.rowsOfSegment = 0;
  double cycles =
      cost::estimateSchedule(core, whole, schedule.query, schedule.key)
          .cyclesPerScore *
      static_cast<double>(schedule.query * schedule.key);
  return steps * cycles * cost::kCausalUnionLoss /
         static_cast<double>(shape.width);
}

/// Why sums of a union would have too many terms on a GPU, where no more than
/// twice what others move to memory are added up (getPart).
static std::string whySumsAreLong(attn::AttentionOp op) {
  constexpr int64_t most = 2 * mostKeysOfSum;
  double keys = countMostKeys(op);
  if (keys <= most)
    return "";
  std::string found = "as many as the call has";
  if (keys != INFINITY)
    found = llvm::formatv("{0}", static_cast<int64_t>(keys)).str();
  return llvm::formatv("expected at most {0} keys a query, whose weights are "
                       "one sum in registers, found {1} (R4)",
                       most, found)
      .str();
}

double Predictor::countUnion(std::string &problem) {
  if (!target.gpu)
    return countPlainUnion();
  problem = whySumsAreLong(op);
  if (!problem.empty())
    return 0;
  attn::BranchAttr atoms = attn::getAtoms(op);
  cost::GPUSchedule schedule = getSchedule(op, atoms, target, problem);
  if (!problem.empty())
    return 0;
  if (!op.getCausal() || !attn::getUnionShape(op).isNested)
    return cost::countCyclesOfRow(schedule, scores->ofUnion);
  cost::GPUCore core = getGPUCore(*target.gpu, op, /*spare=*/0);
  return countSteps(core, schedule);
}

Prediction Predictor::predict(attn::Combine way) {
  Prediction result{way};
  if (way == attn::Combine::Union)
    result.problem = attn::whyNotUnion(op);
  if (way == attn::Combine::Apart)
    result.problem = attn::whyNotApart(op);
  if (!result.problem.empty())
    return result;
  op.setCombine(way);
  if (way == attn::Combine::Union)
    result.cycles = countUnion(result.problem);
  else if (way == attn::Combine::Apart)
    result.cycles = countBranches();
  else
    result.cycles = countChain();
  op.removeCombineAttr();
  return result;
}

/// Rows of all heads and sequences of a call, of which what types do not say is
/// one sequence of 65536 tokens.
static double countRows(attn::AttentionOp op) {
  constexpr int64_t anyLength = 65536;
  RankedTensorType query = op.getQuery().getType();
  int64_t rows = query.getDimSize(op.getSequenceAxis());
  rows = ShapedType::isDynamic(rows) ? anyLength : rows;
  if (!op.isPacked() && !query.isDynamicDim(0))
    rows *= query.getDimSize(0);
  return static_cast<double>(rows) * static_cast<double>(op.getQueryHeads());
}

/// What is predicted of a way, for people.
static std::string explain(attn::AttentionOp op, const arch::Target &target,
                           const Prediction &prediction) {
  std::string text = attn::stringifyCombine(prediction.way).str();
  if (!prediction.problem.empty())
    return text + " is not possible: " + prediction.problem;
  if (!target.gpu)
    return text + " " + toText(prediction.cycles / 1000, "%.1f") +
           " thousand cycles a row";
  double seconds = prediction.cycles * countRows(op) /
                   target.gpu->multiprocessors / target.gpu->megahertz / 1e6;
  return text + " " + toText(seconds * 1e3, "%.3g") + " ms";
}

/// The way of which the cost model predicts the least, which speaks of rows of
/// a sequence that fills the longest segment.
static CombineChoice choose(attn::AttentionOp op, const arch::Target &target) {
  using attn::Combine;
  CombineChoice result;
  Predictor predictor(op, target);
  if (!predictor.isPossible()) {
    std::string problem = attn::whyNotApart(op);
    if (problem.empty())
      result.combine = Combine::Apart;
    std::string reason = attn::whyNotUnion(op);
    if (reason.empty())
      reason = "expected branches with segments whose keys can be counted";
    result.reason =
        attn::stringifyCombine(result.combine).str() +
        "; union is not taken: " + reason +
        (problem.empty() ? "" : "; apart is not possible: " + problem);
    return result;
  }
  const Prediction *best = nullptr;
  SmallVector<Prediction> all;
  // Of those that cost the same the first one moves the least.
  for (Combine way : {Combine::Apart, Combine::Union, Combine::Chain})
    all.push_back(predictor.predict(way));
  for (const Prediction &each : all)
    if (each.problem.empty() && (!best || each.cycles < best->cycles))
      best = &each;
  result.combine = best->way;
  result.reason = explain(op, target, *best);
  if (best->way == Combine::Union)
    result.reason +=
        ", " + toText(predictor.getScoresOfUnion(), "%.0f") + " scores a row";
  result.reason += ", the least that the cost model predicts";
  if (target.gpu)
    result.reason +=
        llvm::formatv(" for {0} rows of heads on {1} multiprocessors",
                      toText(countRows(op), "%.3g"),
                      target.gpu->multiprocessors)
            .str();
  for (const Prediction &each : all)
    if (each.way != best->way)
      result.reason += "; " + explain(op, target, each);
  return result;
}

LogicalResult ChooseCombine::run(attn::AttentionOp op) {
  auto options = remark::RemarkOpts::name("ChooseCombine")
                     .category("ringlet-choose-combine");
  CombineChoice choice;
  if (combine == "auto") {
    choice = choose(op, target);
  } else {
    choice.combine = *attn::symbolizeCombine(combine);
    choice.reason = combine + ", which was asked for";
    std::string problem;
    if (choice.combine == attn::Combine::Union)
      problem = attn::whyNotUnion(op);
    if (choice.combine == attn::Combine::Apart)
      problem = attn::whyNotApart(op);
    if (!problem.empty())
      return op.emitOpError("combine = ")
             << combine << " is not possible: " << problem;
  }
  remark::passed(op.getLoc(), options) << choice.reason;
  if (choice.combine != attn::Combine::Chain)
    op.setCombine(choice.combine);
  return success();
}

void ChooseCombine::runOnOperation() {
  std::string error;
  target = arch::lookupTarget(level, &error);
  if (target && combine != "auto" && !attn::symbolizeCombine(combine))
    error =
        "expected one of auto, apart, chain, union, found '" + combine + "'";
  if (!error.empty()) {
    emitError(getOperation()->getLoc()) << error;
    return signalPassFailure();
  }
  WalkResult walk = getOperation()->walk([&](attn::AttentionOp op) {
    if (op.getCombine() || op.getTilings() || op.getBranches().size() < 2)
      return WalkResult::advance();
    return failed(run(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    signalPassFailure();
}
