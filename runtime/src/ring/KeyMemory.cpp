//===- ring/KeyMemory.cpp - The memory that keys travel in ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyMemory.h"

#include <cstdlib>
#include <cstring>

namespace ringlet::rt::ring {

Status takeBytes(Context &context, uint64_t bytes) {
  Account &account = context.account;
  if (account.take(bytes))
    return {};
  return failure(RL_OUT_OF_MEMORY, "keys of other ranks need ", bytes,
                 " bytes, the memory limit is ", account.maximum(),
                 ", of which ", account.used(), " are in use");
}

Status HostKeys::allocate(size_t bytes, char *&block) {
  if (context)
    RL_TRY(takeBytes(*context, bytes));
  void *memory = nullptr;
  if (::posix_memalign(&memory, 128, bytes) != 0) {
    if (context)
      context->account.give(bytes);
    return failure(RL_OUT_OF_MEMORY, "the system refuses ", bytes, " bytes");
  }
  block = static_cast<char *>(memory);
  return {};
}

void HostKeys::release(char *block, size_t bytes) {
  std::free(block);
  if (context)
    context->account.give(bytes);
}

Status HostKeys::copy(const RowCopy &rows) {
  for (int64_t head = 0; head < rows.heads; ++head) {
    char *to = rows.to + head * rows.toHead;
    for (int64_t i = 0; i < rows.count; ++i) {
      const char *from = rows.from + head * rows.fromHead + i * rows.fromStride;
      for (int64_t k = 0; k < rows.run;
           ++k, to += rows.toStep, from += rows.fromStep)
        std::memcpy(to, from, rows.bytes);
    }
  }
  return {};
}

} // namespace ringlet::rt::ring
