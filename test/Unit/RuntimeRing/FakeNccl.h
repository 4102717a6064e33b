//===- FakeNccl.h - A libnccl without GPUs ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FakeNccl.cpp is a shared library with the functions that the runtime uses of
// libnccl, between ranks of one machine, threads or processes. Messages are in
// memory that the host reads and have neither names nor, on the way, ends: a
// receive takes the bytes that come next from its peer. Communicators do not
// block: what is begun goes on in a thread of theirs.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIMERING_FAKENCCL_H
#define RINGLET_TEST_UNIT_RUNTIMERING_FAKENCCL_H

#include <atomic>

namespace ringlet::test {

/// What a test wants to know, and to happen, in this process.
struct FakeNccl {
  /// Of communicators that were made, and of how they ended.
  std::atomic<int> made{0}, destroyed{0}, aborted{0};
  /// Groups that were queued.
  std::atomic<int> groups{0};
  /// Whose groups fail from now on; -1: nobody's.
  std::atomic<int> failingRank{-1};
  /// Groups that are queued never end, until their communicator does.
  std::atomic<bool> hangs{false};
};

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIMERING_FAKENCCL_H
