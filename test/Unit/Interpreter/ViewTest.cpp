//===- ViewTest.cpp - Views at their edges --------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

using Values = std::vector<double>;

namespace {
/// A one-axis view and a tile of it.
struct Probe {
  int64_t w = 0, rate = 1, height = 4;
  int64_t origin = 0, segment = 0, residue = 0, row = 0;
  int64_t first = 0;
  /// Without one, no `within`.
  std::optional<int64_t> end;

  std::string viewType() const {
    std::string text = "!rtile.view<" + std::to_string(height) + "xf32";
    if (w > 0)
      text += ", w = " + std::to_string(w);
    if (rate > 1)
      text += ", rate = " + std::to_string(rate);
    return text + ">";
  }
  /// `op` runs on the view %v with rows from %row on; %tv is a dense view of
  /// the tile, %out one of the bounds' places.
  std::string program(const std::string &op) const {
    return "rtile.func @f(%X: memref<?xf32, strided<[1]>>, %T: memref<" +
           std::to_string(height) +
           R"(xf32>, %B: memref<2x?xf32, strided<[?, 1]>>, %low: index,
        %origin: index, %segment: index, %residue: index, %row: index,
        %part: index, %part_end: index) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = rtile.view %X[*] origin(%origin) )" +
           (w > 0 ? "segment(%segment) " : "") +
           (rate > 1 ? "residue(%residue) " : "") +
           (end ? "within(%part, %part_end) " : "") +
           ": memref<?xf32, strided<[1]>> to " + viewType() +
           "\n      %tv = rtile.view %T[*] : memref<" + std::to_string(height) +
           "xf32> to !rtile.view<" + std::to_string(height) + "xf32>\n" + op +
           "\n      rtile.return\n    }";
  }
  std::string load() const {
    return program("      %t = rtile.load %v[%row] : " + viewType() +
                   "\n      rtile.store %t, %tv[%c0] : !rtile.view<" +
                   std::to_string(height) + "xf32>");
  }
  std::string store() const {
    return program("      %t = rtile.load %tv[%c0] : !rtile.view<" +
                   std::to_string(height) + "xf32>\n" +
                   "      rtile.store %t, %v[%row] : " + viewType());
  }
  std::string bounds() const {
    return program("      %begin, %end = rtile.bounds %v : " + viewType() + R"(
      %one = arith.constant dense<1.0> : tensor<1xf32>
      %bv = rtile.view %B[%c0, *] origin(%low)
          : memref<2x?xf32, strided<[?, 1]>> to !rtile.view<1xf32>
      %ev = rtile.view %B[%c1, *] origin(%low)
          : memref<2x?xf32, strided<[?, 1]>> to !rtile.view<1xf32>
      rtile.store %one, %bv[%begin] : !rtile.view<1xf32>
      rtile.store %one, %ev[%end] : !rtile.view<1xf32>)");
  }

  /// The index in a buffer of `size` elements of view row `i`, or -1.
  int64_t index(int64_t i, int64_t size) const {
    int64_t position = segment * w + residue + i * rate;
    if (w > 0 && (position < segment * w || position >= (segment + 1) * w))
      return -1;
    if (position < origin || position - origin >= size)
      return -1;
    if (end && (position - origin < first || position - origin >= *end))
      return -1;
    return position - origin;
  }

  std::string run(const std::string &text, Tensor &x, Tensor &tile,
                  Tensor &bounds, const Options &options = {}) const {
    return Module(text).runKernel("f",
                                  {x.view(), tile.view(), bounds.view(), kLow,
                                   origin, segment, residue, row, first,
                                   end.value_or(0)},
                                  {1}, options);
  }
  static constexpr int64_t kLow = -200;
};
} // namespace

static Values loadTile(const Probe &probe, int64_t size) {
  // Element m holds m + 1, so that zero means "not there".
  Tensor x = iota(DType::f32, {size}, 1), tile(DType::f32, {probe.height});
  Tensor bounds(DType::f32, {2, 400});
  EXPECT_EQ(probe.run(probe.load(), x, tile, bounds), "");
  return elements(tile);
}

