//===- Log.cpp - Messages to the embedder ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Log.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace ringlet;
using namespace ringlet::rt;

static const char *const levelNames[] = {"error", "warning", "info", "debug"};

static void logToStderr(void *, rl_log_level level, const char *message) {
  std::fprintf(stderr, "ringlet: %s: %s\n", levelNames[level], message);
}

Status rt::checkLogLevel(uint32_t level) {
  if (level <= RL_LOG_DEBUG)
    return {};
  return invalid("expected a log level of at most ", int(RL_LOG_DEBUG),
                 ", found ", level);
}

namespace {
/// Guards all targets. One for all, as a thread inside the callback of one
/// context may replace that of another one.
struct LogLock {
  std::mutex mutex;
  std::condition_variable left;
};
} // namespace

/// Never destroyed: threads may log while the process ends.
static LogLock &logLock() {
  static LogLock &only = *new LogLock;
  return only;
}

/// A callback and who is inside.
struct Logger::Target {
  Target(rl_log_callback callback, void *user, uint32_t level)
      : callback(callback), user(user), maximum(callback ? int(level) : -1) {
    const char *wanted = callback ? nullptr : std::getenv("RINGLET_LOG");
    if (!wanted)
      return;
    for (int i = 0; i <= RL_LOG_DEBUG; ++i) {
      if (std::strcmp(wanted, levelNames[i]) != 0)
        continue;
      this->callback = logToStderr;
      maximum = i;
    }
  }

  rl_log_callback callback;
  void *user;
  int maximum;
  /// Calls that have not returned, and those of them that wait in replace().
  int calls = 0, waiting = 0;
};

/// A call of a target's callback by this thread. It counts however it ends: a
/// thread may be cancelled in there.
struct Logger::Call {
  explicit Call(const Shared &shared) : outer(innermost) {
    std::lock_guard<std::mutex> guard(logLock().mutex);
    target = shared.target;
    ++target->calls;
    innermost = this;
  }
  ~Call() {
    innermost = outer;
    std::lock_guard<std::mutex> guard(logLock().mutex);
    --target->calls;
    logLock().left.notify_all();
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// Marks all calls that this thread is inside of.
  static void countWaiting(int change) {
    for (Call *each = innermost; each; each = each->outer)
      each->target->waiting += change;
  }

  static thread_local Call *innermost;
  std::shared_ptr<Target> target;
  Call *outer;
};

thread_local Logger::Call *Logger::Call::innermost = nullptr;

Logger::Logger(rl_log_callback callback, void *user, uint32_t level)
    : shared(std::make_shared<Shared>()) {
  shared->target = std::make_shared<Target>(callback, user, level);
  shared->maximum = shared->target->maximum;
}

void Logger::send(rl_log_level level, const std::string &message) const {
  Call call(*shared);
  // It may have been replaced since somebody wanted this message.
  if (int(level) <= call.target->maximum)
    call.target->callback(call.target->user, level, message.c_str());
}

void Logger::replace(rl_log_callback callback, void *user,
                     uint32_t level) const {
  auto target = std::make_shared<Target>(callback, user, level);
  std::unique_lock<std::mutex> guard(logLock().mutex);
  shared->maximum = target->maximum;
  shared->target.swap(target);
  Call::countWaiting(1);
  logLock().left.notify_all();
  bool isInside = Call::innermost;
  logLock().left.wait(
      guard, [&] { return target->calls == (isInside ? target->waiting : 0); });
  Call::countWaiting(-1);
}
