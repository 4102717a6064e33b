//===- FakeCuda.h - A libcuda without a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FakeCuda.cpp is a shared library with the functions that the runtime uses of
// libcuda. Device memory is the host's, kernels are those of Kernels.c and run
// when they are started; what a test wants to know is written down, and what it
// wants to fail fails.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_FAKECUDA_H
#define RINGLET_TEST_UNIT_RUNTIME_FAKECUDA_H

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ringlet::test {

/// What a tensor map of this library holds.
struct FakeMap {
  uint64_t address;
  int type;
  unsigned rank;
  uint64_t sizes[5], strides[4]; // Strides of axes 1 and on, in bytes.
  unsigned box[5];
  unsigned spare[5];
};
static_assert(sizeof(FakeMap) == 128);

struct FakeLaunch {
  std::string kernel;
  unsigned grid, threads, sharedBytes;
  void *stream;
  std::vector<int64_t> words;
  std::vector<FakeMap> maps;
  /// Its blocks may start before the launch in front of it has ended.
  bool early = false;
};

/// A kernel or a copy, with what has ended when it begins whatever the streams
/// do: numbers in FakeCuda::works.
struct FakeWork {
  std::string what;
  void *stream;
  std::set<size_t> before;
};

/// Kernels that follow each other, and the same made ready to run.
struct FakeGraph {
  std::vector<std::unique_ptr<FakeLaunch>> nodes;
  size_t edges = 0;
};
struct FakeReadyGraph {
  std::map<const void *, FakeLaunch> nodes;
  std::vector<const void *> order;
};

/// What has ended on a stream when it was recorded there.
struct FakeEvent {
  std::set<size_t> ended;
  bool isCaptured = false;
};

/// Of the only device, unless `devices` says otherwise.
struct FakeCuda {
  int version = 12080;
  int devices = 1;
  int major = 9, minor = 0;
  bool pools = true;
  int maxGrid = 2147483647;
  int staticShared = 0;
  int kernelThreads = 1024;

  /// Symbols without their version suffix, in the order of the calls.
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  std::vector<FakeWork> works;
  /// Of a stream: what has ended when what is queued next begins.
  std::map<void *, std::set<size_t>> ended;
  /// What a symbol returns instead of doing something.
  std::map<std::string, int> failures;
  /// The contexts that are current, the last one on top.
  std::vector<void *> current;
  std::set<void *> capturing;
  /// The primary context.
  void *primary = nullptr;
  /// Memory by address: its bytes.
  std::map<uint64_t, uint64_t> memory;
  /// Addresses of the host that the device reads.
  std::set<uint64_t> pinned;
  /// The device that all memory is said to be of.
  int ordinal = 0;
  /// What a stream says of its work.
  int busy = 0;
  std::map<std::string, int> dynamicShared;
  /// What the code of a kernel knows of its parameters: a first one of tensor
  /// maps, then words.
  struct Mapped {
    size_t maps, words;
  };
  std::map<std::string, Mapped> mapped;
  int contexts = 0, modules = 0, streams = 0, events = 0, memoryPools = 0;
  int graphs = 0, readyGraphs = 0;
  int captureMode = 0;
  /// Streams of other epochs have other numbers.
  uint64_t streamEpoch = 1 << 20;
  uint64_t releaseThreshold = 0;

  int count(const std::string &symbol) const {
    int found = 0;
    for (const std::string &call : calls)
      found += call == symbol;
    return found;
  }
};

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIME_FAKECUDA_H
