//===- ring.cpp - What rings would take, predicted ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the schedules of rings of up to 1024 ranks on the cost model and prints
// a table in Markdown; `--svg` draws efficiency, traffic and memory.
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/RingTime.h"
#include "lib/Plot/Figure.h"
#include "lib/Tensor/StandardOutput.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ringlet;
using namespace ringlet::ring;

namespace {

constexpr double kMiB = 1 << 20;
constexpr int64_t kRanksPerHost = 8;

/// Per rank, so that a ring of any size has the same share.
struct Case {
  const char *name;
  Sharding sharding;
  int64_t rowsPerRank;
  int64_t heads, headDim;
  bool causal;
  /// Segments and dilations; a segment of 0 has no end.
  std::vector<std::pair<int64_t, int64_t>> branches;
  /// Products of one rank, in TFLOP/s, as one kernel computes them.
  double teraflops;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"dense causal H16 D128, 32768 a rank, zigzag",
       Sharding::Zigzag,
       32768,
       16,
       128,
       true,
       {{0, 1}},
       748},
      {"dense H16 D128, 8192 a rank",
       Sharding::Contiguous,
       8192,
       16,
       128,
       false,
       {{0, 1}},
       758},
      {"dense H16 D128, 4096 a rank",
       Sharding::Contiguous,
       4096,
       16,
       128,
       false,
       {{0, 1}},
       758},
      {"LongNet H16 D128 (2048, 8192, 32768)/(1, 4, 16), 32768 a rank",
       Sharding::Contiguous,
       32768,
       16,
       128,
       false,
       {{2048, 1}, {8192, 4}, {32768, 16}},
       260},
      {"LongNet H16 D64 (8192, 65536, all)/(1, 4, 16), 262144 a rank",
       Sharding::Contiguous,
       262144,
       16,
       64,
       false,
       {{8192, 1}, {65536, 4}, {0, 16}},
       260},
  };
  return all;
}

cost::RingMachine machineOf(const Case &of) {
  cost::RingMachine machine;
  double flopsOfScore = 4.0 * static_cast<double>(of.headDim);
  machine.scoresPerSecond = of.teraflops * 1e12 / flopsOfScore;
  machine.launchSeconds = 10e-6;
  machine.bytesPerPair = 2 * 2 * static_cast<double>(of.headDim);
  // Measured: send and receive by NCCL between four H100 on NVLink.
  machine.host.points = {{1 * kMiB, 238e-6},
                         {8 * kMiB, 251e-6},
                         {64 * kMiB, 635e-6},
                         {256 * kMiB, 1205e-6}};
  // Assumed: an adapter of 400 Gbit/s a rank, of which 90% arrive.
  machine.network.points = {{0, 250e-6}, {45e9, 1 + 250e-6}};
  return machine;
}

Schedule scheduleOf(const Case &of, int64_t ranks) {
  int64_t length = of.rowsPerRank * ranks;
  std::vector<Branch> branches;
  for (auto [segment, dilation] : of.branches) {
    Branch branch;
    branch.segment = segment;
    branch.dilation = dilation;
    branch.headEnd = of.heads;
    branches.push_back(branch);
  }
  Shards shards = *Shards::even(of.sharding, length, ranks, 128, nullptr);
  return {{oneSequence(branches, length, length, of.heads, of.heads, of.causal),
           shards, shards},
          std::min(ranks, kRanksPerHost),
          2};
}

struct Row {
  int64_t ranks;
  cost::RingTime time;
};

