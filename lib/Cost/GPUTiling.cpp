//===- GPUTiling.cpp - Cost model of attention tiles on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUTiling.h"

#include "lib/Arch/GPU.h"
#include "lib/Cost/SharedImage.h"
#include "ringlet/abi/Format.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::cost;

namespace {

/// Cycles of a multiprocessor's elementary work. The only place with such
/// numbers.
struct CostTable {
  /// Multiply-adds a cycle of products, by mma.sync and without it, where
  /// nothing else limits them.
  double mma = 1200.0, simt = 30.0;
  /// Instructions for scale, mask, maximum, exp2, sum and rounding of a score,
  /// and threads that issue one in a cycle.
  double softmax = 14.0, lanes = 128.0;
  /// Bytes a cycle from shared memory and from the second-level cache.
  double sharedBytes = 128.0, cacheBytes = 32.0;
  /// Cycles of a step that nothing hides in a lone warp: barriers, and waiting
  /// for K and V.
  double step = 1500.0;
  /// Warps beside which the rest of a step's work is half hidden behind the
  /// longest part of it.
  double hiding = 4.0;
  /// Registers of a thread beside accumulator and scores.
  double mmaRegisters = 60.0, simtRegisters = 100.0;
  /// Registers that a score takes, with those of masks and exponentials that
  /// are made of it.
  double mmaScore = 1.25, simtScore = 3.0;
  /// Registers that 16 rows of a warp take more where columns do not fill the
  /// depth of an instruction, and again where rows do not divide among threads.
  double mmaRagged = 16.0;
  /// The same of a thread where columns do not fill 16.
  double simtRagged = 32.0;
  /// More of them for each score where tiles of a segment follow each other:
  /// what the next one needs stays alive beside the masks.
  double redoScore = 0.3;
  /// Keys that are worth a part of their own, and most queries of tiles for
  /// few.
  int64_t part = 128, fewQueries = 64;
  /// Parts from which on one more costs the merging kernel what it saves,
  /// unless they are long.
  int64_t manyParts = 64;
  /// Keys of which the parts save more than a second kernel costs.
  int64_t fewestKeys = 256;
  /// Bytes that memory gives each multiprocessor in a cycle where all read
  /// (from 13 of an A100 to 21 of an H200): few queries wait for keys and
  /// values.
  double memoryBytes = 16.0;
  /// What parts may cost more than tiles for many queries, which leave
  /// multiprocessors without work.
  double worthOfParts = 1.1;
  /// Rows of tiles for more queries, and tiles for few that read the same keys
  /// for less than one of those costs (H200: 35 rows of 28/4 heads of D80 0.134
  /// ms in tiles of 16, 0.094 in one of 64; 32 rows of D128 0.056 and 0.068).
  int64_t tallRows = 64, lowTiles = 2;
  /// Tiles that merge parts are small, so that the few rows there are busy many
  /// multiprocessors, and read so many parts that their loads overlap.
  int64_t mergeColumns = 32, mergeStates = 16;
  /// Tiles that parts of a multiprocessor have under way, and most parts of it:
  /// one tile of D128 more is as slow as two waves (H200, 8 x 131072 keys:
  /// 0.955 ms at 4, 0.99 at 5, 1.14 at 6), smaller ones want more of them (8 x
  /// 32768 keys of D64: 0.149 ms at 4, 0.141 at 6, 0.140 at 8).
  int64_t bytesOfPoints = 144 << 10, mostPoints = 6;
  /// Where more warps read the same rows, widening them once is cheaper than in
  /// each warp's registers. Threads hold four columns of so many then.
  int64_t wideningWarps = 2, wideningColumns = 16;
  /// Blocks of a multiprocessor that read and widen as fast as memory gives,
  /// one less than run at once in 255 registers a thread (H200: 0.74 ms at 4,
  /// 0.58 at 6, 0.53 at 7, 0.52 at 8, 0.75 at 10).
  int64_t wideningPoints = 7;
  /// Query rows where tiles follow each other in a kernel that reads more than
  /// operands: ptxas fits that beside the sums of four warps, not of eight.
  int64_t redoRows = 64;
  /// More of a thread where w or r are numbers of the call: what would be part
  /// of instructions stays alive beside the sums.
  double mmaRuntimeSizes = 32.0;
  /// More of a thread where masks are made by element: positions, cells and
  /// blocks of rows and columns, which ptxas loads well before they are used.
  double mmaMaskOperands = 56.0;
};

constexpr CostTable table;

// The first is the smallest.
constexpr int64_t queryCandidates[] = {16, 32, 64, 128};
constexpr int64_t keyCandidates[] = {16, 32, 48, 64, 96, 128};

// The layout of tiles that the GPU lowering uses: 16 rows a warp at a time, at
// most 8 warps.
constexpr int64_t warpRows = 16, maxWarps = 8, warpThreads = 32;
// A warp holds 32 rows where at least four do so, and their sums take no more
// than 192 registers of a thread.
constexpr int64_t minTallRows = 4 * 2 * warpRows, maxTallColumns = 192;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

} // namespace

