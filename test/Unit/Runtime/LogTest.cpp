//===- LogTest.cpp - Messages to the embedder -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <thread>

namespace ringlet::test {

static void keepMessage(void *user, rl_log_level level, const char *message) {
  *static_cast<std::string *>(user) += std::to_string(level) + message + "\n";
}

TEST(Log, CallbackGetsItsLevels) {
  Builder b;
  addAffine(b);
  for (uint32_t level : {RL_LOG_WARNING, RL_LOG_INFO}) {
    std::string messages;
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.log = keepMessage;
    options.log_user = &messages;
    options.log_level = level;
    rl_context *context;
    ASSERT_EQ(rl_context_create(&options, &context), RL_OK);
    loadProgram(context, b.artifact);
    rl_context_destroy(context);
    EXPECT_EQ(messages.find("2context on driver cpu") != std::string::npos,
              level == RL_LOG_INFO);
    EXPECT_EQ(messages.find("1 entries, target x86-64") != std::string::npos,
              level == RL_LOG_INFO);
  }
}

TEST(Log, EnvironmentAsksForStandardError) {
  ::setenv("RINGLET_LOG", "info", 1);
  testing::internal::CaptureStderr();
  makeContext(1);
  std::string captured = testing::internal::GetCapturedStderr();
  ::unsetenv("RINGLET_LOG");
  EXPECT_EQ(captured.rfind("ringlet: info: context on driver cpu", 0), 0u)
      << captured;
}

//===----------------------------------------------------------------------===//
// Replaced
//===----------------------------------------------------------------------===//

/// What "affine" on one element needs; each run is a message of RL_LOG_DEBUG.
class Talker {
public:
  Talker() {
    addAffine(builder);
    program = loadProgram(context.get(), builder.artifact);
  }
  void talk() const {
    float x = 1, y = 0;
    int64_t factor = 3;
    EXPECT_EQ(
        run(program.get(), 0,
            {TensorArg(&x, RL_F32, {1, 1}), TensorArg(&factor, RL_I64, {}),
             TensorArg(&y, RL_F32, {1, 1})}),
        RL_OK)
        << rl_last_error();
  }
  void setLog(rl_log_callback log, void *user) const {
    EXPECT_EQ(rl_context_set_log(context.get(), RL_LOG_DEBUG, log, user), RL_OK)
        << rl_last_error();
  }

private:
  Builder builder;
  ContextPtr context = makeContext(1);
  ProgramPtr program;
};

static void callFunction(void *user, rl_log_level, const char *) {
  (*static_cast<std::function<void()> *>(user))();
}

static bool isReady(const std::future<void> &future,
                    std::chrono::milliseconds wait) {
  return future.wait_for(wait) == std::future_status::ready;
}

static constexpr std::chrono::seconds ever(60);

TEST(Log, IsReplaced) {
  ContextPtr context = makeContext(1);
  Builder b;
  addAffine(b);
  std::string first, second;
  auto load = [&](uint32_t level, std::string *messages) {
    EXPECT_EQ(rl_context_set_log(context.get(), level,
                                 messages ? keepMessage : nullptr, messages),
              RL_OK);
    loadProgram(context.get(), b.artifact);
  };
  load(RL_LOG_INFO, &first);
  EXPECT_NE(first.find("2loaded "), std::string::npos) << first;
  std::string before = first;
  load(RL_LOG_INFO, &second);
  EXPECT_EQ(second, before);
  second.clear();
  load(RL_LOG_WARNING, &second);
  load(RL_LOG_DEBUG, nullptr);
  EXPECT_EQ(first, before);
  EXPECT_EQ(second, "");

  EXPECT_EQ(rl_context_set_log(nullptr, RL_LOG_INFO, nullptr, nullptr),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_context_set_log(context.get(), 9, nullptr, nullptr),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(rl_last_error()),
            "expected a log level of at most 3, found 9");
}

TEST(Log, NobodyIsInsideOneThatWasReplaced) {
  Talker talker;
  struct Sink {
    std::atomic<bool> isOpen{true};
    std::atomic<unsigned> messages{0};
  };
  std::atomic<unsigned> late{0};
  auto listen = [&](Sink &sink) {
    late += !sink.isOpen;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    late += !sink.isOpen;
    ++sink.messages;
  };
  std::atomic<bool> isDone{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!isDone)
        talker.talk();
    });
  for (int i = 0; i < 100; ++i) {
    Sink sink;
    std::function<void()> log = [&] { listen(sink); };
    talker.setLog(callFunction, &log);
    while (sink.messages < 3)
      std::this_thread::yield();
    talker.setLog(nullptr, nullptr);
    sink.isOpen = false;
    unsigned messages = sink.messages;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    EXPECT_EQ(sink.messages, messages);
  }
  isDone = true;
  for (std::thread &each : threads)
    each.join();
  EXPECT_EQ(late, 0u);
}

TEST(Log, WaitsForWhoIsInside) {
  Talker talker;
  std::promise<void> entered, mayLeave;
  std::atomic<bool> hasLeft{false};
  std::function<void()> log = [&] {
    entered.set_value();
    mayLeave.get_future().wait();
    hasLeft = true;
  };
  talker.setLog(callFunction, &log);
  auto talking = std::async(std::launch::async, [&] { talker.talk(); });
  entered.get_future().wait();
  auto replacing = std::async(std::launch::async, [&] {
    talker.setLog(nullptr, nullptr);
    EXPECT_TRUE(hasLeft);
  });
  EXPECT_FALSE(isReady(replacing, std::chrono::milliseconds(50)));
  // Meanwhile messages go elsewhere.
  talker.talk();
  mayLeave.set_value();
  ASSERT_TRUE(isReady(replacing, ever));
}

TEST(Log, IsReplacedFromInside) {
  Talker talker;
  unsigned outer = 0, inner = 0;
  std::function<void()> last = [&] { ++inner; };
  std::function<void()> log = [&] {
    // Two of its own calls are on the way when it is replaced.
    if (++outer == 1)
      talker.talk();
    else
      talker.setLog(callFunction, &last);
  };
  talker.setLog(callFunction, &log);
  talker.talk();
  talker.talk();
  EXPECT_EQ(outer, 2u);
  EXPECT_EQ(inner, 1u);
}

// Two threads, each inside the log of a context, replace that of the other one.
// At least one does not wait.
TEST(Log, TwoReplaceEachOther) {
  Talker talkers[2];
  std::atomic<unsigned> inside{0}, left{0};
  std::promise<void> mayLeave;
  std::shared_future<void> leave = mayLeave.get_future().share();
  std::function<void()> logs[2];
  for (int i : {0, 1}) {
    logs[i] = [&, i] {
      for (++inside; inside < 2;)
        std::this_thread::yield();
      talkers[1 - i].setLog(nullptr, nullptr);
      ++inside;
      leave.wait();
      ++left;
    };
    talkers[i].setLog(callFunction, &logs[i]);
  }
  std::future<void> talking[2];
  for (int i : {0, 1})
    talking[i] = std::async(std::launch::async, [&, i] { talkers[i].talk(); });
  while (inside < 3)
    std::this_thread::yield();
  mayLeave.set_value();
  for (std::future<void> &each : talking)
    ASSERT_TRUE(isReady(each, ever));
  EXPECT_EQ(inside, 4u);
  EXPECT_EQ(left, 2u);
}

} // namespace ringlet::test
