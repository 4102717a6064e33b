//===- OrderPlot.cpp - An order as a curve ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/OrderPlot.h"

#include "lib/Layout/Grid.h"
#include "ringlet/abi/Format.h"

#include <algorithm>

namespace ringlet::plot {

namespace {

struct Point {
  double x, y;
};

std::string pair(Point point) {
  return number(point.x) + " " + number(point.y);
}

/// Where the cells of a grid of up to three sides lie: the last axis to the
/// right, the one before it down, a third one askew.
class Places {
public:
  explicit Places(std::vector<int64_t> sides) : sides(std::move(sides)) {
    while (this->sides.size() < 3)
      this->sides.insert(this->sides.begin(), 1);
    double depth = static_cast<double>(this->sides[0] - 1);
    double widest =
        std::max(static_cast<double>(this->sides[2]) + kAskewX * depth,
                 static_cast<double>(this->sides[1]) + kAskewY * depth);
    step = kSide / widest;
  }

  Point at(int64_t token) const {
    std::vector<int64_t> cell = layout::gridCell(sides, token);
    double z = static_cast<double>(cell[0]);
    return {(static_cast<double>(cell[2]) + 0.5 + kAskewX * z) * step,
            (static_cast<double>(cell[1]) + 0.5 + kAskewY * z) * step};
  }

  double cellSize() const { return step; }

private:
  static constexpr double kAskewX = 0.45, kAskewY = 0.3;
  std::vector<int64_t> sides;
  double step;
};

std::string lineThrough(const std::vector<int64_t> &tokens,
                        const Places &places) {
  std::string out = "M";
  for (int64_t token : tokens)
    out += (out.size() > 1 ? " " : "") + pair(places.at(token));
  return out;
}

std::string arcsThrough(const std::vector<int64_t> &tokens,
                        const std::vector<Point> &points) {
  std::string out = "M" + pair(points[tokens[0]]);
  for (size_t slot = 1; slot < tokens.size(); ++slot) {
    Point from = points[tokens[slot - 1]], to = points[tokens[slot]];
    std::string radius = number(std::abs(to.x - from.x) / 2);
    // Clockwise: over the row on the way right, under it on the way back.
    out += "A" + radius + " " + radius + " 0 0 1 " + pair(to);
  }
  return out;
}

std::string circle(Point centre, double radius, const std::string &style) {
  return "<circle cx=\"" + number(centre.x) + "\" cy=\"" + number(centre.y) +
         "\" r=\"" + number(radius) + "\" " + style + "/>\n";
}

} // namespace

int64_t slotsToShow(const layout::Order &order, int64_t length,
                    std::string &error) {
  int64_t count = order.period() ? order.period() : length;
  if (count <= 0)
    error = "expected an order whose number of slots is known, found " +
            layout::describe(order.spec()) +
            "; write a chunk, as in chunk = 4096, or give the sequence axis a "
            "static size (O1)";
  else if (count > kMostTokens)
    error = formatText(
        "expected at most {} slots to show, found {} of {}; nearest {}",
        kMostTokens, count, layout::describe(order.spec()), kMostTokens);
  else
    return count;
  return 0;
}

bool plotOrder(const layout::Order &order, int64_t length, Panel &panel,
               std::string &error) {
  int64_t count = slotsToShow(order, length, error);
  if (!count)
    return false;
  std::vector<int64_t> tokens = order.permutation(count, &error);
  if (tokens.empty())
    return false;
  std::vector<int64_t> sides;
  if (!order.spec().grid.empty())
    sides = layout::Grid(order.spec().grid).side;
  if (sides.size() > 3) {
    error = "expected a grid of at most 3 sides above 1 to draw, found " +
            layout::describe(order.spec().grid);
    return false;
  }

  std::string path;
  Point first, last;
  double cell;
  if (sides.size() > 1) {
    Places places(sides);
    path = lineThrough(tokens, places);
    first = places.at(tokens.front());
    last = places.at(tokens.back());
    cell = places.cellSize();
    panel.xLabel = formatText("x, 0 to {}", sides.back() - 1);
    panel.yLabel = formatText("y, 0 to {}", sides[sides.size() - 2] - 1);
    if (sides.size() == 3)
      panel.yLabel += formatText(" (z askew, 0 to {})", sides[0] - 1);
  } else {
    cell = kSide / static_cast<double>(count);
    std::vector<Point> points;
    for (int64_t token = 0; token < count; ++token)
      points.push_back({(static_cast<double>(token) + 0.5) * cell, kSide / 2});
    path = arcsThrough(tokens, points);
    first = points[tokens.front()];
    last = points[tokens.back()];
    panel.xLabel = formatText("token, 0 to {}", count - 1);
  }
  panel.title = layout::describe(order.spec());
  double stroke = std::clamp(cell / 8, 0.1, 2.0);
  double radius = std::clamp(cell / 3, 2.0, 5.0);
  panel.body =
      "<path fill=\"none\" stroke=\"" + std::string(colour(0)) +
      "\" stroke-width=\"" + number(stroke) + "\" d=\"" + path + "\"/>\n" +
      circle(first, radius, "fill=\"" + std::string(colour(2)) + "\"") +
      circle(last, radius + 1,
             "fill=\"none\" stroke-width=\"2\" stroke=\"" +
                 std::string(colour(1)) + "\"");
  panel.legend = {
      {colour(2), formatText("first slot: token {}", tokens.front())},
      {colour(1), formatText("last slot (ring): token {}", tokens.back())}};
  return true;
}

} // namespace ringlet::plot
