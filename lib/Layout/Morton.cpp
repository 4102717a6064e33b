//===- Morton.cpp - Cells by interleaved coordinate bits --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"

#include <algorithm>
#include <map>

namespace ringlet::layout {
namespace {

/// The Morton code of a cell interleaves the bits of its coordinates, the last
/// axis lowest; the curve visits the cells of the grid by ascending code. On
/// sides that are no powers of two the codes have gaps, so the slot of a cell
/// is the number of cells with a smaller code.
///
/// Fixing the code's bits from the top halves a box of cells each time: the
/// half with the bit 0 comes first. Slot to cell and cell to slot both walk
/// down these halves and only need the number of existing cells of the lower
/// one, which is a box, too, cut off at the border of the grid.
class MortonCurve final : public Curve {
public:
  explicit MortonCurve(const std::vector<int64_t> &sides) : grid(sides) {
    for (int level = 62; level >= 0; --level)
      for (int a = 0; a < grid.axes(); ++a)
        // The bit is ever 1 only if the side reaches beyond its place.
        if ((grid.side[a] - 1) >> level)
          bits.push_back({a, int64_t(1) << level});
  }

  int64_t volume() const override { return grid.volume; }

  int64_t token(int64_t slot, int64_t count) const override {
    int64_t low = 0, extent[Grid::maxAxes];
    std::copy(grid.side.begin(), grid.side.end(), extent);
    for (const Bit &bit : bits) {
      if (extent[bit.axis] <= bit.place)
        continue; // The upper half lies outside of the grid.
      int64_t all = extent[bit.axis];
      extent[bit.axis] = bit.place;
      int64_t lower = existing(low, extent, count);
      if (slot >= lower) {
        slot -= lower;
        low += bit.place * grid.stride[bit.axis];
        extent[bit.axis] = all - bit.place;
      }
    }
    return low;
  }

  int64_t slot(int64_t token, int64_t count) const override {
    int64_t low = 0, result = 0, extent[Grid::maxAxes], x[Grid::maxAxes];
    for (int a = 0; a < grid.axes(); ++a) {
      extent[a] = grid.side[a];
      x[a] = token / grid.stride[a] % grid.side[a];
    }
    for (const Bit &bit : bits) {
      if (extent[bit.axis] <= bit.place)
        continue;
      int64_t all = extent[bit.axis];
      extent[bit.axis] = bit.place;
      if (x[bit.axis] & bit.place) {
        result += existing(low, extent, count);
        low += bit.place * grid.stride[bit.axis];
        extent[bit.axis] = all - bit.place;
      }
    }
    return result;
  }

  std::optional<IndexValue> arithmetic(IndexValue index, int64_t count,
                                       bool inverse) const override {
    if (count != grid.volume || !grid.hasBits())
      return std::nullopt;
    // Bits that move alike move together.
    std::map<int, int64_t> moves;
    auto place = static_cast<int>(bits.size());
    for (const Bit &bit : bits) {
      int code = --place;
      int token = exactLog2(bit.place) + exactLog2(grid.stride[bit.axis]);
      int from = inverse ? token : code, to = inverse ? code : token;
      moves[to - from] |= int64_t(1) << from;
    }
    IndexValue result = index & 0;
    for (auto [distance, mask] : moves) {
      IndexValue part = index & mask;
      result = result + (distance < 0 ? part >> -distance : part << distance);
    }
    return result;
  }

  void fill(int64_t *out, int64_t count, int64_t base) const override {
    int64_t extent[Grid::maxAxes];
    std::copy(grid.side.begin(), grid.side.end(), extent);
    visit(out, count, base, 0, extent, bits.begin());
  }

private:
  struct Bit {
    int axis;
    int64_t place;
  };
  using BitIterator = std::vector<Bit>::const_iterator;

  int64_t existing(int64_t low, const int64_t *extent, int64_t count) const {
    return cellsBelow(grid.axes(), grid.stride.data(), extent, count - low);
  }

  /// Writes the existing cells of the box at `low` by ascending code. `low` is
  /// the lowest number in the box, so no cell exists if that one does not.
  void visit(int64_t *&out, int64_t count, int64_t base, int64_t low,
             int64_t *extent, BitIterator bit) const {
    if (low >= count)
      return;
    while (bit != bits.end() && extent[bit->axis] <= bit->place)
      ++bit;
    if (bit == bits.end()) {
      *out++ = base + low;
      return;
    }
    int64_t all = extent[bit->axis];
    extent[bit->axis] = bit->place;
    visit(out, count, base, low, extent, bit + 1);
    extent[bit->axis] = all - bit->place;
    visit(out, count, base, low + bit->place * grid.stride[bit->axis], extent,
          bit + 1);
    extent[bit->axis] = all;
  }

  Grid grid;
  /// The bits of the code from the top.
  std::vector<Bit> bits;
};

} // namespace

std::unique_ptr<Curve> createMorton(const OrderSpec &spec, std::string &) {
  return std::make_unique<MortonCurve>(spec.grid);
}

} // namespace ringlet::layout
