//===- FigureTest.cpp - Panels and orders ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/OrderPlot.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::plot;

namespace {

layout::OrderSpec onGrid(const char *curve, std::vector<int64_t> grid) {
  layout::OrderSpec spec;
  spec.curve = curve;
  spec.grid = std::move(grid);
  return spec;
}

TEST(Figure, NumbersHaveTwoDigitsAtMost) {
  EXPECT_EQ(number(0), "0");
  EXPECT_EQ(number(12), "12");
  EXPECT_EQ(number(0.5), "0.5");
  EXPECT_EQ(number(0.125), "0.13");
  EXPECT_EQ(number(3.05), "3.05");
  EXPECT_EQ(number(-1.5), "-1.5");
  EXPECT_EQ(number(-0.001), "0");
}

TEST(Figure, TextIsEscaped) {
  EXPECT_EQ(escapeXML("a<b> & \"c\"\n\x01"), "a&lt;b&gt; &amp; \"c\"??");
  Panel panel;
  panel.title = "residue<4>";
  std::string svg = drawFigure("<", {panel});
  EXPECT_NE(svg.find(">residue&lt;4&gt;</text>"), std::string::npos);
  EXPECT_NE(svg.find("<title>&lt;</title>"), std::string::npos);
}

TEST(Figure, FourPanelsAreTwoRows) {
  std::string svg = drawFigure("t", std::vector<Panel>(4));
  size_t panels = 0;
  for (size_t at = 0; (at = svg.find("<g transform", at)) != svg.npos; ++at)
    ++panels;
  EXPECT_EQ(panels, 4u);
  // The fourth lies under the first: at the same x.
  EXPECT_NE(svg.find("translate(40 58)"), std::string::npos);
  EXPECT_NE(svg.find("translate(40 372)"), std::string::npos);
}

TEST(OrderPlot, GridOfFour) {
  // Cells of 128 units; the snake goes right, down and back.
  Panel panel;
  std::string error;
  ASSERT_TRUE(
      plotOrder(*layout::makeOrder(onGrid("snake", {2, 2})), 0, panel, error))
      << error;
  EXPECT_NE(panel.body.find("d=\"M64 64 192 64 192 192 64 192\""),
            std::string::npos)
      << panel.body;
  EXPECT_EQ(panel.title, "snake, grid = [2, 2]");
  EXPECT_EQ(panel.legend[0].second, "first slot: token 0");
  EXPECT_EQ(panel.legend[1].second, "last slot (ring): token 2");
}

TEST(OrderPlot, RowOfFour) {
  layout::OrderSpec spec;
  spec.curve = "residue";
  spec.rate = 2;
  Panel panel;
  std::string error;
  ASSERT_TRUE(plotOrder(*layout::makeOrder(spec), 4, panel, error)) << error;
  // 0 2 1 3: cells of 64 units.
  EXPECT_NE(panel.body.find("d=\"M32 128A64 64 0 0 1 160 128"
                            "A32 32 0 0 1 96 128A64 64 0 0 1 224 128\""),
            std::string::npos)
      << panel.body;
  EXPECT_TRUE(panel.yLabel.empty());
}

TEST(OrderPlot, EverySlotOfEveryCurveIsAPointInTheSquare) {
  for (const char *curve : {"hilbert", "morton", "snake"})
    for (std::vector<int64_t> grid :
         {std::vector<int64_t>{4, 8}, {1, 4, 4}, {2, 4, 4}, {8, 2, 2}}) {
      Panel panel;
      std::string error;
      auto order = layout::makeOrder(onGrid(curve, grid), &error);
      ASSERT_TRUE(order) << error;
      ASSERT_TRUE(plotOrder(*order, 0, panel, error)) << error;
      size_t begin = panel.body.find("d=\"M") + 4;
      std::string path =
          panel.body.substr(begin, panel.body.find('"', begin) - begin);
      EXPECT_EQ(std::count(path.begin(), path.end(), ' '),
                2 * order->period() - 1);
      for (const char *at = path.c_str(); *at;) {
        char *end;
        double value = std::strtod(at, &end);
        ASSERT_NE(at, end);
        EXPECT_GE(value, 0);
        EXPECT_LE(value, kSide);
        at = end;
      }
    }
}

TEST(OrderPlot, Refusals) {
  Panel panel;
  std::string error;
  layout::OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  auto order = layout::makeOrder(residue);
  EXPECT_FALSE(plotOrder(*order, 0, panel, error));
  EXPECT_EQ(error, "expected an order whose number of slots is known, found "
                   "residue<4>; write a chunk, as in chunk = 4096, or give the "
                   "sequence axis a static size (O1)");
  EXPECT_EQ(slotsToShow(*order, kMostTokens, error), kMostTokens);
  EXPECT_EQ(slotsToShow(*order, kMostTokens + 1, error), 0);
  EXPECT_EQ(error, "expected at most 65536 slots to show, found 65537 of "
                   "residue<4>; nearest 65536");
  EXPECT_FALSE(plotOrder(*layout::makeOrder(onGrid("snake", {2, 2, 2, 2})), 0,
                         panel, error));
  EXPECT_EQ(error, "expected a grid of at most 3 sides above 1 to draw, found "
                   "[2, 2, 2, 2]");
}

} // namespace
