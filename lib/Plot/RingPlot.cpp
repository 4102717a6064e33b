//===- RingPlot.cpp - Who sends what to whom, and when ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/RingPlot.h"
#include "ringlet/abi/Format.h"

#include <algorithm>

namespace ringlet::plot {

using ring::Action;
using ring::Direction;
using ring::Schedule;

namespace {

struct Message {
  int64_t from, to, owner, start, use;
  double pairs;
};

/// What all ranks do, forward.
struct Course {
  explicit Course(const Schedule &schedule);

  int64_t ranks, steps;
  std::vector<Message> messages;
  /// By rank and step: the owner of the keys, and scores.
  std::vector<std::vector<int64_t>> owners;
  std::vector<std::vector<double>> scores;
  double mostPairs = 0, mostScores = 0;
};

Course::Course(const Schedule &schedule)
    : ranks(schedule.ranks()), steps(countSteps(schedule, Direction::Forward)),
      owners(size_t(ranks)), scores(size_t(ranks)) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t step = 0; step < steps; ++step) {
      int64_t owner = ownerAt(schedule, rank, step);
      owners[size_t(rank)].push_back(owner);
      scores[size_t(rank)].push_back(
          countScores(schedule.sharded, rank, owner));
      mostScores = std::max(mostScores, scores[size_t(rank)].back());
      for (const Action &action :
           actionsAt(schedule, rank, step, Direction::Forward)) {
        if (action.kind != Action::Kind::Receive)
          continue;
        auto pairs = static_cast<double>(pairsOf(action.parts));
        messages.push_back(
            {action.peer, rank, action.owner, step, action.use, pairs});
        mostPairs = std::max(mostPairs, pairs);
      }
    }
}

std::string colourOf(int64_t rank) { return colour(static_cast<size_t>(rank)); }

std::string rectangle(double x, double y, double width, double height,
                      const std::string &more) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
         number(width) + "\" height=\"" + number(height) + "\" " + more +
         "/>\n";
}

Panel drawSteps(const Course &course) {
  const double lane = kSide / static_cast<double>(course.ranks);
  const double column = kSide / static_cast<double>(course.steps);
  Panel panel;
  panel.title = "computed and sent";
  panel.xLabel = formatText("step, 0 to {}", course.steps - 1);
  panel.yLabel = "rank, 0 on top";
  for (int64_t rank = 0; rank < course.ranks; ++rank)
    for (int64_t step = 0; step < course.steps; ++step) {
      double share =
          course.mostScores > 0
              ? course.scores[size_t(rank)][size_t(step)] / course.mostScores
              : 0;
      double height = 0.6 * lane * share;
      if (height > 0)
        panel.body += rectangle(
            (static_cast<double>(step) + 0.15) * column,
            static_cast<double>(rank + 1) * lane - height, 0.7 * column, height,
            "fill=\"" + colourOf(course.owners[size_t(rank)][size_t(step)]) +
                "\"");
    }
  for (const Message &message : course.messages)
    panel.body +=
        "<path stroke=\"" + colourOf(message.owner) + "\" stroke-width=\"" +
        number(0.5 + 1.5 * message.pairs / course.mostPairs) + "\" d=\"M" +
        number((static_cast<double>(message.start) + 0.15) * column) + " " +
        number((static_cast<double>(message.from) + 0.3) * lane) + "L" +
        number((static_cast<double>(message.use) + 0.15) * column) + " " +
        number((static_cast<double>(message.to) + 0.3) * lane) + "\"/>\n";
  panel.body +=
      rectangle(0, 0, kSide, kSide, "fill=\"none\" stroke=\"#808080\"");
  for (int64_t rank = 0; rank < std::min<int64_t>(course.ranks, 8); ++rank)
    panel.legend.emplace_back(
        colourOf(rank),
        formatText("keys of rank {}{}", rank,
                   course.ranks > 8 ? ", and every eighth on" : ""));
  return panel;
}

Panel drawTraffic(const Course &course) {
  const double side = kSide / static_cast<double>(course.ranks);
  // By reader and owner.
  std::vector<std::vector<double>> pairs(
      size_t(course.ranks), std::vector<double>(size_t(course.ranks)));
  double most = 0, all = 0;
  for (const Message &message : course.messages) {
    double &cell = pairs[size_t(message.to)][size_t(message.owner)];
    cell += message.pairs;
    most = std::max(most, cell);
    all += message.pairs;
  }
  Panel panel;
  panel.title = "received";
  panel.xLabel = "of the keys of rank";
  panel.yLabel = "by rank, 0 on top";
  for (int64_t reader = 0; reader < course.ranks; ++reader)
    for (int64_t owner = 0; owner < course.ranks; ++owner) {
      double cell = pairs[size_t(reader)][size_t(owner)];
      if (cell > 0)
        panel.body +=
            rectangle(static_cast<double>(owner) * side,
                      static_cast<double>(reader) * side, side, side,
                      "fill=\"" + colourOf(owner) + "\" fill-opacity=\"" +
                          number(cell / most) + "\"");
    }
  panel.body +=
      rectangle(0, 0, kSide, kSide, "fill=\"none\" stroke=\"#808080\"");
  auto whole = [](double value) {
    return std::to_string(static_cast<long long>(value));
  };
  panel.legend.emplace_back("#808080", "full colour: " + whole(most) +
                                           " rows of a key head");
  panel.legend.emplace_back("none", "all: " + whole(all));
  return panel;
}

} // namespace

std::vector<Panel> plotRing(const Schedule &schedule) {
  Course course(schedule);
  return {drawSteps(course), drawTraffic(course)};
}

} // namespace ringlet::plot
