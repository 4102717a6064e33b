//===- MemoryTraffic.cpp - Memory that tiles of keys touch ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/MemoryTraffic.h"

#include <algorithm>
#include <map>

using namespace ringlet;
using namespace ringlet::cost;
using ringlet::layout::ceilDiv;
using ringlet::layout::floorDiv;
using ringlet::layout::floorMod;

namespace {

/// Ordinals of the rows of one segment and residue: first, first + rate, ...
struct Rows {
  int64_t first = 0, count = 0;

  /// Those of [begin, end).
  static Rows within(const layout::TilePattern &pattern, int64_t segment,
                     int64_t residue, int64_t begin, int64_t end) {
    int64_t base = 0;
    if (pattern.segment != layout::unboundedSegment) {
      base = segment * pattern.segment;
      begin = std::max(begin, base);
      end = std::min(end, base + pattern.segment);
    }
    Rows rows;
    rows.first = begin + floorMod(base + residue - begin, pattern.rate);
    if (rows.first < end)
      rows.count = ceilDiv(end - rows.first, pattern.rate);
    return rows;
  }
};

/// How often the tiles of one segment and residue are loaded, by their first
/// rows.
using Visits = std::map<int64_t, int64_t>;

class TrafficCount {
public:
  TrafficCount(const BranchWalk &walk, const KeyLayout &layout,
               std::string &error);

  bool run();
  Traffic traffic;

private:
  /// Segments that have queries: those from `first` on.
  struct Segments {
    int64_t first = 0, count = 1;
  };
  std::pair<int64_t, int64_t> queryOrdinals() const;
  Segments segments() const;
  Rows queryRows(int64_t segment, int64_t residue) const;
  Rows keyRows(int64_t segment, int64_t residue) const;
  bool spend(int64_t rows);
  bool readLists();
  template <typename Visit>
  bool divide(const Rows &queries, const Rows &keys, Visit visit) const;
  void countTile(const Rows &keys, int64_t row, int64_t keyHead,
                 int64_t visits);

