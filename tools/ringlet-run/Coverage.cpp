//===- Coverage.cpp - Whether all of an output is written ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element that two runs leave as it was, over two patterns that differ in
// every bit, is written by no kernel: results are the same in both runs, or at
// least not one pattern in one and the other in the other.
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/Format.h"
#include "tools/ringlet-run/Session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace ringlet;
using namespace ringlet::run;

static constexpr unsigned char kPatterns[] = {0xa5, 0x5a};

bool Session::runOver(unsigned char pattern) {
  for (size_t i = inputCount; i < tensors.size(); ++i)
    std::memset(tensors[i].data(), pattern, size_t(tensors[i].bytes()));
  for (const DeviceMemory &memory : placed)
    if (memory.argument() >= inputCount &&
        rl_memory_copy(context.get(), memory.data(),
                       tensors[memory.argument()].data(), memory.bytes(),
                       RL_TO_DEVICE) != RL_OK)
      return failRuntime("cannot place '" + names[memory.argument()] +
                         "' on the device");
  if (ring->isAsked()) {
    std::string error = ring->run(tensors, inputCount, /*repeat=*/1);
    return error.empty() || fail(kRefused, error);
  }
  if (rl_program_run(program.get(), entry, bound.data(),
                     uint32_t(bound.size())) != RL_OK)
    return failRuntime("");
  return fetchOutputs();
}

std::string run::describeIndex(int64_t number, const Shape &shape) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    text = formatText("{}{}{}", number % shape[axis], text.empty() ? "" : ", ",
                      text);
  return formatText("[{}]", text);
}

bool Session::checkWritten(bool &all) {
  all = true;
  if (!runOver(kPatterns[0]))
    return false;
  std::vector<std::vector<unsigned char>> before;
  for (size_t i = inputCount; i < tensors.size(); ++i) {
    auto *bytes = static_cast<const unsigned char *>(tensors[i].data());
    before.emplace_back(bytes, bytes + tensors[i].bytes());
  }
  if (!runOver(kPatterns[1]))
    return false;
  for (size_t i = inputCount; i < tensors.size(); ++i) {
    const Tensor &tensor = tensors[i];
    int64_t size = sizeOf(tensor.dtype());
    const unsigned char *first = before[i - inputCount].data();
    auto *second = static_cast<const unsigned char *>(tensor.data());
    auto has = [&](const unsigned char *bytes, unsigned char pattern) {
      return std::all_of(bytes, bytes + size,
                         [=](unsigned char byte) { return byte == pattern; });
    };
    int64_t count = tensor.bytes() / size, left = 0, where = 0;
    for (int64_t at = 0; at < count; ++at)
      if (has(second + at * size, kPatterns[1]) &&
          has(first + at * size, kPatterns[0]) && left++ == 0)
        where = at;
    if (left == 0)
      continue;
    all = false;
    std::printf("check      %s: %lld of %lld elements are written by no "
                "kernel, the first at %s: FAILED\n",
                names[i].c_str(), static_cast<long long>(left),
                static_cast<long long>(count),
                describeIndex(where, tensor.shape()).c_str());
  }
  return true;
}
