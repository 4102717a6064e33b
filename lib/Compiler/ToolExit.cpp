//===- ToolExit.cpp - How tools end ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/ToolExit.h"

#include "lib/Tensor/AtomicFile.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <unistd.h>

using namespace ringlet;

static bool isParsing = false;

/// What could not be written to standard output, or nothing.
static std::string flushOutput() {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  if (!out.has_error())
    return "";
  std::string error = "cannot write to stdout: " + out.error().message();
  out.clear_error();
  return error;
}

#ifdef __GLIBC__
static void atExit(int status, void *) {
  std::string error = flushOutput();
  if (!error.empty())
    llvm::errs() << "error: " << error << "\n";
  else if (!isParsing || status != kRefused)
    return;
  llvm::errs().flush();
  _exit(kUsageError);
}
#endif

ParsingOptions::ParsingOptions() {
#ifdef __GLIBC__
  // What is made first ends last.
  llvm::outs();
  llvm::errs();
  // The C++ library has no function that is told the status.
  static const int registered = on_exit(atExit, nullptr);
  (void)registered;
#endif
  isParsing = true;
}

ParsingOptions::~ParsingOptions() { isParsing = false; }

std::string ringlet::writeOutput(llvm::StringRef path,
                                 llvm::StringRef content) {
  if (path != "-")
    return writeFileAtomically(path.str(), {{content.data(), content.size()}});
  llvm::outs() << content;
  return flushOutput();
}
