//===- SafetensorsFuzzer.cpp - Damaged safetensors files -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the reader accepts, it must be able to write, and read again as it was.
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Safetensors.h"

#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace ringlet;

static std::string memoryFile(const void *data, size_t size) {
  static int file = memfd_create("input", 0);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, data, size, 0) != ssize_t(size))
    std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string error;
  std::optional<Safetensors> read =
      readSafetensors(memoryFile(data, size), &error);
  if (read.has_value() == !error.empty())
    std::abort();
  if (!read)
    return 0;
  static const std::string path =
      "/tmp/ringlet-fuzz-" + std::to_string(getpid()) + ".safetensors";
  std::string failure;
  if (!writeSafetensors(path, *read, &failure))
    std::abort();
  std::optional<Safetensors> again = readSafetensors(path, &failure);
  unlink(path.c_str());
  if (!again || again->tensors.size() != read->tensors.size() ||
      again->metadata != read->metadata)
    std::abort();
  return 0;
}
