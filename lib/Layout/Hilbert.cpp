//===- Hilbert.cpp - Hilbert-like curves on any grid ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The idea of the Hilbert curve that carries over to any rectangle: a block is
// crossed from one corner to the other end of one of its edges, its major
// edge, by crossing a few smaller blocks in the same manner, of which each
// starts beside the end of the one before. (Known for rectangles as the
// generalised Hilbert or "gilbert" curve.) Only the cuts are ours to choose,
// and they decide whether all steps are unit steps.
//
// Colour the cells like a chessboard. A path of unit steps through n cells
// ends on the colour of its start exactly if n is odd, and the two ends of an
// edge of a cells have equal colour exactly if a is odd. So a block is
// *possible* only if
//
//   (P)  its major edge is even, or all its edges are odd,
//
// and, as the two ends must differ unless the block is one cell,
//
//   (Q)  its major edge is longer than 1, or all its edges are 1.
//
// Below, a is the major edge, b and c the others, and every cut of a possible
// block gives possible blocks, down to straight lines. The root obeys (P) and
// (Q) if its major edge is the longest even one, else the longest. Hence all
// steps are unit steps, on each 2-D and 3-D grid whatsoever.
//
// Cuts, with h(n) an even number near n / 2 that leaves a rest for n >= 3:
//
//  * halves: a = a1 + a2. Even a gives two even edges; odd a (then b and c are
//    odd) gives a block of odd edges and one with even a.
//  * U in the plane of a and b: up an edge of b1, across a, down b1. With
//    b1 = h(b), the way up and the way down are possible, (P) being met by b1
//    alone. The way across keeps a, and where a is odd so is b - b1.
//  * bracket: up b1, along c, across a, back along c, down b1. Up and down are
//    possible by an even b1. Along c, the edges are (c; a1; b - b1): possible
//    if c is even, or if a1 and b - b1 are odd, too. Across, (a; b1; c - c1)
//    is possible if a is even. So the bracket is only for even a: with one
//    more even edge, which becomes c, or with b and c odd and a1 odd.
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace ringlet::layout {
namespace {

/// Lengths along the major edge and along the two others.
using Edges = std::array<int64_t, 3>;

/// One edge of a part of a block, in terms of the block.
struct PartEdge {
  int edge;      ///< The edge of the block that it runs along, 0 to 2.
  int64_t first; ///< The place on that edge where the part starts.
  int64_t size;  ///< Its length.
  bool down;     ///< Whether the part is crossed towards lower places.
};
using Part = std::array<PartEdge, 3>;

PartEdge up(int edge, int64_t low, int64_t end) {
  return {edge, low, end - low, false};
}
PartEdge down(int edge, int64_t low, int64_t end) {
  return {edge, end - 1, end - low, true};
}

/// The even number nearest to n / 2, the larger of two, for n >= 3; 1 for the
/// edge of 2, which can only be cut in the middle.
int64_t evenHalf(int64_t n) { return n == 2 ? 1 : n / 2 + (n / 2) % 2; }

/// Whether n is more than half as long again as m, without overflow.
bool muchLonger(int64_t n, int64_t m) { return n - m > m / 2; }
/// The milder question for the two edges that the bracket cuts alike.
bool longer(int64_t n, int64_t m) { return n - m > m / 3; }

using Parts = std::array<Part, 5>;

int cutHalves(const Edges &e, Parts &parts) {
  int64_t middle = evenHalf(e[0]);
  parts[0] = {up(0, 0, middle), up(1, 0, e[1]), up(2, 0, e[2])};
  parts[1] = {up(0, middle, e[0]), up(1, 0, e[1]), up(2, 0, e[2])};
  return 2;
}

/// The U in the plane of the edges 0 and b; c is the third one.
int cutU(const Edges &e, int b, int c, Parts &parts) {
  int64_t right = e[0] / 2, top = evenHalf(e[b]);
  parts[0] = {up(b, 0, top), up(0, 0, right), up(c, 0, e[c])};
  parts[1] = {up(0, 0, e[0]), up(b, top, e[b]), up(c, 0, e[c])};
  parts[2] = {down(b, 0, top), down(0, right, e[0]), up(c, 0, e[c])};
  return 3;
}

int cutBracket(const Edges &e, int b, int c, Parts &parts) {
  int64_t top = evenHalf(e[b]), back = evenHalf(e[c]);
  // With b and c odd, the ways along c need an odd width, see above. Else an
  // even one keeps as many edges even as possible.
  int64_t right = e[b] % 2 && e[c] % 2 ? e[0] / 2 | 1 : evenHalf(e[0]);
  parts[0] = {up(b, 0, top), up(c, 0, back), up(0, 0, right)};
  parts[1] = {up(c, 0, e[c]), up(0, 0, right), up(b, top, e[b])};
  parts[2] = {up(0, 0, e[0]), down(b, 0, top), down(c, back, e[c])};
  parts[3] = {down(c, 0, e[c]), down(0, right, e[0]), up(b, top, e[b])};
  parts[4] = {down(b, 0, top), up(c, 0, back), down(0, right, e[0])};
  return 5;
}

bool isLine(const Edges &e) { return e[1] == 1 && e[2] == 1; }

/// Cuts a block that is no line; returns the number of parts.
int cut(const Edges &e, Parts &parts) {
  if (muchLonger(e[0], std::max(e[1], e[2])))
    return cutHalves(e, parts);
  if (e[2] == 1)
    return cutU(e, 1, 2, parts);
  if (e[1] == 1)
    return cutU(e, 2, 1, parts);
  // An edge of 2 has no even part, so it is cut only beside another one (the
  // cube of 8 cells; a is 2 then, or the halves had been taken).
  bool allOdd = e[0] % 2;
  bool cube = e[1] == 2 && e[2] == 2;
  if (!cube && (e[2] == 2 || longer(e[1], e[2]) || (allOdd && e[1] >= e[2])))
    return cutU(e, 1, 2, parts);
  if (!cube && (e[1] == 2 || longer(e[2], e[1]) || allOdd))
    return cutU(e, 2, 1, parts);
  return e[2] % 2 && e[1] % 2 == 0 ? cutBracket(e, 2, 1, parts)
                                   : cutBracket(e, 1, 2, parts);
}

//===----------------------------------------------------------------------===//
// Powers of two
//===----------------------------------------------------------------------===//
//
// Then the two ends of a U and of a bracket are as wide as they are high, and
// halves of what lies between them are of the same form: all parts of a cut are
// congruent, and the next bits of a slot say which one it is in.

/// The parts of a block whose edges are powers of two, all of one form: 2, 4 or
/// 8, which is the number of halves that its edges are cut into.
std::vector<Part> cutAlike(const Edges &e) {
  Parts parts;
  int number = isLine(e) ? cutHalves(e, parts) : cut(e, parts);
  auto cells = [](const Part &part) {
    return part[0].size * part[1].size * part[2].size;
  };
  int64_t least = cells(parts[0]);
  std::vector<Part> alike;
  for (int i = 0; i < number; ++i) {
    Part part = parts[i];
    if (cells(part) == least) {
      alike.push_back(part);
      continue;
    }
    part[0].size /= 2;
    alike.push_back(part);
    part[0].first += part[0].down ? -part[0].size : part[0].size;
    alike.push_back(part);
  }
  return alike;
}

/// factor * value, for a power of two, one less than it, or 0.
IndexValue times(IndexValue value, int64_t factor) {
  if (factor == 0)
    return value & 0;
  if (exactLog2(factor) >= 0)
    return value << exactLog2(factor);
  return (value << exactLog2(factor + 1)) - value;
}

/// Of the choices, the one whose mask is set. Equal ones share a mask.
template <typename Choice, typename MakeValue>
IndexValue choose(const std::vector<IndexValue> &masks,
                  const std::vector<Choice> &choices, MakeValue make) {
  std::map<Choice, IndexValue> sums;
  for (size_t i = 0; i < choices.size(); ++i) {
    auto [found, isNew] = sums.try_emplace(choices[i], masks[i]);
    if (!isNew)
      found->second = found->second ^ masks[i];
  }
  // There is always one: if they are all the same, it needs no mask.
  if (sums.size() == 1)
    return make(sums.begin()->first);
  IndexValue result = masks[0] & 0;
  for (auto &[choice, mask] : sums)
    result = result + (mask & make(choice));
  return result;
}

/// For each number below 2^n the mask that is set where the bits, of which the
/// first is the lowest, say that number.
std::vector<IndexValue> masksOf(const std::vector<IndexValue> &bits) {
  std::vector<IndexValue> masks = {bits[0].builder->constant(-1)};
  for (IndexValue bit : bits) {
    IndexValue set = spread(bit), clear = set ^ bit.builder->constant(-1);
    size_t count = masks.size();
    for (size_t i = 0; i < count; ++i) {
      masks.push_back(masks[i] & set);
      masks[i] = masks[i] & clear;
    }
  }
  return masks;
}

Edges edgesOf(const Part &part) {
  return {part[0].size, part[1].size, part[2].size};
}

/// A block in the grid's numbering: where the path enters it, and what a step
/// along each of its edges adds to the token's number.
struct Block {
  int64_t start;
  std::array<int64_t, 3> step;
  Edges size;

  Block part(const Part &part) const {
    Block result{start, {}, {}};
    for (int i = 0; i < 3; ++i) {
      const PartEdge &edge = part[i];
      result.start += edge.first * step[edge.edge];
      result.step[i] = edge.down ? -step[edge.edge] : step[edge.edge];
      result.size[i] = edge.size;
    }
    return result;
  }

  int64_t cells() const { return size[0] * size[1] * size[2]; }

  /// The lowest token of the block.
  int64_t low() const {
    int64_t result = start;
    for (int i = 0; i < 3; ++i)
      if (step[i] < 0)
        result += step[i] * (size[i] - 1);
    return result;
  }

  /// How many of its tokens are below `count`.
  int64_t existing(int64_t count) const {
    int64_t reach = count - low();
    if (reach <= 0)
      return 0;
    int order[3] = {0, 1, 2};
    int64_t stride[3], extent[3];
    std::sort(order, order + 3, [this](int i, int j) {
      return std::abs(step[i]) > std::abs(step[j]);
    });
    for (int i = 0; i < 3; ++i) {
      stride[i] = std::abs(step[order[i]]);
      extent[i] = size[order[i]];
    }
    return cellsBelow(3, stride, extent, reach);
  }
};

class HilbertCurve final : public Curve {
public:
  explicit HilbertCurve(const std::vector<int64_t> &sides)
      : cells(*gridVolume(sides)) {
    // The longest even side is the major edge, else the longest; of equal
    // ones the last, along which tokens are neighbours in number. The others
    // follow from the last axis on. A third edge of 1 makes a rectangle solid.
    int axes = static_cast<int>(sides.size()), major = axes - 1;
    auto beats = [&](int a, int b) {
      return std::make_pair(sides[a] % 2 == 0, sides[a]) >
             std::make_pair(sides[b] % 2 == 0, sides[b]);
    };
    for (int a = axes - 1; a >= 0; --a)
      if (beats(a, major))
        major = a;
    root = {0, {0, 0, 0}, {1, 1, 1}};
    int64_t stride = 1;
    int next = 1;
    for (int a = axes - 1; a >= 0; --a) {
      int edge = a == major ? 0 : next++;
      root.step[edge] = stride;
      root.size[edge] = sides[a];
      stride *= sides[a];
    }
  }

  int64_t volume() const override { return cells; }

  int64_t token(int64_t slot, int64_t count) const override {
    Block block = root;
    bool whole = count == cells;
    Parts parts;
    while (!isLine(block.size)) {
      int number = cut(block.size, parts);
      for (int i = 0; i < number; ++i) {
        Block child = block.part(parts[i]);
        int64_t all = child.cells();
        int64_t here = whole ? all : child.existing(count);
        // The slot is in the block, so in the last part if in no other.
        if (slot < here || i == number - 1) {
          block = child;
          whole = here == all;
          break;
        }
        slot -= here;
      }
    }
    // Down a line, tokens fall: the missing ones come first.
    if (!whole && block.step[0] < 0)
      slot += block.size[0] - block.existing(count);
    return block.start + slot * block.step[0];
  }

  int64_t slot(int64_t token, int64_t count) const override {
    // The place of the token on each edge of the block at hand.
    std::array<int64_t, 3> place;
    for (int i = 0; i < 3; ++i)
      place[i] = root.size[i] == 1 ? 0 : token / root.step[i] % root.size[i];
    Block block = root;
    bool whole = count == cells;
    int64_t result = 0;
    Parts parts;
    while (!isLine(block.size)) {
      int number = cut(block.size, parts);
      for (int i = 0; i < number; ++i) {
        Block child = block.part(parts[i]);
        std::array<int64_t, 3> inner;
        bool inside = true;
        for (int j = 0; j < 3; ++j) {
          const PartEdge &edge = parts[i][j];
          int64_t beyond = place[edge.edge] - edge.first;
          inner[j] = edge.down ? -beyond : beyond;
          inside &= inner[j] >= 0 && inner[j] < edge.size;
        }
        int64_t all = child.cells();
        int64_t here = whole ? all : child.existing(count);
        if (inside) {
          block = child;
          place = inner;
          whole = here == all;
          break;
        }
        result += here;
      }
    }
    if (!whole && block.step[0] < 0)
      result -= block.size[0] - block.existing(count);
    return result + place[0];
  }

  void fill(int64_t *out, int64_t count, int64_t base) const override {
    visit(out, root, count, base);
  }

  std::optional<IndexValue> arithmetic(IndexValue index, int64_t count,
                                       bool inverse) const override {
    if (count != cells || exactLog2(cells) < 0)
      return std::nullopt;
    return inverse ? slotOf(index) : tokenOf(index);
  }

private:
  /// token() on a whole grid: where the block at hand starts and what its steps
  /// are depends on the slot, its form does not.
  IndexValue tokenOf(IndexValue slot) const {
    IndexValue start = slot & 0;
    std::array<IndexValue, 3> step;
    for (int j = 0; j < 3; ++j)
      step[j] = slot.builder->constant(root.step[j]);
    Edges size = root.size;
    for (int left = exactLog2(cells); left > 0;) {
      std::vector<Part> parts = cutAlike(size);
      std::vector<IndexValue> bits;
      left -= exactLog2(int64_t(parts.size()));
      for (int i = 0; i < exactLog2(int64_t(parts.size())); ++i)
        bits.push_back((slot >> (left + i)) & 1);
      std::vector<IndexValue> masks = masksOf(bits);
      std::array<IndexValue, 3> next;
      for (int j = 0; j < 3; ++j) {
        std::vector<std::pair<int, bool>> directions;
        std::vector<int64_t> firsts;
        for (const Part &part : parts) {
          directions.push_back({part[j].edge, part[j].down});
          for (const PartEdge &edge : part)
            if (edge.edge == j)
              firsts.push_back(edge.first);
        }
        next[j] = choose(masks, directions, [&](std::pair<int, bool> to) {
          IndexValue along = step[to.first];
          return to.second ? (along & 0) - along : along;
        });
        start = start + choose(masks, firsts, [&](int64_t first) {
                  return times(step[j], first);
                });
      }
      step = next;
      size = edgesOf(parts[0]);
    }
    return start;
  }

  /// slot() on a whole grid: the halves that a token lies in say in which part
  /// it is.
  IndexValue slotOf(IndexValue token) const {
    std::array<IndexValue, 3> place;
    for (int j = 0; j < 3; ++j)
      place[j] = root.size[j] == 1
                     ? token & 0
                     : (token >> exactLog2(root.step[j])) & (root.size[j] - 1);
    IndexValue slot = token & 0;
    Edges size = root.size;
    for (int left = exactLog2(cells); left > 0;) {
      std::vector<Part> parts = cutAlike(size);
      left -= exactLog2(int64_t(parts.size()));
      // The number of a part's place among the halves.
      std::vector<IndexValue> bits;
      std::vector<size_t> places(parts.size());
      for (int k = 0; k < 3; ++k) {
        int64_t half = size[k] / 2;
        bool isCut = false;
        for (size_t i = 0; i < parts.size(); ++i)
          for (const PartEdge &edge : parts[i])
            if (edge.edge == k && edge.size < size[k]) {
              isCut = true;
              int64_t low = edge.down ? edge.first - edge.size + 1 : edge.first;
              places[i] |= size_t(low >= half) << bits.size();
            }
        if (isCut)
          bits.push_back((place[k] >> exactLog2(half)) & 1);
      }
      std::vector<IndexValue> sorted = masksOf(bits), masks;
      std::vector<int64_t> numbers;
      for (size_t i = 0; i < parts.size(); ++i) {
        masks.push_back(sorted[places[i]]);
        numbers.push_back(int64_t(i));
      }
      slot = slot + (choose(masks, numbers,
                            [&](int64_t number) {
                              return token.builder->constant(number);
                            })
                     << left);
      std::array<IndexValue, 3> next;
      for (int j = 0; j < 3; ++j) {
        std::vector<std::tuple<int, int64_t, bool>> moves;
        for (const Part &part : parts)
          moves.push_back({part[j].edge, part[j].first, part[j].down});
        next[j] = choose(masks, moves, [&](std::tuple<int, int64_t, bool> to) {
          IndexValue along = place[std::get<0>(to)];
          IndexValue first = token.builder->constant(std::get<1>(to));
          return std::get<2>(to) ? first - along : along - first;
        });
      }
      place = next;
      size = edgesOf(parts[0]);
    }
    return slot;
  }

  /// Writes the existing tokens of the block; parts without any are skipped
  /// whole, so a short tail of a large grid costs little.
  void visit(int64_t *&out, const Block &block, int64_t count,
             int64_t base) const {
    if (block.low() >= count)
      return;
    if (isLine(block.size)) {
      int64_t here = block.existing(count);
      int64_t skipped = block.step[0] < 0 ? block.size[0] - here : 0;
      for (int64_t i = skipped; i < skipped + here; ++i)
        *out++ = base + block.start + i * block.step[0];
      return;
    }
    Parts parts;
    int number = cut(block.size, parts);
    for (int i = 0; i < number; ++i)
      visit(out, block.part(parts[i]), count, base);
  }

  int64_t cells;
  Block root;
};

} // namespace

std::unique_ptr<Curve> createHilbert(const OrderSpec &spec,
                                     std::string &error) {
  size_t axes = spec.grid.size();
  if (axes != 2 && axes != 3) {
    error = formatText(
        "expected a grid of 2 or 3 sides for hilbert (O1), found {} in {}; "
        "nearest legal choice: snake or morton on the same grid",
        axes, describe(spec.grid));
    return nullptr;
  }
  return std::make_unique<HilbertCurve>(spec.grid);
}

} // namespace ringlet::layout
