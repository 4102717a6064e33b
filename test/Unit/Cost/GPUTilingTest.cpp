//===- GPUTilingTest.cpp - What the GPU cost model must say -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUTiling.h"

#include <gtest/gtest.h>

using namespace ringlet::cost;

namespace {

const GPUCore small{48 << 10, 64 << 10, 65536, 255, 2048, false};
const GPUCore large{163 << 10, 164 << 10, 65536, 255, 2048, true};

BranchShape shape(int64_t dim, int64_t rows, bool causal = false) {
  return {dim, dim, rows, causal};
}

TEST(GPUTiling, ChoiceFitsAndIsTheCheapest) {
  for (const GPUCore &core : {small, large})
    for (int64_t dim : {16, 20, 64, 128, 256})
      for (int64_t rows : {0, 1, 100, 4096})
        for (int64_t bytes : {2, 4}) {
          if (core.hasMma && bytes == 4)
            continue;
          GPUTiling best = chooseTiling(core, shape(dim, rows), bytes);
          EXPECT_TRUE(best.fits) << "dim " << dim << ", bytes " << bytes;
          EXPECT_LE(best.sharedBytes, core.sharedBytes);
          EXPECT_LE(best.registers, core.registersOfThread);
          for (int64_t query : {16, 32, 64, 128})
            for (int64_t key : {16, 32, 64, 128}) {
              GPUTiling other =
                  estimate(core, shape(dim, rows), bytes, query, key);
              if (other.fits) {
                EXPECT_LE(best.cyclesPerScore, other.cyclesPerScore)
                    << "dim " << dim << ", rows " << rows;
              }
            }
        }
}

// Q of 64 rows and K of 32 rows, 128 columns of 2 bytes and 16 more of padding;
// V takes K's place.
TEST(GPUTiling, SharedMemoryIsThatOfTheLowering) {
  EXPECT_EQ(estimate(large, shape(128, 0), 2, 64, 32).sharedBytes,
            (64 + 32) * (2 * 128 + 16));
  // Without matrix instructions the weights lie beside V.
  GPUCore simt = large;
  simt.hasMma = false;
  EXPECT_EQ(estimate(simt, shape(128, 0), 2, 64, 32).sharedBytes,
            (64 + 32) * (2 * 128 + 16) + 64 * (2 * 32 + 16));
}

// Where copies are asynchronous K and V lie beside each other, if there is
// room, and rows that fill rows of banks without padding.
TEST(GPUTiling, AsynchronousCopiesNeedPlacesOfTheirOwn) {
  GPUCore ahead = large;
  ahead.hasAsyncCopies = true;
  EXPECT_EQ(estimate(ahead, shape(120, 0), 2, 64, 32).sharedBytes,
            (64 + 2 * 32) * 2 * 128);
  EXPECT_EQ(estimate(ahead, shape(96, 0), 2, 64, 32).sharedBytes,
            (64 + 2 * 32) * (2 * 96 + 16));
  ahead.sharedBytes = (64 + 2 * 32) * 2 * 128 - 1;
  EXPECT_EQ(estimate(ahead, shape(128, 0), 2, 64, 32).sharedBytes,
            (64 + 32) * 2 * 128);
}

// Swizzled rows of wide heads leave room for K and V of 96 rows beside Q on an
// A100's multiprocessor: 7.04 ms on an H200, S16384 H8 D256, where tiles of 64
// rows take 7.44 ms.
TEST(GPUTiling, TilesOfWideHeadsFillSharedMemory) {
  const GPUCore ampere{163 << 10, 164 << 10, 65536, 255, 2048, true, true};
  GPUTiling best = chooseTiling(ampere, shape(256, 0), 2);
  EXPECT_EQ(best.query, 128);
  EXPECT_EQ(best.key, 96);
  EXPECT_EQ(best.sharedBytes, (128 + 2 * 96) * 512);
  GPUTiling smaller = estimate(ampere, shape(256, 0), 2, 128, 64);
  EXPECT_NEAR(smaller.cyclesPerScore / best.cyclesPerScore, 7.44 / 7.04, 0.03);
}

// What smaller tiles gain where rows are padded, here for want of registers, is
// that K and V have places of their own: 8.15 ms and 8.58 ms on an H200 where
// 128 x 128 takes 9.36 ms.
TEST(GPUTiling, TilesThatAreWaitedForCostMore) {
  const GPUCore ampere{163 << 10, 164 << 10, 65536, 255, 2048, true, true, 160};
  auto cycles = [&](int64_t key) {
    return estimate(ampere, shape(256, 0), 2, 128, key).cyclesPerScore;
  };
  EXPECT_NEAR(cycles(48) / cycles(64), 8.58 / 8.15, 0.03);
  EXPECT_NEAR(cycles(128) / cycles(64), 9.36 / 8.15, 0.03);
}

// 32 rows a warp where that leaves four warps and registers suffice.
TEST(GPUTiling, WarpsAreTallWhereTheyCanBe) {
  EXPECT_EQ(chooseWarps(128, 192, true), 4);
  EXPECT_EQ(chooseWarps(128, 200, true), 8);
  EXPECT_EQ(chooseWarps(128, 192, false), 8);
  EXPECT_EQ(chooseWarps(64, 128, true), 4);
  EXPECT_EQ(chooseWarps(16, 128, true), 1);
  EXPECT_EQ(chooseWarps(512, 128, true), 8);
  // Entries of lists have no rows.
  EXPECT_EQ(chooseWarps(0, 0, false), 8);
}

// What becomes of scores takes registers, which bounds the tile.
TEST(GPUTiling, SumsLeaveRegistersForTheRest) {
  GPUCore tight = large;
  tight.sumRegisters = 160;
  EXPECT_TRUE(estimate(large, shape(128, 0), 2, 128, 64).fits);
  EXPECT_FALSE(estimate(tight, shape(128, 0), 2, 128, 64).fits);
  EXPECT_TRUE(chooseTiling(tight, shape(128, 0), 2).fits);
}

// Rows that are computed again get the tiles of plain kernels, but where tiles
// of segments follow each other, which takes registers.
TEST(GPUTiling, TilesOfMarkedRows) {
  GPUCore hopper = large;
  hopper.sumRegisters = 160;
  BranchShape dense = shape(128, 2048), segmented = dense;
  segmented.segmented = true;
  EXPECT_TRUE(estimate(hopper, dense, 2, 128, 128, TileKernel::Redo).fits);
  EXPECT_TRUE(estimate(hopper, segmented, 2, 128, 128).fits);
  EXPECT_FALSE(estimate(hopper, segmented, 2, 128, 128, TileKernel::Redo).fits);
  EXPECT_TRUE(estimate(hopper, segmented, 2, 128, 96, TileKernel::Redo).fits);
  for (int64_t dim : {64, 128, 256})
    EXPECT_EQ(chooseTiling(hopper, shape(dim, 0), 2, TileKernel::Redo).query,
              128);
  // So does what lists say of a sequence, or a sink.
  BranchShape sequences = dense;
  sequences.readsMore = true;
  EXPECT_TRUE(estimate(hopper, sequences, 2, 128, 96).fits);
  EXPECT_FALSE(estimate(hopper, sequences, 2, 128, 96, TileKernel::Redo).fits);
  EXPECT_EQ(chooseTiling(hopper, sequences, 2, TileKernel::Redo).query, 64);
}

TEST(GPUTiling, SpareRegistersMakeTilesSmaller) {
  GPUCore core = large;
  core.sumRegisters = 160;
  EXPECT_TRUE(estimate(core, shape(128, 0), 2, 128, 128).fits);
  core.spareRegisters = 32;
  EXPECT_FALSE(estimate(core, shape(128, 0), 2, 128, 128).fits);
  EXPECT_TRUE(chooseTiling(core, shape(128, 0), 2).fits);
}

TEST(GPUTiling, SizesOfTheCallTakeRegisters) {
  bool changes = false;
  for (int64_t dim = 16; dim <= 256; dim += 8) {
    BranchShape runtime = shape(dim, 0);
    runtime.hasRuntimeSizes = true;
    GPUTiling without = chooseTiling(large, shape(dim, 0), 2);
    GPUTiling with = chooseTiling(large, runtime, 2);
    EXPECT_TRUE(with.fits) << dim;
    EXPECT_GE(with.cyclesPerScore, without.cyclesPerScore) << dim;
    changes |= with.query != without.query || with.key != without.key;
  }
  EXPECT_TRUE(changes);
}

TEST(GPUTiling, MasksByElementTakeRegisters) {
  bool changes = false;
  for (int64_t dim = 16; dim <= 128; dim += 8) {
    BranchShape byElement = shape(dim, 0);
    byElement.masksByElement = true;
    GPUTiling without = chooseTiling(large, shape(dim, 0), 2);
    GPUTiling with = chooseTiling(large, byElement, 2);
    EXPECT_TRUE(with.fits) << dim;
    EXPECT_GE(with.cyclesPerScore, without.cyclesPerScore) << dim;
    changes |= with.query != without.query || with.key != without.key;
  }
  EXPECT_TRUE(changes);
}

TEST(GPUTiling, NothingFitsWhereThereIsNoRoom) {
  GPUCore tiny = small;
  tiny.sharedBytes = 1 << 10;
  GPUTiling tiling = chooseTiling(tiny, shape(128, 0), 4);
  EXPECT_FALSE(tiling.fits);
  EXPECT_EQ(tiling.query, 16);
  EXPECT_EQ(tiling.key, 16);
  EXPECT_NE(explain(tiling).find("more than the device has"),
            std::string::npos);
}

// A tile taller than the segment computes rows that nobody asked for.
/// The more products one becomes, the dearer; all are cheaper than
/// multiply-adds.
TEST(GPUTiling, ProductsOfPartsCostWhatTheyAre) {
  using ringlet::Precision;
  auto choose = [](Precision precision) {
    GPUCore core = large;
    core.hasAsyncCopies = true;
    core.hasMma = precision != Precision::f32;
    core.precision = precision;
    GPUTiling tiling = chooseTiling(core, shape(64, 4096), 4);
    EXPECT_TRUE(tiling.fits);
    return tiling;
  };
  GPUTiling exact = choose(Precision::f32), tf32 = choose(Precision::tf32),
            tf32x3 = choose(Precision::tf32x3),
            bf16x3 = choose(Precision::bf16x3);
  EXPECT_LT(tf32.cyclesPerScore, bf16x3.cyclesPerScore);
  EXPECT_LT(bf16x3.cyclesPerScore, tf32x3.cyclesPerScore);
  EXPECT_LT(tf32x3.cyclesPerScore, exact.cyclesPerScore);
  // Both parts of a left operand lie in registers.
  EXPECT_LT(tf32x3.key, bf16x3.key);
  EXPECT_EQ(bf16x3.blocks, 2);
}

TEST(GPUTiling, ShortSegmentsGetShortTiles) {
  for (int64_t rows : {1, 16}) {
    GPUTiling tiling = chooseTiling(large, shape(64, rows), 2);
    EXPECT_EQ(tiling.query, 16);
    EXPECT_EQ(tiling.key, 16);
  }
  EXPECT_GT(chooseTiling(large, shape(64, 0), 2).query, 16);
}

TEST(GPUTiling, ExplainNamesTheFigures) {
  GPUTiling tiling = estimate(large, shape(128, 0), 2, 64, 32);
  std::string text = explain(tiling);
  EXPECT_NE(text.find("64 queries x 32 keys"), std::string::npos) << text;
  EXPECT_NE(text.find("26112 bytes of shared memory"), std::string::npos)
      << text;
}

TEST(GPUTiling, NoneForFewQueriesWhereNoneFit) {
  GPUCore core = large;
  core.spareRegisters = 240;
  EXPECT_EQ(chooseSplit(core, shape(128, 0), 2, 64, 0.5, 1, 1).queries, 0);
}

TEST(GPUTiling, NarrowKeysTakeTheirBytes) {
  const GPUCore core{163 << 10, 164 << 10, 65536, 255, 2048, true, true};
  BranchShape wide = shape(128, 0), narrow = wide;
  narrow.storedBytes = 1;
  // Widened in registers by one warp: K and V take half.
  GPUTiling tiles = estimate(core, wide, 2, 16, 64);
  GPUTiling bytes = estimate(core, narrow, 2, 16, 64);
  EXPECT_EQ(tiles.sharedBytes, (16 + 64 + 64) * 256);
  EXPECT_EQ(bytes.sharedBytes, 16 * 256 + (64 + 64) * 128);
  EXPECT_GT(bytes.blocks, tiles.blocks);
  // By all threads of four warps, once.
  EXPECT_EQ(estimate(core, narrow, 2, 128, 64).sharedBytes,
            estimate(core, wide, 2, 128, 64).sharedBytes);
  // Whole instructions of eight columns leave no thread four side by side.
  BranchShape ragged = shape(72, 0), raggedNarrow = ragged;
  raggedNarrow.storedBytes = 1;
  EXPECT_EQ(estimate(core, raggedNarrow, 2, 16, 64).sharedBytes,
            estimate(core, ragged, 2, 16, 64).sharedBytes);
}

TEST(GPUTiling, WideningPartsFillWhatRunsAtOnce) {
  const GPUCore core{163 << 10, 164 << 10, 65536, 255, 2048, true, true};
  BranchShape wide = shape(128, 0), narrow = wide;
  narrow.storedBytes = 1;
  KeySplit ofWide = chooseSplit(core, wide, 2, 128, 0.4, 4, 4);
  KeySplit ofNarrow = chooseSplit(core, narrow, 2, 128, 0.4, 4, 4);
  EXPECT_EQ(ofWide.points, 4);
  EXPECT_EQ(ofNarrow.points, 7);
  // Blocks that memory keeps waiting read half as much.
  EXPECT_LE(ofNarrow.cyclesPerKey, ofWide.cyclesPerKey);
}

TEST(GPUTiling, TallTilesReadKeysOnce) {
  const GPUCore core{163 << 10, 164 << 10, 65536, 255, 2048, true, true};
  BranchShape wide = shape(128, 0), narrow = wide;
  narrow.storedBytes = 1;
  KeySplit low = chooseSplit(core, wide, 2, 128, 0.4, 4, 4);
  ASSERT_EQ(low.rows, 16);
  std::optional<KeySplit> tall =
      chooseTallSplit(core, wide, 2, 128, 0.4, 4, low);
  ASSERT_TRUE(tall);
  // Two low tiles are cheaper than a tall one.
  EXPECT_EQ(low.queries, 8);
  EXPECT_EQ(tall->rows, 64);
  EXPECT_GT(tall->queries, 8);
  EXPECT_LE(tall->queries, 64);
  // Nothing is gained where those for many cost less, or keys are widened.
  low = chooseSplit(core, wide, 2, 128, 0.4, 4, 4);
  EXPECT_FALSE(chooseTallSplit(core, wide, 2, 128, 0.01, 4, low));
  low = chooseSplit(core, narrow, 2, 128, 0.4, 4, 4);
  EXPECT_FALSE(chooseTallSplit(core, narrow, 2, 128, 0.4, 4, low));
}

} // namespace
