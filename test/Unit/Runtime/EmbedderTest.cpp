//===- EmbedderTest.cpp - Memory and tensors of the embedder -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountingAllocator.h"
#include "TestProgram.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace ringlet::test {

namespace {

/// "affine" on 10 x 6 elements of the host.
class Embedder : public testing::Test {
protected:
  Embedder() : x(60), y(60, -1) {
    std::iota(x.begin(), x.end(), 1.0f);
    addAffine(builder);
  }
  void load(const rl_allocator *allocator = nullptr, uint64_t limit = 0) {
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.threads = 2;
    options.memory_limit = limit;
    options.allocator = allocator;
    rl_context *made;
    ASSERT_EQ(rl_context_create(&options, &made), RL_OK) << rl_last_error();
    context.reset(made);
    program = loadProgram(made, builder.artifact);
  }
  std::vector<rl_tensor> tensors() {
    return {RL_TENSOR_INIT(x.data(), RL_F32, 2, sizes, nullptr),
            RL_TENSOR_INIT(&factor, RL_I64, 0, nullptr, nullptr),
            RL_TENSOR_INIT(y.data(), RL_F32, 2, sizes, nullptr)};
  }
  rl_status enqueue(const rl_run &run) {
    auto list = tensors();
    return rl_program_enqueue(program.get(), 0, list.data(), 3, &run);
  }
  void expectResult() {
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], x[i] * 3 + 1);
  }
  uint64_t needs() {
    rl_estimate estimate = RL_ESTIMATE_INIT;
    auto list = tensors();
    EXPECT_EQ(rl_program_estimate(program.get(), 0, list.data(), 3, &estimate),
              RL_OK);
    EXPECT_GE(estimate.run_bytes,
              estimate.workspace_bytes + estimate.scratch_bytes);
    return estimate.run_bytes;
  }

  Builder builder;
  ContextPtr context;
  ProgramPtr program;
  std::vector<float> x, y;
  int64_t factor = 3;
  const int64_t sizes[2] = {10, 6};
};

} // namespace

TEST_F(Embedder, WorkspaceOfTheCaller) {
  load();
  uint64_t bytes = needs();
  ASSERT_GT(bytes, 0u);
  struct alignas(RL_ALIGNMENT) {
    char bytes[4096];
  } block;
  ASSERT_LE(bytes + RL_ALIGNMENT, sizeof(block.bytes));
  std::memset(block.bytes, 0x5a, sizeof(block.bytes));
  rl_run run = RL_RUN_INIT;
  run.workspace = block.bytes;
  run.workspace_bytes = bytes;
  ASSERT_EQ(enqueue(run), RL_OK) << rl_last_error();
  expectResult();
  for (size_t i = bytes; i < sizeof(block.bytes); ++i)
    ASSERT_EQ(block.bytes[i], 0x5a) << i;
  // The context has taken none of its own.
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.peak_memory_bytes, 0u);

  run.workspace_bytes = bytes - 1;
  y.assign(60, -1);
  EXPECT_EQ(enqueue(run), RL_OUT_OF_MEMORY);
  EXPECT_EQ(std::string(rl_last_error()),
            "entry 'affine': expected a workspace of at least " +
                std::to_string(bytes) +
                " bytes (rl_estimate.run_bytes), found " +
                std::to_string(bytes - 1));
  EXPECT_EQ(y, std::vector<float>(60, -1));
  run.workspace = block.bytes + 64;
  run.workspace_bytes = bytes;
  EXPECT_EQ(enqueue(run), RL_INVALID_ARGUMENT);
}

// A limit of the context's is for what the context takes.
TEST_F(Embedder, WorkspaceBesideALimit) {
  load(nullptr, 1);
  auto list = tensors();
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_OUT_OF_MEMORY);
  struct alignas(RL_ALIGNMENT) {
    char bytes[4096];
  } block;
  rl_run run = RL_RUN_INIT;
  run.workspace = block.bytes;
  run.workspace_bytes = sizeof(block.bytes);
  ASSERT_EQ(enqueue(run), RL_OK) << rl_last_error();
  expectResult();
}

