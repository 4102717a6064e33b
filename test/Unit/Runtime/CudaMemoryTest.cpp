//===- CudaMemoryTest.cpp - Memory over a library without a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

namespace ringlet::test {

namespace {

class CudaMemory : public Cuda {};

} // namespace

TEST_F(CudaMemory, MemoryLimit) {
  addAll();
  ContextPtr context = makeCudaContext(false, 100);
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  EXPECT_EQ(enqueue(program.get(), "affine", affine.arguments()),
            RL_OUT_OF_MEMORY);
  EXPECT_STREQ(rl_last_error(),
               "entry 'affine': needs 256 bytes (workspace 256, scratch 0, "
               "tables 0), the memory limit is 100");
}

TEST_F(CudaMemory, WithoutPools) {
  addAll();
  fake.pools = false;
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
      << rl_last_error();
  affine.expectResult();
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
}

// The block that a stream keeps: what may use it, and what does not.
TEST_F(CudaMemory, KeptBlocks) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  auto workspaceOf = [&](void *stream) {
    EXPECT_EQ(enqueue(program.get(), "affine", affine.arguments(), stream),
              RL_OK)
        << rl_last_error();
    return fake.launches.back().words.at(0);
  };
  auto streamAt = [](size_t i) { return reinterpret_cast<void *>(0x100 + i); };
  int64_t first = workspaceOf(streamAt(0));
  EXPECT_EQ(workspaceOf(streamAt(0)), first);
  EXPECT_NE(workspaceOf(streamAt(1)), first);
  EXPECT_EQ(workspaceOf(streamAt(0)), first);
  // A graph runs when it likes.
  fake.capturing = {streamAt(0)};
  EXPECT_NE(workspaceOf(streamAt(0)), first);
  fake.capturing.clear();
  // A stream that is new, at the address of an old one.
  fake.streamEpoch *= 2;
  EXPECT_NE(workspaceOf(streamAt(0)), first);
  fake.streamEpoch /= 2;
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 1);
  // There is an end to the blocks, and a way to get them back.
  for (size_t i = 0; i < 20; ++i)
    workspaceOf(streamAt(i));
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 1 + 20 - 15);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.memory_bytes, 16 * ((uint64_t(1) << 20) + 64) + 4096);
  ASSERT_EQ(rl_context_trim(context.get()), RL_OK);
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.memory_bytes, 4096u); // The pool's.
  EXPECT_EQ(fake.memory.size(), 3u);    // Constant, x and y.
}

// A stream that nobody uses any more gives its block away: contexts that live
// long hold no more than others, and serve their new streams as well.
TEST_F(CudaMemory, KeptBlocksOfOldStreams) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  auto run = [&](size_t stream) {
    EXPECT_EQ(enqueue(program.get(), "affine", affine.arguments(),
                      reinterpret_cast<void *>(0x100 + stream)),
              RL_OK)
        << rl_last_error();
  };
  for (size_t i = 0; i < 16; ++i)
    run(i);
  for (int i = 0; i < 1024; ++i)
    run(15);
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
  for (size_t i = 16; i < 31; ++i)
    run(i);
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.memory_bytes, 16 * ((uint64_t(1) << 20) + 64) + 4096);
  // All others are in use.
  run(31);
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 1);
  affine.expectResult();
}

// Memory for larger workspaces than that comes from the pool, and a limit below
// it has no kept blocks; they give way to what needs the room.
TEST_F(CudaMemory, KeptBlocksAndLimits) {
  addAll();
  ContextPtr context = makeCudaContext(false, uint64_t(3) << 19);
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK);
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
  std::vector<float> many((1 << 18) + 1, 1);
  OnDevice<float> x(context.get(), many), y(context.get(), many);
  auto count = int64_t(many.size());
  ASSERT_EQ(enqueue(program.get(), "affine",
                    {{x.data, RL_F32, {count, 1}},
                     {&affine.factor, RL_I64, {}},
                     {y.data, RL_F32, {count, 1}}}),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 1);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.memory_bytes, 4096u); // The pool's.

  ContextPtr small = makeCudaContext(false, 1000);
  ProgramPtr other = loadProgram(small.get(), builder.artifact);
  ASSERT_EQ(enqueue(other.get(), "affine", affine.arguments()), RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 2);
}

TEST_F(CudaMemory, MemoryOfTheContext) {
  ContextPtr context = makeCudaContext();
  OnDevice<int> a(context.get(), {1, 2, 3}), b(context.get(), {0, 0, 0});
  ASSERT_TRUE(a.ok && b.ok);
  ASSERT_EQ(rl_memory_copy(context.get(), b.data, a.data, 12, RL_ON_DEVICE),
            RL_OK);
  EXPECT_EQ(b.read(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(rl_memory_copy(context.get(), b.data, a.data, 12, rl_transfer(3)),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_memory_copy(context.get(), nullptr, a.data, 12, RL_ON_DEVICE),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_memory_copy(context.get(), nullptr, nullptr, 0, RL_ON_DEVICE),
            RL_OK);
  EXPECT_EQ(rl_memory_release(context.get(), nullptr), RL_OK);
  void *empty;
  ASSERT_EQ(rl_memory_allocate(context.get(), 0, &empty), RL_OK);
  EXPECT_NE(empty, nullptr);
  EXPECT_EQ(rl_memory_release(context.get(), empty), RL_OK);
}

} // namespace ringlet::test
