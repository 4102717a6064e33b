//===- FakeCalls.h - What functions of the fake share ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_FAKECALLS_H
#define RINGLET_TEST_UNIT_RUNTIME_FAKECALLS_H

#include "FakeCuda.h"

#include "runtime/src/cuda/Types.h"

namespace ringlet::test {

extern FakeCuda fake;
inline void *const theContext = &fake;
inline constexpr rt::cuda::Result invalidValue = 1, captureUnsupported = 900;

/// Writes the call down; true if it is to fail with `code`.
bool fails(const char *symbol, rt::cuda::Result &code);
/// While a stream is captured, only a relaxed thread may allocate and wait.
bool forbidden();
/// Writes down a piece of work and what comes before it.
void queue(const std::string &what, void *stream);

} // namespace ringlet::test

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALL(symbol)                                                           \
  do {                                                                         \
    if (Result code; fails(symbol, code))                                      \
      return code;                                                             \
  } while (false)
/// As CALL, and the device must be current.
#define CALL_IN_CONTEXT(symbol)                                                \
  CALL(symbol);                                                                \
  if (fake.current.empty() || fake.current.back() != theContext)               \
  return 201

#endif // RINGLET_TEST_UNIT_RUNTIME_FAKECALLS_H
