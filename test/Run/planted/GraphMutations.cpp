//===- GraphMutations.cpp - Wrong rewrites of graphs ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "dialects/Ringlet/IR/RingletDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;

namespace {

/// Calls `edit` for each branch and takes what it makes of it.
template <typename Edit>
bool editBranches(ModuleOp module, Edit edit) {
  return editEach<attn::AttentionOp>(module, [&](attn::AttentionOp op) {
    SmallVector<Attribute> branches;
    for (attn::BranchAttr branch : op.getBranchRange())
      branches.push_back(edit(op, branch));
    ArrayAttr list = ArrayAttr::get(op.getContext(), branches);
    if (list == op.getBranchesAttr())
      return false;
    op.setBranchesAttr(list);
    return true;
  });
}

/// As ringlet-clamp-segments, but without a look at the queries.
bool clampNegative(ModuleOp module) {
  return editBranches(
      module, [](attn::AttentionOp op, attn::BranchAttr branch) {
        int64_t keys = op.getKey().getType().getDimSize(1);
        bool holdsKeys =
            branch.getW() >= (ShapedType::isDynamic(keys) ? 256 : keys);
        return branch.isUnbounded() || !holdsKeys
                   ? branch
                   : branch.withW(attn::BranchAttr::kUnbounded);
      });
}

/// Segments rounded up to a multiple of the dilation.
bool roundSegments(ModuleOp module) {
  return editBranches(
      module, [](attn::AttentionOp op, attn::BranchAttr branch) {
        // Not every list of other segments may be a union.
        if (op.isUnion() || branch.isUnbounded() || branch.getW() > 1000 ||
            ShapedType::isDynamic(branch.getW()) ||
            ShapedType::isDynamic(branch.getR()))
          return branch;
        return branch.withW(llvm::divideCeil(branch.getW(), branch.getR()) *
                            branch.getR());
      });
}

bool ignoreHeadRanges(ModuleOp module) {
  return editBranches(module, [](attn::AttentionOp, attn::BranchAttr branch) {
    return attn::BranchAttr::get(
        branch.getContext(), branch.getW(), branch.getR(), branch.getOffset(),
        branch.getConstant(), branch.getBy(), 0, attn::BranchAttr::kAllHeads,
        branch.getPadding());
  });
}

/// Keys begin with row 0.
bool forgetBegins(ModuleOp module) {
  return editEach<attn::AttentionOp>(module, [](attn::AttentionOp op) {
    bool had = static_cast<bool>(op.getKeyBegins());
    op.getKeyBeginsMutable().clear();
    return had;
  });
}

/// Values of 8 bits are not multiplied.
bool forgetValueScales(ModuleOp module) {
  return editEach<attn::AttentionOp>(module, [](attn::AttentionOp op) {
    bool had = static_cast<bool>(op.getVScale());
    op.getVScaleMutable().clear();
    return had;
  });
}

} // namespace

std::vector<Mutation> planted::graphMutations() {
  return {
      {"segments that hold every key are unbounded", "graph", clampNegative},
      {"segments are rounded up to the dilation", "graph", roundSegments},
      {"head ranges are ignored", "graph", ignoreHeadRanges},
      {"begins of keys are ignored", "graph", forgetBegins},
      {"scales of values are ignored", "graph", forgetValueScales},
  };
}
