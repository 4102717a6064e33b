//===- Supported.cpp - What has no lowering yet -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/RowOrder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;

bool ringlet::hasOffsetOfSequence(attn::AttentionOp op) {
  return op.getQOffset() &&
         cast<RankedTensorType>(op.getQOffset().getType()).getRank() != 0;
}

bool ringlet::hasPositionsOfSequence(attn::AttentionOp op) {
  bool haveLengths = op.getQueryLengths() || op.isPacked();
  return hasOffsetOfSequence(op) || (haveLengths && !op.getQOffset());
}

LogicalResult ringlet::checkSupported(attn::AttentionOp op) {
  auto refuse = [&](const Twine &what, StringRef rule) {
    return op.emitOpError("expected no ")
           << what << ": it has no lowering yet (" << rule << ")";
  };
  Value offset = op.getQOffset();
  if (rlayout::OrderAttr pattern = op.getPatternOrderAttr())
    if (std::string error = pattern.getOrder()->validatePattern(0);
        !error.empty())
      return op.emitOpError() << error;
  for (Value value :
       {op.getQuery(), op.getKey(), op.getValue(), op.getOutput(), op.getLse()})
    if (rlayout::LayoutAttr layout =
            rlayout::getLayout(cast<RankedTensorType>(value.getType()));
        layout && layout.getRing())
      return refuse("ring", "G1");
  for (attn::BranchAttr branch : op.getBranchRange())
    if (branch.getR() > kMaxDilation)
      return op.emitOpError("expected a dilation of at most 2^40, found ")
             << branch.getR() << " (B1)";
  DenseIntElementsAttr constant;
  if (offset && matchPattern(offset, m_Constant(&constant)))
    if (int64_t value = constant.getSplatValue<int64_t>();
        value > kMaxOffset || value < -kMaxOffset)
      return op.emitOpError("expected q_offset within +-2^60, found ")
             << value << " (S1)";
  if (!op.getTilings())
    return op.emitOpError("expected tilings: run ringlet-choose-tiling first");
  for (auto tiling : op.getTilings()->getAsRange<attn::TilingAttr>())
    if (tiling.getRecipe() && op.getBranches().size() != 1)
      return op.emitOpError("expected recipe ")
             << stringifyRecipe(*tiling.getRecipe())
             << " only where there is one branch, found "
             << op.getBranches().size() << " branches of one softmax";
  if (op.getHeadDim() > 1024 || op.getValueDim() > 1024)
    return op.emitOpError("expected head dimensions of at most 1024, found ")
           << op.getHeadDim() << " and " << op.getValueDim() << " (section 1)";
  return success();
}
