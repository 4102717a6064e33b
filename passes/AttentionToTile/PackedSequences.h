//===- PackedSequences.h - Grids over packed sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H

#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/KernelBuilder.h"

namespace ringlet {

/// An axis of a grid over the parts of sequences that lie one behind the other
/// (S2). The host knows how many rows and sequences there are, but not where
/// each begins. So the points of sequence b begin at the number
///
///     starts[b] / partRows + b * spare
///
/// which leaves each at least length / partRows + spare of them, rounded down,
/// and a kernel finds its sequence by bisection. Points that are left over have
/// no rows.
class PackedSequences {
public:
  /// Adds parameters to the kernel. `spare` parts are enough for what begins or
  /// ends within a part.
  PackedSequences(HostPlan &plan, KernelBuilder &k, const HostTensor &starts,
                  mlir::Value rows, mlir::Value partRows, int64_t spare);

  /// The extent of the axis.
  mlir::Value getExtent() const { return extent; }

  /// A sequence, its first row, and which of its parts.
  struct Place {
    mlir::Value sequence, first, part;
  };
  /// `starts` and `rows` as the kernel has them.
  Place find(mlir::Value starts, mlir::Value rows, mlir::Value point);

private:
  KernelBuilder &k;
  int64_t spare;
  mlir::Value extent;
  /// In the kernel.
  mlir::Value partRows, halvings;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H
