//===- Log.cpp - Messages to the embedder ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Log.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ringlet::rt;

static const char *const levelNames[] = {"error", "warning", "info", "debug"};

static void logToStderr(void *, rl_log_level level, const char *message) {
  std::fprintf(stderr, "ringlet: %s: %s\n", levelNames[level], message);
}

Logger::Logger(rl_log_callback callback, void *user, uint32_t level)
    : callback(callback), user(user), maximum(level) {
  const char *wanted = callback ? nullptr : std::getenv("RINGLET_LOG");
  if (!wanted)
    return;
  for (uint32_t i = 0; i <= RL_LOG_DEBUG; ++i) {
    if (std::strcmp(wanted, levelNames[i]) != 0)
      continue;
    this->callback = logToStderr;
    maximum = i;
  }
}
