//===- CudaQueueTest.cpp - Two queues on a GPU that is none ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace ringlet::test {

namespace {

constexpr int notReady = 600; // CUDA_ERROR_NOT_READY.

/// Entry "beside" on 10 x 6 elements.
class CudaQueues : public Cuda {
protected:
  ProgramPtr load() {
    addBeside(builder);
    change(builder.plan());
    usePtx(builder);
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.driver = "cuda";
    rl_context *made = nullptr;
    EXPECT_EQ(rl_context_create(&options, &made), RL_OK) << rl_last_error();
    context.reset(made);
    x = std::make_unique<OnDevice<float>>(made, Affine::values());
    c = std::make_unique<OnDevice<float>>(made, std::vector<float>{7});
    y = std::make_unique<OnDevice<float>>(made, std::vector<float>(60, -1));
    return loadProgram(made, builder.artifact);
  }
  rl_status runIt(const rl_program *program, void *stream = someStream) {
    fake.works.clear();
    fake.ended.clear();
    return enqueue(program, "beside", arguments(), stream);
  }
  std::vector<TensorArg> arguments() {
    return {{x->data, RL_F32, {10, 6}},
            {c->data, RL_F32, {1}},
            {&factor, RL_I64, {}},
            {y->data, RL_F32, {10, 6}}};
  }
  void expectResult() const {
    std::vector<float> expected = Affine::values();
    for (float &value : expected)
      value = value * 3 + 7;
    EXPECT_EQ(y->read(), expected);
  }
  const FakeWork &work(const std::string &what) const {
    return fake.works[number(what)];
  }
  size_t number(const std::string &what) const {
    auto found =
        std::find_if(fake.works.begin(), fake.works.end(),
                     [&](const FakeWork &work) { return work.what == what; });
    EXPECT_NE(found, fake.works.end()) << what;
    return size_t(found - fake.works.begin());
  }
  /// Whatever the speed of the streams.
  bool comesBefore(const std::string &first, const std::string &second) const {
    return work(second).before.count(number(first)) > 0;
  }

  std::function<void(abi::PlanT &)> change = [](abi::PlanT &) {};
  int64_t factor = 3;
  ContextPtr context;
  std::unique_ptr<OnDevice<float>> x, c, y;
};

} // namespace

TEST_F(CudaQueues, RunBesideEachOther) {
  ProgramPtr program = load();
  for (int again = 0; again < 3; ++again) {
    ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
    expectResult();
    ASSERT_EQ(fake.works.size(), 3u);
    EXPECT_EQ(work("scale").stream, someStream);
    EXPECT_NE(work("copy").stream, someStream);
    EXPECT_FALSE(comesBefore("scale", "copy"));
    EXPECT_FALSE(comesBefore("copy", "scale"));
    EXPECT_TRUE(comesBefore("scale", "shift"));
    EXPECT_TRUE(comesBefore("copy", "shift"));
    // What the caller queues next comes last.
    EXPECT_EQ(fake.ended[someStream].size(), 3u);
  }
  // Streams and events serve the next run.
  EXPECT_EQ(fake.count("cuEventCreate"), 2);
  EXPECT_EQ(fake.streams, 3);
}

// The caller's work in front of a run comes before both queues.
TEST_F(CudaQueues, BeginBehindTheCaller) {
  ProgramPtr program = load();
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  size_t first = fake.works.size();
  ASSERT_EQ(enqueue(program.get(), "beside", arguments()), RL_OK);
  for (size_t i = first; i < fake.works.size(); ++i)
    EXPECT_EQ(fake.works[i].before.count(number("shift")), 1u)
        << fake.works[i].what;
}

// Where nobody waits for the exchange at the end, the run does.
TEST_F(CudaQueues, EndBeforeTheCaller) {
  change = [](abi::PlanT &plan) {
    // The sum is of the caller's c; nothing reads the copy.
    plan.steps[2]->waits.clear();
    plan.steps[2]->action.AsLaunch()->args[2] = buffer(2);
  };
  ProgramPtr program = load();
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  expectResult();
  EXPECT_FALSE(comesBefore("copy", "shift"));
  EXPECT_EQ(fake.ended[someStream].size(), 3u);
}

// A step without work falls out: who waits for it waits for those before it.
TEST_F(CudaQueues, WaitsReachThroughStepsWithoutWork) {
  change = [&](abi::PlanT &plan) {
    auto empty = std::make_unique<abi::StepT>(*plan.steps[0]);
    empty->queue = abi::Queue::Exchange;
    empty->waits = {0};
    empty->action.AsLaunch()->grid = {builder.expr({constant(0)})};
    plan.steps.insert(plan.steps.begin() + 2, std::move(empty));
    plan.steps[3]->waits = {2};
  };
  ProgramPtr program = load();
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  expectResult();
  EXPECT_EQ(fake.works.size(), 3u);
  EXPECT_TRUE(comesBefore("copy", "shift"));
}