TEST(View, RowsOfAPartOfTheAxis) {
  Probe probe;
  probe.first = 1;
  probe.end = 3;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 2, 3, 0}));
  // The part moves along with the rows.
  probe.origin = -1;
  EXPECT_EQ(loadTile(probe, 6), (Values{2, 3, 0, 0}));
  // What lies beyond the axis has no rows, however far.
  probe.origin = 3;
  probe.first = INT64_MIN;
  probe.end = INT64_MAX;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 1}));
  probe.end = INT64_MIN;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 0}));
  probe.first = INT64_MAX;
  probe.end = INT64_MAX;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 0}));
}

TEST(View, DenseTilesEndAtTheBuffer) {
  Probe probe;
  EXPECT_EQ(loadTile(probe, 6), (Values{1, 2, 3, 4}));
  probe.row = 4;
  EXPECT_EQ(loadTile(probe, 6), (Values{5, 6, 0, 0}));
  probe.row = -2;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 1, 2}));
  probe.row = 6;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 0}));
  probe.row = INT64_MAX - 1;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 0}));
  probe.row = INT64_MIN;
  EXPECT_EQ(loadTile(probe, 6), (Values{0, 0, 0, 0}));
}

TEST(View, SegmentsAndRates) {
  Probe probe;
  probe.w = 8, probe.rate = 3, probe.segment = 1, probe.residue = 2;
  // Positions 10, 13 of [8, 16); the next, 16, is in another segment.
  EXPECT_EQ(loadTile(probe, 100), (Values{11, 14, 0, 0}));
  EXPECT_EQ(loadTile(probe, 12), (Values{11, 0, 0, 0}));
  probe.row = 1;
  EXPECT_EQ(loadTile(probe, 100), (Values{14, 0, 0, 0}));
  // Without a segment rows go on, and below zero, too.
  probe = Probe();
  probe.rate = 3, probe.residue = 1, probe.origin = -5, probe.row = -3;
  // Positions -8, -5, -2, 1: at indices none, 0, 3, 6.
  EXPECT_EQ(loadTile(probe, 20), (Values{0, 1, 4, 7}));
}

TEST(View, NegativePositionsLieInNegativeSegments) {
  Probe probe;
  probe.w = 4, probe.segment = -1, probe.origin = -6;
  // Segment -1 is [-4, 0), index 0 is position -6.
  EXPECT_EQ(loadTile(probe, 20), (Values{3, 4, 5, 6}));
  probe.segment = -2; // [-8, -4)
  EXPECT_EQ(loadTile(probe, 20), (Values{0, 0, 1, 2}));
  EXPECT_EQ(loadTile(probe, 1), (Values{0, 0, 1, 0}));
}

TEST(View, HugeNumbersDoNotWrap) {
  Probe probe;
  probe.w = 8, probe.rate = 2;
  probe.segment = (int64_t(1) << 61) + 1; // times 8 is 8 in 64 bits
  EXPECT_EQ(loadTile(probe, 20), (Values{0, 0, 0, 0}));
  probe.segment = 0;
  probe.row = (int64_t(1) << 62) * -2; // times 2 is 0 in 64 bits
  EXPECT_EQ(loadTile(probe, 20), (Values{0, 0, 0, 0}));
  probe = Probe();
  probe.origin = INT64_MAX;
  EXPECT_EQ(loadTile(probe, 20), (Values{0, 0, 0, 0}));
}

