//===- MemoryTraffic.cpp - Memory that tiles of keys touch ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/MemoryTraffic.h"

#include <algorithm>
#include <map>

using namespace ringlet::cost;
using ringlet::layout::ceilDiv;
using ringlet::layout::floorDiv;
using ringlet::layout::floorMod;

namespace {

/// Positions of the rows of one segment and residue that exist: first,
/// first + rate, ...
struct Rows {
  int64_t first = 0, count = 0;

  /// Those of [begin, end).
  static Rows within(const BranchWalk &walk, int64_t segment, int64_t residue,
                     int64_t begin, int64_t end) {
    int64_t base = 0;
    if (walk.segment != ringlet::layout::unboundedSegment) {
      base = segment * walk.segment;
      begin = std::max(begin, base);
      end = std::min(end, base + walk.segment);
    }
    Rows rows;
    rows.first = begin + floorMod(base + residue - begin, walk.rate);
    if (rows.first < end)
      rows.count = ceilDiv(end - rows.first, walk.rate);
    return rows;
  }
};

/// Tiles of one segment that begin `phase` rows after a multiple of the height,
/// in the order of their rows, and how often each is loaded.
using VisitsByPhase = std::map<int64_t, std::vector<int64_t>>;

class TrafficCount {
public:
  TrafficCount(const BranchWalk &walk, const KeyLayout &layout)
      : walk(walk), layout(layout) {
    if (layout.order && !layout.order->isIdentity()) {
      std::vector<int64_t> tokens = layout.order->permutation(walk.keys);
      slotOf.resize(tokens.size());
      for (size_t slot = 0; slot < tokens.size(); ++slot)
        slotOf[tokens[slot]] = static_cast<int64_t>(slot);
    }
    int64_t bytes = walk.keys * layout.heads * layout.rowBytes;
    lines.resize(ceilDiv(bytes, Touched::lineBytes));
    sectors.resize(ceilDiv(bytes, Touched::sectorBytes));
    pages.resize(ceilDiv(bytes, Touched::pageBytes));
  }

  bool run(std::string &error);
  Traffic traffic;

private:
  bool spend(int64_t rows, std::string &error);
  void countVisits(const Rows &queries, const Rows &keys, int64_t heads,
                   VisitsByPhase &visits);
  void countTile(const Rows &keys, int64_t row, int64_t keyHead,
                 int64_t visits);

