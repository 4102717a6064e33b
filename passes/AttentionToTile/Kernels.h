//===- Kernels.h - The kernels of an attention, as data ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attention becomes a list of kernels. `listKernels` makes it, a feature at
// a time; `emitKernels` emits each kernel and its launch. A kernel says which
// tensors it reads and writes, not how.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H

#include "lib/Cost/UnionCut.h"
#include "passes/AttentionToTile/Attention.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ringlet {

/// What branches of one softmax leave for each row, in f32: the accumulator,
/// `[.., sequence, head, dim]`, and the running maximum (to the base 2) and
/// sum, `[.., head, sequence]`. Where the sum is 0, the others are undefined.
struct SoftmaxState {
  HostTensor accumulator, maximum, sum;
};

/// What a softmax ends in.
struct SoftmaxResult {
  HostTensor output;
  /// What the branches before left of a sum (R2), f32; null if that is none.
  HostTensor addend;
  /// Whether no branch comes after this one: `output` is that of the attention.
  bool isWhole = true;
  /// Null if nobody reads it.
  HostTensor lse;
  /// What joins the softmax of each row as a logit without a value: its sink
  /// (R3) and keys of padding (B7), `[head, sequence]`; null if there is
  /// neither.
  HostTensor sinks;
};

/// Whether others come before and behind a kernel with the same rows, where
/// only a call knows.
struct PieceEdge {
  /// Bit 0: none comes before. There is a state, with sums of 0, but it is not
  /// read. Bit 1: none comes behind. `result` is written, but for rows that are
  /// marked, and `endedSum` as the sum of the others.
  mlir::Value number;
  SoftmaxResult result;
};
/// The sum of a row whose softmax has ended.
inline constexpr double endedSum = -1;

/// What a kernel reads before it streams queries over keys with a running
/// maximum and sum, and writes after that.
struct SoftmaxEnds {
  /// The state that it goes on from; none if it starts one.
  std::optional<SoftmaxState> before;
  std::variant<SoftmaxState, SoftmaxResult> after;
  /// Where long sums add up; none if there are none.
  std::optional<SoftmaxState> totals;
  /// Whether own keys are summed from 0, and the state joins behind them: else
  /// the sum that it begins with grows from kernel to kernel.
  bool sumsFromZero = false;
  /// A mark for each row that could not be computed, f32 `[.., head,
  /// sequence]`, 0 or 1; null if all are.
  HostTensor marks;
  /// Of a piece on a ring, which of its rows it is the first or the last one
  /// with; none if that is all the same to it.
  std::optional<PieceEdge> edge;
};

/// Streams the queries of a branch over its keys.
struct BranchKernel {
  unsigned branch;
  attn::TilingAttr tiling;
  SoftmaxEnds ends;
  /// Also fill the rows of the branch's heads that it does not reach (R3): the
  /// other residues of its segments.
  bool fillsOthers = false;
};

/// Streams the queries of a branch over a part of its keys at each point. The
/// states that parts leave have an axis in front, one entry a part of all
/// branches: the parts of this one are `count` entries from `first` on.
struct PartsKernel {
  unsigned branch;
  attn::SplitKVAttr split;
  SoftmaxEnds ends;
  mlir::Value first, count;
  /// Tiles in which plain kernels do the same, for tensors that one with a
  /// recipe cannot take. Null if there are none.
  attn::SplitKVAttr plain = nullptr;
};

/// Merges `count` states of each row in f32, in their order, and ends the
/// softmax.
struct MergeKernel {
  attn::SplitKVAttr split;
  SoftmaxState states;
  mlir::Value count;
  SoftmaxResult result;
};

/// Streams queries over the keys of all branches, or those of `part`.
struct UnionKernel {
  cost::UnionPart part;
  attn::TilingAttr tiling;
  SoftmaxEnds ends;
};

/// Computes tiles that have rows that `marking` has marked once more, without
/// its recipe.
struct RedoKernel {
  std::variant<BranchKernel, UnionKernel> marking;
};

/// Writes where the rows of all sequences lie, for one side, where only the
/// device knows (S2).
struct RowTableKernel {
  Side side;
};

/// Gives each row of `rows`, `[head, sequence]`, the sink of its head: kernels
/// read what belongs to rows in tiles of rows.
struct SinkKernel {
  HostTensor sink, rows;
};

/// Counts the keys of padding (B7) of each row in `branches`, f32, in one list:
/// the rows of head 0, those of head 1, and so on.
struct PaddingKernel {
  llvm::SmallVector<unsigned> branches;
  HostTensor counts;
};

/// Lets keys of padding join the sinks of `rows`, `[head, sequence]`, or writes
/// the logit of their sum there if there are no sinks.
struct JoinPaddingKernel {
  HostTensor counts, rows;
  bool hasSinks;
};

