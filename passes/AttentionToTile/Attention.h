//===- Attention.h - What the kernels of an attention share -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_ATTENTION_H
#define RINGLET_PASSES_ATTENTIONTOTILE_ATTENTION_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/AttentionRows.h"
#include "passes/AttentionToTile/BranchSizes.h"
#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/Sequences.h"

namespace ringlet {

/// Fails with the rule's number if a function says what has no lowering yet.
mlir::LogicalResult checkFunction(mlir::func::FuncOp function);

/// An attention as the host plan has it: its tensors, and where their rows lie.
struct Attention {
  attn::AttentionOp op;
  HostTensor query, key, value;
  /// `[.., sequence, head, dim]`, and `[.., head, sequence]`, with an axis of
  /// branches in front under mix = sum; no lse if nobody reads it.
  HostTensor output, lse;
  /// Null without one (B6, R3).
  HostTensor blockMask, sink;
  /// The pages of sequences; null where keys lie in none (S4). The sizes of key
  /// and value are then those of the sequences: `[B, rows, ...]`.
  HostTensor pages;
  /// f32, `[heads of keys]` or `[sequences, heads of keys]`; null where nothing
  /// is multiplied (S6).
  HostTensor keyScale, valueScale;
  /// Position of query row 0 (S1), if all sequences have the same.
  mlir::Value queryOffset;
  SequenceLists sequences;
  AttentionRows rows;
  /// Of each branch.
  llvm::SmallVector<BranchSizes> sizes;
  /// What belongs to rows, `[.., head, sequence]`.
  llvm::SmallVector<int64_t> rowShape;
  llvm::SmallVector<mlir::Value> rowSizes;
  /// Whether its kernels are those for calls with many keys.
  bool hasManyKeys = false;

  attn::BranchAttr getBranch(unsigned index) {
    return llvm::cast<attn::BranchAttr>(op.getBranches()[index]);
  }
  attn::TilingAttr getTiling(unsigned index) {
    attn::TilingAttr tiling = op.getTilingOf(index);
    return hasManyKeys && tiling.getManyKeys() ? tiling.getManyKeys() : tiling;
  }
  /// How many keys a sequence may have, or packed ones together.
  mlir::Value getKeyRows() { return key.sizes[op.getKeyAxis()]; }
  bool isSum() { return op.getMix() == attn::Mix::Sum; }
  /// Whether branch number `index` has all heads, or every row of them, too.
  bool hasEveryHead(unsigned index);
  bool coversEveryRow(unsigned index);
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_ATTENTION_H
