//===- LiveTiles.h - Which tiles a kernel holds at a time -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_LIVETILES_H
#define RINGLET_PASSES_TILESCHEDULE_LIVETILES_H

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Cost/ScheduleResources.h"

namespace ringlet::schedule {

/// The tiles that warps which compute hold in registers, each from where it is
/// made to its last use, with places of the program counted from its begin.
///
/// Tiles that are made in the place of another are one: sums with those that
/// they add to, what a loop carries, elementwise results with an operand that
/// has no use behind them, parts with the whole. What is worked out for an
/// element when it is needed takes none: constants, masks, values that a row
/// has in common; nor do loads for products, which stay in their slots, and
/// what is as narrow as values of rows.
std::vector<cost::LiveTile> findLiveTiles(rtile::FuncOp func, int64_t groups);

} // namespace ringlet::schedule

#endif // RINGLET_PASSES_TILESCHEDULE_LIVETILES_H
