//===- KernelFeatures.cpp - What features add to kernels --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KernelFeatures.h"

#include "passes/AttentionToTile/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

/// Most columns of rows of other residues that one kernel fills beside its own,
/// and most residues: of so many, each has fewer rows than a tile.
static constexpr int64_t maxFillDim = 128, maxFillRate = 1024;

/// Where a kernel streams or ends a softmax; null if it does not.
static SoftmaxEnds *getEnds(Kernel &kernel) {
  if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
    return &branch->ends;
  if (auto *all = std::get_if<UnionKernel>(&kernel.spec))
    return &all->ends;
  return nullptr;
}

KernelList::iterator ringlet::findFirstStream(KernelList &kernels) {
  return llvm::find_if(kernels, [](Kernel &kernel) { return getEnds(kernel); });
}

static SmallVector<BranchKernel *> getBranches(KernelList &kernels) {
  SmallVector<BranchKernel *> branches;
  for (Kernel &kernel : kernels)
    if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
      branches.push_back(branch);
  return branches;
}

void ringlet::finish(Attention &attention, KernelList &kernels) {
  // A copy: the list grows.
  const SoftmaxEnds last = *getEnds(kernels.back());
  if (auto *state = std::get_if<SoftmaxState>(&last.after)) {
    kernels.push_back(
        {"finish", "", FinishKernel{*state, {}, attention.output}});
    if (attention.lse)
      kernels.push_back(
          {"finish_lse", "", FinishLseKernel{*state, {}, attention.lse}});
    return;
  }
  const auto &result = std::get<SoftmaxResult>(last.after);
  if (!result.isWhole)
    kernels.push_back(
        {"finish", "",
         FinishKernel{{result.output, {}, {}}, {}, attention.output}});
}

/// The logits of sinks and of the padding of `branches`, which kernels in front
/// of others write; `part` is behind the names of these.
static HostTensor makeSinks(HostPlan &plan, Attention &attention,
                            ArrayRef<unsigned> branches, const Twine &part,
                            KernelList &before) {
  Type f32 = plan.getBuilder().getF32Type();
  auto shape = ArrayRef(attention.rowShape).take_back(2);
  auto sizes = ArrayRef(attention.rowSizes).take_back(2);
  HostTensor sinks = plan.workspace(shape, f32, sizes);
  if (attention.sink)
    before.push_back({"sinks", part.str(), SinkKernel{attention.sink, sinks}});
  if (!attention.op.mayCountPadding())
    return sinks;
  int64_t entries = ShapedType::isDynamic(shape[1]) ? ShapedType::kDynamic
                                                    : shape[0] * shape[1];
  HostTensor counts =
      plan.workspace(entries, f32, plan.mul(sizes[0], sizes[1]));
  before.push_back({"padding", part.str(),
                    PaddingKernel{llvm::to_vector(branches), counts}});
  before.push_back({"join_padding", part.str(),
                    JoinPaddingKernel{counts, sinks, bool(attention.sink)}});
  return sinks;
}

void ringlet::addSinks(HostPlan &plan, Attention &attention,
                       KernelList &kernels) {
  if (!attention.sink && !attention.op.mayCountPadding())
    return;
  KernelList before;
  // Where branches of a head are added up, each has padding of its own.
  bool areSeparate = attention.isSum() && !attention.op.isUnion() &&
                     attention.op.mayCountPadding();
  HostTensor shared;
  if (!areSeparate)
    shared = makeSinks(
        plan, attention,
        llvm::to_vector(llvm::seq<unsigned>(0, attention.sizes.size())), "",
        before);
  for (Kernel &kernel : kernels) {
    HostTensor sinks = shared;
    if (auto *branch = std::get_if<BranchKernel>(&kernel.spec);
        branch && areSeparate)
      sinks = makeSinks(plan, attention, branch->branch,
                        "_branch" + Twine(branch->branch), before);
    if (SoftmaxEnds *ends = getEnds(kernel)) {
      if (auto *result = std::get_if<SoftmaxResult>(&ends->after))
        result->sinks = sinks;
    } else if (auto *merge = std::get_if<MergeKernel>(&kernel.spec)) {
      merge->result.sinks = sinks;
    } else if (auto *finish = std::get_if<FinishKernel>(&kernel.spec)) {
      if (finish->state.sum)
        finish->sinks = sinks;
    } else if (auto *lse = std::get_if<FinishLseKernel>(&kernel.spec)) {
      lse->sinks = sinks;
    }
  }
  kernels.insert(kernels.begin(), before.begin(), before.end());
}

/// Whether a kernel can fill what its branch leaves out, which are other
/// residues of its segments if it is one dilated branch of all heads. One with
/// a recipe does so before its next point. Wide rows leave it no registers for
/// that, and plain kernels have none. It visits every residue, be it that no
/// row has it.
static bool canFillOthers(Attention &attention, const BranchKernel &kernel) {
  const BranchSizes &sizes = attention.sizes[kernel.branch];
  return sizes.areKnown() && sizes.getR() <= maxFillRate &&
         kernel.tiling.getRecipe() && attention.op.getHeadDim() <= maxFillDim &&
         attention.op.getValueDim() <= maxFillDim &&
         (attention.op.isApart() || attention.hasEveryHead(kernel.branch));
}

