//===- Block.h - A block of GPU threads on the CPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a block are contexts of one thread of the CPU. One runs until
// it has to wait for others, at a barrier or at an instruction of a warp, then
// another goes on: forwards in even blocks, backwards in odd ones, so that what
// lacks a barrier reads what is not there yet in one of them.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_EMULATED_BLOCK_H
#define RINGLET_TEST_RUN_EMULATED_BLOCK_H

#include <cstdint>

namespace ringlet::emulated {

/// The most 64-bit parameters of a kernel.
constexpr int mostParameters = 96;
constexpr unsigned mostThreads = 1024;

/// A kernel as the table in the module of kernels has it.
struct Kernel {
  const char *name;
  void *code;
  int32_t parameters;
};

/// Runs one block of `threads`; shared memory begins as NaNs.
void runBlock(const Kernel &kernel, const uint64_t *parameters, unsigned block,
              unsigned threads);

} // namespace ringlet::emulated

#endif // RINGLET_TEST_RUN_EMULATED_BLOCK_H
