//===- Kernels.cpp - The kernels of an attention, as data -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/Kernels.h"

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/KernelFeatures.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

bool Attention::hasEveryHead(unsigned index) {
  return getBranch(index).hasEveryHead(op.getQueryHeads());
}

bool Attention::coversEveryRow(unsigned index) {
  return sizes[index].getR() == 1 && hasEveryHead(index);
}

SmallVector<unsigned> ringlet::orderBranches(Attention &attention) {
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
/// own softmax, and only outputs are added up. Rows that are computed again go
/// on from what was there before: the output must not have overwritten that.
static SoftmaxState makeState(HostPlan &plan, Attention &attention) {
  Type f32 = plan.getBuilder().getF32Type();
  bool isRedone = false;
  for (unsigned index = 0; index < attention.sizes.size(); ++index)
    isRedone |= bool(attention.getTiling(index).getRecipe());
  SoftmaxState state;
  state.accumulator = attention.output;
  if (isRedone || !attention.output.getElementType().isF32()) {
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
  addTotals(plan, attention, kernels);
  redoMarkedRows(plan, attention, kernels);
  addRowTables(attention, kernels);
  fillPastEnds(attention, kernels);
  return kernels;
}

/// As many parts of the keys of a branch as fill the machine. They do not
/// depend on the number of keys: so a cache that grows needs no more memory.
struct FillingParts {
  /// Where all sequences have as many keys.
  Value ofAll;
  /// Where one may have most of them: so many times as many. Null if none may.
  Value times;
};

static FillingParts countFillingParts(HostPlan &plan, Attention &attention,
                                      attn::SplitKVAttr split) {
  // More times the memory for what parts leave is not worth it.
  constexpr int64_t mostTimes = 4;
  Value queries = attention.query.sizes[attention.op.getSequenceAxis()];
  Value rows = plan.mul(queries, plan.constant(split.getHeads()));
  int64_t groups = attention.op.getQueryHeads() / split.getHeads();
  Value tiles = plan.mul(
      plan.mul(plan.ceilDiv(rows, split.getRows()), plan.constant(groups)),
      attention.query.sizes[0]);
  int64_t pointsOfProcessor = split.getPoints();
  Value points =
      plan.mul(plan.multiprocessors(), plan.constant(pointsOfProcessor));
  tiles = plan.max(tiles, plan.constant(1));
  FillingParts filling{};
  if (split.getRecipe()) {
    filling.ofAll = plan.max(plan.floorDiv(points, tiles), plan.constant(1));
  } else {
    points = plan.sub(points, plan.constant(pointsOfProcessor - 1));
    filling.ofAll = plan.ceilDiv(points, tiles);
  }
  if (attention.op.getKeyLengths() || attention.op.getKeyBegins())
    filling.times =
        plan.min(attention.query.sizes[0], plan.constant(mostTimes));
  return filling;
}

/// `filling` parts, or more where one of so many keys would be too long a sum.
static Value countPartsOf(HostPlan &plan, attn::SplitKVAttr split, Value keys,
                          Value filling) {
  return split.getMost() == 0
             ? filling
             : plan.max(filling, plan.ceilDiv(keys, split.getMost()));
}

/// How many parts the keys of a branch have: as many as fill the machine, if
/// none is short then. Where one sequence may have most of the keys, long parts
/// do.
static Value countParts(HostPlan &plan, Attention &attention,
                        attn::SplitKVAttr split, unsigned index,
                        const FillingParts &filling) {
  // Times the keys that are worth a part.
  constexpr int64_t longPart = 16;
  const BranchSizes &sizes = attention.sizes[index];
  Value queries = attention.query.sizes[attention.op.getSequenceAxis()];
  Value keys = attention.getKeyRows();
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
  Value parts = countPartsOf(plan, split, keys, filling.ofAll);
  parts = plan.min(parts, plan.max(enough, plan.constant(1)));
  if (!filling.times)
    return parts;
  // A whole number of times, so that they fill it as often.
  Value ofLong =
      plan.mul(filling.ofAll, plan.constant(longPart * split.getPart()));
  Value times = plan.min(filling.times, plan.floorDiv(keys, ofLong));
  return plan.max(parts, plan.mul(filling.ofAll, times));
}

SmallVector<Value> ringlet::selectSplit(HostPlan &plan, Attention &attention) {
  attn::AttentionOp op = attention.op;
  Value queries = attention.query.sizes[op.getSequenceAxis()];
  SmallVector<Value> selected;
  int64_t before = 0;
  for (attn::SplitKVAttr split : op.getSplits()) {
    // Positive where so many are not too many, and so on.
    Value is = plan.sub(plan.constant(split.getQueries() + 1), queries);
    auto also = [&](Value other) { is = plan.min(is, other); };
    if (before)
      also(plan.sub(queries, plan.constant(before)));
    if (split.getFewestKeys() > 1)
      also(plan.sub(attention.getKeyRows(),
                    plan.constant(split.getFewestKeys() - 1)));
    if (split.getFewestParts() > 1) {
      FillingParts filling = countFillingParts(plan, attention, split);
      also(plan.sub(filling.ofAll, plan.constant(split.getFewestParts() - 1)));
    }
    also(plan.constant(1));
    selected.push_back(plan.max(is, plan.constant(0)));
    before = split.getQueries();
  }
  return selected;
}

/// Where `split` has a recipe, tiles that do without.
static attn::SplitKVAttr getPlainSplit(attn::AttentionOp op,
                                       attn::SplitKVAttr split) {
  for (attn::SplitKVAttr other : op.getSplits())
    if (split.getRecipe() && !other.getRecipe())
      return other;
  return nullptr;
}

KernelList ringlet::listPartsKernels(HostPlan &plan, Attention &attention,
                                     attn::SplitKVAttr split) {
  SmallVector<Value> counts, firsts;
  FillingParts filling = countFillingParts(plan, attention, split);
  Value all = plan.constant(0);
  Value mostFilling = filling.ofAll;
  if (filling.times)
    mostFilling = plan.mul(filling.ofAll, filling.times);
  Value most = countPartsOf(plan, split, attention.getKeyRows(), mostFilling);
  for (unsigned i = 0; i < attention.sizes.size(); ++i) {
    counts.push_back(countParts(plan, attention, split, i, filling));
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
                       PartsKernel{i, split, ends, firsts[i], counts[i],
                                   getPlainSplit(attention.op, split)}});
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
  kernels.push_back({"merge", "", MergeKernel{split, states, all, result}});
  addSinks(plan, attention, kernels);
  fillPastEnds(attention, kernels);
  return kernels;
}

RingKernels ringlet::listRingKernels(HostPlan &plan, Attention &attention,
                                     bool mayEnd) {
  RingKernels result;
  result.state = makeState(plan, attention);
  // The pieces stand as one kernel among the others.
  BranchKernel pieces{};
  pieces.ends.after = result.state;
  KernelList kernels = {{"attention", "", pieces}};
  finish(attention, kernels);
  addSinks(plan, attention, kernels);
  for (Kernel &kernel : kernels) {
    if (auto *finish = std::get_if<FinishKernel>(&kernel.spec))
      finish->mayHaveEnded = mayEnd;
    else if (auto *lse = std::get_if<FinishLseKernel>(&kernel.spec))
      lse->mayHaveEnded = mayEnd;
  }
  auto place = findFirstStream(kernels);
  result.before.assign(kernels.begin(), place);
  result.after.assign(place + 1, kernels.end());
  const HostTensor &sum = result.state.sum;
  result.before.push_back(
      {"fill_sum", "",
       FillKernel{sum, int64_t(sum.sizes.size()) - 1, /*value=*/0.0}});
  return result;
}

KernelList ringlet::listPieceKernels(HostPlan &plan, Attention &attention,
                                     const SoftmaxState &state,
                                     const std::optional<PieceEdge> &edge) {
  BranchKernel kernel;
  kernel.branch = 0;
  kernel.tiling = attention.getTiling(0);
  kernel.ends.before = state;
  kernel.ends.after = state;
  kernel.ends.edge = edge;
  // A row may have so many keys in all, whatever this piece has of them.
  kernel.ends.sumsFromZero = edge || hasLongSums(attention.op);
  KernelList kernels = {{"kernel", "", kernel}};
  addTotals(plan, attention, kernels);
  redoMarkedRows(plan, attention, kernels);
  return kernels;
}
