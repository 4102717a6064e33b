//===- CudaEmbedderTest.cpp - An embedder's memory on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountingAllocator.h"
#include "CudaFixture.h"

namespace ringlet::test {

namespace {

class CudaEmbedder : public Cuda {
protected:
  ContextPtr contextWith(const rl_allocator &allocator) {
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.driver = "cuda";
    options.allocator = &allocator;
    rl_context *context;
    EXPECT_EQ(rl_context_create(&options, &context), RL_OK) << rl_last_error();
    return ContextPtr(context);
  }
  rl_status run(const rl_program *program, std::vector<rl_tensor> &list,
                const rl_run &run) {
    return rl_program_enqueue(program, findEntry(program, "affine"),
                              list.data(), uint32_t(list.size()), &run);
  }
};

} // namespace

// All that a context takes comes from its embedder, on the stream that uses it.
TEST_F(CudaEmbedder, Allocator) {
  addAll();
  CountingAllocator allocator;
  {
    ContextPtr context = contextWith(allocator.callbacks);
    ProgramPtr program = loadProgram(context.get(), builder.artifact);
    EXPECT_EQ(allocator.held.size(), 1u); // The constant.
    void *shared = allocator.streams.at(0);
    EXPECT_NE(shared, someStream);
    {
      Affine affine(context.get());
      EXPECT_EQ(fake.memory.size(), 2u); // Those of rl_memory_allocate.
      for (int i = 2; i <= 4; ++i) {
        ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
            << rl_last_error();
        affine.expectResult();
        EXPECT_EQ(allocator.given, i);
        EXPECT_EQ(allocator.streams.back(), someStream);
        EXPECT_EQ(allocator.held.size(), 1u);
      }
      // Nor does a stream in capture wait for anything.
      fake.capturing = {someStream};
      int waits = fake.count("cuCtxSynchronize");
      ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
          << rl_last_error();
      EXPECT_EQ(fake.count("cuCtxSynchronize"), waits);
      fake.capturing.clear();
    }
    EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);

    // A table is shared by all streams, and goes when all work is done.
    OnDevice<float> x(context.get(), std::vector<float>(48 * 2, 1));
    OnDevice<float> y(context.get(), std::vector<float>(48 * 2, 0));
    ASSERT_EQ(enqueue(program.get(), "hilbert",
                      {{x.data, RL_F32, {48, 2}}, {y.data, RL_F32, {48, 2}}}),
              RL_OK)
        << rl_last_error();
    EXPECT_EQ(allocator.held.size(), 2u);
    for (const auto &block : allocator.held)
      EXPECT_EQ(block.second.stream, shared);
    int waits = fake.count("cuCtxSynchronize");
    ASSERT_EQ(rl_context_trim(context.get()), RL_OK);
    EXPECT_EQ(allocator.held.size(), 1u);
    EXPECT_GT(fake.count("cuCtxSynchronize"), waits);
  }
  EXPECT_EQ(allocator.held.size(), 0u);
}

TEST_F(CudaEmbedder, Workspace) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  OnDevice<char> block(context.get(), std::vector<char>(1024));
  std::vector<TensorArg> arguments = affine.arguments();
  std::vector<rl_tensor> list = toTensors(arguments);
  rl_run options = RL_RUN_INIT;
  options.stream = someStream;
  options.workspace = block.data;
  options.workspace_bytes = 1024;
  ASSERT_EQ(run(program.get(), list, options), RL_OK) << rl_last_error();
  EXPECT_EQ(uint64_t(fake.launches.back().words.at(0)),
            uint64_t(reinterpret_cast<uintptr_t>(block.data)));
  affine.expectResult();
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.workspace_bytes, 4096u); // The pool's.
}

TEST_F(CudaEmbedder, WhereTensorsLie) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  std::vector<float> onHost(60);
  std::vector<TensorArg> arguments = affine.arguments();
  std::vector<rl_tensor> list = toTensors(arguments);
  rl_run options = RL_RUN_INIT;
  size_t launches = fake.launches.size();

  // An address that CUDA does not know is found before it is a fault.
  list[0].data = onHost.data();
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
  EXPECT_EQ(
      std::string(rl_last_error())
          .find("entry 'affine', input 'x': expected memory of GPU 0, found "
                "memory of the host at 0x"),
      0u)
      << rl_last_error();
  // So is a number in the device's memory before the host reads it.
  list[0].data = affine.x.data;
  list[1].data = affine.x.data;
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rl_last_error()).find("an input of rank 1"),
            std::string::npos)
      << rl_last_error();
  list[1].data = &affine.factor;
  list[1].memory = RL_MEMORY_CUDA;
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
  list[1].memory = RL_MEMORY_HOST;
  // What the caller says is believed, and must be right for the context.
  list[0].memory = RL_MEMORY_HOST;
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
  list[0].memory = RL_MEMORY_CUDA;
  list[0].device = 1;
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "entry 'affine', input 'x': expected memory of "
                                "GPU 0, found memory of GPU 1");
  list[0].device = 0;
  list[2].memory = RL_MEMORY_CUDA_MANAGED;
  EXPECT_EQ(fake.launches.size(), launches);
  int looks = fake.count("cuPointerGetAttributes");
  EXPECT_EQ(run(program.get(), list, options), RL_OK) << rl_last_error();
  EXPECT_EQ(fake.count("cuPointerGetAttributes"), looks);
  affine.expectResult();

  // Pinned memory of the host is as good as the device's; another device's is
  // not.
  list = toTensors(arguments);
  fake.pinned = {uint64_t(reinterpret_cast<uintptr_t>(onHost.data()))};
  list[2].data = onHost.data();
  EXPECT_EQ(run(program.get(), list, options), RL_OK) << rl_last_error();
  EXPECT_EQ(onHost[0], 4);
  fake.ordinal = 1;
  list = toTensors(arguments);
  EXPECT_EQ(run(program.get(), list, options), RL_INVALID_ARGUMENT);
}

TEST_F(CudaEmbedder, FaultsOfWork) {
  ContextPtr context = makeCudaContext();
  EXPECT_EQ(rl_context_check(context.get()), RL_OK);
  fake.busy = 600; // Not ready.
  EXPECT_EQ(rl_context_check(context.get()), RL_OK);
  fake.busy = 700;
  EXPECT_EQ(rl_context_check(context.get()), RL_DEVICE_ERROR);
  EXPECT_STREQ(rl_last_error(),
               "cuda cannot go on: a kernel that was queued has failed: "
               "CUDA_ERROR_FAKE (700), a fake failure");
  // Somebody else's capture does not end for it.
  fake.busy = 0;
  fake.capturing = {someStream};
  EXPECT_EQ(rl_context_check(context.get()), RL_OK) << rl_last_error();
  fake.capturing.clear();
}

} // namespace ringlet::test
