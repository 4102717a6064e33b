//===- Timing.h - Where the time of a compilation goes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TIMING_H
#define RINGLET_LIB_COMPILER_TIMING_H

#include "mlir/Support/Timing.h"

namespace ringlet {

/// Runs until it goes out of scope; measures nothing where nobody asks. Threads
/// may share `parent`, which outlives what they start.
inline mlir::TimingScope startTimer(mlir::TimingScope *parent,
                                    llvm::StringRef name) {
  return parent ? parent->nest(name) : mlir::TimingScope();
}

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TIMING_H
