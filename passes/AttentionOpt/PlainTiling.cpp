//===- PlainTiling.cpp - Tiles of plain kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionOpt/PlainTiling.h"

#include "dialects/Ringlet/IR/BranchUnion.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ringlet;

/// Rows of a segment that one head visits. What only the call knows counts as
/// a segment of all rows and as no dilation: that kernel has the most work.
static int64_t getRowsOfSegment(attn::AttentionOp op, attn::BranchAttr branch) {
  int64_t length = op.getQuery().getType().getDimSize(op.getSequenceAxis());
  bool bounded = !branch.isUnbounded() && !branch.isRuntimeW();
  if (bounded && (ShapedType::isDynamic(length) || branch.getW() < length))
    length = branch.getW();
  if (ShapedType::isDynamic(length))
    return 0;
  return llvm::divideCeil(std::max<int64_t>(length, 1),
                          branch.isRuntimeR() ? 1 : branch.getR());
}

/// Whether tiles need masks that compare what is known of each query and key.
/// Those of at most 128 rows lie within the blocks of a mask that are multiples
/// of that, if positions begin at 0.
static bool masksByElement(attn::AttentionOp op, attn::BranchAttr branch) {
  if (op.getOrdinalOrder() || op.getGridWindow())
    return true;
  if (!op.getBlockMask())
    return false;
  int64_t axis = op.getSequenceAxis();
  if (branch.isRuntimeR() || op.getQuery().getType().isDynamicDim(axis) ||
      ShapedType::isDynamic(op.getKeyRows()))
    return true;
  return llvm::any_of(*op.getBlockSize(), [&](int64_t side) {
    return side % (128 * branch.getR()) != 0;
  });
}

/// Whether kernels read more than operands.
static bool readsMore(attn::AttentionOp op) {
  Value offset = op.getQOffset();
  return op.getSink() || op.mayCountPadding() || op.getQueryLengths() ||
         op.isPacked() || op.isPaged() || op.getKeyBegins() ||
         (offset && cast<RankedTensorType>(offset.getType()).getRank() != 0);
}

/// What was taken for sizes that only the call knows.
static std::string explainRuntimeSizes(attn::BranchAttr branch) {
  std::string text;
  if (branch.isRuntimeW())
    text += "; w of the call counted as the length";
  if (branch.isRuntimeR())
    text += "; r of the call counted as 1";
  return text;
}

/// How many keys of a branch a query may see; infinity if only the call knows.
static double countKeys(attn::AttentionOp op, attn::BranchAttr branch) {
  double most = INFINITY;
  auto limit = [&](int64_t keys) {
    most = std::min(most, static_cast<double>(keys));
  };
  int64_t keys = op.getKeyRows();
  if (!ShapedType::isDynamic(keys))
    limit(keys);
  if (!branch.isUnbounded() && !branch.isRuntimeW())
    limit(branch.getW());
  std::optional<ArrayRef<int64_t>> window = op.getWindow();
  if (window && (*window)[0] >= 0 && (op.getCausal() || (*window)[1] >= 0)) {
    int64_t right = op.getCausal() ? 0 : (*window)[1], all;
    if (!__builtin_add_overflow((*window)[0], right, &all) &&
        all < mostKeysOfSum)
      limit(all + 1);
  }
  return std::ceil(most / (branch.isRuntimeR() ? 1 : branch.getR()));
}

double ringlet::countMostKeys(attn::AttentionOp op) {
  int64_t heads = op.getQueryHeads();
  double most = 0;
  for (attn::BranchAttr branch : op.getBranchRange()) {
    double ofHead = 0;
    for (attn::BranchAttr other : op.getBranchRange())
      if (other.getHeadBegin() < branch.getHeadEnd(heads) &&
          branch.getHeadBegin() < other.getHeadEnd(heads))
        ofHead += countKeys(op, other);
    most = std::max(most, ofHead);
  }
  return most;
}

int64_t ringlet::getPart(attn::AttentionOp op, attn::BranchAttr branch,
                         const arch::Target &target) {
  // CPUs need no memory for that. In kernels of unions, which know more of
  // where a tile lies, moves of sums spill hundreds of bytes; ones whose rows
  // see many keys are therefore not chosen (countMostKeys).
  if (target.cpu || op.isUnion())
    return 0;
  return countKeys(op, branch) > static_cast<double>(mostKeysOfSum)
             ? mostKeysOfSum
             : 0;
}

