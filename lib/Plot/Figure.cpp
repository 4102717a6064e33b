//===- Figure.cpp - Panels of an SVG ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/Figure.h"

#include <algorithm>
#include <cmath>

namespace ringlet::plot {

namespace {

constexpr double kLeft = 40, kTop = 34, kLine = 15;
constexpr double kWidth = kLeft + kSide + 24;
constexpr size_t kPanelsOfRow = 3;

std::string textAt(double x, double y, const std::string &text,
                   const std::string &more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" +
         escapeXML(text) + "</text>\n";
}

double heightOf(const Panel &panel) {
  return kTop + kSide + 24 + kLine * static_cast<double>(panel.legend.size());
}

std::string drawPanel(const Panel &panel, double x, double y) {
  std::string out =
      "<g transform=\"translate(" + number(x) + " " + number(y) + ")\">\n";
  const double middle = kSide / 2;
  const std::string centred = " text-anchor=\"middle\"";
  out += textAt(middle, -10, panel.title, centred);
  out += textAt(middle, kSide + 16, panel.xLabel, centred);
  if (!panel.yLabel.empty())
    out += textAt(0, 0, panel.yLabel,
                  centred + " transform=\"translate(-10 " + number(middle) +
                      ") rotate(-90)\"");
  out += panel.body;
  double line = kSide + 20 + kLine;
  for (const auto &[fill, meaning] : panel.legend) {
    out += "<rect x=\"0\" y=\"" + number(line - 9) +
           "\" width=\"9\" height=\"9\" fill=\"" + fill + "\"/>\n";
    out += textAt(15, line, meaning);
    line += kLine;
  }
  return out + "</g>\n";
}

} // namespace

std::string escapeXML(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out;
}

std::string number(double value) {
  long hundredths = std::lround(value * 100);
  std::string out = hundredths < 0 ? "-" : "";
  hundredths = std::labs(hundredths);
  out += std::to_string(hundredths / 100);
  if (int rest = static_cast<int>(hundredths % 100)) {
    out += '.';
    out += static_cast<char>('0' + rest / 10);
    if (rest % 10)
      out += static_cast<char>('0' + rest % 10);
  }
  return out;
}

const char *colour(size_t index) {
  static const char *const colours[] = {"#4477aa", "#ee6677", "#228833",
                                        "#bb9922", "#55bbdd", "#aa3377",
                                        "#bb6633", "#777777"};
  return colours[index % std::size(colours)];
}

std::string drawFigure(const std::string &title,
                       const std::vector<Panel> &panels) {
  std::string body;
  double y = kLine + 9, width = kWidth;
  for (size_t first = 0; first < panels.size(); first += kPanelsOfRow) {
    size_t end = std::min(panels.size(), first + kPanelsOfRow);
    double height = 0;
    for (size_t i = first; i < end; ++i) {
      double x = kWidth * static_cast<double>(i - first);
      body += drawPanel(panels[i], x + kLeft, y + kTop);
      width = std::max(width, x + kWidth);
      height = std::max(height, heightOf(panels[i]));
    }
    y += height;
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
         number(width) + " " + number(y + 9) + "\" width=\"" + number(width) +
         "\" height=\"" + number(y + 9) +
         "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#808080\">\n"
         "<title>" +
         escapeXML(title) + "</title>\n" +
         textAt(width / 2, kLine, title,
                " text-anchor=\"middle\" font-weight=\"bold\"") +
         body + "</svg>\n";
}

} // namespace ringlet::plot
