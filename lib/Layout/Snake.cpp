//===- Snake.cpp - Row by row, every other row backwards --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"

namespace ringlet::layout {
namespace {

/// The boustrophedon of any number of axes, unit steps everywhere.
///
/// Each layer along the slowest axis is walked like the one before it, but in
/// the opposite sense, so that it starts beside the cell where that one ended.
/// An axis is thus walked backwards exactly if the walk has made an odd number
/// of steps over the slower axes. Since it makes unit steps there, too, that
/// is the parity of the sum of the slower coordinates, which both directions
/// of the mapping know when they get to the axis.
///
/// The existing tokens of a short period are, inside any layer, again a
/// prefix of the layer's numbering: some whole layers, then a partial one.
/// `limit` is their number in the layer at hand; `whole` once it is full.
class SnakeCurve final : public Curve {
public:
  explicit SnakeCurve(const std::vector<int64_t> &sides) : grid(sides) {}

  int64_t volume() const override { return grid.volume; }

  int64_t token(int64_t slot, int64_t count) const override {
    bool whole = count == grid.volume, backward = false;
    int64_t limit = count, result = 0;
    for (int a = 0; a < grid.axes(); ++a) {
      int64_t layer = grid.stride[a], x;
      if (whole) {
        x = backward ? grid.side[a] - 1 - slot / layer : slot / layer;
        slot %= layer;
      } else {
        int64_t full = limit / layer, rest = limit % layer;
        // Slots of this axis in walking order: the whole layers, then the
        // partial one, or the other way round.
        int64_t beforeWhole = backward ? rest : 0;
        whole = slot >= beforeWhole && slot - beforeWhole < full * layer;
        if (whole) {
          slot -= beforeWhole;
          x = backward ? full - 1 - slot / layer : slot / layer;
          slot %= layer;
        } else {
          slot -= backward ? 0 : full * layer;
          x = full;
          limit = rest;
        }
      }
      result += x * layer;
      backward ^= x & 1;
    }
    return result;
  }

  int64_t slot(int64_t token, int64_t count) const override {
    bool whole = count == grid.volume, backward = false;
    int64_t limit = count, result = 0;
    for (int a = 0; a < grid.axes(); ++a) {
      int64_t layer = grid.stride[a], x = token / layer;
      token %= layer;
      if (whole) {
        result += (backward ? grid.side[a] - 1 - x : x) * layer;
      } else {
        int64_t full = limit / layer, rest = limit % layer;
        whole = x < full;
        if (whole)
          result += backward ? rest + (full - 1 - x) * layer : x * layer;
        else
          result += backward ? 0 : full * layer;
        limit = rest;
      }
      backward ^= x & 1;
    }
    return result;
  }

  /// Backwards is with all bits of the coordinate turned over.
  std::optional<IndexValue> arithmetic(IndexValue index, int64_t count,
                                       bool inverse) const override {
    if (count != grid.volume || !grid.hasBits())
      return std::nullopt;
    IndexValue result = index & 0, backward = result;
    for (int a = 0; a < grid.axes(); ++a) {
      int64_t field = (grid.side[a] - 1) * grid.stride[a];
      IndexValue from = index & field, to = from ^ (spread(backward) & field);
      result = result + to;
      backward =
          backward ^ (((inverse ? from : to) >> exactLog2(grid.stride[a])) & 1);
    }
    return result;
  }

private:
  Grid grid;
};

} // namespace

std::unique_ptr<Curve> createSnake(const OrderSpec &spec, std::string &) {
  return std::make_unique<SnakeCurve>(spec.grid);
}

} // namespace ringlet::layout
