//===- ToolExit.h - How tools end ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TOOLEXIT_H
#define RINGLET_LIB_COMPILER_TOOLEXIT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ringlet {

/// Exit status of tools: the input was refused; a file cannot be read or
/// written, or an option is wrong.
inline constexpr int kRefused = 1;
inline constexpr int kUsageError = 2;

/// While one lives, LLVM's parser of options, which ends the process with 1
/// where one is wrong, ends it with `kUsageError`. Once there was one, so does
/// what cannot be written to standard output, with a message.
class ParsingOptions {
public:
  ParsingOptions();
  ~ParsingOptions();
  ParsingOptions(const ParsingOptions &) = delete;
  ParsingOptions &operator=(const ParsingOptions &) = delete;
};

/// Writes a whole file or, where that fails, leaves what there was and returns
/// what went wrong. "-" is standard output.
std::string writeOutput(llvm::StringRef path, llvm::StringRef content);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TOOLEXIT_H