/// Sets every element of `tensor`, in tiles along `axis`.
struct FillKernel {
  HostTensor tensor;
  int64_t axis;
  double value;
};

/// Writes the sinks as lse: that of rows without keys (R3).
struct FillSinkLseKernel {
  HostTensor sinks, lse;
};

/// Sets those of `tensor` that belong on `axis` to the tokens from that on
/// which the list `ends` has for their sequence, a number on `sequenceAxis`, or
/// without such an axis as its last entry (S2).
struct FillPastKernel {
  HostTensor tensor;
  int64_t axis;
  double value;
  HostTensor ends;
  std::optional<int64_t> sequenceAxis;
};

/// Writes the output from what branches left: divided by the sum, rows that no
/// branch reached (R3) become zero, or under mix = sum (`state.sum` is null)
/// scaled. `sinks` are null if there are none.
struct FinishKernel {
  SoftmaxState state;
  HostTensor sinks, output;
  /// Whether rows may have ended, whose output stays.
  bool mayHaveEnded = false;
};

/// Writes lse from the running maximum and sum of the last branch.
struct FinishLseKernel {
  SoftmaxState state;
  HostTensor sinks, lse;
  bool mayHaveEnded = false;
};

/// A kernel, and what it is called: `name` before the number of the operation,
/// `part` behind it.
struct Kernel {
  std::string name, part;
  std::variant<RowTableKernel, SinkKernel, PaddingKernel, JoinPaddingKernel,
               FillKernel, FillSinkLseKernel, BranchKernel, RedoKernel,
               PartsKernel, MergeKernel, UnionKernel, FinishKernel,
               FinishLseKernel, FillPastKernel>
      spec;
};
using KernelList = std::vector<Kernel>;

/// The kernels of an attention, in the order of their launches. Allocates the
/// tensors between them.
KernelList listKernels(HostPlan &plan, Attention &attention);
/// Those for few queries, which `split` of the attention asks for.
KernelList listPartsKernels(HostPlan &plan, Attention &attention,
                            attn::SplitKVAttr split);
/// Which of an attention's `split_kv` a call takes: 1 for that one, 0 for each
/// other.
llvm::SmallVector<mlir::Value> selectSplit(HostPlan &plan,
                                           Attention &attention);

/// The kernels around the pieces of an attention on a ring, which go on from
/// `state` and leave it.
struct RingKernels {
  KernelList before, after;
  SoftmaxState state;
};
/// `mayEnd`: the last pieces of rows may have ended their softmax.
RingKernels listRingKernels(HostPlan &plan, Attention &attention, bool mayEnd);
/// Those of a piece, which lets its keys join `state`; `edge` is null if all
/// pieces are alike.
KernelList listPieceKernels(HostPlan &plan, Attention &attention,
                            const SoftmaxState &state,
                            const std::optional<PieceEdge> &edge);
/// The branches of a chain: those that see few of a row's neighbours first, one
/// that covers every row last.
llvm::SmallVector<unsigned> orderBranches(Attention &attention);

/// Says as a remark what becomes of the branches of an attention whose kernels
/// these are.
void reportKernels(Attention &attention, const KernelList &kernels);
class EqualKernels;
/// Emits kernels, but for those that `equal` has, and launches; `getName` adds
/// entry and number to a name.
void emitKernels(HostPlan &plan, Attention &attention,
                 const KernelList &kernels, EqualKernels &equal,
                 llvm::function_ref<std::string(llvm::StringRef)> getName);

//===----------------------------------------------------------------------===//
// Emission of one kernel and its launch
//===----------------------------------------------------------------------===//

void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const BranchKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const RedoKernel &kernel);
void emitRedo(HostPlan &plan, const llvm::Twine &name, Attention &attention,
              const BranchKernel &marking);
void emitRedo(HostPlan &plan, const llvm::Twine &name, Attention &attention,
              const UnionKernel &marking);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const PartsKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const MergeKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const UnionKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const RowTableKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const SinkKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const PaddingKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const JoinPaddingKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const FillKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const FillSinkLseKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const FillPastKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const FinishKernel &kernel);
void emitKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
                const FinishLseKernel &kernel);

/// An input, or, if `worth` is true and it does not lie at multiples of 16
/// bytes, its copy, made in tiles along `axis`.
mlir::Value emitAligned(HostPlan &plan, const llvm::Twine &name, int64_t axis,
                        const HostTensor &input, mlir::Value worth);

/// Copies `from` to `to`, row by row of `axis`, each in its own order (null is
/// linear).
void emitReorder(HostPlan &plan, const llvm::Twine &name, int64_t axis,
                 const HostTensor &from, rlayout::OrderAttr fromOrder,
                 const HostTensor &to, rlayout::OrderAttr toOrder);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KERNELS_H
