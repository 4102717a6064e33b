//===- Log.h - Messages to the embedder ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_LOG_H
#define RINGLET_RUNTIME_LOG_H

#include "Status.h"

namespace ringlet::rt {

/// Where a context's messages go. Never called with a lock held.
class Logger {
public:
  /// Without a callback, RINGLET_LOG = error|warning|info|debug asks for
  /// standard error.
  Logger(rl_log_callback callback, void *user, uint32_t level);

  bool wants(rl_log_level level) const {
    return callback && uint32_t(level) <= maximum;
  }
  template <typename... Parts>
  void log(rl_log_level level, const Parts &...parts) const {
    if (wants(level))
      callback(user, level, text(parts...).c_str());
  }

private:
  rl_log_callback callback;
  void *user;
  uint32_t maximum;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_LOG_H
