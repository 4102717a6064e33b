//===- CheckScheduled.h - What roles may consist of on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_CHECKSCHEDULED_H
#define RINGLET_PASSES_TILETONVVM_CHECKSCHEDULED_H

#include "dialects/Tile/IR/TileDialect.h"

namespace ringlet {
namespace gpu {

/// Fails, with an error at each operation, if a kernel in the scheduled form
/// has something that no code can be made of.
mlir::LogicalResult checkScheduled(rtile::FuncOp func);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_CHECKSCHEDULED_H
