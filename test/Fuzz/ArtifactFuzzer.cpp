//===- ArtifactFuzzer.cpp - Damaged artefacts against the runtime -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is a payload. It gets a header with the right digest, which chance
// would never find, and goes the way of every artefact: what is accepted is
// looked at from end to end, and asked what a run would need. No code runs.
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/Container.h"
#include "ringlet/runtime.h"

#include <cstdlib>
#include <cstring>

using namespace ringlet;

/// Reads every byte, so that a sanitizer sees one that is not there.
static void touch(const char *text) {
  volatile size_t length = std::strlen(text);
  (void)length;
}

static void estimate(const rl_program *program, uint32_t entry,
                     const uint8_t *noise, size_t size) {
  int64_t sizes[64][RL_MAX_RANK];
  rl_tensor tensors[64] = {};
  uint32_t count = rl_program_argument_count(program, entry);
  if (count > 64)
    return;
  int64_t scalar = 0;
  for (uint32_t i = 0; i < count; ++i) {
    rl_argument argument = RL_ARGUMENT_INIT;
    if (rl_program_argument(program, entry, i, &argument) != RL_OK)
      std::abort();
    touch(argument.name);
    touch(argument.layout);
    for (int32_t axis = 0; axis < argument.rank; ++axis) {
      int64_t size_of = argument.sizes[axis];
      // Dynamic sizes come from the input, too.
      if (size_of == RL_DYNAMIC)
        size_of = size ? noise[(i * RL_MAX_RANK + axis) % size] : 1;
      sizes[i][axis] = size_of;
    }
    tensors[i] = RL_TENSOR_INIT(&scalar, argument.dtype, argument.rank,
                                sizes[i], nullptr);
  }
  rl_estimate needs = RL_ESTIMATE_INIT;
  (void)rl_program_estimate(program, entry, tensors, count, &needs);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> file = abi::makeContainer(data, size);
  rl_program *program = nullptr;
  rl_status status =
      rl_program_load(nullptr, file.data(), file.size(), &program);
  if ((status == RL_OK) != (program != nullptr))
    std::abort();
  if (!program)
    return 0;
  touch(rl_program_compiler(program));
  touch(rl_program_module_name(program));
  for (uint32_t i = 0; i < rl_program_target_count(program); ++i)
    touch(rl_program_target_name(program, i));
  for (uint32_t i = 0; i < rl_program_entry_count(program); ++i) {
    touch(rl_program_entry_name(program, i));
    touch(rl_program_explain(program, i));
    estimate(program, i, data, size);
  }
  rl_program_destroy(program);
  return 0;
}
