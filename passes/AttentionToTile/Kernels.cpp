//===- Kernels.cpp - The kernels of an attention, as data -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/Kernels.h"

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "passes/AttentionToTile/KernelBuilder.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

/// Most columns of rows of other residues that one kernel fills beside its own,
/// and most residues: of so many, each has fewer rows than a tile.
static constexpr int64_t maxFillDim = 128, maxFillRate = 1024;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

bool Attention::hasEveryHead(unsigned index) {
  attn::BranchAttr branch = getBranch(index);
  return branch.getHeadBegin() == 0 &&
         (branch.hasAllHeads() || branch.getHeadEnd() == op.getQueryHeads());
}

bool Attention::coversEveryRow(unsigned index) {
  return sizes[index].getR() == 1 && hasEveryHead(index);
}

/// Branches that see few of a row's neighbours first, one that covers every row
/// last: it writes the output.
static SmallVector<unsigned> orderBranches(Attention &attention) {
  // A dilation that only the call knows may be 1.
  auto rate = [&](unsigned index) {
    return getConstant(attention.sizes[index].r).value_or(1);
  };
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, attention.sizes.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return std::pair(attention.coversEveryRow(a), -rate(a)) <
           std::pair(attention.coversEveryRow(b), -rate(b));
  });
  return order;
}

/// Room for what branches leave for each other. Under mix = sum each has its
/// own softmax, and only outputs are added up.
static SoftmaxState makeState(HostPlan &plan, Attention &attention) {
  Type f32 = plan.getBuilder().getF32Type();
  SoftmaxState state;
  state.accumulator = attention.output;
  if (!attention.output.getElementType().isF32()) {
    SmallVector<Value> sizes(attention.query.sizes);
    sizes.back() = attention.value.sizes.back();
    auto type = cast<RankedTensorType>(attention.op.getOutput().getType());
    state.accumulator = plan.workspace(type.getShape(), f32, sizes);
  }
  if (attention.isSum())
    return state;
  state.maximum = plan.workspace(attention.rowShape, f32, attention.rowSizes);
  state.sum = plan.workspace(attention.rowShape, f32, attention.rowSizes);
  return state;
}

/// A kernel for each branch, which goes on from what the ones before left.
static KernelList chainBranches(HostPlan &plan, Attention &attention) {
  SmallVector<unsigned> order = orderBranches(attention);
  bool isSingle = order.size() == 1;
  SoftmaxState state;
  if (!isSingle)
    state = makeState(plan, attention);
  KernelList kernels;
  for (unsigned index : order) {
    bool covers = attention.coversEveryRow(index);
    bool startsAnew = isSingle || (kernels.empty() && covers);
    BranchKernel kernel;
    kernel.branch = index;
    kernel.tiling = attention.getTiling(index);
    SoftmaxResult result;
    result.isWhole = isSingle || (covers && kernels.size() + 1 == order.size());
    result.output = result.isWhole ? attention.output : state.accumulator;
    result.lse = attention.lse;
    if (attention.isSum()) {
      if (!startsAnew)
        result.addend = state.accumulator;
      kernel.ends.after = result;
    } else {
      if (!startsAnew)
        kernel.ends.before = state;
      if (result.isWhole)
        kernel.ends.after = result;
      else
        kernel.ends.after = state;
    }
    kernels.push_back({"attention", "_branch" + std::to_string(index), kernel});
  }
  return kernels;
}

