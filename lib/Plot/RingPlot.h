//===- RingPlot.h - Who sends what to whom, and when ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_PLOT_RINGPLOT_H
#define RINGLET_LIB_PLOT_RINGPLOT_H

#include "lib/Plot/Figure.h"
#include "ringlet/abi/ring/Schedule.h"

namespace ringlet::plot {

/// The most ranks that a picture of a ring shows.
inline constexpr int64_t kMostRanks = 64;

/// Forward, of a schedule that is valid and has at most kMostRanks ranks:
///  * a lane for each rank and a column for each step; in it a bar in the
///    colour of the rank whose keys are computed with, as high as the work is,
///    and a line for each message, from the step in which it may start on the
///    lane of its sender to the step that it is for, as wide as it is large;
///  * a matrix of who receives how much of whose keys.
std::vector<Panel> plotRing(const ring::Schedule &schedule);

} // namespace ringlet::plot

#endif // RINGLET_LIB_PLOT_RINGPLOT_H
