//===- Format.h - Text with values in it --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_FORMAT_H
#define RINGLET_ABI_FORMAT_H

#include <fmt/core.h>
#include <string>

namespace ringlet {

/// fmt's vformat, whose code takes seconds to compile, in one file: of fmt
/// there are headers alone, so that nothing has to be installed where this
/// runs.
std::string formatText(fmt::string_view text, fmt::format_args arguments);

/// The text with arguments in the place of its `{}`, as fmt::format has it.
template <typename... Args>
std::string formatText(fmt::format_string<const Args &...> text,
                       const Args &...arguments) {
  return formatText(fmt::string_view(text),
                    fmt::format_args(fmt::make_format_args(arguments...)));
}

} // namespace ringlet

#endif // RINGLET_ABI_FORMAT_H
