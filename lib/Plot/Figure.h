//===- Figure.h - Panels of an SVG ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A figure is a few panels of one size, each a drawing in a square with a
// title, labels of its axes and a legend. Text is grey and there is no
// background, so that a figure reads on a light page and on a dark one.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_PLOT_FIGURE_H
#define RINGLET_LIB_PLOT_FIGURE_H

#include <string>
#include <utility>
#include <vector>

namespace ringlet::plot {

/// Side of the square that a drawing has, in the units of the SVG.
inline constexpr double kSide = 256;

struct Panel {
  std::string title;
  std::string xLabel;
  /// Empty for a drawing without a second axis.
  std::string yLabel;
  /// SVG elements, in the square [0, kSide] x [0, kSide], y downwards.
  std::string body;
  /// Colour and meaning.
  std::vector<std::pair<std::string, std::string>> legend;
};

/// A complete SVG document.
std::string drawFigure(const std::string &title,
                       const std::vector<Panel> &panels);

/// `text` as the content of an XML element. Control characters, which XML
/// forbids, become question marks.
std::string escapeXML(const std::string &text);

/// A coordinate, with two digits at most: the same text on every machine.
std::string number(double value);

/// The colour of entry `index` of a legend; they repeat after eight.
const char *colour(size_t index);

} // namespace ringlet::plot

#endif // RINGLET_LIB_PLOT_FIGURE_H