GPUCore GPUCore::of(const arch::GPUArch &row, bool hasMma, int64_t spare,
                    Precision precision) {
  return {row.sharedBytes,
          row.sharedBytesOfSM,
          row.registersOfSM,
          row.registersOfThread,
          row.threadsOfSM,
          hasMma,
          row.hasCpAsync,
          row.sumRegisters,
          spare,
          precision};
}

namespace {
/// Of products of f32 by mma.sync (R7), beside those of 16 bits.
struct PartsCost {
  /// Times as long.
  double products = 1;
  /// Instructions of a lane that round or split a factor.
  double ofFactor = 0;
  /// Registers of a thread that parts and operands in f32 take more, and those
  /// of them that ptxas does not find beside many sums.
  double registers = 0, besideSums = 0;
  /// Of those for sums, at most so many are left.
  static constexpr int64_t mostSums = 160;

  static PartsCost of(Precision precision) {
    switch (precision) {
    case Precision::f32:
      break;
    case Precision::tf32:
      return {2, 2, 60, 0};
    case Precision::tf32x3:
      return {6, 3, 80, 52};
    case Precision::bf16x3:
      return {3, 3, 60, 0};
    }
    return {};
  }
};
} // namespace

int64_t ringlet::cost::chooseWarps(int64_t rows, int64_t columns, bool hasMma) {
  if (rows == 0)
    return maxWarps;
  bool tall = hasMma && rows >= minTallRows && columns <= maxTallColumns;
  return std::min(maxWarps, ceilDiv(rows, (tall ? 2 : 1) * warpRows));
}

bool ringlet::cost::widensInRegisters(int64_t warps, int64_t columns) {
  return warps <= table.wideningWarps && columns % table.wideningColumns == 0;
}

/// Bytes of an element of K and V in memory.
static int64_t getStoredBytes(const BranchShape &branch, int64_t elementBytes) {
  return branch.storedBytes ? branch.storedBytes : elementBytes;
}

/// True if K and V, where they have 8 bits, lie so in shared memory.
static bool liesNarrow(const GPUCore &core, const BranchShape &branch,
                       int64_t warps) {
  return core.hasMma && core.hasAsyncCopies &&
         core.precision == Precision::f32 &&
         widensInRegisters(warps, branch.headDim) &&
         widensInRegisters(warps, branch.valueDim);
}