// A stream that has joined a capture serves no other run until that has ended.
TEST_F(CudaQueues, Capture) {
  ProgramPtr program = load();
  fake.capturing = {someStream};
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  void *side = work("copy").stream;
  EXPECT_EQ(fake.capturing.count(side), 1u);
  EXPECT_EQ(fake.ended[someStream].size(), 3u);
  void *const otherStream = reinterpret_cast<void *>(0x78);
  ASSERT_EQ(runIt(program.get(), otherStream), RL_OK) << rl_last_error();
  EXPECT_NE(work("copy").stream, side);
  EXPECT_EQ(fake.capturing.size(), 2u);
  fake.capturing.clear();
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  expectResult();
}

TEST_F(CudaQueues, Failures) {
  ProgramPtr program = load();
  for (const char *symbol : {"cuEventCreate", "cuEventRecord",
                             "cuStreamWaitEvent", "cuMemcpyDtoDAsync"}) {
    fake.failures = {{symbol, 700}};
    EXPECT_EQ(runIt(program.get()), RL_DEVICE_ERROR) << symbol;
    EXPECT_NE(std::string(rl_last_error()).find("CUDA_ERROR_FAKE (700)"),
              std::string::npos)
        << rl_last_error();
    fake.failures.clear();
  }
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  expectResult();
  // Where a run fails midway, the caller's stream still waits for the rest.
  fake.failures = {{"cuLaunchKernel", 700}};
  EXPECT_EQ(runIt(program.get()), RL_DEVICE_ERROR);
  for (size_t i = 0; i < fake.works.size(); ++i)
    EXPECT_EQ(fake.ended[someStream].count(i), 1u);
  fake.failures.clear();
}

TEST_F(CudaQueues, MultiprocessorsAreTheDevices) {
  change = [&](abi::PlanT &plan) {
    plan.steps[0]->action.AsLaunch()->grid = {
        builder.expr({op(abi::ExprOp::Multiprocessors)})};
  };
  ProgramPtr program = load();
  ASSERT_EQ(runIt(program.get()), RL_OK) << rl_last_error();
  EXPECT_EQ(fake.launches[0].grid, 132u);
}

// A queued call of a ring begins when what the caller's stream had has ended,
// and outlives its program.
TEST_F(CudaQueues, RingCallWaitsForTheCaller) {
  ProgramPtr program = load();
  rl_ring *made = nullptr;
  ASSERT_EQ(rl_ring_create_local(nullptr, 1, &made), RL_OK);
  std::unique_ptr<rl_ring, decltype(&rl_ring_destroy)> ring(made,
                                                            rl_ring_destroy);
  const std::vector<TensorArg> given = arguments();
  std::vector<rl_tensor> list = toTensors(given);
  rl_run run = RL_RUN_INIT;
  run.stream = someStream;
  auto queue = [&] {
    return rl_ring_enqueue(made, program.get(),
                           findEntry(program.get(), "beside"), list.data(),
                           uint32_t(list.size()), &run);
  };
  fake.capturing = {someStream};
  EXPECT_EQ(queue(), RL_INVALID_ARGUMENT);
  EXPECT_STREQ(
      rl_last_error(),
      "expected a stream that is not in capture, found one whose graph "
      "would have no messages of other ranks");
  fake.capturing.clear();

  fake.busy = notReady;
  ASSERT_EQ(queue(), RL_OK) << rl_last_error();
  program.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(fake.works.size(), 0u);
  fake.busy = 0;
  EXPECT_EQ(rl_ring_wait(made), RL_OK) << rl_last_error();
  expectResult();
  // Nothing is left to be told.
  EXPECT_EQ(rl_ring_wait(made), RL_OK);
}

// One that waits for a stream ends with the ring.
TEST_F(CudaQueues, RingCallThatNeverBegins) {
  ProgramPtr program = load();
  rl_ring *made = nullptr;
  ASSERT_EQ(rl_ring_create_local(nullptr, 1, &made), RL_OK);
  const std::vector<TensorArg> given = arguments();
  std::vector<rl_tensor> list = toTensors(given);
  fake.busy = notReady;
  ASSERT_EQ(rl_ring_enqueue(made, program.get(),
                            findEntry(program.get(), "beside"), list.data(),
                            uint32_t(list.size()), nullptr),
            RL_OK);
  ASSERT_EQ(rl_ring_abort(made, "enough"), RL_OK);
  EXPECT_EQ(rl_ring_wait(made), RL_PEER_ERROR);
  EXPECT_NE(std::string(rl_last_error()).find("enough"), std::string::npos);
  EXPECT_EQ(fake.works.size(), 0u);
  rl_ring_destroy(made);
}

} // namespace ringlet::test
