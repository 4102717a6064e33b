//===- GPUSchedule.cpp - Cost model of scheduled attention -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUSchedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

using namespace ringlet::cost;

namespace {

/// Cycles of a multiprocessor's elementary work, fitted to what hand-written
/// kernels of this structure reached on an H100 (share of the peak rate of
/// products, full attention): D = 128, 128 x 128 with Q in registers 0.949, in
/// shared memory 0.915; 128 x 176 0.839; D = 64, 192 x 128 0.663, 128 x 192
/// 0.619; D = 256, 128 x 80 0.953, 128 x 64 0.955. The only place with such
/// numbers.
struct CostTable {
  /// Multiply-adds of a product, exponentials and bytes of shared memory a
  /// cycle.
  double products = 2048.0, exponentials = 16.0, sharedBytes = 128.0;
  /// Instructions of a warp for a row of 32 scores, and for a step.
  double scoreInstructions = 3.85, stepInstructions = 506.0;
  /// Cycles of a group's softmax that nothing of its own hides: for each key,
  /// and for a step.
  double keyLatency = 4.6, stepLatency = 750.0;
  /// Bytes from or to memory a cycle, if all multiprocessors ask for as many.
  double memoryBytes = 18.0;
  /// Operands in shared memory are read at less than the full rate.
  double sharedFactor = 1.2;
  /// Resources that are used side by side add up as the norm of this order: a
  /// step takes a little longer than the busiest of them.
  double overlap = 8.0;
  /// Loss for each key beyond 128: threads that hold more scores have no
  /// registers to spare for the order of instructions.
  double wideTile = 0.003;
  /// A step with a mask, and the end of the overlap around it, costs as much
  /// more as that many steps without.
  double maskedStep = 3.0;
  /// Steps that the beginning and the end of a tile of queries take, where
  /// nothing runs beside.
  double stepsOfTile = 1.7;
  /// Most queries of tiles for few, and of those for calls with few tiles; keys
  /// that are worth a part of these.
  int64_t fewQueries = 64, someQueries = 512, longPart = 1024;
};

constexpr CostTable table;

constexpr int64_t maxGroups = 3, maxKey = 192, mostKeyOfSplit = 128;
constexpr int64_t elementBytes = 2, slots = 2;
/// Rows of a sequence whose length is not known.
constexpr double unknownRows = 16384.0;

int64_t roundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

/// The part of the computed scores that somebody asked for; masked steps count
/// for more.
double usefulShare(const BranchShape &branch, int64_t query, int64_t key) {
  double rows = branch.rowsOfSegment > 0
                    ? static_cast<double>(branch.rowsOfSegment)
                    : unknownRows;
  double useful = 1.0;
  if (branch.rowsOfSegment > 0)
    useful = rows / static_cast<double>(roundUp(branch.rowsOfSegment, query));
  double whole = useful;
  if (branch.rowsOfSegment > 0)
    whole *= rows / static_cast<double>(roundUp(branch.rowsOfSegment, key));
  if (!branch.causal)
    return whole;
  // Keys of masked steps, on average over the places that a tile's first row
  // can have in a key tile. Half of them are computed for nothing.
  double masked = static_cast<double>(query + key - std::gcd(query, key));
  double loss = 1.0 + 2.0 * table.maskedStep / double(branch.triangles);
  double cut = useful * rows / (rows + masked * loss);
  double share = branch.causalShare;
  return 1.0 / (share / cut + (1.0 - share) / whole);
}

} // namespace

ScheduledTiles ringlet::cost::forwardTiles(const BranchShape &branch,
                                           int64_t query, int64_t key) {
  ScheduledTiles tiles;
  tiles.groups = query / kGroupRows;
  // Of a step: sums, which all steps add to, scores that become weights, and
  // the weights of the step before, which are multiplied beside them.
  tiles.live = peakRegisters({{0, 3, roundUp(branch.valueDim, kColumnStep) / 2},
                              {1, 2, key / 2},
                              {0, 2, key / 4}});
  tiles.left = {leftRegisters(branch.headDim)};
  tiles.onceBytes = slotBytes(query, branch.headDim);
  tiles.stepBytes =
      slotBytes(key, branch.headDim) + slotBytes(key, branch.valueDim);
  return tiles;
}

GPUSchedule ringlet::cost::estimateSchedule(const GPUCore &core,
                                            const BranchShape &branch,
                                            int64_t query, int64_t key) {
  // wgmma takes depths of 16, and columns of 8.
  const int64_t depth = roundUp(branch.headDim, 16);
  const int64_t width = roundUp(branch.valueDim, kColumnStep);
  GPUSchedule result;
  result.query = query;
  result.key = key;
  result.groups = query / kGroupRows;

  ScheduledTiles tiles = forwardTiles(branch, query, key);
  // Three groups leave little to the threads that copy: enough for rows that
  // are neighbours, not for coordinates of segments.
  bool amply = result.groups > 2 && branch.segmented;
  result.registerLimit = shareRegisters(core, result.groups, amply).compute;
  int64_t spare = getSpareOfTiles(core);
  int64_t withQuery = tiles.registers(1) + spare + kOtherRegisters;
  int64_t without = tiles.registers(0) + spare;
  result.queryInRegisters = withQuery <= result.registerLimit;
  // Coordinates of segments cost those that compute some, too.
  bool isTight =
      without + kOtherRegisters > result.registerLimit && !branch.segmented;
  result.registers = result.queryInRegisters ? withQuery
                     : isTight               ? without + kLeastOtherRegisters
                                             : without + kOtherRegisters;
  result.sharedBytes = tiles.sharedBytes(slots);
  result.fits = result.registers <= result.registerLimit &&
                result.sharedBytes <= slotLimit(core);

  // Cycles of one step of all groups, by the resource that they share.
  const double groups = static_cast<double>(result.groups);
  const double m = kGroupRows, n = static_cast<double>(key);
  const double d = static_cast<double>(depth), dv = static_cast<double>(width);
  double firstDot = m * n * d / table.products;
  double dots = groups * (firstDot + m * n * dv / table.products);
  double exponentials = groups * m * n / table.exponentials;
  double warpScores = m * n / 128.0;
  double issue =
      groups * (table.scoreInstructions * warpScores + table.stepInstructions);
  double chain = firstDot + table.keyLatency * n + table.stepLatency;
  double leftBytes = result.queryInRegisters ? 0.0 : m * d * elementBytes;
  double shared = table.sharedFactor * groups *
                  (leftBytes + n * (d + dv) * elementBytes) / table.sharedBytes;
  double sum = 0.0;
  for (double cycles : {dots, exponentials, issue, chain, shared})
    sum += std::pow(cycles / dots, table.overlap);
  double cycles = dots * std::pow(sum, 1.0 / table.overlap) *
                  (1.0 + table.wideTile * std::max(n - 128.0, 0.0));

  double scores = groups * m * n;
  result.cyclesPerScore = cycles / (scores * usefulShare(branch, query, key));
  result.dotShare = dots / scores / result.cyclesPerScore;
  return result;
}