std::string format(const char *pattern, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

std::string line(const Case &of, const Row &row) {
  const cost::RingTime &time = row.time;
  auto mebibytes = [](double bytes) { return format("%.0f", bytes / kMiB); };
  std::ostringstream out;
  out << "| " << row.ranks << " | "
      << format("%.3g", static_cast<double>(of.rowsPerRank * row.ranks) / 1e6)
      << " | " << format("%.4g", time.seconds * 1e3) << " | "
      << format("%.3f", time.efficiency(row.ranks)) << " | "
      << format("%.3g", time.waiting * 1e3) << " | "
      << mebibytes(time.hostBytes) << " | " << mebibytes(time.networkBytes)
      << " | " << mebibytes(time.forwardedBytes) << " | "
      << mebibytes(time.bufferBytes) << " |\n";
  return out.str();
}

/// A curve over ranks, on a logarithmic axis; `top` is the top of the picture.
std::string curve(const std::vector<Row> &rows, double top,
                  const std::function<double(const Row &)> &value,
                  const char *colour) {
  double last = std::log2(static_cast<double>(rows.back().ranks));
  std::string points;
  for (const Row &row : rows) {
    double x = last > 0 ? std::log2(static_cast<double>(row.ranks)) / last : 0;
    double y = top > 0 ? std::min(value(row) / top, 1.0) : 0;
    points += plot::number(x * plot::kSide) + "," +
              plot::number((1 - y) * plot::kSide) + " ";
  }
  points.pop_back();
  return "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" +
         colour + "\" stroke-width=\"2\"/>\n";
}

std::string draw(const std::vector<std::vector<Row>> &results) {
  struct Quantity {
    const char *title;
    const char *unit;
    std::function<double(const Row &)> value;
  };
  std::vector<Quantity> quantities = {
      {"Efficiency", "",
       [](const Row &row) { return row.time.efficiency(row.ranks); }},
      {"Received by a rank", " GiB",
       [](const Row &row) {
         return (row.time.hostBytes + row.time.networkBytes) / kMiB / 1024;
       }},
      {"Room for keys of others", " GiB",
       [](const Row &row) { return row.time.bufferBytes / kMiB / 1024; }},
  };
  std::vector<plot::Panel> panels;
  for (const Quantity &quantity : quantities) {
    double top = 0;
    for (const std::vector<Row> &rows : results)
      for (const Row &row : rows)
        top = std::max(top, quantity.value(row));
    plot::Panel panel;
    panel.title = quantity.title;
    panel.xLabel =
        formatText("ranks, 1 to {}, logarithmic", results[0].back().ranks);
    panel.yLabel = "0 to " + format("%.3g", top) + quantity.unit;
    for (size_t i = 0; i < results.size(); ++i) {
      panel.body += curve(results[i], top, quantity.value, plot::colour(i));
      if (&quantity == &quantities.front())
        panel.legend.emplace_back(plot::colour(i), cases()[i].name);
    }
    panels.push_back(std::move(panel));
  }
  return plot::drawFigure("Rings, predicted", panels);
}

int usage(int code) {
  (code ? std::cerr : std::cout)
      << "Predicts the time, traffic and memory of rings, from their schedules "
         "and\nmeasured times of kernels and links.\n\n"
         "usage: ringlet-ring-bench [--most RANKS] [--svg FILE]\n\n"
         "example: the table and the picture of docs/Ring.md:\n"
         "  ringlet-ring-bench --svg docs/Images/ring.svg\n";
  return code;
}

} // namespace

int main(int argc, char **argv) {
  requireStandardOutput();
  int64_t most = 1024;
  const char *svg = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--help"))
      return usage(0);
    if (i + 1 < argc && !std::strcmp(argv[i], "--most"))
      most = std::atoll(argv[++i]);
    else if (i + 1 < argc && !std::strcmp(argv[i], "--svg"))
      svg = argv[++i];
    else
      return usage(1);
  }
  if (most < 1 || most > kMaxRanks) {
    std::cerr << "expected 1 to " << kMaxRanks << " ranks, found " << most
              << "\n";
    return 1;
  }
  std::vector<std::vector<Row>> results;
  for (const Case &of : cases()) {
    std::cout << "\n"
              << of.name << ":\n\n"
              << "| ranks | rows, millions | ms | efficiency | waiting, ms | "
                 "in a host, MiB | from other hosts, MiB | forwarded, MiB | "
                 "room, MiB |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    results.emplace_back();
    for (int64_t ranks = 1; ranks <= most; ranks *= ranks < 4 ? 2 : 4) {
      Schedule schedule = scheduleOf(of, ranks);
      Row row = {ranks,
                 cost::predictRing(schedule, machineOf(of), [&](int64_t step) {
                   if (step % 64 == 63)
                     std::cerr << "\r" << of.name << ": " << ranks
                               << " ranks, step " << step + 1 << "   ";
                 })};
      if (ranks >= 64)
        std::cerr << "\n";
      results.back().push_back(row);
      std::cout << line(of, row) << std::flush;
    }
  }
  if (svg) {
    std::ofstream file(svg);
    file << draw(results);
    if (!file.flush()) {
      std::cerr << "cannot write " << svg << "\n";
      return 1;
    }
  }
  return 0;
}
