//===- CudaGraphTest.cpp - Runs as graphs, without a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

namespace ringlet::test {

namespace {

/// Runs of "affine", which is two kernels with a workspace in between.
class CudaGraphs : public Cuda {
protected:
  CudaGraphs() {
    addAll();
    context = makeCudaContext();
    program = loadProgram(context.get(), builder.artifact);
    affine = std::make_unique<Affine>(context.get());
  }
  rl_status run(void *stream = someStream) {
    return enqueue(program.get(), "affine", affine->arguments(), stream);
  }
  /// Kernels that the last run started by themselves.
  int launchesOf(void *stream) {
    int before = fake.count("cuLaunchKernel");
    EXPECT_EQ(run(stream), RL_OK) << rl_last_error();
    return fake.count("cuLaunchKernel") - before;
  }
  static void *streamAt(size_t i) {
    return reinterpret_cast<void *>(0x100 + i);
  }

  ContextPtr context;
  ProgramPtr program;
  std::unique_ptr<Affine> affine;
};

} // namespace

// A shape may never come again; when it does, a graph is made of it, and the
// kernels of which a parameter has changed get it.
TEST_F(CudaGraphs, FromTheSecondRun) {
  EXPECT_EQ(launchesOf(someStream), 2);
  EXPECT_EQ(fake.graphs, 0);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(launchesOf(someStream), 0);
    EXPECT_EQ(fake.count("cuGraphLaunch"), i);
  }
  affine->expectResult();
  EXPECT_EQ(fake.count("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake.count("cuGraphExecKernelNodeSetParams"), 0);
  ASSERT_EQ(fake.launches.size(), 8u);
  EXPECT_EQ(fake.launches[6].kernel, "scale");
  EXPECT_EQ(fake.launches[7].kernel, "shift");
  EXPECT_EQ(fake.launches[7].stream, someStream);

  // The input is the first kernel's, the output the second one's.
  OnDevice<float> x(context.get(), std::vector<float>(60, 5)),
      y(context.get(), std::vector<float>(60, 0));
  std::vector<TensorArg> arguments = affine->arguments();
  arguments[0].data = x.data;
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(enqueue(program.get(), "affine", arguments), RL_OK);
  EXPECT_EQ(fake.count("cuGraphExecKernelNodeSetParams"), 1);
  EXPECT_EQ(affine->y.read(), std::vector<float>(60, 16));
  arguments[2].data = y.data;
  ASSERT_EQ(enqueue(program.get(), "affine", arguments), RL_OK);
  EXPECT_EQ(fake.count("cuGraphExecKernelNodeSetParams"), 2);
  EXPECT_EQ(y.read(), std::vector<float>(60, 16));
  EXPECT_EQ(launchesOf(someStream), 0);
  affine->expectResult();
}

// What runs on one queue does not wait for another; sizes have graphs of their
// own; and there is an end to them.
TEST_F(CudaGraphs, OneForEachQueueAndShape) {
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(launchesOf(streamAt(i)), 2);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(launchesOf(streamAt(i)), i < 16 ? 0 : 2);
  EXPECT_EQ(fake.readyGraphs, 16);
  std::vector<TensorArg> arguments = affine->arguments();
  arguments[0].sizes[0] = arguments[2].sizes[0] = 5;
  for (int run = 0; run < 2; ++run)
    ASSERT_EQ(enqueue(program.get(), "affine", arguments, streamAt(0)), RL_OK);
  EXPECT_EQ(fake.readyGraphs, 17);
  affine->expectResult();
  // A stream that is new, at the address of an old one.
  fake.streamEpoch *= 2;
  EXPECT_EQ(launchesOf(streamAt(0)), 2);
  // Streams that nobody uses any more do not keep others from a graph.
  for (int i = 0; i < 1024; ++i)
    run(streamAt(0));
  EXPECT_EQ(launchesOf(streamAt(0)), 0);
  EXPECT_EQ(fake.readyGraphs, 17);
}

// A graph of the embedder's gets the kernels themselves, and making ours does
// not end a capture on another stream.
TEST_F(CudaGraphs, NotWhileCaptured) {
  run();
  run();
  fake.capturing = {someStream};
  EXPECT_EQ(launchesOf(someStream), 2);
  EXPECT_EQ(launchesOf(streamAt(0)), 2);
  EXPECT_EQ(launchesOf(streamAt(0)), 0);
  fake.capturing.clear();
  EXPECT_EQ(launchesOf(someStream), 0);
}

// Of kernels that wait by themselves, those behind another one of their run
// start early, launched and in a graph. The first does not: what runs in front
// of it is somebody else's.
TEST_F(CudaGraphs, EarlyStarts) {
  for (auto &kernel : builder.artifact.kernels)
    for (auto &code : kernel->code)
      code->starts_early = true;
  program = loadProgram(context.get(), builder.artifact);
  auto earlyOnes = [&] {
    fake.launches.clear();
    EXPECT_EQ(run(), RL_OK) << rl_last_error();
    std::vector<bool> early;
    for (const FakeLaunch &launch : fake.launches)
      early.push_back(launch.early);
    return early;
  };
  const std::vector<bool> second = {false, true};
  EXPECT_EQ(earlyOnes(), second);
  EXPECT_EQ(fake.count("cuLaunchKernelEx"), 1);
  EXPECT_EQ(fake.count("cuGraphLaunch"), 0);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(earlyOnes(), second);
    EXPECT_EQ(fake.count("cuGraphLaunch"), i);
  }
  affine->expectResult();
  // Without such an edge there is no graph; the kernels start early all the
  // same.
  fake.failures = {{"cuGraphAddDependencies", 801}};
  fake.streamEpoch *= 2;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(earlyOnes(), second);
  EXPECT_EQ(fake.count("cuGraphLaunch"), 2);
  affine->expectResult();
}

// Where no graph can be had, kernels run one by one; it is not tried again.
TEST_F(CudaGraphs, WhereNoneCanBeMade) {
  for (const char *symbol : {"cuGraphCreate", "cuGraphAddKernelNode",
                             "cuGraphInstantiateWithFlags"}) {
    fake.failures = {{symbol, 801}};
    fake.streamEpoch *= 2;
    int before = fake.count(symbol);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(launchesOf(someStream), 2) << symbol;
    EXPECT_EQ(fake.count(symbol) - before, 1);
    EXPECT_EQ(fake.graphs, 0);
    affine->expectResult();
  }
}

TEST_F(CudaGraphs, Failures) {
  run();
  run();
  fake.failures = {{"cuGraphLaunch", 719}};
  EXPECT_EQ(run(), RL_DEVICE_ERROR);
  EXPECT_STREQ(rl_last_error(),
               "entry 'affine': cuda cannot start a graph of 2 kernels: "
               "CUDA_ERROR_FAKE (719), a fake failure");
  // Parameters that did not arrive are sent again.
  OnDevice<float> x(context.get(), std::vector<float>(60, 5));
  std::vector<TensorArg> arguments = affine->arguments();
  arguments[0].data = x.data;
  fake.failures = {{"cuGraphExecKernelNodeSetParams", 1}};
  EXPECT_EQ(enqueue(program.get(), "affine", arguments), RL_DEVICE_ERROR);
  EXPECT_STREQ(rl_last_error(),
               "entry 'affine': cuda cannot give parameters to a kernel of a "
               "graph: CUDA_ERROR_FAKE (1), a fake failure");
  fake.failures.clear();
  EXPECT_EQ(enqueue(program.get(), "affine", arguments), RL_OK);
  EXPECT_EQ(affine->y.read(), std::vector<float>(60, 16));
}

} // namespace ringlet::test