  const BranchWalk &walk;
  const KeyLayout &layout;
  /// Empty where slot and token are equal.
  std::vector<int64_t> slotOf;
  /// Units that something has touched.
  std::vector<bool> lines, sectors, pages;
  /// Addresses of the rows of a tile.
  std::vector<int64_t> addresses;
  int64_t rowsWalked = 0;
};

/// Counts the units of a tile's rows, whose addresses ascend, and marks them.
int64_t touch(const std::vector<int64_t> &addresses, int64_t rowBytes,
              int64_t unit, std::vector<bool> &seen, int64_t &distinct) {
  int64_t count = 0, next = 0;
  for (int64_t address : addresses) {
    int64_t end = (address + rowBytes - 1) / unit + 1;
    for (int64_t i = std::max(next, address / unit); i < end; ++i) {
      ++count;
      distinct += !seen[i];
      seen[i] = true;
    }
    next = std::max(next, end);
  }
  return count;
}

/// Which tiles the kernel loads for each tile of queries: those from the first
/// row that some query may see to the last one.
void TrafficCount::countVisits(const Rows &queries, const Rows &keys,
                               int64_t heads, VisitsByPhase &visits) {
  int64_t step = walk.keyRows;
  for (int64_t row = 0; row < queries.count; row += walk.queryRows) {
    traffic.queryTiles += heads;
    int64_t first = queries.first + row * walk.rate;
    int64_t last = std::min(row + walk.queryRows, queries.count) - 1;
    last = queries.first + last * walk.rate;
    int64_t begin = 0, end = keys.count;
    if (walk.windowLeft)
      begin = std::max(
          begin, ceilDiv(first - *walk.windowLeft - keys.first, walk.rate));
    if (walk.causal)
      end = std::min(end, floorDiv(last - keys.first, walk.rate) + 1);
    if (walk.windowRight)
      end = std::min(
          end, floorDiv(last + *walk.windowRight - keys.first, walk.rate) + 1);
    if (begin >= end)
      continue;
    // Differences of neighbours first: a run of tiles is two numbers.
    std::vector<int64_t> &changes = visits[begin % step];
    changes.resize(ceilDiv(keys.count, step) + 1);
    int64_t tiles = ceilDiv(end - begin, step);
    changes[begin / step] += heads;
    changes[begin / step + tiles] -= heads;
    traffic.keyTiles += tiles * heads;
  }
  for (auto &[phase, changes] : visits)
    for (size_t i = 1; i < changes.size(); ++i)
      changes[i] += changes[i - 1];
}

void TrafficCount::countTile(const Rows &keys, int64_t row, int64_t keyHead,
                             int64_t visits) {
  addresses.clear();
  int64_t end = std::min(row + walk.keyRows, keys.count);
  for (; row < end; ++row) {
    int64_t token = keys.first + row * walk.rate;
    int64_t slot = slotOf.empty() ? token : slotOf[token];
    addresses.push_back((slot * layout.heads + keyHead) * layout.rowBytes);
  }
  std::sort(addresses.begin(), addresses.end());
  auto count = [&](int64_t unit, std::vector<bool> &seen, int64_t &requested,
                   int64_t &distinct) {
    requested +=
        visits * touch(addresses, layout.rowBytes, unit, seen, distinct);
  };
  Touched &requested = traffic.requested, &distinct = traffic.distinct;
  count(Touched::lineBytes, lines, requested.lines, distinct.lines);
  count(Touched::sectorBytes, sectors, requested.sectors, distinct.sectors);
  count(Touched::pageBytes, pages, requested.pages, distinct.pages);
}

/// False once walking so many more rows would take long.
bool TrafficCount::spend(int64_t rows, std::string &error) {
  if ((rowsWalked += rows) <= kMostRowsWalked)
    return true;
  error = "expected at most 2^27 rows of different tiles to walk, found more; "
          "shorten the sequence or take fewer heads";
  return false;
}

bool TrafficCount::run(std::string &error) {
  int64_t firstSegment = 0, endSegment = 1;
  if (walk.segment != ringlet::layout::unboundedSegment && walk.queries > 0) {
    firstSegment = floorDiv(walk.queryOffset, walk.segment);
    endSegment =
        floorDiv(walk.queryOffset + walk.queries - 1, walk.segment) + 1;
  }
  for (const KeyReaders &readers : walk.readers)
    for (int64_t i = firstSegment; i < endSegment; ++i) {
      if (!spend(1, error))
        return false;
      Rows queries = Rows::within(walk, i, readers.residue, walk.queryOffset,
                                  walk.queryOffset + walk.queries);
      Rows keys = Rows::within(walk, i, readers.residue, 0, walk.keys);
      VisitsByPhase visits;
      countVisits(queries, keys, readers.heads, visits);
      for (const auto &[phase, counts] : visits)
        for (size_t tile = 0; tile < counts.size(); ++tile) {
          if (!counts[tile])
            continue;
          if (!spend(walk.keyRows, error))
            return false;
          countTile(keys, static_cast<int64_t>(tile) * walk.keyRows + phase,
                    readers.keyHead, counts[tile]);
        }
    }
  return true;
}

/// Units that the rows touch, if rows do not straddle them in changing ways.
std::optional<int64_t> unitsOfStrided(int64_t rows, int64_t rowBytes,
                                      int64_t stride, int64_t unit) {
  if (stride == rowBytes)
    return ceilDiv(rows * rowBytes, unit);
  if (stride % unit == 0)
    return rows * ceilDiv(rowBytes, unit);
  if (unit % stride == 0)
    return ceilDiv(rows, unit / stride);
  return std::nullopt;
}

} // namespace

std::optional<Traffic> ringlet::cost::countTraffic(const BranchWalk &walk,
                                                   const KeyLayout &layout,
                                                   std::string &error) {
  double bytes = static_cast<double>(walk.keys) *
                 static_cast<double>(layout.heads) *
                 static_cast<double>(layout.rowBytes);
  if (bytes > 0x1p36 || walk.queries > kMostRowsWalked) {
    error = "expected keys of at most 2^36 bytes and 2^27 queries to walk, "
            "found more; shorten the sequence";
    return std::nullopt;
  }
  TrafficCount count(walk, layout);
  if (!count.run(error))
    return std::nullopt;
  return count.traffic;
}

std::optional<Touched> ringlet::cost::touchedByStrided(int64_t rows,
                                                       int64_t rowBytes,
                                                       int64_t stride) {
  auto lines = unitsOfStrided(rows, rowBytes, stride, Touched::lineBytes);
  auto sectors = unitsOfStrided(rows, rowBytes, stride, Touched::sectorBytes);
  auto pages = unitsOfStrided(rows, rowBytes, stride, Touched::pageBytes);
  if (!lines || !sectors || !pages)
    return std::nullopt;
  return Touched{*lines, *sectors, *pages};
}
