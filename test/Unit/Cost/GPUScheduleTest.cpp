//===- GPUScheduleTest.cpp - Tiles of scheduled kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/GPUSchedule.h"
#include "lib/Cost/ScheduleResources.h"

#include <gtest/gtest.h>

using namespace ringlet::cost;

namespace {

const GPUCore hopper{227 << 10, 228 << 10, 65536, 255, 2048, true};

BranchShape shape(int64_t dim, int64_t rows = 16384, bool causal = false) {
  return {dim, dim, rows, causal};
}

void expectShape(const BranchShape &branch, int64_t query, int64_t key,
                 bool queryInRegisters) {
  GPUSchedule best = chooseSchedule(hopper, branch);
  EXPECT_TRUE(best.fits);
  EXPECT_EQ(best.query, query) << explain(best);
  EXPECT_EQ(best.key, key) << explain(best);
  EXPECT_EQ(best.queryInRegisters, queryInRegisters) << explain(best);
}

// The shapes that were fastest on the device.
TEST(GPUSchedule, MeasuredShapesWin) {
  expectShape(shape(64), 192, 128, false);
  expectShape(shape(64, 16384, true), 192, 128, false);
  expectShape(shape(128), 128, 128, true);
  expectShape(shape(128, 16384, true), 128, 128, true);
  expectShape(shape(256), 128, 80, false);
  expectShape(shape(256, 16384, true), 128, 64, false);
  // Unknown lengths are taken for long ones.
  expectShape(shape(128, 0), 128, 128, true);
  expectShape(shape(256, 0, true), 128, 64, false);
}

// Estimates are near the share of the products' peak that was measured.
TEST(GPUSchedule, EstimatesAgreeWithMeasurements) {
  struct {
    int64_t dim, query, key;
    double share;
  } measured[] = {{128, 128, 128, 0.949}, {64, 192, 128, 0.663},
                  {64, 128, 192, 0.619},  {256, 128, 80, 0.953},
                  {256, 128, 64, 0.955},  {128, 128, 176, 0.839}};
  for (const auto &row : measured)
    EXPECT_NEAR(estimateSchedule(hopper, shape(row.dim, 0), row.query, row.key)
                    .dotShare,
                row.share, 0.02)
        << row.dim << ": " << row.query << " x " << row.key;
}

TEST(GPUSchedule, ChoiceFitsForEveryHeadDimension) {
  for (int64_t dim = 16; dim <= 256; dim += 8)
    for (int64_t width = 16; width <= 256; width += 8)
      for (bool causal : {false, true}) {
        GPUSchedule best = chooseSchedule(hopper, {dim, width, 0, causal});
        ASSERT_TRUE(best.fits) << dim << ", " << width;
        EXPECT_LE(best.registers, best.registerLimit) << dim << ", " << width;
        EXPECT_LT(best.sharedBytes, hopper.sharedBytes) << dim << ", " << width;
        EXPECT_LE(best.groups * best.registerLimit + 32, 512);
        // Less than half the rate of the largest tiles would be a bad choice.
        EXPECT_GE(best.query * best.key, 128 * 64) << dim << ", " << width;
      }
}

// A segment may end anywhere in a key tile, and tiles that it fills are better.
TEST(GPUSchedule, EverySegmentHasATile) {
  for (int64_t rows : {1, 16, 48, 100, 2048, 2064})
    for (int64_t dim : {64, 128, 256})
      EXPECT_TRUE(chooseSchedule(hopper, shape(dim, rows)).fits)
          << rows << ", " << dim;
  EXPECT_EQ(chooseSchedule(hopper, shape(128, 96)).key, 96);
  EXPECT_EQ(chooseSchedule(hopper, shape(128, 100)).key, 112);
}

// Three groups and the coordinates of segments do not go together where all
// registers are taken by tiles.
TEST(GPUSchedule, SegmentsLeaveRegistersToTheCopies) {
  BranchShape dense = shape(64, 2048), segmented = dense;
  segmented.segmented = true;
  EXPECT_TRUE(estimateSchedule(hopper, dense, 192, 128).fits);
  EXPECT_FALSE(estimateSchedule(hopper, segmented, 192, 128).fits);
  EXPECT_EQ(estimateSchedule(hopper, segmented, 192, 96).registerLimit, 152);
  EXPECT_TRUE(estimateSchedule(hopper, segmented, 128, 128).fits);
  EXPECT_EQ(estimateSchedule(hopper, segmented, 128, 128).registerLimit, 232);
}

// Q takes 128 x 256 bytes, each of two slots of K and of V 80 x 512; two
// barriers a slot.
TEST(GPUSchedule, SharedMemoryIsThatOfTheChannels) {
  EXPECT_EQ(estimateSchedule(hopper, {128, 256, 0}, 128, 80).sharedBytes,
            128 * 256 + 16 + 2 * (80 * 256 + 16 + 80 * 512 + 16));
  // Columns fill panels of 64.
  EXPECT_EQ(estimateSchedule(hopper, shape(72), 64, 64).sharedBytes,
            5 * (64 * 256 + 16));
}

// Q leaves registers first.
// More queries than a low tile holds: a group of warps, two groups, and as many
// for calls that would leave multiprocessors without work.
TEST(GPUSchedule, TallerTilesForFewQueries) {
  auto getLow = [](int64_t heads) {
    KeySplit low =
        chooseSplit(hopper, shape(128, 0), 2, 128, 0.4, heads, heads);
    EXPECT_EQ(low.rows, 16);
    return low;
  };
  KeySplit low = getLow(4);
  std::vector<KeySplit> splits = chooseSplits(hopper, shape(128), low, 4);
  ASSERT_EQ(splits.size(), 3u);
  EXPECT_EQ(low.queries, 4);
  EXPECT_EQ(splits[0].rows, 64);
  EXPECT_EQ(splits[0].queries, 16);
  EXPECT_EQ(splits[1].rows, 128);
  EXPECT_EQ(splits[1].queries, 64);
  EXPECT_EQ(splits[2].rows, 128);
  EXPECT_EQ(splits[2].queries, 512);
  EXPECT_EQ(splits[2].fewestParts, 2);
  EXPECT_EQ(splits[2].fewestKeys, 2 * splits[2].part);
  for (const KeySplit &split : splits) {
    EXPECT_EQ(split.points, 1);
    EXPECT_EQ(split.heads, 4);
  }
  // One head fills 64 rows with 64 queries.
  low = getLow(1);
  splits = chooseSplits(hopper, shape(128), low, 1);
  ASSERT_EQ(splits.size(), 2u);
  EXPECT_EQ(low.queries, 16);
  EXPECT_EQ(splits[0].queries, 64);
  EXPECT_EQ(splits[1].queries, 512);
  // Threads that compute have no registers for rows of several heads so wide.
  low = getLow(4);
  EXPECT_TRUE(chooseSplits(hopper, shape(256), low, 4).empty());
  low = getLow(1);
  EXPECT_FALSE(chooseSplits(hopper, shape(256), low, 1).empty());
}

TEST(GPUSchedule, SpareRegisters) {
  GPUCore core = hopper;
  EXPECT_TRUE(estimateSchedule(core, shape(128), 128, 128).queryInRegisters);
  core.spareRegisters = kRegistersOfSlots + 16;
  GPUSchedule spare = estimateSchedule(core, shape(128), 128, 128);
  EXPECT_TRUE(spare.fits);
  EXPECT_FALSE(spare.queryInRegisters);
}

/// The tiles of a forward pass over elements of 16 bits.
ScheduledTiles forward(int64_t groups, int64_t key, int64_t dim) {
  ScheduledTiles tiles;
  tiles.groups = groups;
  tiles.live =
      peakRegisters({{0, 3, dim / 2}, {1, 2, key / 2}, {0, 2, key / 4}});
  tiles.left = {leftRegisters(dim)};
  tiles.onceBytes = slotBytes(groups * kGroupRows, dim);
  tiles.stepBytes = 2 * slotBytes(key, dim);
  return tiles;
}

// What all threads ask for is what they begin with, or less.
TEST(ScheduleResources, RegistersOfGroupsAndBlocks) {
  auto expectRegisters = [](int64_t groups, int64_t blocks, int64_t compute,
                            int64_t load) {
    RoleRegisters shared =
        shareRegisters(hopper, groups, /*amply=*/false, blocks);
    EXPECT_EQ(shared.compute, compute) << groups << ", " << blocks;
    EXPECT_EQ(shared.load, load) << groups << ", " << blocks;
    EXPECT_LE(blocks * 128 * (groups * compute + load), hopper.registersOfSM);
  };
  expectRegisters(1, 1, 240, 40);
  expectRegisters(2, 1, 232, 40);
  expectRegisters(3, 1, 160, 32);
  expectRegisters(4, 1, 112, 32);
  expectRegisters(1, 2, 216, 40);
  expectRegisters(2, 2, 104, 32);
}

// Blocks of a multiprocessor share its memory and its registers.
TEST(ScheduleResources, TwoBlocks) {
  std::string error;
  ScheduledTiles tiles = forward(2, 48, 64);
  tiles.blocks = 2;
  std::optional<ScheduleResources> given = findResources(hopper, tiles, error);
  ASSERT_TRUE(given) << error;
  EXPECT_EQ(given->registers.compute, 104);
  EXPECT_EQ(slotLimit(hopper, 2), (114 << 10) - 2048);
  EXPECT_LE(tiles.sharedBytes(given->slots), slotLimit(hopper, 2));
  tiles = forward(2, 128, 128);
  tiles.blocks = 2;
  EXPECT_FALSE(findResources(hopper, tiles, error));
  EXPECT_EQ(error, "expected at most 104 registers a thread, 2 groups of 64 "
                   "rows in 2 blocks, found 192: 160 for tiles, 32 for the "
                   "rest");
}

// Tiles that are live at one place add up, others do not.
TEST(ScheduleResources, PeakOfLiveTiles) {
  EXPECT_EQ(peakRegisters({}), 0);
  EXPECT_EQ(peakRegisters({{3, 3, 8}}), 8);
  EXPECT_EQ(peakRegisters({{0, 1, 8}, {2, 3, 16}}), 16);
  EXPECT_EQ(peakRegisters({{0, 2, 8}, {2, 3, 16}}), 24);
  EXPECT_EQ(peakRegisters({{0, 9, 32}, {1, 2, 64}, {4, 5, 16}, {5, 6, 40}}),
            96);
}

// Of several left operands as many are read to registers as fit.
TEST(ScheduleResources, SeveralLeftOperands) {
  std::string error;
  ScheduledTiles tiles = forward(2, 64, 64);
  tiles.live = 128;
  tiles.left = {32, 32, 32};
  std::optional<ScheduleResources> given = findResources(hopper, tiles, error);
  ASSERT_TRUE(given) << error;
  EXPECT_EQ(given->leftInRegisters, 2u);
}

// What a kernel gets: the registers of its threads are never more than they
// begin with, and threads that load have amply where tiles leave it.
TEST(ScheduleResources, RegistersAreShared) {
  std::string error;
  for (int64_t groups = 1; groups <= 4; ++groups)
    for (int64_t key = 16; key <= 192; key += 16)
      for (int64_t dim : {16, 64, 128, 256}) {
        std::optional<ScheduleResources> given =
            findResources(hopper, forward(groups, key, dim), error);
        if (!given)
          continue;
        RoleRegisters registers = given->registers;
        EXPECT_LE((groups * registers.compute + registers.load) * 128, 65536)
            << groups << ", " << key << ", " << dim;
        EXPECT_EQ(registers.compute % 8 + registers.load % 8, 0);
        EXPECT_LE(forward(groups, key, dim).registers(given->leftInRegisters) +
                      kLeastOtherRegisters,
                  registers.compute);
      }
  std::optional<ScheduleResources> given =
      findResources(hopper, forward(2, 128, 128), error);
  ASSERT_TRUE(given) << error;
  EXPECT_EQ(given->leftInRegisters, 1u);
  EXPECT_EQ(given->registers.compute, 232);
  EXPECT_EQ(given->registers.load, 40);
  EXPECT_EQ(given->slots, 2);
  given = findResources(hopper, forward(2, 64, 64), error);
  ASSERT_TRUE(given) << error;
  EXPECT_EQ(given->registers.load, 56);
}

// Short tiles of queries have a third slot where there is room for it; kernels
// that leave registers free give it up before anything else.
TEST(ScheduleResources, SlotsOfShortTiles) {
  auto find = [](int64_t groups, int64_t key, int64_t dim, int64_t spare) {
    ScheduledTiles tiles = forward(groups, key, dim);
    tiles.areShort = true;
    GPUCore core = hopper;
    core.spareRegisters = spare;
    std::string error;
    std::optional<ScheduleResources> given = findResources(core, tiles, error);
    EXPECT_TRUE(given) << error;
    return *given;
  };
  EXPECT_EQ(find(2, 128, 128, 0).slots, 3);
  EXPECT_EQ(find(2, 128, 64, 0).slots, 3);
  ScheduleResources tight = find(2, 128, 128, kRegistersOfSlots);
  EXPECT_EQ(tight.slots, 2);
  EXPECT_EQ(tight.leftInRegisters, 1u);
  EXPECT_EQ(find(2, 128, 128, kRegistersOfSlots + 16).leftInRegisters, 0u);
  // No registers, no shared memory.
  EXPECT_EQ(find(3, 128, 64, 0).slots, 2);
  EXPECT_EQ(find(2, 64, 256, 0).slots, 2);
}

// Each thing that may not suffice, with what there is and what it takes.
TEST(ScheduleResources, SaysWhatIsMissing) {
  std::string error;
  EXPECT_FALSE(findResources(hopper, forward(8, 64, 64), error));
  EXPECT_EQ(error, "expected at most 448 query rows, found 512");
  EXPECT_FALSE(findResources(hopper, forward(3, 128, 256), error));
  EXPECT_EQ(error, "expected at most 160 registers a thread, 3 groups of 64 "
                   "rows, found 256: 224 for tiles, 32 for the rest");
  GPUCore small = hopper;
  small.sharedBytes = 48 << 10;
  EXPECT_FALSE(findResources(small, forward(1, 192, 64), error));
  EXPECT_EQ(error, "expected at most 48128 bytes of shared memory, found 57392 "
                   "for one slot of each channel");
  small.sharedBytes = 64 << 10;
  std::optional<ScheduleResources> one =
      findResources(small, forward(1, 192, 64), error);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->slots, 1);
}

TEST(GPUSchedule, NothingFitsWhereThereIsNoRoom) {
  GPUCore tiny = hopper;
  tiny.sharedBytes = 8 << 10;
  GPUSchedule best = chooseSchedule(tiny, shape(128));
  EXPECT_FALSE(best.fits);
  EXPECT_NE(explain(best).find("more than the device has"), std::string::npos);
}

TEST(GPUSchedule, ShortSegmentsGetShortTiles) {
  EXPECT_EQ(chooseSchedule(hopper, shape(128, 64)).query, 64);
  EXPECT_LE(chooseSchedule(hopper, shape(128, 64)).key, 64);
}

TEST(GPUSchedule, ExplainNamesTheFigures) {
  std::string text = explain(estimateSchedule(hopper, shape(128), 128, 128));
  for (const char *part :
       {"128 queries x 128 keys", "2 groups of 64 rows",
        "about 232 of 232 registers", "Q in registers", "163920 bytes"})
    EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
}

} // namespace