/// The tile of so many rows that takes the fewest cycles. Threads that compute
/// load the rows of a group, to registers.
static std::optional<GPUSchedule> chooseKey(const GPUCore &core,
                                            const BranchShape &branch,
                                            int64_t query, bool isGroup) {
  std::optional<GPUSchedule> best;
  for (int64_t key = kKeyStep; key <= mostKeyOfSplit; key += kKeyStep) {
    GPUSchedule next = estimateSchedule(core, branch, query, key);
    if (next.fits && (next.queryInRegisters || !isGroup) &&
        (!best || next.cyclesPerScore < best->cyclesPerScore))
      best = next;
  }
  return best;
}

std::vector<KeySplit> ringlet::cost::chooseSplits(const GPUCore &core,
                                                  const BranchShape &branch,
                                                  KeySplit &low,
                                                  int64_t group) {
  // Of a short sequence all scores count.
  BranchShape whole = branch;
  whole.causal = false;
  whole.rowsOfSegment = 0;
  std::vector<KeySplit> splits;
  auto add = [&](const GPUSchedule &tile, int64_t queries) {
    KeySplit &split = splits.emplace_back(low);
    split.rows = tile.query;
    split.key = tile.key;
    split.points = 1;
    split.queries = queries;
    split.cyclesPerKey =
        double(group / low.heads * roundUp(low.heads, tile.query)) *
        tile.cyclesPerScore;
  };
  bool isGroup = low.heads > 1;
  std::optional<GPUSchedule> one = chooseKey(core, whole, kGroupRows, isGroup);
  std::optional<GPUSchedule> two =
      chooseKey(core, whole, 2 * kGroupRows, isGroup);
  if (!one)
    return {};
  int64_t ofOne = two ? kGroupRows / low.heads : table.fewQueries;
  if (ofOne > 0)
    add(*one, std::min(ofOne, table.fewQueries));
  const GPUSchedule &tall = two ? *two : *one;
  if (ofOne < table.fewQueries)
    add(tall, table.fewQueries);
  add(tall, table.someQueries);
  splits.back().part = table.longPart;
  splits.back().fewestKeys = 2 * table.longPart;
  splits.back().fewestParts = 2;
  // A second tile would read the keys again.
  low.queries = std::min(low.queries, low.rows / low.heads);
  return splits;
}

GPUSchedule ringlet::cost::chooseSchedule(const GPUCore &core,
                                          const BranchShape &branch) {
  GPUSchedule best = estimateSchedule(core, branch, kGroupRows, kKeyStep);
  bool found = false;
  int64_t candidates = 0;
  for (int64_t groups = 1; groups <= maxGroups; ++groups)
    for (int64_t key = kKeyStep; key <= maxKey; key += kKeyStep) {
      ++candidates;
      GPUSchedule next =
          estimateSchedule(core, branch, groups * kGroupRows, key);
      if (next.fits && (!found || next.cyclesPerScore < best.cyclesPerScore)) {
        best = next;
        found = true;
      }
    }
  best.fits = found;
  best.candidates = candidates;
  return best;
}

double ringlet::cost::countCyclesOfRow(const GPUSchedule &schedule,
                                       double keys) {
  return schedule.cyclesPerScore *
         (keys + table.stepsOfTile * static_cast<double>(schedule.key));
}

double ringlet::cost::countCyclesOfState(int64_t columns) {
  return sizeof(float) * static_cast<double>(columns) / table.memoryBytes;
}

std::string ringlet::cost::explain(const GPUSchedule &schedule) {
  char text[400];
  std::snprintf(
      text, sizeof(text),
      "tiles of %lld queries x %lld keys: %.3f cycles a score by the cost "
      "model (%.0f%% in products), %lld groups of 64 rows with about %lld of "
      "%lld registers a thread, Q in %s, %lld bytes of shared memory%s, best "
      "of %lld shapes",
      static_cast<long long>(schedule.query),
      static_cast<long long>(schedule.key), schedule.cyclesPerScore,
      100.0 * schedule.dotShare, static_cast<long long>(schedule.groups),
      static_cast<long long>(schedule.registers),
      static_cast<long long>(schedule.registerLimit),
      schedule.queryInRegisters ? "registers" : "shared memory",
      static_cast<long long>(schedule.sharedBytes),
      schedule.fits ? "" : ", more than the device has",
      static_cast<long long>(schedule.candidates));
  return text;
}