TEST_F(Embedder, RunOptions) {
  load();
  rl_run run = RL_RUN_INIT;
  run.flags = 1;
  EXPECT_EQ(enqueue(run), RL_INVALID_ARGUMENT);
  run = RL_RUN_INIT;
  run.struct_size = 0;
  EXPECT_EQ(enqueue(run), RL_INVALID_ARGUMENT);
  auto list = tensors();
  EXPECT_EQ(rl_program_enqueue(program.get(), 0, list.data(), 3, nullptr),
            RL_OK);
  expectResult();
}

TEST_F(Embedder, AllocatorOfTheCaller) {
  CountingAllocator allocator;
  load(&allocator.callbacks);
  for (int i = 1; i <= 3; ++i) {
    auto list = tensors();
    ASSERT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_OK)
        << rl_last_error();
    expectResult();
    // Nothing idle is kept.
    EXPECT_EQ(allocator.given, i);
    EXPECT_EQ(allocator.held.size(), 0u);
    EXPECT_EQ(allocator.streams, std::vector<void *>(size_t(i), nullptr));
  }
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.workspace_bytes, 0u);
  EXPECT_EQ(stats.memory_bytes, 0u);
  EXPECT_EQ(stats.peak_memory_bytes, needs());
  // What it cannot do is reported, and nothing has run.
  y.assign(60, -1);
  auto list = tensors();
  allocator.isEmpty = true;
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_OUT_OF_MEMORY);
  EXPECT_NE(std::strstr(rl_last_error(), "the context's allocator has no"),
            nullptr)
      << rl_last_error();
  allocator.isEmpty = false;
  allocator.offset = 8;
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(allocator.held.size(), 0u);
  EXPECT_EQ(y, std::vector<float>(60, -1));
}

TEST_F(Embedder, HalfAnAllocator) {
  rl_allocator half = RL_ALLOCATOR_INIT;
  half.allocate = CountingAllocator().callbacks.allocate;
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.allocator = &half;
  rl_context *made;
  EXPECT_EQ(rl_context_create(&options, &made), RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "expected rl_allocator with both functions or "
                                "none, found no release");
}

TEST_F(Embedder, KindsOfMemory) {
  load();
  for (rl_memory memory : {RL_MEMORY_UNKNOWN, RL_MEMORY_HOST,
                           RL_MEMORY_CUDA_HOST, RL_MEMORY_CUDA_MANAGED}) {
    auto list = tensors();
    for (rl_tensor &tensor : list)
      tensor.memory = memory;
    EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_OK)
        << rl_last_error();
  }
  auto list = tensors();
  list[0].memory = RL_MEMORY_CUDA;
  list[0].device = 2;
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "entry 'affine', input 'x': expected memory of "
                                "the host, found memory of GPU 2");
  list[0].memory = 4; // DLPack's OpenCL.
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3),
            RL_INVALID_ARGUMENT);
}

TEST_F(Embedder, FieldsOfLaterVersions) {
  load();
  auto list = tensors();
  list[2].reserved[1] = 1;
  EXPECT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_UNSUPPORTED);
}

TEST_F(Embedder, ByteOffset) {
  load();
  auto list = tensors();
  const int64_t fewer[2] = {9, 6};
  list[0].sizes = list[2].sizes = fewer;
  list[0].byte_offset = list[2].byte_offset = 6 * sizeof(float);
  ASSERT_EQ(rl_program_run(program.get(), 0, list.data(), 3), RL_OK);
  EXPECT_EQ(y[5], -1);
  EXPECT_EQ(y[6], x[6] * 3 + 1);
  EXPECT_EQ(y[59], x[59] * 3 + 1);
}

TEST_F(Embedder, NoFaultsOnACpu) {
  load();
  EXPECT_EQ(rl_context_check(context.get()), RL_OK);
  EXPECT_EQ(rl_context_check(nullptr), RL_INVALID_ARGUMENT);
}

} // namespace ringlet::test
