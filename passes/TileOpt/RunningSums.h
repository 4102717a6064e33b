//===- RunningSums.h - The sums of a streaming softmax ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT_RUNNINGSUMS_H
#define RINGLET_PASSES_TILEOPT_RUNNINGSUMS_H

#include "passes/TileOpt/LoopRows.h"

#include <optional>
#include <string>

namespace ringlet {

/// Which values that loops carry are the state of a softmax: a reference, by
/// which weights are measured, and sums of weights, and of values times their
/// weights. Each step multiplies sums by 2^(exponent * (old - new reference)).
struct RunningSums {
  unsigned reference, sum, accumulator;
  double exponent;
};

/// Finds them in loops of any form, of which products may run late; or says in
/// `why` what is missing.
std::optional<RunningSums> matchRunningSums(const LoopRow &loops,
                                            std::string &why);

} // namespace ringlet

#endif // RINGLET_PASSES_TILEOPT_RUNNINGSUMS_H