double ringlet::getHeadShare(attn::AttentionOp op, attn::BranchAttr branch) {
  int64_t end = branch.getHeadEnd(op.getQueryHeads());
  return static_cast<double>(end - branch.getHeadBegin()) /
         static_cast<double>(op.getQueryHeads());
}

std::optional<cost::BranchScores> ringlet::countScores(attn::AttentionOp op) {
  std::vector<double> shares;
  for (attn::BranchAttr branch : op.getBranchRange())
    shares.push_back(getHeadShare(op, branch));
  return cost::countScores(attn::getUnionShape(op), op.getCausal(), shares);
}

cost::BranchShape ringlet::getBranchShape(attn::AttentionOp op,
                                          attn::BranchAttr branch) {
  cost::BranchShape shape;
  shape.headDim = op.getHeadDim();
  shape.valueDim = op.getValueDim();
  shape.rowsOfSegment = getRowsOfSegment(op, branch);
  shape.causal = op.getCausal();
  shape.segmented = !branch.isUnbounded() || branch.getR() != 1;
  shape.hasRuntimeSizes = branch.isRuntimeW() || branch.isRuntimeR();
  shape.masksByElement = masksByElement(op, branch);
  shape.readsMore = readsMore(op);
  if (op.getKey().getType().getElementTypeBitWidth() == 8)
    shape.storedBytes = 1;
  if (!op.isUnion() || !op.getCausal())
    return shape;
  if (std::optional<cost::BranchScores> scores = countScores(op)) {
    shape.causalShare = scores->ownShare;
    shape.triangles = attn::getUnionShape(op).rate;
  }
  return shape;
}

cost::GPUCore ringlet::getGPUCore(const arch::GPUArch &row,
                                  attn::AttentionOp op,
                                  int64_t spareRegisters) {
  Type element = op.getQuery().getType().getElementType();
  Precision precision = op.getProductPrecision();
  bool hasMma = (element.isF16() && row.mmaDepthF16 > 0) ||
                (element.isBF16() && row.mmaDepthBF16 > 0) ||
                row.hasMmaOfParts(precision);
  return cost::GPUCore::of(row, hasMma, spareRegisters, precision);
}

PlainTiling ringlet::choosePlainTiling(attn::AttentionOp op,
                                       attn::BranchAttr branch,
                                       const arch::Target &target,
                                       int64_t spareRegisters) {
  cost::BranchShape shape = getBranchShape(op, branch);
  std::string sizes = explainRuntimeSizes(branch);
  Type element = op.getQuery().getType().getElementType();
  if (target.cpu) {
    cost::CPUTiling tiling = cost::chooseTiling(
        cost::CPUCore::of(*target.cpu, element.isBF16(), element.isF32()),
        shape);
    return {attn::TilingAttr::get(op.getContext(), tiling.query, tiling.key),
            cost::explain(tiling) + sizes, tiling.cyclesPerScore};
  }
  auto choose = [&](int64_t spare) {
    return cost::chooseTiling(getGPUCore(*target.gpu, op, spare), shape,
                              element.getIntOrFloatBitWidth() / 8);
  };
  cost::GPUTiling tiling = choose(spareRegisters);
  std::string reason = cost::explain(tiling) + sizes;
  int64_t part = getPart(op, branch, target);
  // What moves sums has tiles of its own where a call may have few keys.
  attn::TilingAttr manyKeys;
  if (part && countKeys(op, branch) == INFINITY) {
    cost::GPUTiling many = choose(std::max(spareRegisters, registersOfTotals));
    manyKeys = attn::TilingAttr::get(op.getContext(), many.query, many.key,
                                     std::exchange(part, 0));
    reason += llvm::formatv("; {0} x {1} for calls of more than {2} keys",
                            many.query, many.key, manyKeys.getPart());
  }
  return {attn::TilingAttr::get(op.getContext(), tiling.query, tiling.key, part,
                                manyKeys),
          reason, tiling.cyclesPerScore};
}