TEST(View, RandomLoadsStoresAndBounds) {
  Random random(3);
  int empty = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Probe probe;
    probe.w = random.oneOf({0, 0, 1, 5, 8, 16, 33});
    probe.rate =
        random.pick(1, probe.w > 0 ? std::min<int64_t>(probe.w, 6) : 6);
    probe.residue = probe.rate > 1 ? random.pick(0, probe.rate - 1) : 0;
    probe.height = random.oneOf({1, 3, 4, 8});
    probe.origin = random.pick(-40, 40);
    probe.segment =
        probe.w == 0 ? 0 : random.pick(-80 / probe.w - 1, 100 / probe.w);
    probe.row = random.pick(-20, 20);
    int64_t size = random.pick(0, 40);
    SCOPED_TRACE("trial " + std::to_string(trial));
    Tensor bounds(DType::f32, {2, 400});

    // Loads: exactly the rows that exist.
    Tensor x = iota(DType::f32, {size}, 1), tile(DType::f32, {probe.height});
    ASSERT_EQ(probe.run(probe.load(), x, tile, bounds), "");
    for (int64_t i = 0; i < probe.height; ++i)
      ASSERT_EQ(tile.get({i}), probe.index(probe.row + i, size) + 1) << i;

    // Stores: the same elements and no others.
    tile = iota(DType::f32, {probe.height}, 1000);
    Values expected = elements(x);
    for (int64_t i = 0; i < probe.height; ++i)
      if (int64_t at = probe.index(probe.row + i, size); at >= 0)
        expected[at] = 1000 + static_cast<double>(i);
    ASSERT_EQ(probe.run(probe.store(), x, tile, bounds), "");
    ASSERT_EQ(elements(x), expected);

    // Bounds: all rows between exist, none outside.
    for (bool free : {false, true}) {
      Options options;
      options.chooseFreely = free;
      options.seed = trial;
      for (int64_t i = 0; i < 800; ++i)
        storeElement(bounds.data(), DType::f32, i, 0);
      ASSERT_EQ(probe.run(probe.bounds(), x, tile, bounds, options), "");
      int64_t found[2] = {INT64_MIN, INT64_MIN};
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t i = 0; i < 400; ++i)
          if (bounds.get({k, i}) == 1)
            found[k] = i + Probe::kLow;
      int64_t first = INT64_MIN, last = INT64_MIN;
      for (int64_t i = -150; i < 150; ++i)
        if (probe.index(i, size) >= 0) {
          first = first == INT64_MIN ? i : first;
          last = i;
        }
      if (first == INT64_MIN) {
        // Whatever the range is, it is empty; it may lie out of our sight.
        ASSERT_TRUE(found[1] <= found[0] || free);
        ++empty;
        continue;
      }
      ASSERT_EQ(found[0], first);
      ASSERT_EQ(found[1], last + 1);
    }
  }
  EXPECT_GT(empty, 200);
}

//===----------------------------------------------------------------------===//
// Two axes, indexed rows, strides, types
//===----------------------------------------------------------------------===//

