//===- StandardOutput.h - What was written has to arrive --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_STANDARDOUTPUT_H
#define RINGLET_LIB_TENSOR_STANDARDOUTPUT_H

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace ringlet {

/// Where something that stdio wrote to standard output gets lost, as on a full
/// disk, the process says so when it ends, and its status is 2, as of any file
/// that cannot be written. To be called once, at the begin of main.
inline void requireStandardOutput() {
  std::atexit([] {
    bool hadFailed = std::ferror(stdout) != 0;
    errno = 0;
    if (std::fflush(stdout) == 0 && !hadFailed)
      return;
    // Of a failure before there is no reason left.
    const char *reason = errno ? std::strerror(errno) : "output was lost";
    std::fprintf(stderr, "error: cannot write to stdout: %s\n", reason);
    std::fflush(stderr);
    _exit(2);
  });
}

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_STANDARDOUTPUT_H
