//===- HeaderTest.c - The runtime's header in strict C11 ---*- C -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled with -std=c11 -Wall -Wextra -pedantic -Werror; so is HeaderTest.cpp
// with -std=c++17.
//
//===----------------------------------------------------------------------===//

#include <ringlet/runtime.h>

int runtimeHeaderInC(void);

int runtimeHeaderInC(void) {
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  rl_stats stats = RL_STATS_INIT;
  rl_argument argument = RL_ARGUMENT_INIT;
  rl_estimate estimate = RL_ESTIMATE_INIT;
  rl_device device = RL_DEVICE_INIT;
  uint32_t devices = 0;
  rl_context *context = NULL;
  rl_program *program = NULL;
  int64_t sizes[2] = {2, 3};
  float data[6] = {0};
  rl_tensor tensor = RL_TENSOR_INIT(data, RL_F32, 2, sizes, NULL);
  rl_run run = RL_RUN_INIT;
  rl_allocator allocator = RL_ALLOCATOR_INIT;
  rl_version version = rl_abi_version();

  options.threads = 2;
  options.allocator = &allocator;
  if (version.major != RL_ABI_MAJOR || version.minor != RL_ABI_MINOR)
    return 1;
  if (rl_context_create(&options, &context) != RL_OK)
    return 2;
  if (rl_context_stats(context, &stats) != RL_OK || stats.threads != 2)
    return 3;
  if (rl_program_load(context, "nonsense", 8, &program) != RL_BAD_ARTIFACT ||
      program != NULL || rl_last_error()[0] == '\0')
    return 4;
  if (rl_program_argument(program, 0, 0, &argument) != RL_INVALID_ARGUMENT ||
      rl_program_estimate(program, 0, &tensor, 1, &estimate) !=
          RL_INVALID_ARGUMENT ||
      rl_program_run(program, 0, &tensor, 1) != RL_INVALID_ARGUMENT ||
      rl_program_enqueue(program, 0, &tensor, 1, &run) != RL_INVALID_ARGUMENT)
    return 5;
  if (rl_context_check(context) != RL_OK)
    return 7;
  if (rl_context_set_log(context, RL_LOG_ERROR, NULL, NULL) != RL_OK)
    return 8;
  if (rl_device_count("cpu", &devices) != RL_OK || devices != 1 ||
      rl_device_describe(NULL, 0, &device) != RL_OK ||
      device.architecture[0] == '\0' ||
      rl_device_describe("cpu", 1, &device) != RL_INVALID_ARGUMENT)
    return 6;
  rl_program_destroy(program);
  rl_context_destroy(context);
  return 0;
}