GPUTiling ringlet::cost::estimate(const GPUCore &core,
                                  const BranchShape &branch,
                                  int64_t elementBytes, int64_t query,
                                  int64_t key, TileKernel kernel) {
  GPUTiling result;
  result.query = query;
  result.key = key;
  result.candidates = 1;
  const int64_t d = branch.headDim, dv = branch.valueDim;

  int64_t warps =
      chooseWarps(query, roundUp(dv, 8) + roundUp(key, 8), core.hasMma);
  int64_t rowBlocks = ceilDiv(query, warpRows * warps);
  result.threads = warps * warpThreads;
  int64_t columns16 = roundUp(std::max(d, dv), 16);
  bool cutsInstructions = d % 16 != 0 || dv % 16 != 0;
  bool cutsRows = (columns16 & (columns16 - 1)) != 0;
  // Two rows of 16 lie in four lanes each.
  double accumulator = rowBlocks * roundUp(dv, 8) / 2.0;
  double scores = rowBlocks * roundUp(key, 8) / 2.0;
  double room = (cutsInstructions + cutsRows) * rowBlocks * table.mmaRagged;
  bool followsTiles =
      kernel == TileKernel::Redo && (branch.segmented || branch.readsMore);
  double ofScore = table.mmaScore + (followsTiles ? table.redoScore : 0.0);
  double numbers = branch.hasRuntimeSizes ? table.mmaRuntimeSizes : 0.0;
  double operands = branch.masksByElement ? table.mmaMaskOperands : 0.0;
  const PartsCost parts = PartsCost::of(core.precision);
  double sums = accumulator + ofScore * scores + room + numbers + operands;
  int64_t ofSums = core.sumRegisters;
  if (core.precision != Precision::f32)
    ofSums = std::min(ofSums, PartsCost::mostSums);
  // Where copies are asynchronous, K and V are under way in turn; elsewhere V
  // takes K's place. Without mma the weights lie beside V.
  const int64_t storedBytes = getStoredBytes(branch, elementBytes);
  auto imageBytes = [&](int64_t rows, int64_t columns, int64_t ofElement) {
    SharedImage padded = SharedImage::of(rows, columns, ofElement);
    bool swizzled = core.hasMma && core.hasAsyncCopies &&
                    isWorthSwizzling(padded, sums, core.sumRegisters);
    return (swizzled ? padded.swizzle() : padded).bytes;
  };
  const int64_t keyBytes =
      liesNarrow(core, branch, warps) ? storedBytes : elementBytes;
  int64_t q = imageBytes(query, d, elementBytes);
  int64_t k = imageBytes(key, d, keyBytes);
  int64_t v = imageBytes(key, dv, keyBytes);
  int64_t weights = core.hasMma ? 0 : imageBytes(query, key, elementBytes);
  bool ahead =
      core.hasMma && core.hasAsyncCopies && q + k + v <= core.sharedBytes;
  result.sharedBytes = q + (ahead ? k + v : std::max(k, v + weights));
  double registers =
      core.hasMma
          ? table.mmaRegisters + parts.registers + accumulator + scores
          : table.simtRegisters + accumulator + table.simtScore * scores +
                (cutsInstructions ? table.simtRagged : 0.0);
  result.fits = result.sharedBytes <= core.sharedBytes &&
                (!core.hasMma || sums + parts.besideSums <=
                                     double(ofSums - core.spareRegisters)) &&
                (core.hasMma || registers <= core.registersOfThread);
  result.registers = std::min<int64_t>(registers, core.registersOfThread);
  result.fits &= result.registers * result.threads <= core.registersOfSM;
  if (kernel == TileKernel::Redo && branch.readsMore)
    result.fits &= query <= table.redoRows;
  // A block takes 1 KiB beside what it asks for.
  int64_t blocks =
      std::min({core.sharedBytesOfSM / (result.sharedBytes + 1024),
                core.registersOfSM / (result.registers * result.threads),
                core.threadsOfSM / result.threads});
  result.blocks = std::max<int64_t>(blocks, 1);

  const double m = query, n = key;
  double columns = n * (roundUp(d, 16) + roundUp(dv, 16));
  double dots =
      m * columns / (core.hasMma ? table.mma / parts.products : table.simt);
  // Every warp reads all of K and V, and its part of Q.
  double reads =
      (warps * columns + m * roundUp(d, 16)) * elementBytes / table.sharedBytes;
  double softmax = m * n * table.softmax / table.lanes;
  if (core.hasMma)
    softmax += (warps * columns + m * roundUp(d, 16) + m * n) * parts.ofFactor /
               table.lanes;
  double loads = n * (d + dv) * storedBytes / table.cacheBytes;
  double hidden = static_cast<double>(result.blocks * warps);
  double longest = core.hasMma ? std::max({dots, reads, softmax}) : dots;
  double rest = dots + (core.hasMma ? reads : 0.0) + softmax - longest;
  double cycles = longest + rest * table.hiding / (table.hiding + hidden) +
                  loads + table.step / hidden;
  // K and V in one place are waited for one after the other, and only other
  // blocks have work meanwhile.
  if (core.hasMma && core.hasAsyncCopies && !ahead)
    cycles += 2 * table.step / static_cast<double>(result.blocks);

  // The part of the computed scores that somebody asked for.
  double useful = 1.0;
  if (branch.rowsOfSegment > 0) {
    double rows = static_cast<double>(branch.rowsOfSegment);
    useful = rows /
             (static_cast<double>(roundUp(branch.rowsOfSegment, query))) *
             rows / (static_cast<double>(roundUp(branch.rowsOfSegment, key)));
    // A causal tile on the diagonal computes about half for nothing.
    if (branch.causal)
      useful *= rows / (rows + branch.causalShare * (m + n));
  }
  result.cyclesPerScore = cycles / (m * n * useful);
  result.dotShare = dots / (m * n) / result.cyclesPerScore;
  return result;
}

