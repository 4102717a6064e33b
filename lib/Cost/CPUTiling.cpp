//===- CPUTiling.cpp - Tile shapes for a CPU, by estimated cycles -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CPUTiling.h"

#include "ringlet/abi/Format.h"

#include <algorithm>

using namespace ringlet::cost;

namespace {

/// Cycles of a core's elementary work. The only place with such numbers.
struct CostTable {
  /// Vector multiply-adds a cycle.
  double multiplyAdds = 2.0;
  /// Share of that rate which the register micro-kernel reaches.
  double microKernel = 0.85;
  /// Cycles a vector to convert and transpose K into panels, and to convert V.
  double packKey = 8.0, packValue = 2.0;
  /// Vector operations for scale, maximum, exp2, sum and rounding of a score.
  double softmax = 12.0;
  /// Vector operations to rescale one vector of the accumulator.
  double rescale = 1.0;
  /// Fixed cycles of a row of a tile, and of a tile.
  double row = 6.0, tile = 150.0;
  /// Factors on the products when the tiles leave the first or second cache.
  double outsideL1 = 1.06, outsideL2 = 1.6;
  /// Vector operations for each sum across lanes, of a product with lanes along
  /// the depth: two that pick and one that adds for all but one of the vectors.
  double sumAcross = 3.0;
  /// Vector operations to widen a vector where it is read.
  double widen = 2.0;
  /// Keys from which on another thread is worth waking, and the state that it
  /// leaves is worth merging; most queries of kernels for few.
  int64_t part = 256, fewQueries = 64;
  /// What parts may cost more than tiles for many queries, which leave threads
  /// without work.
  double worthOfParts = 1.1;
};

constexpr CostTable table;

constexpr int64_t queryCandidates[] = {8,  16, 24,  32,  48,
                                       64, 96, 128, 192, 256};
constexpr int64_t keyCandidates[] = {16, 32, 48, 64, 96, 128, 192, 256};

double ceilDiv(int64_t a, int64_t b) {
  return static_cast<double>((a + b - 1) / b);
}

double roundUp(int64_t a, int64_t b) {
  return ceilDiv(a, b) * static_cast<double>(b);
}

} // namespace

CPUCore CPUCore::of(const arch::CPULevel &level, bool isBF16, bool isF32) {
  CPUCore core{level.lanes(), level.l1Bytes, level.l2Bytes};
  core.isF32 = isF32;
  if (!isBF16 || !level.hasBF16)
    return core;
  if (!level.hasAMX) {
    core.stepsPerMultiplyAdd = 2;
    return core;
  }
  // 16 x 16 x 32 multiply-adds in 16 cycles. Products are then so short that
  // what leaves the first cache counts: tiles of 256 rows win nothing over
  // those of 128 in full attention and lose up to 15% in causal one (16 threads
  // of a Sapphire Rapids).
  core.stepsPerMultiplyAdd = 16;
  core.depthMultiple = 32;
  core.maxRows = 128;
  return core;
}

namespace {

/// Estimated cycles for one tile of queries and one of keys.
struct TileWork {
  double dots, cycles;
  double bytes; ///< of f32 tiles that are alive at once
};

} // namespace

/// Whether a tile of `rows` reads keys and values where they are.
static bool readsInPlace(const CPUCore &core, const BranchShape &branch,
                         int64_t rows) {
  return core.isF32 && branch.storedBytes == 0 && rows <= core.lanes;
}

/// Cycles a key to copy it and its value to where products read them.
static double getPacking(const CPUCore &core, const BranchShape &branch) {
  return (roundUp(branch.headDim, core.lanes) * table.packKey +
          roundUp(branch.valueDim, core.lanes) * table.packValue) /
         static_cast<double>(core.lanes);
}

