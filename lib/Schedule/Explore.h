//===- Explore.h - Every state that a machine can reach -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_SCHEDULE_EXPLORE_H
#define RINGLET_LIB_SCHEDULE_EXPLORE_H

#include "lib/Schedule/Machine.h"

#include <cstdint>
#include <optional>

namespace ringlet::schedule {

struct Exploration {
  /// One that needs the fewest decisions, if there is any.
  std::optional<Fault> fault;
  uint64_t states = 0; ///< different ones at which something was decided
  uint64_t steps = 0;  ///< that were run in all
};

/// Looks for a fault in every run of `machine`, however often its loops run.
///
/// Between two decisions, what programs do does not depend on who is faster: a
/// channel has one writer and one reader, so a step that can run stays able to
/// run until its own program runs it. One order of steps therefore stands for
/// all of them, and only outcomes of decisions branch. States are compared, so
/// loops that come back to a state end the search: the result holds for any
/// number of their steps.
///
/// Gives up with FaultKind::TooManyStates after `maxStates`.
Exploration explore(const Machine &machine, uint64_t maxStates);

} // namespace ringlet::schedule

#endif // RINGLET_LIB_SCHEDULE_EXPLORE_H
