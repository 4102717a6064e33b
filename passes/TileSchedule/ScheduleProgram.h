//===- ScheduleProgram.h - Scheduled kernels as state machines -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_SCHEDULEPROGRAM_H
#define RINGLET_PASSES_TILESCHEDULE_SCHEDULEPROGRAM_H

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Schedule/Machine.h"
#include "passes/TileSchedule/MatchDecisions.h"

namespace ringlet {

/// The machine of a scheduled kernel, and where its parts come from.
struct ScheduleProgram {
  schedule::Machine machine;
  Decisions decisions;
  llvm::SmallVector<rtile::RoleOp> roles;       ///< of each program
  llvm::SmallVector<rtile::ChannelOp> channels; ///< of each channel
  /// Of each place that steps name.
  llvm::SmallVector<mlir::Operation *> places;
  /// Of each program and each of its variables: what defines it.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> definitions;
};

/// Fails, with an error, if there is something that no machine can be made of.
mlir::FailureOr<ScheduleProgram> makeScheduleProgram(rtile::FuncOp func);

} // namespace ringlet

#endif // RINGLET_PASSES_TILESCHEDULE_SCHEDULEPROGRAM_H