/// A kernel for each branch, whose heads have no other one.
static KernelList setApart(Attention &attention) {
  KernelList kernels;
  for (unsigned index = 0; index < attention.sizes.size(); ++index) {
    BranchKernel kernel;
    kernel.branch = index;
    kernel.tiling = attention.getTiling(index);
    SoftmaxResult result;
    result.output = attention.output;
    result.lse = attention.lse;
    kernel.ends.after = result;
    kernels.push_back({"attention", "_branch" + std::to_string(index), kernel});
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// What features add
//===----------------------------------------------------------------------===//

/// Where a kernel streams or ends a softmax; null if it does not.
static SoftmaxEnds *getEnds(Kernel &kernel) {
  if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
    return &branch->ends;
  if (auto *all = std::get_if<UnionKernel>(&kernel.spec))
    return &all->ends;
  return nullptr;
}

static auto findFirstStream(KernelList &kernels) {
  return llvm::find_if(kernels, [](Kernel &kernel) { return getEnds(kernel); });
}

static SmallVector<BranchKernel *> getBranches(KernelList &kernels) {
  SmallVector<BranchKernel *> branches;
  for (Kernel &kernel : kernels)
    if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
      branches.push_back(branch);
  return branches;
}

/// Writes output and lse where no branch does: none that comes last has every
/// row.
static void finish(Attention &attention, KernelList &kernels) {
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

/// Lets the sink of each head (R3) and keys of padding (B7) join every softmax
/// where it ends.
static void addSinks(HostPlan &plan, Attention &attention,
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
    heads += (branch.hasAllHeads() ? attention.op.getQueryHeads()
                                   : branch.getHeadEnd()) -
             branch.getHeadBegin();
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

/// Fills rows that no branch reaches, and what branches go on from where the
/// first of them does not reach.
static void fillUnreached(Attention &attention, KernelList &kernels) {
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

/// Kernels with a recipe mark rows that they could not compute, and others
/// compute these once more.
static void redoMarkedRows(HostPlan &plan, Attention &attention,
                           KernelList &kernels) {
  KernelList result;
  auto mark = [&](Kernel &kernel, auto &marking) {
    if (!marking.tiling.getRecipe())
      return result.push_back(kernel);
    marking.ends.marks = plan.workspace(
        attention.rowShape, plan.getBuilder().getF32Type(), attention.rowSizes);
    result.push_back(kernel);
    result.push_back({kernel.name, kernel.part + "_redo", RedoKernel{marking}});
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

/// Tables of rows that branches ask for.
static void addRowTables(Attention &attention, KernelList &kernels) {
  for (Side side : {Side::Query, Side::Key})
    if (attention.rows.areOfSequences(side))
      kernels.insert(findFirstStream(kernels),
                     {"attention",
                      side == Side::Query ? "_query_rows" : "_key_rows",
                      RowTableKernel{side}});
}

/// Fills what lies past the ends of sequences. Last: kernels of whole tensors
/// know nothing of lengths.
static void fillPastEnds(Attention &attention, KernelList &kernels) {
  const SequenceLists &lists = attention.sequences;
  if (!lists.haveLengths())
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

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// The kernels of a union. Only kernels with a recipe compute tiles in front of
/// others for nothing: others leave out rows and columns that a mask hides.
static std::vector<cost::UnionPart> cutUnion(Attention &attention) {
  attn::AttentionOp op = attention.op;
  attn::TilingAttr tiling = attention.getTiling(0);
  auto isLinear = [](TypedValue<RankedTensorType> value) {
    rlayout::OrderAttr order = rlayout::getOrder(value.getType());
    return !order || order.isIdentity();
  };
  if (!op.getCausal() || !tiling.getRecipe() || !isLinear(op.getQuery()) ||
      !isLinear(op.getKey()))
    return {{op.getBranches().size(), 0}};
  return cost::cutCausalUnion(attn::getUnionShape(op), tiling.getQuery(),
                              tiling.getKey());
}

/// One kernel for all branches, or several of which each has more of them.
/// Where branches are added up no head has two, and what the kernel does not
/// write of lse is that of heads a branch has not.
static KernelList uniteBranches(Attention &attention) {
  KernelList kernels;
  if (attention.isSum() && attention.lse) {
    int64_t last = attention.lse.sizes.size() - 1;
    kernels.push_back(
        {"fill_lse", "", FillKernel{attention.lse, last, -infinity}});
  }
  SoftmaxResult result;
  result.output = attention.output;
  result.lse = attention.lse;
  for (const cost::UnionPart &part : cutUnion(attention)) {
    UnionKernel kernel{part, attention.getTiling(0), {}};
    kernel.ends.after = result;
    std::string rows = part.rowsOf ? "_rows" + std::to_string(part.rowsOf) : "";
    kernels.push_back({"attention", "_union" + rows, kernel});
  }
  return kernels;
}

KernelList ringlet::listKernels(HostPlan &plan, Attention &attention) {
  KernelList kernels;
  if (attention.op.isUnion())
    kernels = uniteBranches(attention);
  else if (attention.op.isApart())
    kernels = setApart(attention);
  else
    kernels = chainBranches(plan, attention);
  finish(attention, kernels);
  addSinks(plan, attention, kernels);
  fillUnreached(attention, kernels);
  redoMarkedRows(plan, attention, kernels);
  addRowTables(attention, kernels);
  fillPastEnds(attention, kernels);
  return kernels;
}

/// As many parts of the keys of a branch as fill the machine. They do not
/// depend on the number of keys: so a cache that grows needs no more memory.
static Value countMostParts(HostPlan &plan, Attention &attention) {
  attn::SplitKVAttr split = attention.op.getSplitKvAttr();
  Value queries = attention.query.sizes[attention.op.getSequenceAxis()];
  Value rows = plan.mul(queries, plan.constant(split.getHeads()));
  int64_t groups = attention.op.getQueryHeads() / split.getHeads();
  Value tiles = plan.mul(
      plan.mul(plan.ceilDiv(rows, split.getRows()), plan.constant(groups)),
      attention.query.sizes[0]);
  // Some more than there are threads, so that these end together.
  constexpr int64_t pointsOfThread = 4;
  Value points =
      plan.sub(plan.mul(plan.multiprocessors(), plan.constant(pointsOfThread)),
               plan.constant(pointsOfThread - 1));
  return plan.ceilDiv(points, plan.max(tiles, plan.constant(1)));
}

/// How many parts the keys of a branch have: at most `most`, none of them
/// short.
static Value countParts(HostPlan &plan, Attention &attention, unsigned index,
                        Value most) {
  attn::SplitKVAttr split = attention.op.getSplitKvAttr();
  const BranchSizes &sizes = attention.sizes[index];
  int64_t axis = attention.op.getSequenceAxis();
  Value queries = attention.query.sizes[axis];
  Value keys = attention.key.sizes[axis];
  if (sizes.w)
    keys = plan.min(keys, sizes.w);
  if (auto window = attention.op.getWindow();
      window && (*window)[0] >= 0 &&
      ((*window)[1] >= 0 || attention.op.getCausal())) {
    int64_t right = attention.op.getCausal() ? 0 : (*window)[1];
    int64_t farthest = kMaxOffset;
    Value reach = plan.constant(std::min((*window)[0], farthest) +
                                std::min(right, farthest) + 1);
    keys = plan.min(keys, plan.add(queries, reach));
  }
  keys = plan.ceilDiv(keys, sizes.r);
  Value enough = plan.ceilDiv(keys, split.getPart());
  if (split.getManyParts() != 0) {
    Value many = plan.max(plan.ceilDiv(keys, 4 * split.getPart()),
                          plan.constant(split.getManyParts()));
    enough = plan.min(enough, many);
  }
  return plan.min(most, plan.max(enough, plan.constant(1)));
}

KernelList ringlet::listPartsKernels(HostPlan &plan, Attention &attention) {
  SmallVector<Value> counts, firsts;
  Value most = countMostParts(plan, attention), all = plan.constant(0);
  for (unsigned i = 0; i < attention.sizes.size(); ++i) {
    counts.push_back(countParts(plan, attention, i, most));
    firsts.push_back(all);
    all = plan.add(all, counts.back());
  }
  Type f32 = plan.getBuilder().getF32Type();
  auto take = [&](ArrayRef<int64_t> shape, ArrayRef<Value> sizes) {
    SmallVector<int64_t> extents{ShapedType::kDynamic};
    llvm::append_range(extents, shape);
    SmallVector<Value> of{
        plan.mul(most, plan.constant(attention.sizes.size()))};
    llvm::append_range(of, sizes);
    return plan.workspace(extents, f32, of);
  };
  SmallVector<Value> outputSizes(attention.query.sizes);
  outputSizes.back() = attention.value.sizes.back();
  auto output = cast<RankedTensorType>(attention.op.getOutput().getType());
  SoftmaxState states;
  states.accumulator = take(output.getShape(), outputSizes);
  states.maximum = take(attention.rowShape, attention.rowSizes);
  states.sum = take(attention.rowShape, attention.rowSizes);

  KernelList kernels;
  bool coverAll = true;
  for (unsigned i = 0; i < attention.sizes.size(); ++i) {
    coverAll &= attention.coversEveryRow(i);
    SoftmaxEnds ends;
    ends.after = states;
    kernels.push_back({"attention", "_parts" + std::to_string(i),
                       PartsKernel{i, attention.op.getSplitKvAttr(), ends,
                                   firsts[i], counts[i]}});
  }
  // Rows of other residues and heads have no state but this.
  if (!coverAll)
    kernels.insert(
        kernels.begin(),
        {"fill_sum", "_parts",
         FillKernel{states.sum, int64_t(states.sum.sizes.size()) - 1, 0.0}});
  SoftmaxResult result;
  result.output = attention.output;
  result.lse = attention.lse;
  kernels.push_back({"merge", "", MergeKernel{states, all, result}});
  addSinks(plan, attention, kernels);
  fillPastEnds(attention, kernels);
  return kernels;
}

RingKernels ringlet::listRingKernels(HostPlan &plan, Attention &attention) {
  RingKernels result;
  result.state = makeState(plan, attention);
  // The pieces stand as one kernel among the others.
  BranchKernel pieces{};
  pieces.ends.after = result.state;
  KernelList kernels = {{"attention", "", pieces}};
  finish(attention, kernels);
  addSinks(plan, attention, kernels);
  auto place = findFirstStream(kernels);
  result.before.assign(kernels.begin(), place);
  result.after.assign(place + 1, kernels.end());
  const HostTensor &sum = result.state.sum;
  result.before.push_back(
      {"fill_sum", "",
       FillKernel{sum, int64_t(sum.sizes.size()) - 1, /*value=*/0.0}});
  return result;
}
