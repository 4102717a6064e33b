//===- RunCase.cpp - Pairs of views, and which keys are seen --------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

/// Rows outside [-kReach, kReach) do not exist in any case here.
static constexpr int64_t kReach = 120;
/// Where the places for results begin.
static constexpr int64_t kLow = -500;

std::string Case::text() const {
  auto viewType = [&](const Side &side) {
    std::string text = "!rtile.view<" + std::to_string(side.height) + "xf32";
    if (w > 0)
      text += ", w = " + std::to_string(w);
    if (rate > 1)
      text += ", rate = " + std::to_string(rate);
    return text + ">";
  };
  auto view = [&](const std::string &name, const Side &side) {
    return "  %" + name + " = rtile.view %X" + name + "[*] origin(%o" + name +
           ") " + (w > 0 ? "segment(%s" + name + ") " : "") +
           (rate > 1 ? "residue(%r" + name + ") " : "") +
           ": memref<?xf32, strided<[1]>> to " + viewType(side) + "\n";
  };
  std::string conditions = causal ? " causal" : "";
  if (window)
    conditions += " window = [" + std::to_string(window->first) + ", " +
                  std::to_string(window->second) + "]";
  std::string types = viewType(query) + ", " + viewType(key);
  std::string shape =
      std::to_string(query.height) + "x" + std::to_string(key.height);
  std::string text =
      R"(
rtile.func @f(%Xq: memref<?xf32, strided<[1]>>,
              %Xk: memref<?xf32, strided<[1]>>,
              %M: memref<)" +
      shape + R"(xf32>, %R: memref<4x1000xf32>,
              %oq: index, %sq: index, %rq: index, %row: index,
              %ok: index, %sk: index, %rk: index, %keyRow: index,
              %low: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<1xf32>
)" + view("q", query) +
      view("k", key) + "  %b, %wb, %we, %e = rtile.run %q[%row], %k" +
      conditions + " : " + types +
      "\n  %m = rtile.visible %q[%row], %k[%keyRow]" + conditions + " : " +
      types + " -> tensor<" + shape + "xi1>\n  %f = arith.uitofp %m : tensor<" +
      shape + "xi1> to tensor<" + shape +
      "xf32>\n  %mv = rtile.view %M[*, *] : memref<" + shape +
      "xf32> to !rtile.view<" + shape +
      "xf32>\n  rtile.store %f, %mv[%c0, %c0] : !rtile.view<" + shape +
      "xf32>\n";
  const char *results[] = {"b", "wb", "we", "e"};
  for (int k = 0; k < 4; ++k) {
    std::string n = std::to_string(k);
    text += "  %k" + n + " = arith.constant " + n + " : index\n  %v" + n +
            " = rtile.view %R[%k" + n +
            ", *] origin(%low) : memref<4x1000xf32> to !rtile.view<1xf32>\n" +
            "  rtile.store %one, %v" + n + "[%" + results[k] +
            "] : !rtile.view<1xf32>\n";
  }
  return text + "  rtile.return\n}\n";
}

/// Runs the case; fills `mask`.
Found test::runCase(const Case &c, std::vector<double> &mask,
                    const Options &options,
                    llvm::function_ref<void(const Module &)> transform) {
  Tensor query(DType::f32, {c.query.size}), key(DType::f32, {c.key.size});
  Tensor m(DType::f32, {c.query.height, c.key.height});
  Tensor r(DType::f32, {4, 1000});
  Module module(c.text());
  if (transform)
    transform(module);
  EXPECT_EQ(module.runKernel("f",
                             {query.view(), key.view(), m.view(), r.view(),
                              c.query.origin, c.query.segment, c.query.residue,
                              c.row, c.key.origin, c.key.segment, c.key.residue,
                              c.keyRow, kLow},
                             {1}, options),
            "");
  mask = elements(m);
  int64_t found[4] = {};
  for (int64_t k = 0; k < 4; ++k) {
    int64_t count = 0;
    for (int64_t i = 0; i < 1000; ++i)
      if (r.get({k, i}) == 1) {
        found[k] = i + kLow;
        ++count;
      }
    EXPECT_EQ(count, 1) << "result " << k << " is out of sight";
  }
  return {found[0], found[1], found[2], found[3]};
}