/// Lets kernels of branches that are apart fill rows of their heads beside
/// their own, and others fill in front of them what is left: all of it where a
/// kernel cannot or a head has no branch.
static void fillApart(Attention &attention, KernelList &kernels) {
  bool areAllFilled = true;
  int64_t heads = 0;
  const SoftmaxResult *result = nullptr;
  for (BranchKernel *kernel : getBranches(kernels)) {
    attn::BranchAttr branch = attention.getBranch(kernel->branch);
    heads +=
        branch.getHeadEnd(attention.op.getQueryHeads()) - branch.getHeadBegin();
    result = &std::get<SoftmaxResult>(kernel->ends.after);
    const BranchSizes &sizes = attention.sizes[kernel->branch];
    if (sizes.areKnown() && sizes.getR() == 1)
      continue;
    kernel->fillsOthers = canFillOthers(attention, *kernel);
    areAllFilled &= kernel->fillsOthers;
  }
  areAllFilled &= heads == attention.op.getQueryHeads();
  KernelList fills;
  int64_t last = attention.lse.sizes.size() - 1;
  // Of a sum lse has a part for each branch, with entries of all heads.
  if (attention.lse && attention.isSum())
    fills.push_back(
        {"fill_lse", "", FillKernel{attention.lse, last, -infinity}});
  else if (attention.lse && !areAllFilled && result->sinks)
    fills.push_back(
        {"fill_lse", "", FillSinkLseKernel{result->sinks, attention.lse}});
  else if (attention.lse && !areAllFilled)
    fills.push_back(
        {"fill_lse", "", FillKernel{attention.lse, last, -infinity}});
  if (!areAllFilled)
    fills.push_back(
        {"fill_output", "",
         FillKernel{attention.output, attention.op.getSequenceAxis(), 0.0}});
  kernels.insert(findFirstStream(kernels), fills.begin(), fills.end());
}

void ringlet::fillUnreached(Attention &attention, KernelList &kernels) {
  if (attention.op.isApart())
    return fillApart(attention, kernels);
  SmallVector<BranchKernel *> branches = getBranches(kernels);
  // A union has all rows.
  if (branches.empty())
    return;
  BranchKernel &first = *branches.front();
  auto *result = std::get_if<SoftmaxResult>(&first.ends.after);
  auto covers = [&](const BranchKernel *kernel) {
    return attention.coversEveryRow(kernel->branch);
  };
  if (branches.size() == 1 && !covers(&first) &&
      canFillOthers(attention, first)) {
    first.fillsOthers = true;
    return;
  }
  KernelList fills;
  auto fill = [&](StringRef name, const HostTensor &tensor, int64_t axis,
                  double value) {
    fills.push_back({name.str(), "", FillKernel{tensor, axis, value}});
  };
  if (const auto &before = first.ends.before)
    fill("fill_sum", before->sum, before->sum.sizes.size() - 1, 0.0);
  // Others write lse of every row where they end.
  bool isOwn = attention.isSum() || branches.size() == 1;
  if (attention.lse && isOwn && !llvm::all_of(branches, covers)) {
    if (result->sinks && !attention.isSum())
      fills.push_back(
          {"fill_lse", "", FillSinkLseKernel{result->sinks, attention.lse}});
    else
      fill("fill_lse", attention.lse, attention.lse.sizes.size() - 1,
           -infinity);
  }
  int64_t axis = attention.op.getSequenceAxis();
  if (branches.size() == 1 && !covers(&first))
    fill("fill_output", attention.output, axis, 0.0);
  if (result && result->addend)
    fill("fill_partial", result->addend, axis, 0.0);
  kernels.insert(findFirstStream(kernels), fills.begin(), fills.end());
}

/// Room for a state of every row, or for none where the number `isAny` is 0.
static SoftmaxState makeTotals(HostPlan &plan, Attention &attention,
                               Value isAny) {
  // As many rows in any case: they say which tiles have some. Strides of rows
  // are known if the number of heads is.
  bool isBatch = attention.query.sizes.size() == 4;
  auto take = [&](ArrayRef<int64_t> shape, ArrayRef<Value> sizes,
                  int64_t headAxis) {
    SmallVector<int64_t> extents(shape);
    SmallVector<Value> of(sizes);
    int64_t axis = isBatch ? 0 : headAxis;
    of[axis] = plan.mul(of[axis], isAny);
    if (!getConstant(isAny))
      extents[axis] = ShapedType::kDynamic;
    return plan.workspace(extents, plan.getBuilder().getF32Type(), of);
  };
  SmallVector<Value> sizes(attention.query.sizes);
  sizes.back() = attention.value.sizes.back();
  auto type = cast<RankedTensorType>(attention.op.getOutput().getType());
  int64_t heads = int64_t(attention.rowShape.size()) - 2;
  SoftmaxState state;
  state.accumulator =
      take(type.getShape(), sizes, attention.op.getSequenceAxis() + 1);
  state.maximum = take(attention.rowShape, attention.rowSizes, heads);
  state.sum = take(attention.rowShape, attention.rowSizes, heads);
  return state;
}

