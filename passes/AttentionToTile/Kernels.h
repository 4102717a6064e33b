//===- Kernels.h - The kernels that a graph is made of -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/HostPlan.h"

namespace ringlet {

/// Fails with the rule's number if an attention says what has no lowering yet.
mlir::LogicalResult checkSupported(attn::AttentionOp op);

/// One kernel of the chain that an attention becomes.
struct BranchStep {
  attn::AttentionOp op;
  unsigned branch;
  std::string name;
  HostTensor query, key, value;
  /// Position of query row 0 (S1).
  mlir::Value queryOffset;
  /// Where the result goes: the output if `last`, else the partial output.
  HostTensor target;
  /// The partial output that other branches left, f32; null if there is none.
  HostTensor partial;
  /// Null if nobody reads it.
  HostTensor lse;
  bool last;
};

/// Streams a branch's queries over its keys with a running maximum and sum.
void emitBranch(HostPlan &plan, const BranchStep &step);

/// Sets every element of `tensor`, in tiles along `axis`.
void emitFill(HostPlan &plan, const llvm::Twine &name, const HostTensor &tensor,
              int64_t axis, double value);

/// Writes the output from the partial one: rows that no branch reached (lse of
/// -inf, R3) become zero, and under mix = sum everything is scaled.
void emitFinish(HostPlan &plan, const llvm::Twine &name, attn::AttentionOp op,
                const HostTensor &partial, const HostTensor &lse,
                const HostTensor &output);

/// Copies `from` to `to`, row by row of `axis`, each in its own order (null is
/// linear).
void emitReorder(HostPlan &plan, const llvm::Twine &name, int64_t axis,
                 const HostTensor &from, rlayout::OrderAttr fromOrder,
                 const HostTensor &to, rlayout::OrderAttr toOrder);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
