//===- HostileTest.cpp - Index values that no sane program has ------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation on views with operands from the ends of the integers: the
// program ends, with an error that says overflow or without one, and nothing
// outside the buffers changes. Worth most under AddressSanitizer.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

static std::string program(const std::string &dilation,
                           const std::string &place, const std::string &test) {
  return "!view = !rtile.view<4x3xf32" + dilation + ">\n" + R"(
    rtile.func @f(%X: memref<?x2x?xf32, strided<[?, ?, 1]>>,
                  %T: memref<?xi64, strided<[1]>>, %fixed: index,
                  %origin: index, %segment: index, %residue: index,
                  %row: index, %column: index, %other: index)
        grid(%i: index) {
      %t = arith.constant dense<7.0> : tensor<4x3xf32>
      %v = rtile.view %X[*, %fixed, *] origin(%origin) )" +
         place + R"( : memref<?x2x?xf32, strided<[?, ?, 1]>> to !view
      %w = rtile.view %X[*, %fixed, *] origin(%other) )" +
         place + R"( : memref<?x2x?xf32, strided<[?, ?, 1]>> to !view
)" + test +
         R"(
      rtile.return
    })";
}

TEST(Hostile, NumbersNeverLeaveTheBuffer) {
  const std::string load = "%l = rtile.load %v[%row, %column] : !view\n"
                           "rtile.store %l, %w[%column, %row] : !view";
  const std::string store = "rtile.store %t, %v[%row, %column] : !view";
  const std::string bounds = "%b, %e = rtile.bounds %v : !view\n"
                             "rtile.store %t, %v[%b, %column] : !view";
  const std::string run =
      "%b, %wb, %we, %e = rtile.run %v[%row], %w causal window = [3, -1] : "
      "!view, !view\n"
      "%m = rtile.visible %v[%row], %w[%b] causal window = [3, -1] : !view, "
      "!view -> tensor<4x4xi1>\n"
      "rtile.store %t, %v[%e, %column] : !view";
  struct Kind {
    const char *dilation, *place;
  } kinds[] = {
      {"", ""},
      {", w = 8, rate = 3", "segment(%segment) residue(%residue)"},
      {", rate = 3", "residue(%residue)"},
      {", rate = 6", "residue(%residue) order(#rlayout.order<residue<3>>)"},
      {", w = 9223372036854775807, rate = 9223372036854775807",
       "segment(%segment) residue(%residue)"},
      {", indexed", "rows(%T : memref<?xi64, strided<[1]>>)"},
      {", rate = 3, indexed",
       "residue(%residue) rows(%T : memref<?xi64, strided<[1]>>)"},
      {", w = 8", "segment(%segment) positions(%T : memref<?xi64, "
                  "strided<[1]>>)"}};
  Random random(7);
  int errors = 0, writes = 0;
  for (const Kind &kind : kinds)
    for (const std::string &test : {load, store, bounds, run}) {
      Module module(program(kind.dilation, kind.place, test));
      for (int trial = 0; trial < 300; ++trial) {
        Tensor memory = filled(DType::f32, {40}, 1);
        // Rows 3 apart, the middle axis 12: 4 x 2 x 2 elements from 8 on.
        MutableTensorView x(memory.as<float>() + 8, DType::f32, {4, 2, 2},
                            {3, 12, 1});
        auto draw = [&] {
          return random.flip()
                     ? random.pick(-3, 5)
                     : random.oneOf({INT64_MIN, INT64_MIN + 1, INT64_MAX,
                                     INT64_MAX - 1, int64_t(1) << 62,
                                     -(int64_t(1) << 62), int64_t(1) << 61,
                                     INT64_MAX / 8, INT64_MIN / 8,
                                     INT64_MAX / 3});
        };
        Tensor table(DType::i64, {6});
        for (int64_t i = 0; i < 6; ++i)
          table.as<int64_t>()[i] = draw();
        Options options;
        options.chooseFreely = random.flip();
        std::string error = module.runKernel(
            "f",
            {x, table.view(),
             random.pick(0, 9) > 0 ? random.pick(0, 1) : draw(), draw(), draw(),
             draw(), draw(), draw(), draw()},
            {1}, options);
        if (!error.empty()) {
          EXPECT_TRUE(error.find("within 64 bits") != std::string::npos ||
                      error.find("expected an index in [0, 2)") !=
                          std::string::npos)
              << error;
          ++errors;
        }
        for (int64_t i = 0; i < 40; ++i) {
          int64_t place = i - 8;
          bool inside = place >= 0 && place < 24 && place % 3 < 2;
          if (!inside)
            ASSERT_EQ(memory.get({i}), 1) << i;
          else
            writes += memory.get({i}) != 1;
        }
      }
    }
  EXPECT_GT(errors, 100);
  EXPECT_GT(writes, 400);
}