GPUTiling ringlet::cost::chooseTiling(const GPUCore &core,
                                      const BranchShape &branch,
                                      int64_t elementBytes, TileKernel kernel) {
  GPUTiling best = estimate(core, branch, elementBytes, queryCandidates[0],
                            keyCandidates[0], kernel);
  int64_t candidates = 0;
  for (int64_t query : queryCandidates)
    for (int64_t key : keyCandidates) {
      ++candidates;
      GPUTiling next = estimate(core, branch, elementBytes, query, key, kernel);
      if (next.fits &&
          (!best.fits || next.cyclesPerScore < best.cyclesPerScore))
        best = next;
    }
  best.candidates = candidates;
  return best;
}

/// `branch` for tiles of few queries: of a short sequence all scores count.
static BranchShape ofFewQueries(BranchShape branch) {
  branch.causal = false;
  branch.rowsOfSegment = 0;
  return branch;
}

/// Cycles a key of `tiles` times so many rows, in tiles of `height`.
static double getCyclesPerKey(int64_t tiles, int64_t rows, int64_t height,
                              double ofScore) {
  return static_cast<double>(tiles * roundUp(rows, height)) * ofScore;
}

KeySplit ringlet::cost::chooseSplit(const GPUCore &core,
                                    const BranchShape &branch,
                                    int64_t elementBytes, int64_t otherRows,
                                    double otherCycles, int64_t group,
                                    int64_t heads) {
  BranchShape whole = ofFewQueries(branch);
  KeySplit best = {};
  best.heads = heads;
  best.part = table.part;
  best.fewestKeys = table.fewestKeys;
  best.manyParts = table.manyParts;
  best.mergeColumns = table.mergeColumns;
  best.mergeStates = table.mergeStates;
  double bestOfScore = 0;
  for (int64_t rows : {16, 32, 64})
    for (int64_t key : {16, 32, 64, 128}) {
      GPUTiling tiling = estimate(core, whole, elementBytes, rows, key);
      double cycles =
          getCyclesPerKey(group / heads, heads, rows, tiling.cyclesPerScore);
      int64_t points = std::clamp(
          table.bytesOfPoints / tiling.sharedBytes, KeySplit().points,
          std::max(KeySplit().points,
                   std::min(tiling.blocks, table.mostPoints)));
      // Memory waits for what widens where fewer blocks run at once.
      if (branch.storedBytes && liesNarrow(core, branch, rows / warpRows)) {
        points =
            std::clamp<int64_t>(tiling.blocks - 1, 1, table.wideningPoints);
        cycles *= double(table.wideningPoints) / double(points);
      }
      if (!tiling.fits || (best.rows && cycles >= best.cyclesPerKey))
        continue;
      best.rows = rows;
      best.key = key;
      best.cyclesPerKey = cycles;
      best.points = points;
      bestOfScore = tiling.cyclesPerScore;
    }
  // None fits beside so many registers that are to be left free.
  if (!best.rows)
    return best;
  double ofMemory = static_cast<double>((branch.headDim + branch.valueDim) *
                                        getStoredBytes(branch, elementBytes)) /
                    table.memoryBytes;
  auto ofFew = [&](int64_t queries) {
    return std::max(ofMemory, getCyclesPerKey(group / heads, queries * heads,
                                              best.rows, bestOfScore));
  };
  auto ofMany = [&](int64_t queries) {
    return std::max(ofMemory,
                    getCyclesPerKey(group, queries, otherRows, otherCycles));
  };
  best.cyclesPerKey = ofFew(1);
  best.otherCyclesPerKey = ofMany(1);
  auto isCheaper = [&](int64_t queries) {
    return ofFew(queries) <= table.worthOfParts * ofMany(queries);
  };
  while (best.queries < table.fewQueries && isCheaper(best.queries + 1))
    ++best.queries;
  return best;
}

