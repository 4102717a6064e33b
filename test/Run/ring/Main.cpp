//===- Main.cpp - Random attentions on rings, as users run them -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ring-test --folder=DIR [--graphs=N] [--seed=N] [--faults] [--compile]
//           [--compiler=PROGRAM] [--target=sm_90a] [--transport=nccl]
//           [--devices=N] [--ranks=N]... [--type=f32] [--problems=N]
//
// Each graph is compiled once, into the folder, and the same artefact runs on
// 1, 2, 3, 4 and 8 ranks with other lengths and shards, over threads and over
// sockets. What the ranks gather is judged by the oracle, and its error is that
// of one rank (G1). For a GPU, ranks are threads that copy from device to
// device or, with --transport=nccl or p2p, processes; --compile compiles, and
// no more, so that a machine with a GPU needs no compiler. --type leaves out
// graphs of other types, and with --problems each graph is called that often
// for each number of ranks: the ratios of few runs say little.
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Ring.h"

#include "lib/Oracle/Check.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>

using namespace ringlet;
using namespace ringlet::ringtest;

namespace {
/// Squared errors of runs on one rank and on several.
struct Squares {
  double ofOne = 0, ofSeveral = 0;

  double ratio() const { return ofOne > 0 ? std::sqrt(ofSeveral / ofOne) : 1; }
};
} // namespace

/// Adds the squared error of a run. A message if it is wrong.
static std::string judge(const Problem &problem, const Gathered &gathered,
                         double &squares) {
  for (size_t i = 0; i < problem.batch.size(); ++i) {
    std::string error;
    auto verdict = oracle::checkAttention(problem.spec, problem.inputs(i),
                                          gathered.output[i].view(),
                                          gathered.lse[i].view(), &error);
    if (!verdict)
      return error;
    if (!verdict->ok())
      return verdict->text();
    double of = verdict->output.rmsError;
    squares += of * of * static_cast<double>(verdict->output.elements);
  }
  return "";
}

static void fail(const std::string &name, const Graph &graph,
                 const ring::Shards &queries, const ring::Shards &keys,
                 const std::string &message) {
  ring::ShardedAttention sharded = {graph.attention, queries, keys};
  std::fprintf(stderr, "%s on %lld ranks: %s\n%s\n%s\n", name.c_str(),
               static_cast<long long>(queries.ranks()), message.c_str(),
               graph.text.c_str(), ring::describe(sharded).c_str());
}

namespace {

struct Words {
  Setup setup;
  int64_t graphs = 75, seed = 1, problems = 1;
  /// The only type of graphs; empty: all.
  std::string type;
  bool faults = false, compile = false;
  std::vector<int64_t> counts;
};

Words parse(int argc, char **argv) {
  Words words;
  Setup &setup = words.setup;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i], value = word.substr(word.find('=') + 1);
    auto is = [&](const char *name) {
      return word.rfind(std::string("--") + name + "=", 0) == 0;
    };
    if (is("graphs"))
      words.graphs = std::atoll(value.c_str());
    else if (is("seed"))
      words.seed = std::atoll(value.c_str());
    else if (is("problems"))
      words.problems = std::atoll(value.c_str());
    else if (is("type"))
      words.type = value;
    else if (is("folder"))
      setup.folder = value;
    else if (is("compiler"))
      setup.compiler = value;
    else if (is("target"))
      setup.target = value;
    else if (is("transport"))
      setup.transport = value;
    else if (is("devices"))
      setup.devices = std::max(1, std::atoi(value.c_str()));
    else if (is("ranks"))
      words.counts.push_back(std::atoll(value.c_str()));
    words.faults |= word == "--faults";
    words.compile |= word == "--compile";
  }
  if (words.counts.empty())
    words.counts = {2, 3, 4, 8};
  return words;
}

/// All runs, by their number of ranks; in `byOne` those of one rank that errors
/// are compared with, by that number.
struct Runs {
  std::map<int64_t, std::vector<Item>> bySeveral, byOne;
};

std::string transportOf(const Words &words, int64_t number) {
  if (!words.setup.transport.empty())
    return words.setup.transport;
  return number % 2 && !words.setup.onGpu() ? "socket" : "inprocess";
}

bool drawRuns(const Words &words, std::deque<Graph> &graphs, Runs &runs) {
  for (int64_t number = 0; number < words.graphs; ++number) {
    Random random(words.seed * 1000003 + number);
    graphs.push_back(drawGraph(random));
    Graph &graph = graphs.back();
    // Those of a GPU are its own.
    if (!words.setup.onGpu())
      addTilings(graph);
    if (!words.type.empty() && words.type != nameOf(graph.dtype))
      continue;
    std::string name =
        "graph" + std::to_string(words.seed) + "-" + std::to_string(number);
    if (std::string error = compileGraph(words.setup, name, graph.text);
        !error.empty()) {
      std::fprintf(stderr, "%s\n%s\n", error.c_str(), graph.text.c_str());
      return false;
    }
    size_t runsOfGraph = size_t(words.problems) * words.counts.size();
    for (size_t i = 0; i < runsOfGraph; ++i) {
      int64_t ranks = words.counts[i % words.counts.size()];
      Problem problem = drawProblem(random, graph);
      for (int64_t of : {int64_t(1), ranks}) {
        ring::Shards queries =
            drawShardsFor(random, graph, problem.queries, of);
        ring::Shards keys =
            problem.queries == problem.keys
                ? queries
                : drawShardsFor(random, graph, problem.keys, of);
        (of == 1 ? runs.byOne : runs.bySeveral)[ranks].push_back(
            {name, &graph, problem, queries, keys,
             transportOf(words, number + ranks)});
      }
    }
  }
  return true;
}

/// Runs and judges items of one number of ranks; adds their squared errors.
bool judgeAll(const Words &words, const std::vector<Item> &items, bool ofOne,
              int64_t ranks,
              std::map<std::pair<DType, int64_t>, Squares> &errors) {
  std::vector<Gathered> gathered;
  std::vector<std::string> messages = runItems(words.setup, items, gathered);
  for (size_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    Squares &squares = errors[{item.graph->dtype, ranks}];
    if (messages[i].empty())
      messages[i] = judge(item.problem, gathered[i],
                          ofOne ? squares.ofOne : squares.ofSeveral);
    if (!messages[i].empty()) {
      fail(item.name, *item.graph, item.queries, item.keys, messages[i]);
      return false;
    }
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const Words words = parse(argc, argv);
  if (words.setup.folder.empty()) {
    std::fprintf(stderr, "expected --folder=DIR, for artefacts\n");
    return 2;
  }
  if (words.faults)
    return runFaults(words.setup);
  std::deque<Graph> graphs;
  Runs runs;
  if (!drawRuns(words, graphs, runs))
    return 1;
  if (words.compile)
    return 0;
  std::map<std::pair<DType, int64_t>, Squares> errors;
  size_t count = 0;
  for (const auto &[ranks, items] : runs.bySeveral) {
    if (!judgeAll(words, runs.byOne.at(ranks), true, ranks, errors) ||
        !judgeAll(words, items, false, ranks, errors))
      return 1;
    count += items.size();
  }
  bool good = true;
  for (const auto &[kind, squares] : errors) {
    std::printf("%s, %lld ranks: error %.3f times that of one rank\n",
                std::string(nameOf(kind.first)).c_str(),
                static_cast<long long>(kind.second), squares.ratio());
    good &= squares.ratio() <= 1.05;
  }
  std::printf("%zu runs on rings\n", count);
  return good ? 0 : 1;
}