  const BranchWalk &walk;
  const layout::TilePattern &pattern;
  const KeyLayout &layout;
  std::string &error;
  /// Slots of tokens, and tokens of ordinals; empty where they are equal.
  std::vector<int64_t> slotOf, tokenOf;
  /// By residue and segment, where tiles come from lists.
  std::map<std::pair<int64_t, int64_t>, Visits> listed;
  /// Units that something has touched.
  std::vector<bool> lines, sectors, pages;
  /// Addresses of the rows of a tile.
  std::vector<int64_t> addresses;
  int64_t rowsWalked = 0;
};

TrafficCount::TrafficCount(const BranchWalk &walk, const KeyLayout &layout,
                           std::string &error)
    : walk(walk), pattern(walk.pattern), layout(layout), error(error) {
  if (layout.order && !layout.order->isIdentity())
    slotOf = layout::invert(layout.order->permutation(walk.keys));
  tokenOf = pattern.positionsOfOrdinals();
  int64_t bytes = walk.keys * layout.heads * layout.rowBytes;
  lines.resize(ceilDiv(bytes, Touched::lineBytes));
  sectors.resize(ceilDiv(bytes, Touched::sectorBytes));
  pages.resize(ceilDiv(bytes, Touched::pageBytes));
}

/// A curve may give a position any ordinal of its volume.
std::pair<int64_t, int64_t> TrafficCount::queryOrdinals() const {
  int64_t begin = walk.queryOffset, end = begin + walk.queries;
  if (tokenOf.empty())
    return {begin, end};
  return {std::min<int64_t>(begin, 0),
          std::max(end, static_cast<int64_t>(tokenOf.size()))};
}

TrafficCount::Segments TrafficCount::segments() const {
  if (pattern.segment == layout::unboundedSegment || walk.queries == 0)
    return {};
  auto [begin, end] = queryOrdinals();
  int64_t first = floorDiv(begin, pattern.segment);
  return {first, floorDiv(end - 1, pattern.segment) + 1 - first};
}

Rows TrafficCount::queryRows(int64_t segment, int64_t residue) const {
  auto [begin, end] = queryOrdinals();
  return Rows::within(pattern, segment, residue, begin, end);
}

Rows TrafficCount::keyRows(int64_t segment, int64_t residue) const {
  int64_t end = std::max(walk.keys, static_cast<int64_t>(tokenOf.size()));
  return Rows::within(pattern, segment, residue, 0, end);
}

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

/// False once walking so many more rows would take long.
bool TrafficCount::spend(int64_t rows) {
  if ((rowsWalked += rows) <= kMostRowsWalked)
    return true;
  error = "expected at most 2^27 rows of different tiles to walk, found more; "
          "shorten the sequence or take fewer heads";
  return false;
}

/// Visits the tiles from the first row that some query may see to the last one,
/// until a visit fails.
template <typename Visit>
bool TrafficCount::divide(const Rows &queries, const Rows &keys,
                          Visit visit) const {
  int64_t step = pattern.keyRows, rate = pattern.rate;
  // No position is that far from another one, and sums must not overflow.
  constexpr int64_t far = int64_t(1) << 61;
  // Runs of tiles that begin `phase` rows after a multiple of the height, as
  // differences of neighbours: a run is two numbers.
  std::map<int64_t, std::vector<int64_t>> changesOfPhase;
  for (int64_t row = 0; row < queries.count; row += pattern.queryRows) {
    int64_t first = queries.first + row * rate;
    int64_t last = std::min(row + pattern.queryRows, queries.count) - 1;
    last = queries.first + last * rate;
    int64_t begin = 0, end = keys.count;
    if (pattern.windowLeft)
      begin =
          std::max(begin, ceilDiv(first - std::min(*pattern.windowLeft, far) -
                                      keys.first,
                                  rate));
    if (pattern.causal)
      end = std::min(end, floorDiv(last - keys.first, rate) + 1);
    if (pattern.windowRight)
      end = std::min(
          end, floorDiv(last + std::min(*pattern.windowRight, far) - keys.first,
                        rate) +
                   1);
    if (begin >= end)
      continue;
    std::vector<int64_t> &changes = changesOfPhase[begin % step];
    changes.resize(ceilDiv(keys.count, step) + 1);
    ++changes[begin / step];
    --changes[begin / step + ceilDiv(end - begin, step)];
  }
  for (const auto &[phase, changes] : changesOfPhase) {
    int64_t row = phase, count = 0;
    for (int64_t change : changes) {
      if ((count += change) && !visit(row, count))
        return false;
      row += step;
    }
  }
  return true;
}

/// Puts what the index lists into `listed`.
bool TrafficCount::readLists() {
  if (walk.readers.empty())
    return true;
  Segments range = segments();
  layout::TileSizes sizes;
  sizes.queryLength = walk.queries;
  sizes.queryOffset = walk.queryOffset;
  sizes.keyLength = walk.keys;
  sizes.segments = range.count;
  sizes.firstSegment = range.first;
  int64_t least = pattern.rate, greatest = 0;
  for (const KeyReaders &readers : walk.readers) {
    int64_t residue = readers.residue;
    least = std::min(least, residue);
    greatest = std::max(greatest, residue);
    for (int64_t i = 0; i < range.count; ++i)
      sizes.tiles = std::max(sizes.tiles,
                             ceilDiv(queryRows(range.first + i, residue).count,
                                     pattern.queryRows));
  }
  layout::TilePattern ofReaders = pattern;
  ofReaders.residues = {least, greatest - least + 1};
  error = layout::TileIndex::validate(ofReaders, sizes);
  if (!error.empty())
    return false;
  int64_t number = 0;
  layout::TileIndex(ofReaders, sizes)
      .forEachList([&](const layout::TileList &list) {
        int64_t group = number++ / std::max<int64_t>(sizes.tiles, 1);
        Visits &visits = listed[{least + group / range.count,
                                 range.first + group % range.count}];
        for (const std::vector<int64_t> *rows : {&list.whole, &list.partial})
          for (int64_t row : *rows)
            ++visits[row];
        return true;
      });
  return true;
}

/// `row` counts from the first of `keys`.
void TrafficCount::countTile(const Rows &keys, int64_t row, int64_t keyHead,
                             int64_t visits) {
  addresses.clear();
  int64_t end = std::min(row + pattern.keyRows, keys.count);
  for (; row < end; ++row) {
    int64_t ordinal = keys.first + row * pattern.rate;
    int64_t token = tokenOf.empty() ? ordinal : tokenOf[ordinal];
    if (token >= walk.keys)
      continue;
    int64_t slot = slotOf.empty() ? token : slotOf[token];
    addresses.push_back((slot * layout.heads + keyHead) * layout.rowBytes);
  }
  std::sort(addresses.begin(), addresses.end());
  traffic.keyTiles += visits;
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

bool TrafficCount::run() {
  if (walk.hasLists() && !readLists())
    return false;
  Segments range = segments();
  for (const KeyReaders &readers : walk.readers)
    for (int64_t i = range.first; i < range.first + range.count; ++i) {
      if (!spend(1))
        return false;
      Rows queries = queryRows(i, readers.residue);
      Rows keys = keyRows(i, readers.residue);
      traffic.queryTiles +=
          readers.heads * ceilDiv(queries.count, pattern.queryRows);
      auto visit = [&](int64_t row, int64_t visits) {
        if (!spend(pattern.keyRows))
          return false;
        countTile(keys, row, readers.keyHead, visits * readers.heads);
        return true;
      };
      if (!walk.hasLists()) {
        if (!divide(queries, keys, visit))
          return false;
        continue;
      }
      for (auto [row, visits] : listed[{readers.residue, i}])
        if (!visit(row, visits))
          return false;
    }
  return true;
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
  TrafficCount count(walk, layout, error);
  if (!count.run())
    return std::nullopt;
  return count.traffic;
}

/// Whether ordinals of one segment and residue lie at a constant step in
/// memory.
static bool hasConstantStep(const BranchWalk &walk,
                            const layout::Order *memory) {
  const layout::TilePattern &pattern = walk.pattern;
  if (pattern.movesOrdinals())
    return memory && memory->spec() == pattern.order->spec();
  return !memory ||
         memory->rowStep(pattern.segment, pattern.rate, walk.queryOffset == 0);
}

std::optional<Traffic>
ringlet::cost::countTable(const BranchWalk &walk,
                          const std::shared_ptr<const layout::Order> &memory,
                          std::string &error) {
  if (hasConstantStep(walk, memory.get()))
    return Traffic();
  // Entries lie by ordinal, and serve every head.
  BranchWalk table = walk;
  for (KeyReaders &readers : table.readers)
    readers.keyHead = 0;
  return countTraffic(
      table, {1, static_cast<int64_t>(sizeof(int64_t)), walk.pattern.order},
      error);
}
