//===- HeaderTest.cpp - The runtime's header in strict C++17 ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <ringlet/runtime.h>

// Every initialiser, and C linkage.
static_assert(sizeof(rl_status) == 4, "statuses cross as 32-bit integers");
rl_context_options headerOptions = RL_CONTEXT_OPTIONS_INIT;
rl_stats headerStats = RL_STATS_INIT;
rl_argument headerArgument = RL_ARGUMENT_INIT;
rl_estimate headerEstimate = RL_ESTIMATE_INIT;
rl_device headerDevice = RL_DEVICE_INIT;
