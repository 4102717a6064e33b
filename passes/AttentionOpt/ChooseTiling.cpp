//===- ChooseTiling.cpp - Choose tile shapes by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/GPUSchedule.h"
#include "lib/Cost/GPUTiling.h"
#include "passes/AttentionOpt/ChooseRecipe.h"
#include "passes/AttentionOpt/Passes.h"
#include "passes/AttentionOpt/PlainTiling.h"
#include "passes/AttentionOpt/SplitKV.h"
#include "passes/Recipes/FormOfOp.h"
#include "passes/Recipes/Recipe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCHOOSETILING
#include "passes/AttentionOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The tiling of a branch, and why.
struct TilingChoice {
  attn::TilingAttr tiling;
  std::string reason;
  /// Why there is no recipe, where one could have been expected.
  std::string missed;
};

struct ChooseTiling : ringlet::impl::RingletChooseTilingBase<ChooseTiling> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult readForm(attn::AttentionOp op);
  LogicalResult checkGiven(attn::AttentionOp op);
  FailureOr<TilingChoice> choose(attn::AttentionOp op, attn::BranchAttr branch);
  TilingChoice chooseForGPU(attn::AttentionOp op, attn::BranchAttr branch,
                            PlainTiling plain);

  arch::Target target;
  /// Of the module, and of the attention at hand.
  RecipeRequest common, request;
  /// What tiles of scheduled kernels, and of those without a schedule, leave
  /// free.
  int64_t spareOfScheduled = 0, spareOfPlain = 0;
};

} // namespace

static LogicalResult refuse(attn::AttentionOp op, StringRef recipe,
                            const std::string &problem) {
  return op.emitOpError("recipe ") << recipe << " is not possible: " << problem;
}

/// Plain tiles or, where a recipe is possible and not forbidden, those of it,
/// whichever the cost models expect to be faster.
TilingChoice ChooseTiling::chooseForGPU(attn::AttentionOp op,
                                        attn::BranchAttr branch,
                                        PlainTiling plain) {
  const arch::GPUArch &row = *target.gpu;
  Type element = op.getQuery().getType().getElementType();
  cost::BranchShape shape = getBranchShape(op, branch);
  TilingChoice result{plain.tiling, plain.reason, ""};
  // Who did not ask is not told that an older architecture has no recipes.
  if (request.isPlain() || (request.isAuto && !row.hasScheduledForm()))
    return result;

  std::string recipe = request.forced;
  if (request.isAuto)
    recipe = findAttentionRecipe(op, target, result.missed);
  else
    result.missed = whyNotScheduled(op, target, recipe);
  if (!result.missed.empty())
    return result;
  cost::GPUSchedule schedule =
      cost::chooseSchedule(getGPUCore(row, op, spareOfScheduled), shape);
  if (!schedule.fits) {
    result.missed = "expected tiles that a multiprocessor holds, found " +
                    cost::explain(schedule);
    return result;
  }
  if (request.isAuto && schedule.cyclesPerScore >= plain.cyclesPerScore) {
    result.missed =
        "plain tiles are expected to cost less than " + cost::explain(schedule);
    return result;
  }
  int64_t part = getPart(op, branch, target);
  int64_t spareOfRedo = std::max(spareOfPlain, part ? registersOfTotals : 0);
  cost::GPUTiling redo = cost::chooseTiling(
      getGPUCore(row, op, spareOfRedo), shape,
      element.getIntOrFloatBitWidth() / 8, cost::TileKernel::Redo);
  result.tiling = attn::TilingAttr::get(
      op.getContext(), schedule.query, schedule.key,
      StringAttr::get(op.getContext(), recipe),
      attn::TilingAttr::get(op.getContext(), redo.query, redo.key, part), part);
  result.reason =
      llvm::formatv("recipe {0}, {1}; rows that it marks are computed again in "
                    "tiles of {2} x {3}",
                    recipe, cost::explain(schedule), redo.query, redo.key)
          .str();
  return result;
}

