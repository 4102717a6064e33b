//===- Options.h - Command line of ringlet-run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_OPTIONS_H
#define RINGLET_TOOLS_RINGLET_RUN_OPTIONS_H

#include <cstdint>
#include <string>

namespace ringlet::run {

/// What the process returns; `--help` says the same.
enum ExitCode {
  kOk = 0,
  kCheckFailed = 1,
  kBadUsage = 2,
  kRefused = 3,
  kNotCheckable = 4,
};

struct Options {
  std::string artifact;
  std::string in;
  std::string out;
  std::string entry;
  std::string target; // Empty: the best that the device runs.
  std::string driver;
  uint32_t device = 0;
  bool hasDevice = false; // It was asked for.
  uint32_t threads = 0;
  uint32_t repeat = 1;
  /// Seconds that a check may take before rows are sampled.
  double checkSeconds = 10;
  /// Of a ring of threads here; 0: none, or this process is one of torchrun's.
  int64_t ranks = 0;
  std::string trace, plot, transport;
  /// The ringlet-interpret to use; empty: to be found.
  std::string interpreter;
  bool check = false;
  bool explain = false;
  bool listDevices = false;
};

/// Reads the command line. Returns true to go on; otherwise `exitCode` is set
/// and all has been said: help, version or an error.
bool parseOptions(int argc, char **argv, Options &options, int &exitCode);

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_OPTIONS_H