FewRows ringlet::cost::compareForms(const CPUCore &core,
                                    const BranchShape &branch, int64_t rows) {
  auto lanes = static_cast<double>(core.lanes);
  FewRows result = {rows, 0, 0};
  double depth = static_cast<double>(branch.headDim + branch.valueDim);
  result.inVectors =
      ceilDiv(rows, core.lanes) *
      (depth / static_cast<double>(core.stepsPerMultiplyAdd) + table.softmax) /
      table.multiplyAdds;
  if (!readsInPlace(core, branch, rows))
    result.inVectors += getPacking(core, branch);
  double vectors = ceilDiv(branch.headDim, core.lanes) +
                   ceilDiv(branch.valueDim, core.lanes);
  double ofRow = vectors + table.sumAcross + table.softmax / lanes;
  bool widens = !core.isF32 || branch.storedBytes != 0;
  result.alongDepth = (static_cast<double>(rows) * ofRow +
                       (widens ? table.widen * vectors : 0)) /
                      table.multiplyAdds;
  return result;
}

static TileWork getWork(const CPUCore &core, const BranchShape &branch,
                        int64_t query, int64_t key) {
  const double lanes = static_cast<double>(core.lanes);
  const double m = query, n = key;
  const double d = roundUp(branch.headDim, core.lanes);
  const double dv = roundUp(branch.valueDim, core.lanes);

  // Rows follow each other in panels of two vectors, and so do their scores.
  const double panelRows = std::min(m, 2.0 * lanes);
  double working = 4.0 * n * (std::max(d, dv) + panelRows);
  double all = 4.0 * (m * d + n * d + n * dv + panelRows * n + m * dv);
  double depth = roundUp(branch.headDim, core.depthMultiple);
  double steps =
      n * (depth > d ? depth : d) + roundUp(key, core.depthMultiple) * dv;
  double dots = m * steps / lanes / table.multiplyAdds / table.microKernel /
                static_cast<double>(core.stepsPerMultiplyAdd);
  double cached = dots;
  if (working > core.l1Bytes)
    cached *= table.outsideL1;
  if (all > core.l2Bytes)
    cached *= table.outsideL2;
  double pack = n * getPacking(core, branch);
  double softmax = m * n * table.softmax / lanes / table.multiplyAdds +
                   m * dv * table.rescale / lanes + m * table.row;
  return {dots, cached + pack + softmax + table.tile, all};
}

CPUTiling ringlet::cost::estimate(const CPUCore &core,
                                  const BranchShape &branch, int64_t query,
                                  int64_t key) {
  const double m = query, n = key;
  TileWork work = getWork(core, branch, query, key);
  // The part of the computed scores that somebody asked for.
  double useful = 1.0;
  if (branch.rowsOfSegment > 0) {
    double rows = branch.rowsOfSegment;
    useful = rows / (ceilDiv(branch.rowsOfSegment, query) * m) * rows /
             (ceilDiv(branch.rowsOfSegment, key) * n);
    // Of what a causal panel computes on the diagonal, half is hidden; keys
    // that none of its rows sees are left out.
    if (branch.causal)
      useful *=
          rows / (rows + branch.causalShare * std::min(m, 2.0 * core.lanes));
  }
  CPUTiling result;
  result.query = query;
  result.key = key;
  result.cyclesPerScore = work.cycles / (m * n * useful);
  result.dotShare = work.dots / (m * n) / result.cyclesPerScore;
  result.scratchBytes = static_cast<int64_t>(work.bytes);
  result.candidates = 1;
  return result;
}

CPUTiling ringlet::cost::chooseTiling(const CPUCore &core,
                                      const BranchShape &branch) {
  CPUTiling best = {};
  int64_t candidates = 0;
  for (int64_t query : queryCandidates)
    for (int64_t key : keyCandidates) {
      if (std::max(query, key) > core.maxRows)
        continue;
      CPUTiling next = estimate(core, branch, query, key);
      bool better = next.cyclesPerScore < best.cyclesPerScore ||
                    (next.cyclesPerScore == best.cyclesPerScore &&
                     next.scratchBytes < best.scratchBytes);
      if (candidates++ == 0 || better)
        best = next;
    }
  best.candidates = candidates;
  return best;
}

