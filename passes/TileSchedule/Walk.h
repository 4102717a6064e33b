//===- Walk.h - In which order blocks visit a grid -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_WALK_H
#define RINGLET_PASSES_TILESCHEDULE_WALK_H

#include "passes/TileSchedule/Schedule.h"

namespace ringlet::schedule {

struct Walk {
  rtile::WalkAttr attr;
  std::string reason;
};

/// Whether how many key tiles a loop visits follows from where the point
/// stands, but not as a run of keys.
bool hasListOfTiles(rtile::FuncOp func);

/// Where every tile of queries sees the same keys, all blocks have the same to
/// do: they take points in turn, and loads for a block's next point begin
/// early. Else the longest points come first, so that none is left for the
/// end, and neighbouring blocks take heads whose keys and values a cache holds.
Walk chooseWalk(rtile::FuncOp func, const Products &products);

} // namespace ringlet::schedule

#endif // RINGLET_PASSES_TILESCHEDULE_WALK_H
