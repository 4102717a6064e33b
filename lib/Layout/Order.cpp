//===- Order.cpp - Orders of the tokens of a sequence -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Order.h"
#include "lib/Layout/Dilation.h"
#include "lib/Layout/Grid.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace ringlet;
using namespace ringlet::layout;

static std::string text(int64_t value) { return std::to_string(value); }

/// "a, b or c": the curves for which `use` of their row is not Refused.
static std::string curvesWith(Use CurveRow::*use) {
  std::string result;
  for (const CurveRow &row : curveRows())
    if (row.*use != Use::Refused)
      result += (result.empty() ? "" : " or ") + std::string(row.name);
  return result;
}

static std::string allCurves() {
  std::string result;
  for (const CurveRow &row : curveRows())
    result += (result.empty() ? "" : ", ") + std::string(row.name);
  return result;
}

/// Checks one parameter against the row's use of it.
static std::string checkUse(const CurveRow &row, Use CurveRow::*use, bool given,
                            const char *what, const std::string &found,
                            const char *example) {
  if (row.*use == Use::Required && !given)
    return std::string("expected ") + what + " for the curve " + row.name +
           " (O1), found none; nearest legal choice: " + example;
  if (row.*use == Use::Refused && given)
    return std::string("expected no ") + what + " for the curve " + row.name +
           " (O1), found " + found +
           "; nearest legal choice: leave it out, or " + curvesWith(use);
  return {};
}

/// The first thing wrong with `spec` that needs no curve to see.
static std::string checkSpec(const OrderSpec &spec) {
  const CurveRow *row = findCurve(spec.curve);
  if (!row)
    return "expected one of the curves " + allCurves() + " (O1), found " +
           quoted(spec.curve) +
           "; nearest legal choice: " + nearestCurve(spec.curve).name;
  if (spec.rate < 0)
    return formatText(
        "expected a rate of at least 1 (O1), found {}; nearest legal choice: 1",
        spec.rate);
  if (spec.chunk < 0)
    return formatText("expected a chunk of at least 1 token (O1), found {}; "
                      "nearest legal choice: 1, or no chunk",
                      spec.chunk);
  std::string error = checkUse(*row, &CurveRow::rate, spec.rate != 0, "rate",
                               text(spec.rate), "rate 1, the linear order");
  if (error.empty())
    error = checkUse(*row, &CurveRow::grid, !spec.grid.empty(), "grid",
                     describe(spec.grid),
                     "the sides of the token grid, slowest first, or the curve "
                     "linear");
  if (error.empty())
    error = checkUse(*row, &CurveRow::table, !spec.table.empty(), "table",
                     describe(spec.table),
                     "one entry per token, or the curve linear");
  if (!error.empty())
    return error;
  for (size_t a = 0; a < spec.grid.size(); ++a)
    if (spec.grid[a] < 1)
      return formatText("expected sides of at least 1 (O1), found side {} = {} "
                        "in grid {}; nearest legal choice: 1",
                        a, spec.grid[a], describe(spec.grid));
  if (!gridVolume(spec.grid))
    return formatText(
        "expected a grid of at most {} cells (O1), found {}; nearest legal "
        "choice: smaller sides whose product is the chunk or the length",
        std::numeric_limits<int64_t>::max(), describe(spec.grid));
  return {};
}

std::shared_ptr<const Order> ringlet::layout::makeOrder(const OrderSpec &spec,
                                                        std::string *error) {
  std::string message = checkSpec(spec);
  std::unique_ptr<Curve> curve;
  if (message.empty())
    curve = findCurve(spec.curve)->create(spec, message);
  if (curve && curve->volume() && spec.chunk && spec.chunk != curve->volume()) {
    message =
        formatText("expected a chunk of the volume of {} (O1), found chunk = "
                   "{} for volume {}; nearest legal choice: chunk = {}",
                   spec.grid.empty() ? std::string("the table")
                                     : "grid " + describe(spec.grid),
                   spec.chunk, curve->volume(), curve->volume());
    curve = nullptr;
  }
  if (!curve) {
    if (error)
      *error = std::move(message);
    return nullptr;
  }
  return std::shared_ptr<const Order>(new Order(spec, std::move(curve)));
}

Order::Order(OrderSpec spec, std::unique_ptr<const Curve> curve)
    : description(std::move(spec)), curve(std::move(curve)) {
  restart = description.chunk ? description.chunk : this->curve->volume();
  const std::vector<int64_t> &table = description.table;
  // A grid with one side above 1 is a line, which every curve walks straight.
  bool line = !description.grid.empty() && Grid(description.grid).axes() <= 1;
  if (table.empty())
    identity = description.curve == "linear" || description.rate == 1 || line;
  else
    identity = std::is_sorted(table.begin(), table.end());
}