TEST(View, ColumnsOutsideReadAsZeroAndAreNotStored) {
  const char *program = R"(
    rtile.func @f(%X: memref<?x?xf32, strided<[?, 1]>>,
                  %Y: memref<?x?xf32, strided<[?, 1]>>, %row: index,
                  %column: index) grid(%i: index) {
      %x = rtile.view %X[*, *] : memref<?x?xf32, strided<[?, 1]>>
          to !rtile.view<2x3xf32>
      %y = rtile.view %Y[*, *] : memref<?x?xf32, strided<[?, 1]>>
          to !rtile.view<2x3xf32>
      %c0 = arith.constant 0 : index
      %t = rtile.load %x[%row, %column] : !rtile.view<2x3xf32>
      rtile.store %t, %y[%c0, %c0] : !rtile.view<2x3xf32>
      rtile.return
    })";
  Module module(program);
  Tensor x = iota(DType::f32, {3, 4}, 1);
  auto load = [&](int64_t row, int64_t column) {
    Tensor y = filled(DType::f32, {2, 3}, -1);
    EXPECT_EQ(module.runKernel("f", {x.view(), y.view(), row, column}, {1}),
              "");
    return elements(y);
  };
  EXPECT_EQ(load(1, 1), (Values{6, 7, 8, 10, 11, 12}));
  EXPECT_EQ(load(2, 2), (Values{11, 12, 0, 0, 0, 0}));
  EXPECT_EQ(load(-1, -1), (Values{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(load(0, 4), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(load(0, INT64_MIN), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(load(0, INT64_MAX), (Values{0, 0, 0, 0, 0, 0}));
  // A narrower output: the store keeps inside.
  Tensor y = filled(DType::f32, {2, 4}, -1);
  MutableTensorView narrow(y.data(), DType::f32, {2, 2}, {4, 1});
  EXPECT_EQ(
      module.runKernel("f", {x.view(), narrow, int64_t(0), int64_t(0)}, {1}),
      "");
  EXPECT_EQ(elements(y), (Values{1, 2, -1, -1, 5, 6, -1, -1}));
}

static const char *const kGather = R"(
  rtile.func @f(%X: memref<?x3x2xf32, strided<[?, ?, 1]>>,
                %T: memref<?xi64, strided<[1]>>,
                %Y: memref<?x2xf32, strided<[?, 1]>>,
                %h: index, %origin: index, %row: index) grid(%i: index) {
    %c0 = arith.constant 0 : index
    %x = rtile.view %X[*, %h, *] origin(%origin)
        rows(%T : memref<?xi64, strided<[1]>>)
        : memref<?x3x2xf32, strided<[?, ?, 1]>>
        to !rtile.view<4x2xf32, indexed>
    %y = rtile.view %Y[*, *] : memref<?x2xf32, strided<[?, 1]>>
        to !rtile.view<4x2xf32>
    %t = rtile.load %x[%row, %c0] : !rtile.view<4x2xf32, indexed>
    %begin, %end = rtile.bounds %x : !rtile.view<4x2xf32, indexed>
    %n = arith.subi %end, %begin : index
    rtile.store %t, %y[%n, %c0] : !rtile.view<4x2xf32>
    rtile.return
  })";

TEST(View, IndexedRowsComeFromTheTable) {
  Module module(kGather);
  Tensor x = iota(DType::f32, {5, 3, 2}, 1);
  Tensor table = makeTensor(DType::i64, {6}, {3, 0, -1, 5, 4, 1});
  auto gather = [&](int64_t h, int64_t origin, int64_t row) {
    // The table has 6 rows; bounds put the tile there.
    Tensor y = filled(DType::f32, {10, 2}, -1);
    EXPECT_EQ(module.runKernel(
                  "f", {x.view(), table.view(), y.view(), h, origin, row}, {1}),
              "");
    EXPECT_EQ(y.get({5, 1}), -1);
    Values all = elements(y);
    return Values(all.begin() + 12, all.end());
  };
  // Row p of head h starts with 6 p + 2 h + 1. Rows -1 and 5 do not exist.
  EXPECT_EQ(gather(0, 0, 0), (Values{19, 20, 1, 2, 0, 0, 0, 0}));
  EXPECT_EQ(gather(2, 0, 3), (Values{0, 0, 29, 30, 11, 12, 0, 0}));
  // The first entry is that of ordinal 1.
  EXPECT_EQ(gather(1, 1, 2), (Values{3, 4, 0, 0, 0, 0, 27, 28}));
  EXPECT_EQ(gather(0, 0, -2), (Values{0, 0, 0, 0, 19, 20, 1, 2}));
}

TEST(View, IndicesOutsideAFixedAxisAreErrorsWhereTheyMatter) {
  Module module(kGather);
  Tensor x = iota(DType::f32, {5, 3, 2}, 1), y(DType::f32, {10, 2});
  Tensor table = makeTensor(DType::i64, {2}, {0, 1});
  for (int64_t h : {int64_t(-1), int64_t(3), INT64_MAX}) {
    std::string error = module.runKernel(
        "f", {x.view(), table.view(), y.view(), h, int64_t(0), int64_t(0)},
        {1});
    EXPECT_NE(error.find("test.mlir:13:10: 'rtile.load' op expected an index "
                         "in [0, 3) for axis 1 of the buffer, found " +
                         std::to_string(h)),
              std::string::npos)
        << error;
    // Nothing is read of a tile without rows.
    EXPECT_EQ(module.runKernel(
                  "f",
                  {x.view(), table.view(), y.view(), h, int64_t(0), int64_t(9)},
                  {1}),
              "");
  }
}

TEST(View, SizesOfBuffers) {
  Module module(R"(
    rtile.func @f(%X: memref<?x3xf32, strided<[?, 1]>>, %axis: index)
        grid(%i: index) {
      %one = arith.constant dense<1.0> : tensor<1xf32>
      %c0 = arith.constant 0 : index
      %n = memref.dim %X, %axis : memref<?x3xf32, strided<[?, 1]>>
      %x = rtile.view %X[%c0, *] : memref<?x3xf32, strided<[?, 1]>>
          to !rtile.view<1xf32>
      %c1 = arith.constant 1 : index
      %m = arith.subi %n, %c1 : index
      rtile.store %one, %x[%m] : !rtile.view<1xf32>
      rtile.return
    })");
  auto dim = [&](int64_t axis) {
    Tensor x(DType::f32, {2, 3});
    std::string error = module.runKernel("f", {x.view(), axis}, {1});
    for (int64_t i = 0; i < 3; ++i)
      if (x.get({0, i}) == 1)
        return std::to_string(i + 1);
    return error;
  };
  EXPECT_EQ(dim(0), "2");
  EXPECT_EQ(dim(1), "3");
  EXPECT_NE(dim(2).find("expected an axis in [0, 2), found 2"),
            std::string::npos);
}

TEST(View, StridesOfAnySignAndZero) {
  Module module(R"(
    rtile.func @f(%X: memref<?x2xf32, strided<[?, 1]>>,
                  %Y: memref<3x2xf32>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %x = rtile.view %X[*, *] : memref<?x2xf32, strided<[?, 1]>>
          to !rtile.view<3x2xf32>
      %y = rtile.view %Y[*, *] : memref<3x2xf32> to !rtile.view<3x2xf32>
      %t = rtile.load %x[%c0, %c0] : !rtile.view<3x2xf32>
      rtile.store %t, %y[%c0, %c0] : !rtile.view<3x2xf32>
      rtile.return
    })");
  Tensor x = iota(DType::f32, {20});
  auto load = [&](int64_t first, int64_t stride) {
    Tensor y(DType::f32, {3, 2});
    MutableTensorView view(x.as<float>() + first, DType::f32, {3, 2},
                           {stride, 1});
    EXPECT_EQ(module.runKernel("f", {view, y.view()}, {1}), "");
    return elements(y);
  };
  EXPECT_EQ(load(0, 7), (Values{0, 1, 7, 8, 14, 15}));
  EXPECT_EQ(load(10, -4), (Values{10, 11, 6, 7, 2, 3}));
  EXPECT_EQ(load(5, 0), (Values{5, 6, 5, 6, 5, 6}));
}

TEST(View, NarrowElementsAreStoredRounded) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    std::string type(nameOf(dtype));
    Module module("rtile.func @f(%X: memref<8x" + type + ">, %Y: memref<8x" +
                  type + R"(>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %x = rtile.view %X[*] : memref<8x)" +
                  type + "> to !rtile.view<8x" + type + R"(>
      %y = rtile.view %Y[*] : memref<8x)" +
                  type + "> to !rtile.view<8x" + type + R"(>
      %t = rtile.load %x[%c0] : !rtile.view<8x)" +
                  type + R"(>
      %w = arith.extf %t : tensor<8x)" +
                  type + R"(> to tensor<8xf32>
      %third = arith.constant dense<0.3333> : tensor<8xf32>
      %p = arith.mulf %w, %third : tensor<8xf32>
      %n = arith.truncf %p : tensor<8xf32> to tensor<8x)" +
                  type + R"(>
      rtile.store %n, %y[%c0] : !rtile.view<8x)" +
                  type + R"(>
      rtile.return
    })");
    Tensor x = iota(dtype, {8}, 1), y(dtype, {8});
    ASSERT_EQ(module.runKernel("f", {x.view(), y.view()}, {1}), "");
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(y.get({i}),
                roundTo(dtype, static_cast<float>(i + 1) * 0.3333f));
  }
}

