//===- TextFuzzer.cpp - Any text against the compiler -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way of ringlet-compile from bytes to host plans, by the C API. A refusal
// says why; text that is too deep or too long for a parser is stopped by the
// guard, which is compiled into this program so that libFuzzer sees its paths.
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/TextGuard.h"
#include "ringlet-c/Compiler.h"

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto text = reinterpret_cast<const char *>(data);
  bool refused = ringlet::guardText({text, size}).has_value();
  rlc_options options = RLC_OPTIONS_INIT;
  options.emit = "rplan";
  rlc_result *result = nullptr;
  rlc_status status = rlc_compile(text, size, &options, &result);
  if (status != RLC_OK && status != RLC_REFUSED)
    std::abort();
  if (status == RLC_REFUSED && !*rlc_result_diagnostics(result))
    std::abort();
  if (refused && status == RLC_OK)
    std::abort();
  rlc_result_destroy(result);
  return 0;
}