/// 1 if a row may have more than `count` keys, else 0.
static Value mayHaveMore(HostPlan &plan, Attention &attention, int64_t count) {
  Value one = plan.constant(1);
  // An order has more ordinals than keys.
  if (attention.op.getOrdinalOrder())
    return one;
  Value keys = attention.getKeyRows();
  Value excess = plan.sub(keys, plan.constant(count));
  return plan.max(plan.constant(0), plan.min(one, excess));
}

/// How many keys need no second part. The last tile of a sum need not be full.
static int64_t countKeysOfPart(attn::TilingAttr tiling) {
  int64_t rows = tiling.getKey();
  if (attn::TilingAttr redo = tiling.getRedo())
    rows = std::max(rows, redo.getKey());
  return tiling.getPart() - rows;
}

bool ringlet::hasLongSums(attn::AttentionOp op) {
  auto tilings = op.getTilings()->getAsRange<attn::TilingAttr>();
  return llvm::any_of(tilings, [](attn::TilingAttr tiling) {
    return tiling.getPart() != 0 || tiling.getManyKeys();
  });
}

Value ringlet::mayHaveManyKeys(HostPlan &plan, Attention &attention) {
  std::optional<int64_t> fewest;
  for (auto tiling : attention.op.getTilings()->getAsRange<attn::TilingAttr>())
    if (attn::TilingAttr many = tiling.getManyKeys()) {
      int64_t count = countKeysOfPart(many);
      fewest = fewest ? std::min(*fewest, count) : count;
    }
  return fewest ? mayHaveMore(plan, attention, *fewest) : plan.constant(0);
}

void ringlet::addTotals(HostPlan &plan, Attention &attention,
                        KernelList &kernels) {
  SmallVector<BranchKernel *> branches;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (BranchKernel *kernel : getBranches(kernels)) {
    attn::TilingAttr tiling = kernel->tiling;
    if (tiling.getPart() == 0)
      continue;
    branches.push_back(kernel);
    fewest = std::min(fewest, countKeysOfPart(tiling));
  }
  if (branches.empty())
    return;
  SoftmaxState totals =
      makeTotals(plan, attention, mayHaveMore(plan, attention, fewest));
  for (BranchKernel *kernel : branches)
    kernel->ends.totals = totals;
}

void ringlet::redoMarkedRows(HostPlan &plan, Attention &attention,
                             KernelList &kernels) {
  KernelList result;
  auto mark = [&](Kernel &kernel, auto &marking) {
    if (!marking.tiling.getRecipe())
      return result.push_back(kernel);
    marking.ends.marks = plan.workspace(
        attention.rowShape, plan.getBuilder().getF32Type(), attention.rowSizes);
    result.push_back(kernel);
    RedoKernel redo{marking};
    // What it has computed stays a state, which others finish.
    std::visit([](auto &kernel) { kernel.ends.edge.reset(); }, redo.marking);
    result.push_back({kernel.name, kernel.part + "_redo", redo});
  };
  for (Kernel &kernel : kernels) {
    if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
      mark(kernel, *branch);
    else if (auto *all = std::get_if<UnionKernel>(&kernel.spec))
      mark(kernel, *all);
    else
      result.push_back(kernel);
  }
  kernels = result;
}

void ringlet::addRowTables(Attention &attention, KernelList &kernels) {
  for (Side side : {Side::Query, Side::Key})
    if (attention.rows.areOfSequences(side))
      kernels.insert(findFirstStream(kernels),
                     {"attention",
                      side == Side::Query ? "_query_rows" : "_key_rows",
                      RowTableKernel{side}});
}

void ringlet::fillPastEnds(Attention &attention, KernelList &kernels) {
  const SequenceLists &lists = attention.sequences;
  if (!lists.haveQueryLengths())
    return;
  const HostTensor &ends =
      lists.arePacked() ? lists.queryStarts : lists.queryLengths;
  auto fill = [&](StringRef name, const HostTensor &tensor, int64_t axis,
                  int64_t sequenceAxis, double value) {
    FillPastKernel kernel{tensor, axis, value, ends, std::nullopt};
    if (!lists.arePacked())
      kernel.sequenceAxis = sequenceAxis;
    kernels.push_back({name.str(), "", kernel});
  };
  fill("fill_output_past", attention.output, attention.op.getSequenceAxis(), 0,
       0.0);
  int64_t lseRank = attention.lse.sizes.size();
  if (attention.lse)
    fill("fill_lse_past", attention.lse, lseRank - 1, lseRank - 3, -infinity);
}