std::optional<KeySplit> ringlet::cost::chooseTallSplit(
    const GPUCore &core, const BranchShape &branch, int64_t elementBytes,
    int64_t otherRows, double otherCycles, int64_t group, KeySplit &low) {
  BranchShape whole = ofFewQueries(branch);
  bool isPlain = core.hasMma && elementBytes == 2 && !branch.storedBytes;
  int64_t most = table.lowTiles * low.rows / low.heads;
  if (!isPlain || low.rows >= table.tallRows || low.queries < most)
    return std::nullopt;
  std::optional<GPUTiling> best;
  for (int64_t key : {64, 128}) {
    GPUTiling next = estimate(core, whole, elementBytes, table.tallRows, key);
    if (next.fits && (!best || next.cyclesPerScore < best->cyclesPerScore))
      best = next;
  }
  if (!best)
    return std::nullopt;
  KeySplit tall = low;
  tall.rows = best->query;
  tall.key = best->key;
  auto ofTall = [&](int64_t queries) {
    return getCyclesPerKey(group / low.heads, queries * low.heads, tall.rows,
                           best->cyclesPerScore);
  };
  auto isCheaper = [&](int64_t queries) {
    return ofTall(queries) <=
           table.worthOfParts *
               getCyclesPerKey(group, queries, otherRows, otherCycles);
  };
  tall.cyclesPerKey = ofTall(1);
  tall.queries = most;
  while (tall.queries < table.fewQueries && isCheaper(tall.queries + 1))
    ++tall.queries;
  if (tall.queries == most)
    return std::nullopt;
  low.queries = most;
  return tall;
}

std::string ringlet::cost::explain(const GPUTiling &tiling) {
  return formatText(
      "tiles of {} queries x {} keys: {:.3f} cycles a score by the cost model "
      "({:.0f}% in products), blocks of {} threads with {} bytes of shared "
      "memory and about {} registers a thread, {} at a time{}, best of {} "
      "shapes",
      tiling.query, tiling.key, tiling.cyclesPerScore, 100.0 * tiling.dotShare,
      tiling.threads, tiling.sharedBytes, tiling.registers, tiling.blocks,
      tiling.fits ? "" : ", more than the device has", tiling.candidates);
}
