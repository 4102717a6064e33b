//===- MatchDecisions.h - Loops that run equally often -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_MATCHDECISIONS_H
#define RINGLET_PASSES_TILESCHEDULE_MATCHDECISIONS_H

#include "dialects/Tile/IR/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace ringlet {

/// Which loops and conditions of the roles of a kernel have the same outcomes.
///
/// Two loops of different roles are one decision if their bounds have the same
/// values, they stand in loops and branches that are one decision themselves,
/// and they use a channel together. Values are the same if they are computed
/// by the same operations from the same values.
struct Decisions {
  /// Of every loop and branch that does something with channels or products,
  /// but for the loops in `counted`.
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  /// Loops of a known, small number of steps.
  llvm::DenseMap<mlir::Operation *, unsigned> counted;
  /// Of the loop over points of the grid, of each role; none without a loop.
  llvm::DenseMap<mlir::Operation *, unsigned> points;
  /// Loops and branches that use channels and have no counterpart.
  llvm::SmallVector<mlir::Operation *> alone;
  unsigned count = 0;
  /// Operations that do something with channels or products, or contain some.
  llvm::DenseSet<mlir::Operation *> active;
};

Decisions matchDecisions(rtile::FuncOp func);

} // namespace ringlet

#endif // RINGLET_PASSES_TILESCHEDULE_MATCHDECISIONS_H
