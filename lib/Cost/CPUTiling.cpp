//===- CPUTiling.cpp - Tile shapes for a CPU, by estimated cycles -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CPUTiling.h"

#include <algorithm>
#include <cstdio>

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

CPUCore CPUCore::of(const arch::CPULevel &level, bool isBF16) {
  CPUCore core{level.lanes(), level.l1Bytes, level.l2Bytes};
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

CPUTiling ringlet::cost::estimate(const CPUCore &core,
                                  const BranchShape &branch, int64_t query,
                                  int64_t key) {
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
  double pack = n * (d * table.packKey + dv * table.packValue) / lanes;
  double softmax = m * n * table.softmax / lanes / table.multiplyAdds +
                   m * dv * table.rescale / lanes + m * table.row;
  double cycles = cached + pack + softmax + table.tile;

  // The part of the computed scores that somebody asked for.
  double useful = 1.0;
  if (branch.rowsOfSegment > 0) {
    double rows = branch.rowsOfSegment;
    useful = rows / (ceilDiv(branch.rowsOfSegment, query) * m) * rows /
             (ceilDiv(branch.rowsOfSegment, key) * n);
    // Of what a causal panel computes on the diagonal, half is hidden; keys
    // that none of its rows sees are left out.
    if (branch.causal)
      useful *= rows / (rows + panelRows);
  }
  CPUTiling result;
  result.query = query;
  result.key = key;
  result.cyclesPerScore = cycles / (m * n * useful);
  result.dotShare = dots / (m * n) / result.cyclesPerScore;
  result.scratchBytes = static_cast<int64_t>(all);
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

std::string ringlet::cost::explain(const CPUTiling &tiling) {
  char text[200];
  std::snprintf(text, sizeof(text),
                "tiles of %lld queries x %lld keys: %.2f cycles a score by the "
                "cost model (%.0f%% in products), %lld KiB of tiles, best of "
                "%lld shapes",
                static_cast<long long>(tiling.query),
                static_cast<long long>(tiling.key), tiling.cyclesPerScore,
                100.0 * tiling.dotShare,
                static_cast<long long>(tiling.scratchBytes / 1024),
                static_cast<long long>(tiling.candidates));
  return text;
}
