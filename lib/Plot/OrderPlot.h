//===- OrderPlot.h - An order as a curve ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_PLOT_ORDERPLOT_H
#define RINGLET_LIB_PLOT_ORDERPLOT_H

#include "lib/Layout/Order.h"
#include "lib/Plot/Figure.h"

namespace ringlet::plot {

/// The most tokens that a picture or a line of text shows of one order.
inline constexpr int64_t kMostTokens = 65536;

/// The number of slots that show `order`: its period, else `length`, which is
/// 0 where nothing says it. Returns 0, with what to write instead in `error`,
/// if that is unknown or more than kMostTokens.
int64_t slotsToShow(const layout::Order &order, int64_t length,
                    std::string &error);

/// Draws one period of `order` on its grid, of two or three sides above 1; an
/// order without a grid lies on a row, with arcs over steps forward and under
/// steps back. False, with the reason in `error`, if it cannot be drawn.
bool plotOrder(const layout::Order &order, int64_t length, Panel &panel,
               std::string &error);

} // namespace ringlet::plot

#endif // RINGLET_LIB_PLOT_ORDERPLOT_H
