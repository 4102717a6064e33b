//===- BranchSizes.h - w and r of branches on the host -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSIZES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSIZES_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/HostPlan.h"

namespace ringlet {

/// Greatest dilation: it leaves room for every sum that kernels make of it and
/// positions.
constexpr int64_t kMaxDilation = int64_t(1) << 40;

/// w and r of a branch (B1): constants where the graph says them. And what else
/// kernels are told of it where many branches are to share them.
struct BranchSizes {
  /// Null for one segment. A w beyond every position is a smaller one that is
  /// so, too: the ends of the segments around 0 fit in 64 bits.
  mlir::Value w, r;
  /// Kernels are told what the graph says, so that branches can share them:
  /// where there are many of other sizes.
  bool areOperands = false;
  /// Where many branches have heads of their own, the first of these. Where
  /// many are added up, the number of the branch, by which lse has an entry.
  mlir::Value firstHead, number;

  /// As the type of a view has them: 0 for one segment, dynamic where only the
  /// call knows.
  int64_t getW() const;
  int64_t getR() const;
  bool areKnown() const;
};

/// The sizes of each branch of `op`, of which `read` gives those that are
/// operands. The plan requires that they obey B1.
llvm::SmallVector<BranchSizes>
requireSizes(HostPlan &plan, attn::AttentionOp op,
             llvm::function_ref<mlir::Value(mlir::Value)> read);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSIZES_H
