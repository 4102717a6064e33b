//===- Kernels.h - The kernels that a graph is made of -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/BranchSizes.h"
#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/RowOrder.h"
#include "passes/AttentionToTile/Sequences.h"

namespace ringlet {

/// Fails with the rule's number if an attention says what has no lowering yet.
mlir::LogicalResult checkSupported(attn::AttentionOp op);

/// Whether q_offset is one number for each sequence (S1).
bool hasOffsetOfSequence(attn::AttentionOp op);

/// Whether query row 0 has another position in each sequence (S1): a q_offset
/// for each, or what their lengths make of the default, packed or padded.
bool hasPositionsOfSequence(attn::AttentionOp op);

/// Positions up to this magnitude leave room for every sum that kernels make
/// of them: q_offset stays within it.
constexpr int64_t kMaxOffset = int64_t(1) << 60;
/// Greatest dilation, for the same reason.
constexpr int64_t kMaxDilation = int64_t(1) << 40;

/// One kernel of the chain that an attention becomes.
struct BranchStep {
  attn::AttentionOp op;
  unsigned branch;
  BranchSizes sizes;
  std::string name;
  HostTensor query, key, value;
  /// Null without one (B6).
  HostTensor blockMask;
  /// Position of query row 0 (S1), if all sequences have the same.
  mlir::Value queryOffset;
  SequenceLists sequences;
  /// The ranks of query rows, which are positions but for a pattern order.
  mlir::Value firstRank, rankCount;
  /// How ranks lie in memory.
  RowOrder queryOrder, keyOrder;
  /// Where the result goes: the output if `last`, else the partial output.
  HostTensor target;
  /// The partial output that other branches left, f32; null if there is none.
  HostTensor partial;
  /// The running maximum (to the base 2) and sum of a softmax over several
  /// branches, `[batch, head, sequence]`; null if no kernel comes before or
  /// after this one, or each branch has its own softmax. Where the sum is 0
  /// the maximum and the partial output are undefined.
  HostTensor maximum, sum;
  /// Null if this kernel does not write it.
  HostTensor lse;
  /// The sink of each row, `[head, sequence]`; null if no sink joins the
  /// softmax in this kernel (R3).
  HostTensor sinks;
  bool last;
  /// With a recipe: a mark for each row that its kernel could not compute, f32
  /// `[batch, head, sequence]`, 0 or 1.
  HostTensor redo;
  /// Also fill the rows of the branch's heads that it does not reach (R3): the
  /// other residues of its segments.
  bool fillsOthers = false;
};

/// Most columns of rows of other residues that one kernel fills beside its own,
/// and most residues: of so many, each has fewer rows than a tile.
constexpr int64_t kMaxFillDim = 128, kMaxFillRate = 1024;

/// Streams a branch's queries over its keys with a running maximum and sum.
/// With a recipe, a second kernel does so again for marked rows.
void emitBranch(HostPlan &plan, const BranchStep &step);

/// Sets every element of `tensor`, in tiles along `axis`.
void emitFill(HostPlan &plan, const llvm::Twine &name, const HostTensor &tensor,
              int64_t axis, double value);

/// Sets those of `tensor` that belong on `axis` to the tokens from that on
/// which the list `ends` has for their sequence, a number on `sequenceAxis`, or
/// without such an axis as its last entry (S2). `slots` is a table of where
/// tokens lie, null if each lies at its own number.
void emitFillPast(HostPlan &plan, const llvm::Twine &name,
                  const HostTensor &tensor, int64_t axis, double value,
                  const HostTensor &ends, std::optional<int64_t> sequenceAxis,
                  mlir::Value slots);

/// An input, or, if `worth` is true and it does not lie at multiples of 16
/// bytes, its copy, made in tiles along `axis`.
mlir::Value emitAligned(HostPlan &plan, const llvm::Twine &name, int64_t axis,
                        const HostTensor &input, mlir::Value worth);

/// Gives each row of `rows`, `[head, sequence]`, the sink of its head: kernels
/// read what belongs to rows in tiles of rows.
void emitSinks(HostPlan &plan, const llvm::Twine &name, const HostTensor &sink,
               const HostTensor &rows);

/// Writes the sinks as lse: that of rows without keys (R3).
void emitSinkLse(HostPlan &plan, const llvm::Twine &name,
                 const HostTensor &sinks, const HostTensor &lse);

/// What the branches of one softmax left. `sinks` is null if there is none.
struct SoftmaxState {
  HostTensor partial, maximum, sum, sinks;
};

/// Writes the output from the partial one: divided by the sum, rows that no
/// branch reached (R3) become zero, or under mix = sum (`sum` is null) scaled.
void emitFinish(HostPlan &plan, const llvm::Twine &name, attn::AttentionOp op,
                const SoftmaxState &state, const HostTensor &output);

/// Writes lse from the running maximum and sum of the last branch.
void emitFinishLse(HostPlan &plan, const llvm::Twine &name,
                   const SoftmaxState &state, const HostTensor &lse);

/// Copies `from` to `to`, row by row of `axis`, each in its own order (null is
/// linear).
void emitReorder(HostPlan &plan, const llvm::Twine &name, int64_t axis,
                 const HostTensor &from, rlayout::OrderAttr fromOrder,
                 const HostTensor &to, rlayout::OrderAttr toOrder);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