/// What is asked of this attention, if not what is asked of all.
LogicalResult ChooseTiling::readForm(attn::AttentionOp op) {
  request = common;
  spareOfScheduled = spareOfPlain = spareRegisters;
  if (auto own = op->getAttrOfType<DenseI64ArrayAttr>(spareRegistersOfOpAttr)) {
    spareOfScheduled = own[0];
    spareOfPlain = own[1];
  }
  if (auto own = op->getAttrOfType<StringAttr>(recipeOfOpAttr)) {
    std::string error;
    std::optional<RecipeRequest> parsed = parseRecipeRequest(own, error);
    if (!parsed)
      return op.emitOpError() << recipeOfOpAttr << ": " << error;
    request = *parsed;
  }
  op->removeAttr(spareRegistersOfOpAttr);
  op->removeAttr(recipeOfOpAttr);
  return success();
}

/// Who writes a recipe into the graph is told where it is not possible. Targets
/// without recipes take its tiles.
LogicalResult ChooseTiling::checkGiven(attn::AttentionOp op) {
  if (!target.gpu || !target.gpu->hasScheduledForm())
    return success();
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
    attn::TilingAttr tiling = op.getTilingOf(index);
    if (!tiling.getRecipe())
      continue;
    std::string problem = whyNotScheduled(op, branch, tiling, target);
    if (!problem.empty())
      return refuse(op, tiling.getRecipe(), problem);
  }
  return success();
}

FailureOr<TilingChoice> ChooseTiling::choose(attn::AttentionOp op,
                                             attn::BranchAttr branch) {
  PlainTiling plain = choosePlainTiling(op, branch, target, spareOfPlain);
  TilingChoice choice{plain.tiling, plain.reason, ""};
  if (target.gpu)
    choice = chooseForGPU(op, branch, std::move(plain));
  if (request.forced.empty() || choice.tiling.getRecipe())
    return choice;
  if (choice.missed.empty())
    choice.missed = whyNotScheduled(op, target, request.forced);
  return refuse(op, request.forced, choice.missed);
}

void ChooseTiling::runOnOperation() {
  std::string error;
  target = arch::lookupTarget(level, &error);
  std::optional<RecipeRequest> parsed;
  if (target)
    parsed = parseRecipeRequest(recipe, error);
  if (!parsed) {
    emitError(getOperation()->getLoc()) << error;
    return signalPassFailure();
  }
  common = *parsed;
  auto report = [&](remark::detail::InFlightRemark remark,
                    std::optional<unsigned> branch, const std::string &text) {
    std::string what = "union";
    if (branch) {
      what = llvm::formatv("branch {0}", *branch).str();
      remark << remark::metric("branch", *branch);
    }
    remark << (what + " on " + target.name() + ": " + text);
  };
  auto options = remark::RemarkOpts::name("ChooseTiling")
                     .category("ringlet-choose-tiling");
  WalkResult walk = getOperation()->walk([&](attn::AttentionOp op) {
    if (failed(readForm(op)))
      return WalkResult::interrupt();
    if (op.getTilings())
      return failed(checkGiven(op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
    SmallVector<Attribute> tilings;
    SmallVector<attn::BranchAttr> branches(op.getBranchRange());
    if (op.isUnion())
      branches = {attn::getAtoms(op)};
    for (auto [index, branch] : llvm::enumerate(branches)) {
      FailureOr<TilingChoice> choice = choose(op, branch);
      if (failed(choice))
        return WalkResult::interrupt();
      tilings.push_back(choice->tiling);
      std::optional<unsigned> number;
      if (!op.isUnion())
        number = index;
      report(remark::passed(op.getLoc(), options), number, choice->reason);
      if (!choice->missed.empty())
        report(remark::missed(op.getLoc(), options), number,
               "no recipe: " + choice->missed);
    }
    op.setTilingsAttr(ArrayAttr::get(op.getContext(), tilings));
    // Before tiles for many queries leave registers free, those for few do
    // without a recipe.
    bool mayHaveRecipe = !request.isPlain() && spareOfScheduled == 0;
    SplitKVChoice few =
        chooseSplitKV(op, branches, target, spareOfPlain, mayHaveRecipe);
    if (few.splits)
      op.setSplitKvAttr(few.splits);
    auto say = [&](remark::detail::InFlightRemark remark, StringRef what) {
      remark << (what + " on " + target.name() + ": " + few.reason).str();
    };
    if (few.splits)
      say(remark::passed(op.getLoc(), options), "few queries");
    else
      say(remark::missed(op.getLoc(), options), "no kernels for few queries");
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    signalPassFailure();
}
