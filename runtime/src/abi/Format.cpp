//===- Format.cpp - Text with values in it ------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define FMT_HEADER_ONLY
#include "ringlet/abi/Format.h"

#include <fmt/format.h>

std::string ringlet::formatText(fmt::string_view text,
                                fmt::format_args arguments) {
  return fmt::vformat(text, arguments);
}