/// Whether every key row of [first, last) exists and is seen by every query
/// row of the tile that exists.
static bool isWhole(const Case &c, int64_t first, int64_t last) {
  for (int64_t i = c.row; i < c.row + c.query.height; ++i)
    if (c.position(c.query, i))
      for (int64_t j = first; j < last; ++j)
        if (!c.sees(i, j))
          return false;
  return true;
}

void test::checkRun(const Case &c, const Found &f, bool natural, Tally &tally) {
  // What any row sees.
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (int64_t j = -kReach; j < kReach; ++j)
    for (int64_t i = c.row; i < c.row + c.query.height; ++i)
      if (c.sees(i, j)) {
        first = std::min(first, j);
        last = std::max(last, j);
      }
  int64_t step = c.key.height;
  ASSERT_LE(f.begin, f.wholeBegin);
  ASSERT_LE(f.wholeBegin, f.wholeEnd);
  ASSERT_EQ((f.wholeBegin - f.begin) % step, 0);
  ASSERT_EQ((f.wholeEnd - f.begin) % step, 0);
  if (f.wholeBegin == f.wholeEnd || !c.window || c.window->first < 0) {
    ASSERT_EQ(f.wholeBegin, f.begin);
  }
  if (last == INT64_MIN) {
    ASSERT_LE(f.end, f.begin);
    ASSERT_EQ(f.wholeEnd, f.begin);
    ++tally.empty;
    return;
  }
  ASSERT_EQ(f.begin, first);
  ASSERT_EQ(f.end, last + 1);
  ASSERT_LE(f.wholeEnd, f.end);
  ASSERT_TRUE(isWhole(c, f.wholeBegin, f.wholeEnd));
  ++(f.wholeBegin == f.wholeEnd ? tally.none
     : f.wholeEnd == f.end      ? tally.whole
                                : tally.partly);
  if (!natural)
    return;
  // The natural choice calls every step whole that is.
  for (int64_t j = f.begin; j < f.end; j += step) {
    bool called = j >= f.wholeBegin && j < f.wholeEnd;
    ASSERT_EQ(called, isWhole(c, j, j + step)) << "step at " << j;
  }
}

Case test::randomCase(Random &random, bool apart) {
  Case c;
  c.row = -kReach;
  c.w = random.oneOf({0, 0, 1, 4, 7, 16, 24, 50});
  c.rate = random.pick(1, c.w > 0 ? std::min<int64_t>(c.w, 5) : 5);
  c.causal = random.flip();
  if (random.flip())
    c.window = {random.oneOf({-1, 0, 1, 3, 10, 40}),
                random.oneOf({-1, 0, 0, 2, 9})};
  c.query.height = random.oneOf({1, 2, 4, 8});
  c.key.height = random.oneOf({1, 2, 4, 8});
  c.query.size = random.pick(0, 50);
  c.key.size = random.pick(0, 60);
  c.query.origin = random.pick(-10, 30);
  if (random.pick(0, 3) == 0)
    c.key.origin = random.pick(-10, 10);
  c.query.residue = c.rate > 1 ? random.pick(0, c.rate - 1) : 0;
  // Mostly a segment that has queries, and rows near them.
  int64_t somewhere = c.query.origin + random.pick(0, c.query.size + 1);
  c.query.segment = layout::segmentOf(somewhere, c.w);
  c.key.residue = c.query.residue;
  c.key.segment = c.query.segment;
  // Nothing says that both sides share them.
  if (apart && random.pick(0, 7) == 0) {
    c.key.residue = c.rate > 1 ? random.pick(0, c.rate - 1) : 0;
    c.key.segment += c.w > 0 ? random.pick(-1, 1) : 0;
  }
  while (c.row < kReach && !c.position(c.query, c.row))
    ++c.row;
  c.row = (c.row == kReach ? 0 : c.row) + random.pick(-3, 5);
  c.keyRow = random.pick(-6, 20);
  return c;
}
