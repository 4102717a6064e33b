//===- Main.cpp - Random attentions on rings, as users run them -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ring-test [--graphs=N] [--seed=N] [--faults]
//
// Each graph is compiled once, and the same artefact runs on 1, 2, 3, 4 and 8
// ranks with other lengths and shards, over threads and over sockets. What the
// ranks gather is judged by the oracle, and its error is that of one rank (G1).
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Ring.h"

#include "lib/Oracle/Check.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static int fail(int64_t number, const Graph &graph, const ring::Shards &queries,
                const ring::Shards &keys, const std::string &message) {
  ring::ShardedAttention sharded = {graph.attention, queries, keys};
  std::fprintf(stderr, "graph %lld on %lld ranks: %s\n%s\n%s\n",
               static_cast<long long>(number),
               static_cast<long long>(queries.ranks()), message.c_str(),
               graph.text.c_str(), ring::describe(sharded).c_str());
  return 1;
}

int main(int argc, char **argv) {
  int64_t graphs = 75, seed = 1;
  bool faults = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--graphs=", 9) == 0)
      graphs = std::atoll(argv[i] + 9);
    else if (std::strncmp(argv[i], "--seed=", 7) == 0)
      seed = std::atoll(argv[i] + 7);
    else if (std::strcmp(argv[i], "--faults") == 0)
      faults = true;
  }
  if (faults)
    return runFaults();
  const int64_t counts[] = {2, 3, 4, 8};
  std::map<std::pair<DType, int64_t>, Squares> errors;
  int64_t runs = 0;
  for (int64_t number = 0; number < graphs; ++number) {
    Random random(seed * 1000003 + number);
    Graph graph = drawGraph(random);
    Program program;
    ring::Shards none = *ring::Shards::contiguous({0}, nullptr);
    if (std::string error = program.load(graph.text); !error.empty())
      return fail(number, graph, none, none, error);
    for (int64_t ranks : counts) {
      Problem problem = drawProblem(random, graph);
      for (int64_t of : {int64_t(1), ranks}) {
        ring::Shards queries =
            drawShardsFor(random, graph, problem.queries, of);
        ring::Shards keys =
            problem.queries == problem.keys
                ? queries
                : drawShardsFor(random, graph, problem.keys, of);
        Gathered gathered;
        const char *transport = (number + ranks) % 2 ? "socket" : "inprocess";
        std::string error = runRing(program, graph, problem, queries, keys,
                                    transport, gathered);
        Squares &squares = errors[{graph.dtype, ranks}];
        if (error.empty())
          error = judge(problem, gathered,
                        of == 1 ? squares.ofOne : squares.ofSeveral);
        if (!error.empty())
          return fail(number, graph, queries, keys, error);
      }
      ++runs;
    }
  }
  bool good = true;
  for (const auto &[kind, squares] : errors) {
    std::printf("%s, %lld ranks: error %.3f times that of one rank\n",
                std::string(nameOf(kind.first)).c_str(),
                static_cast<long long>(kind.second), squares.ratio());
    good &= squares.ratio() <= 1.05;
  }
  std::printf("%lld runs on rings\n", static_cast<long long>(runs));
  return good ? 0 : 1;
}