/// Cycles a key for `rows` rows in tiles of up to `height` rows, of which only
/// panels with rows are computed. Tiles for few queries have lower ones beside
/// them.
static double getCyclesPerKey(const CPUCore &core, const BranchShape &branch,
                              int64_t rows, int64_t height, int64_t key,
                              const FewRows *few) {
  int64_t panel = height <= core.lanes ? core.lanes : 2 * core.lanes;
  auto keys = static_cast<double>(key);
  double cycles = 0;
  for (; rows > 0; rows -= height) {
    int64_t here = std::min(rows, height);
    auto alive = static_cast<int64_t>(roundUp(here, panel));
    double ofTile = getWork(core, branch, alive, key).cycles;
    if (few && few->areNarrow() && few->rows < core.lanes && here <= few->rows)
      ofTile = std::min(ofTile, keys * few->alongDepth + table.tile);
    cycles += ofTile;
  }
  return cycles / keys;
}

KeySplit ringlet::cost::chooseSplit(const CPUCore &core,
                                    const BranchShape &branch,
                                    const CPUTiling &tiling, int64_t group,
                                    int64_t heads) {
  KeySplit best = {};
  best.heads = heads;
  best.part = table.part;
  auto tiles = static_cast<double>(group / heads);
  int64_t rowsOfQuery = 1;
  while (rowsOfQuery < heads)
    rowsOfQuery *= 2;
  FewRows few = compareForms(core, branch, rowsOfQuery);
  for (int64_t vectors : {1, 2, 4})
    for (int64_t key : keyCandidates) {
      int64_t rows = vectors * core.lanes;
      double cycles =
          tiles * getCyclesPerKey(core, branch, heads, rows, key, &few);
      // What a tile of keys is copied from and to passes through the first
      // cache once: the copy has to be there when it is read.
      bool fits = 8 * key * (branch.headDim + branch.valueDim) <= core.l1Bytes;
      if (rows > core.maxRows || key > core.maxRows ||
          (!fits && key != keyCandidates[0]) ||
          (best.rows && cycles >= best.cyclesPerKey))
        continue;
      best.rows = rows;
      best.key = key;
      best.cyclesPerKey = cycles;
    }
  auto ofMany = [&](int64_t queries) {
    return static_cast<double>(group) * getCyclesPerKey(core, branch, queries,
                                                        tiling.query,
                                                        tiling.key, nullptr);
  };
  best.otherCyclesPerKey = ofMany(1);
  auto isCheaper = [&](int64_t queries) {
    return tiles * getCyclesPerKey(core, branch, queries * heads, best.rows,
                                   best.key, &few) <=
           table.worthOfParts * ofMany(queries);
  };
  while (best.queries < table.fewQueries && isCheaper(best.queries + 1))
    ++best.queries;
  return best;
}

std::string ringlet::cost::explain(const FewRows &few) {
  return formatText("{} rows: {:.0f} cycles a key by the cost model with lanes "
                    "along depth and columns, {:.0f} with lanes along rows",
                    few.rows, few.alongDepth, few.inVectors);
}

std::string ringlet::cost::explain(const KeySplit &split) {
  std::string over;
  if (split.fewestKeys)
    over = formatText(" over at least {} keys", split.fewestKeys);
  return formatText(
      "up to {} queries{} in tiles of {} rows ({} {}) x {} keys, split over "
      "keys among processors, {} points for each, in parts of at least {}: one "
      "query takes {:.0f} "
      "cycles a key by the cost model, {:.0f} in tiles for many",
      split.queries, over, split.rows, split.heads,
      split.heads == 1 ? "head" : "heads together", split.key, split.points,
      split.part, split.cyclesPerKey, split.otherCyclesPerKey);
}

std::string ringlet::cost::explain(const CPUTiling &tiling) {
  return formatText(
      "tiles of {} queries x {} keys: {:.2f} cycles a score by the cost model "
      "({:.0f}% in products), {} KiB of tiles, best of {} shapes",
      tiling.query, tiling.key, tiling.cyclesPerScore, 100.0 * tiling.dotShare,
      tiling.scratchBytes / 1024, tiling.candidates);
}
