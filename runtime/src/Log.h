//===- Log.h - Messages to the embedder ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_LOG_H
#define RINGLET_RUNTIME_LOG_H

#include "Status.h"

#include <atomic>
#include <memory>
#include <string>

namespace ringlet::rt {

Status checkLogLevel(uint32_t level);

/// Where a context's messages go; copies are the same log. Never called with a
/// lock held.
class Logger {
public:
  /// Without a callback, RINGLET_LOG = error|warning|info|debug asks for
  /// standard error.
  Logger(rl_log_callback callback, void *user, uint32_t level);

  bool wants(rl_log_level level) const {
    return int(level) <= shared->maximum.load(std::memory_order_relaxed);
  }
  template <typename... Parts>
  void log(rl_log_level level, const Parts &...parts) const {
    if (wants(level))
      send(level, text(parts...));
  }

  /// Messages go to the callback from now on. Returns when no thread is inside
  /// the one before, but for callers of this function that are inside a
  /// callback themselves: they do not wait for each other.
  void replace(rl_log_callback callback, void *user, uint32_t level) const;

private:
  struct Target;
  struct Call;
  struct Shared {
    std::shared_ptr<Target> target;
    /// The target's level; -1: it wants nothing.
    std::atomic<int> maximum;
  };

  void send(rl_log_level level, const std::string &message) const;

  std::shared_ptr<Shared> shared;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_LOG_H
