//===- RunTool.h - Programs that make a file of a file ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linker and ptxas run as child processes: a fault of theirs is an error of
// ours, and nothing of them is linked.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_RUNTOOL_H
#define RINGLET_LIB_COMPILER_RUNTOOL_H

#include "lib/Compiler/BuiltinLinker.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ringlet {

/// The program that an option names. `role` is for the message: "the linker".
llvm::Expected<std::string> findNamedTool(llvm::StringRef role,
                                          llvm::StringRef option);

/// A run of `program options... -o OUTPUT INPUT` in a folder of its own.
struct ToolRun {
  llvm::StringRef program;
  llvm::ArrayRef<llvm::StringRef> options;
  /// What the files are called, which messages of the program may quote.
  llvm::StringRef inputName, outputName;
  /// It is ended after that time.
  unsigned seconds;
  /// What `program` would do, in this process; it takes no time limit.
  decltype(&ringlet_link_with_lld) builtin = nullptr;
};

struct ToolResult {
  /// Of the output file.
  std::string content;
  /// What the program said.
  std::string messages;
};

llvm::Expected<ToolResult> runTool(const ToolRun &run, llvm::StringRef input);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_RUNTOOL_H
