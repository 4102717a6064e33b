//===- Curve.h - Space-filling curves and their registry --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A curve visits the tokens of one period, once each. To add one: write one
// class in one .cpp with a create function, and one row in Curves.def.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_CURVE_H
#define RINGLET_LIB_LAYOUT_CURVE_H

#include "lib/Layout/IndexProgram.h"
#include "lib/Layout/OrderSpec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::layout {

/// One curve on one period of tokens. Its const members may be called from
/// several threads at once.
///
/// A period may be short: only its tokens [0, count) exist. The curve then
/// visits those in the order in which the whole curve would (O1, the tail).
/// All of token, slot and fill take that count, and agree with each other.
class Curve {
public:
  virtual ~Curve() = default;

  /// The tokens of a whole period, or 0 for a curve that fits any count.
  virtual int64_t volume() const { return 0; }

  /// The token at `slot`. Needs 0 <= slot < count, and count <= volume()
  /// where the curve has one.
  virtual int64_t token(int64_t slot, int64_t count) const = 0;

  /// The exact inverse: the slot of `token`, for 0 <= token < count.
  virtual int64_t slot(int64_t token, int64_t count) const = 0;

  /// How many slots apart tokens lie that are `step` apart, for step > 0, if
  /// that is the same for all of them, at any count; else nothing.
  virtual std::optional<int64_t> slotStep(int64_t) const {
    return std::nullopt;
  }

  /// token() of any slot below `count` or, inverse, slot() of any token, as
  /// arithmetic on `index`; nothing where the curve has none for that count.
  virtual std::optional<IndexValue> arithmetic(IndexValue index, int64_t count,
                                               bool inverse) const {
    (void)index, (void)count, (void)inverse;
    return std::nullopt;
  }

  /// Writes base + token(m, count) to out[m] for all m < count, in near
  /// linear time.
  virtual void fill(int64_t *out, int64_t count, int64_t base) const;
};

/// Whether a curve takes one of the parameters of OrderSpec.
enum class Use { Refused, Optional, Required };

/// One row of the registry.
struct CurveRow {
  const char *name;
  Use grid;
  Use rate;
  Use table;
  /// Makes the curve. The caller has checked the uses above, that the grid has
  /// a volume and that rate and chunk are not negative; the rest is judged
  /// here. On refusal: null, and the reason in `error`.
  std::unique_ptr<Curve> (*create)(const OrderSpec &spec, std::string &error);
};

/// All curves, in the order of Curves.def.
const std::vector<CurveRow> &curveRows();

/// The row of `name`, or null.
const CurveRow *findCurve(const std::string &name);

/// The row whose name takes the fewest single-letter edits to reach from
/// `name`: what someone who mistyped probably meant.
const CurveRow &nearestCurve(const std::string &name);

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_CURVE_H
