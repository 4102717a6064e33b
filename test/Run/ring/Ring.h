//===- Ring.h - Random attentions on rings, as users run them ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_RING_RING_H
#define RINGLET_TEST_RUN_RING_RING_H

#include "ringlet/runtime.h"
#include "test/Run/ring/Draw.h"

#include <functional>

namespace ringlet::ringtest {

/// By whom graphs are compiled, and where they run.
struct Setup {
  std::string compiler = "ringlet-compile";
  /// "cpu", or a GPU's: "sm_90a".
  std::string target = "cpu";
  /// Where artefacts are; those that are not there are made.
  std::string folder;
  /// "inprocess", "socket" or, of ranks that are processes with GPUs, "nccl" or
  /// "p2p"; empty: threads and sockets in turn.
  std::string transport;
  /// GPUs, with which ranks take turns.
  int32_t devices = 1;

  bool onGpu() const { return target.rfind("sm_", 0) == 0; }
};

/// Makes `<folder>/<name>.rla`, if it is not there. An empty string, or what
/// went wrong.
std::string compileGraph(const Setup &setup, const std::string &name,
                         const std::string &text);

/// A compiled graph in the runtime.
class Program {
public:
  Program() = default;
  Program(const Program &) = delete;
  ~Program();
  /// In the context of the one before. An empty string, or what went wrong.
  std::string load(const Setup &setup, const std::string &name,
                   int64_t rank = 0);

  rl_context *context = nullptr;
  rl_program *program = nullptr;
};

struct Gathered {
  std::vector<Tensor> output, lse; // One of each for each sequence.
};

/// A run of a graph on as many ranks as there are shards.
struct Item {
  std::string name; // Of its artefact.
  const Graph *graph = nullptr;
  Problem problem;
  ring::Shards queries, keys;
  std::string transport;
};

/// Runs items of one number of ranks and gathers their results. Ranks are
/// threads that meet anew for each item, or processes that meet once. The
/// message of the first rank that fails, or an empty string, of each item.
std::vector<std::string> runItems(const Setup &setup,
                                  const std::vector<Item> &items,
                                  std::vector<Gathered> &gathered);

/// Calls `body` for each rank of a ring in a thread of its own.
std::vector<std::string>
onRing(int64_t ranks, const std::string &transport, double waitSeconds,
       const std::function<std::string(rl_ring *)> &body);

/// What fails as it should; the number of cases that do not.
int runFaults(const Setup &setup);

/// A port that is free now.
uint16_t freePort();

} // namespace ringlet::ringtest

#endif // RINGLET_TEST_RUN_RING_RING_H