// What stands for `?` places rows as the type would, and is checked.
TEST(View, B1_RuntimeSizes) {
  Module module(R"(rtile.func @f(%X: memref<20xf32>, %Y: memref<4xf32>,
      %w: index, %r: index) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = rtile.view %X[*] segment(%c1) residue(%c1) w(%w) rate(%r)
          : memref<20xf32> to !rtile.view<4xf32, w = ?, rate = ?>
      %y = rtile.view %Y[*] : memref<4xf32> to !rtile.view<4xf32>
      %t = rtile.load %x[%c0] : !rtile.view<4xf32, w = ?, rate = ?>
      rtile.store %t, %y[%c0] : !rtile.view<4xf32>
      rtile.return
    })");
  Tensor x = iota(DType::f32, {20}, 1), y(DType::f32, {4});
  auto run = [&](int64_t w, int64_t r) {
    return module.runKernel("f", {x.view(), y.view(), w, r}, {1});
  };
  // From 9 on within [8, 16), and from 6 on within [5, 10).
  ASSERT_EQ(run(8, 3), "");
  EXPECT_EQ(elements(y), (Values{10, 13, 16, 0}));
  ASSERT_EQ(run(5, 1), "");
  EXPECT_EQ(elements(y), (Values{7, 8, 9, 10}));
  for (auto [w, r] : {std::pair<int64_t, int64_t>{0, 1},
                      {-8, 1},
                      {8, 0},
                      {8, -1},
                      {8, 9},
                      {INT64_MIN, INT64_MIN}})
    EXPECT_NE(run(w, r).find("expected w of at least 1 and a rate from 1 to w, "
                             "found " +
                             std::to_string(w) + " and " + std::to_string(r) +
                             " (B1)"),
              std::string::npos)
        << w << " " << r;
}
