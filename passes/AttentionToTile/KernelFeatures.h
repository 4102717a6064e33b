//===- KernelFeatures.h - What features add to a list of kernels *- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of kernels begins as those that stream keys. Each feature of an
// attention then edits it: in the order in which they stand here.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KERNELFEATURES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KERNELFEATURES_H

#include "passes/AttentionToTile/Kernels.h"

namespace ringlet {

/// The first kernel that streams keys.
KernelList::iterator findFirstStream(KernelList &kernels);

/// Writes output and lse where no branch does: none that comes last has every
/// row.
void finish(Attention &attention, KernelList &kernels);
/// Lets the sink of each head (R3) and keys of padding (B7) join every softmax
/// where it ends.
void addSinks(HostPlan &plan, Attention &attention, KernelList &kernels);
/// Fills rows that no branch reaches, and what branches go on from where the
/// first of them does not reach.
void fillUnreached(Attention &attention, KernelList &kernels);
/// Whether a row may have so many keys, as far as types tell, that sums of
/// parts add up in memory.
bool hasLongSums(attn::AttentionOp op);
/// 1 if the call may have so many keys that kernels of their own are meant for
/// them (`manyKeys` of a tiling), else 0.
mlir::Value mayHaveManyKeys(HostPlan &plan, Attention &attention);
/// Where a row has more keys than are added up one after the other, lets the
/// sums of parts add up in memory: of none if the call has no more keys.
void addTotals(HostPlan &plan, Attention &attention, KernelList &kernels);
/// Lets kernels with a recipe mark rows that they could not compute, and others
/// compute these once more.
void redoMarkedRows(HostPlan &plan, Attention &attention, KernelList &kernels);
/// Tables of rows that branches ask for.
void addRowTables(Attention &attention, KernelList &kernels);
/// Fills what lies past the ends of sequences. Last: kernels of whole tensors
/// know nothing of lengths.
void fillPastEnds(Attention &attention, KernelList &kernels);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KERNELFEATURES_H
