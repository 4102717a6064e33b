//===- Passes.h - Passes from plain to scheduled kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_PASSES_H
#define RINGLET_PASSES_TILESCHEDULE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ringlet {

#define GEN_PASS_DECL
#include "passes/TileSchedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/TileSchedule/Passes.h.inc"

/// From plain kernels that name a recipe to scheduled ones, for one row of the
/// table of architectures. Other kernels, and other operations of the module,
/// stay as they are; so does everything for a row that is not a GPU's.
/// Everything from a plain kernel with a recipe to one with roles; fails where
/// it cannot have any (see rtile-schedule-kernels).
void addSchedulePasses(mlir::OpPassManager &pm, llvm::StringRef level,
                       int64_t spareRegisters = 0);

} // namespace ringlet

#endif // RINGLET_PASSES_TILESCHEDULE_PASSES_H
