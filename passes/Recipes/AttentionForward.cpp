//===- AttentionForward.cpp - Where its recipes apply -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/AttentionForward.h"

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Cost/GPUSchedule.h"
#include "lib/Layout/Dilation.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using attn::BranchAttr;

namespace {

/// Head dimensions that products of warp groups and the copy engine take.
constexpr int64_t leastDim = 16, mostDim = cost::kMostColumns,
                  dimStep = cost::kColumnStep;
/// Segments up to this length keep their length when positions are cut to 64
/// bits.
constexpr int64_t mostSegment = int64_t(1) << 60;

std::string checkTarget(const arch::Target &target) {
  if (target.gpu && target.gpu->hasScheduledForm())
    return "";
  std::string names;
  for (const arch::GPUArch &row : arch::getGPUArchs())
    if (row.hasScheduledForm())
      names += (names.empty() ? "" : ", ") + std::string(row.name);
  return "expected an architecture with products of warp groups and a copy "
         "engine (" +
         names + "), found " + target.name();
}

/// Scheduled kernels find the keys that are seen by division.
std::string checkMasks(attn::AttentionOp op) {
  if (op.getGridWindow())
    return "expected no grid window, found one (B5)";
  if (op.getBlockMask())
    return "expected no block mask, found one (B6)";
  return "";
}

std::string checkDim(StringRef name, int64_t dim) {
  if (dim % dimStep == 0 && dim >= leastDim && dim <= mostDim)
    return "";
  int64_t nearest =
      std::clamp((dim + dimStep / 2) / dimStep * dimStep, leastDim, mostDim);
  return llvm::formatv("expected {0} a multiple of {1} from {2} to {3}, found "
                       "{4}; nearest {5}",
                       name, dimStep, leastDim, mostDim, dim, nearest)
      .str();
}

/// Whether all tokens lie where their ordinals are, as under no order, and no
/// condition asks for positions.
bool liesByOrdinal(attn::AttentionOp op) {
  rlayout::OrderAttr pattern = op.getOrdinalOrder();
  DenseIntElementsAttr offset;
  bool atZero = !op.getQOffset() ||
                (matchPattern(op.getQOffset(), m_Constant(&offset)) &&
                 offset.isSplat() && offset.getSplatValue<int64_t>() == 0);
  return rlayout::getOrder(op.getQuery().getType()) == pattern &&
         rlayout::getOrder(op.getKey().getType()) == pattern &&
         pattern.getChunk() == 0 && atZero && !op.getQueryLengths() &&
         !op.getKeyBegins() && !op.isPacked() && !op.getCausal() &&
         !op.getWindow() && !op.getGridWindow() && !op.getBlockMask();
}

/// Branches of which the rows of tiles are.
SmallVector<BranchAttr> getTileBranches(attn::AttentionOp op) {
  if (op.isUnion())
    return {attn::getAtoms(op)};
  return llvm::to_vector(op.getBranchRange());
}

/// Maps of the copy engine know one pool, not which of its pages come next.
std::string checkPages(attn::AttentionOp op) {
  return op.isPaged() ? "expected keys and values of a sequence side by side, "
                        "found pages (S4)"
                      : "";
}

/// The copy engine brings bytes as they are, and products read what it brought.
std::string checkElements(attn::AttentionOp op) {
  Type element = op.getQuery().getType().getElementType();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (element.getIntOrFloatBitWidth() != 16)
    stream << "expected elements of f16 or bf16, found "
           << (element.isF32() ? "f32" : "others");
  else if (op.isWidened())
    stream << "expected keys and values of " << element << ", found "
           << op.getKey().getType().getElementType() << " (S6)";
  return text;
}

/// The copy engine fetches rows at equal distances, in an order rows that lie
/// side by side; and scheduled kernels find the keys that are seen by division.
std::string checkOrders(attn::AttentionOp op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  rlayout::OrderAttr pattern = op.getOrdinalOrder();
  if (pattern) {
    if (!liesByOrdinal(op))
      stream << "expected no pattern order, or one that query and key lie in, "
                "without causality, window and lengths, found "
             << pattern << " (O2)";
    return text;
  }
  for (auto [name, value] :
       {std::pair("query", op.getQuery()), {"key", op.getKey()}}) {
    rlayout::OrderAttr order = rlayout::getOrder(value.getType());
    if (!text.empty() || !order || order.isIdentity())
      continue;
    for (BranchAttr branch : getTileBranches(op)) {
      int64_t r = branch.getR();
      // Whatever the segments, a residue is one run.
      if (order.getOrder()->rowStep(layout::unboundedSegment, r,
                                    /*atTokenZero=*/false) == 1)
        continue;
      stream << "expected " << name << " in linear order";
      if (r > 1)
        stream << " or residue<" << r << ">";
      stream << ", found " << order << " (O1)";
      break;
    }
  }
  return text;
}

/// A division finds the key tiles of a union, or each part has a run of them.
std::string checkUnion(attn::AttentionOp op) {
  if (op.getWindow())
    return "expected a union without window, found one";
  if (op.getCausal() && attn::getAtoms(op).isUnbounded())
    return "expected a causal union with segments, found branches without (B1)";
  return "";
}

std::string checkBranch(BranchAttr branch) {
  if (branch.isRuntimeR() || branch.isRuntimeW())
    return "expected w and r that are known, found runtime ones (B1)";
  if (!branch.isUnbounded() && branch.getW() > mostSegment)
    return llvm::formatv("expected w of at most 2^60, found {0} (B1)",
                         branch.getW())
        .str();
  return "";
}

} // namespace

std::string ringlet::whyNotForwardAttention(attn::AttentionOp op,
                                            const arch::Target &target) {
  std::string problem = checkTarget(target);
  if (problem.empty())
    problem = checkElements(op);
  if (problem.empty())
    problem = checkDim("D", op.getHeadDim());
  if (problem.empty())
    problem = checkDim("Dv", op.getValueDim());
  if (problem.empty() && op.isUnion())
    problem = checkUnion(op);
  bool isChain = !op.isUnion() && !op.isApart();
  if (problem.empty() && op.getMix() != attn::Mix::Softmax && isChain)
    problem = "expected mix = softmax, found mix = sum (R2)";
  for (BranchAttr branch : getTileBranches(op))
    if (problem.empty())
      problem = checkBranch(branch);
  if (problem.empty())
    problem = checkOrders(op);
  if (problem.empty())
    problem = checkPages(op);
  if (problem.empty())
    problem = checkMasks(op);
  return problem;
}