std::string Order::validate(int64_t length) const {
  if (length < 0)
    return formatText("expected a length of at least 0 tokens, found {}; "
                      "nearest legal choice: 0",
                      length);
  int64_t volume = curve->volume();
  if (description.chunk || !volume || length == volume)
    return {};
  std::string message = formatText(
      "expected a length of {}, the volume of {} (O1), found {}; nearest legal "
      "choice: chunk = {}",
      volume,
      description.grid.empty() ? std::string("the table")
                               : "grid " + describe(description.grid),
      length, volume);
  // A grid that differs in its slowest side only may fit.
  if (!description.grid.empty() && description.table.empty() && length > 0) {
    std::vector<int64_t> fitting = description.grid;
    int64_t layer = volume / fitting[0];
    if (length % layer == 0) {
      fitting[0] = length / layer;
      message += ", or grid " + describe(fitting);
    }
  }
  return message;
}

int64_t Order::token(int64_t slot, int64_t length) const {
  if (slot < 0 || slot >= length)
    return -1;
  if (!restart)
    return curve->token(slot, length);
  int64_t inside = slot % restart, base = slot - inside;
  return base + curve->token(inside, std::min(restart, length - base));
}

int64_t Order::slot(int64_t token, int64_t length) const {
  if (token < 0 || token >= length)
    return -1;
  if (!restart)
    return curve->slot(token, length);
  int64_t inside = token % restart, base = token - inside;
  return base + curve->slot(inside, std::min(restart, length - base));
}

std::optional<int64_t> Order::slotStep(int64_t step) const {
  return identity ? step : curve->slotStep(step);
}

std::optional<int64_t> Order::rowStep(int64_t segment, int64_t rate,
                                      bool atTokenZero) const {
  bool staysInPeriod =
      identity || restart == 0 ||
      (segment != unboundedSegment && restart % segment == 0 && atTokenZero);
  return staysInPeriod ? slotStep(rate) : std::nullopt;
}

std::optional<IndexProgram> Order::arithmetic(bool inverse) const {
  if (exactLog2(restart) < 0)
    return std::nullopt;
  IndexBuilder builder;
  IndexValue index = builder.input();
  IndexValue inside = index & (restart - 1);
  std::optional<IndexValue> moved = curve->arithmetic(inside, restart, inverse);
  if (!moved)
    return std::nullopt;
  return builder.finish((index ^ inside) + *moved);
}

std::vector<int64_t> Order::permutation(int64_t length,
                                        std::string *error) const {
  std::string message = validate(length);
  if (message.empty() && length > longestPermutation)
    message = formatText("expected a permutation of at most {} tokens, found "
                         "{}; nearest legal choice: compute single slots",
                         longestPermutation, length);
  if (!message.empty()) {
    if (error)
      *error = std::move(message);
    return {};
  }
  std::vector<int64_t> result(length);
  int64_t step = restart ? restart : std::max<int64_t>(length, 1);
  for (int64_t base = 0; base < length; base += std::min(step, length - base))
    curve->fill(result.data() + base, std::min(step, length - base), base);
  return result;
}

std::string Order::validatePattern(int64_t maxPosition) const {
  // Without grid or table, the identity counts along the token index, as no
  // pattern order at all does, and needs no volume for it.
  if (identity && description.grid.empty() && description.table.empty())
    return {};
  if (restart && restart > maxPosition)
    return {};
  std::string need = maxPosition < std::numeric_limits<int64_t>::max()
                         ? text(std::max<int64_t>(maxPosition, 0) + 1)
                         : "none, as no volume exceeds that position";
  if (!restart)
    return "expected a pattern order with a volume (O2), found " +
           describe(description) + "; nearest legal choice: chunk = " + need;
  return formatText(
      "expected a pattern order whose volume exceeds every position (O2), "
      "found volume {} of {} for position {}; nearest legal choice: volume {}",
      restart, describe(description), maxPosition, need);
}

int64_t Order::ordinal(int64_t position) const {
  if (!restart || position < 0 || position >= restart)
    return position;
  return curve->slot(position, restart);
}

bool ringlet::layout::areEqual(const std::shared_ptr<const Order> &a,
                               const std::shared_ptr<const Order> &b) {
  return a == b || (a && b && a->spec() == b->spec());
}

std::vector<int64_t>
ringlet::layout::invert(const std::vector<int64_t> &tokens) {
  std::vector<int64_t> slots(tokens.size());
  for (size_t slot = 0; slot < tokens.size(); ++slot)
    slots[size_t(tokens[slot])] = int64_t(slot);
  return slots;
}
