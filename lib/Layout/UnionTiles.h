//===- UnionTiles.h - The key tiles of a union as one list ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which key tiles a tile of queries visits, and which of them need a mask. A
// tile of queries is part of an atom, and so is a tile of keys (UnionShape.h).
//
// Without causality masks only hide what lies behind the last key. With it,
// segments in front of the queries' own are seen as a whole, and those behind
// it not at all. In the own segment rows of all residues advance together: row
// j of a residue lies before row j + 1 of every other. So a tile of queries
// from row j on sees of each residue the rows before j, and later ones than its
// last row of none.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_UNIONTILES_H
#define RINGLET_LIB_LAYOUT_UNIONTILES_H

#include "lib/Layout/UnionWalk.h"

namespace ringlet::layout {

/// The list of a tile of queries. To what UnionWalk asks of `A` come ceilDiv by
/// a positive constant, and narrow and widen between the numbers of two
/// arithmetics: rows, keys and segments are those of a wide one, and places of
/// the list and distances of segments those of a narrow one.
template <class A>
class UnionTiles {
public:
  using Number = typename A::Number;
  using Condition = typename A::Condition;
  using Walk = UnionWalk<A>;

  /// A tile of queries: `rows` rows of an atom from `firstRow` on, in base
  /// segment number `segment`.
  struct Query {
    Number segment, firstRow;
    int64_t rows;
    /// Whether `firstRow` is a multiple of `rows`.
    bool isAligned;
  };
  struct Key {
    Number count;
    /// Of a tile.
    int64_t rows;
  };

  /// Key tiles number `firstTile` to `firstTile + tiles - 1` of each atom of a
  /// list. Places of all stretches are numbered one after the other; `end` is
  /// wide.
  struct Stretch {
    typename Walk::List atoms;
    Number firstTile, tiles, begin, end;
  };
  /// Those whose tiles need no mask, and the others behind them.
  std::vector<Stretch> whole, masked;

  /// A visit of a key tile: an atom, the number of the tile in it, and the
  /// place among those of its stretch.
  struct Visit {
    typename Walk::Atom atom;
    Number tile, number;
  };

  /// `getDistance` says how far a wide number of a segment is from that of the
  /// queries, as a narrow one.
  template <class GetDistance>
  UnionTiles(A &wide, A &narrow, Walk &walk, const UnionShape &shape,
             bool isCausal, const Query &query, const Key &key,
             GetDistance getDistance)
      : wide(wide), narrow(narrow), walk(walk), end(narrow.constant(0)) {
    if (shape.width == unboundedSegment)
      listEndless(shape, key);
    else
      listSegments(shape, isCausal, query, key, getDistance);
  }

  /// The visit at a wide place of the list that is one of `stretch`.
  Visit at(const Stretch &stretch, Number place) {
    Number number = narrow.sub(narrow.narrow(place), stretch.begin);
    // Where there are none, no place is one of these.
    Number tiles = narrow.max(stretch.tiles, narrow.constant(1));
    Number across = narrow.div(number, tiles);
    Number ofAtom = narrow.sub(number, narrow.mul(across, stretch.tiles));
    Visit visit;
    visit.atom = walk.at(stretch.atoms, across);
    visit.tile = narrow.add(stretch.firstTile, ofAtom);
    visit.number = number;
    return visit;
  }

private:
  /// The last base segment that has keys to see: the first `whole` tiles of
  /// each atom need no mask, and those from `count` on are not seen.
  struct Last {
    Number segment;
    Condition exists;
    Number whole, count;
  };

  static int64_t countRows(const UnionShape &shape) {
    return ceilDiv(shape.width, shape.rate);
  }
  static int64_t countTiles(const UnionShape &shape, int64_t rows) {
    return ceilDiv(countRows(shape), rows);
  }

  void append(std::vector<Stretch> &stretches, const typename Walk::List &atoms,
              Number first, Number tiles) {
    Number begin = end;
    end = narrow.add(begin, narrow.mul(atoms.count, tiles));
    stretches.push_back({atoms, first, tiles, begin, narrow.widen(end)});
  }

  /// Of one segment without end: of one residue there are so many keys at
  /// least, and at most.
  void listEndless(const UnionShape &shape, const Key &key) {
    Number least = wide.div(key.count, wide.constant(shape.rate));
    Number most = wide.ceilDiv(key.count, shape.rate);
    Number tiles = wide.div(least, wide.constant(key.rows));
    Number ofWhole = narrow.narrow(tiles);
    Number all = narrow.narrow(wide.ceilDiv(most, key.rows));
    Number none = narrow.constant(0);
    typename Walk::List atoms = walk.listOne(none, wide.always());
    append(whole, atoms, none, ofWhole);
    append(masked, atoms, ofWhole, narrow.sub(all, ofWhole));
  }

  template <class GetDistance>
  void listSegments(const UnionShape &shape, bool isCausal, const Query &query,
                    const Key &key, GetDistance getDistance) {
    Number none = narrow.constant(0);
    int64_t all = countTiles(shape, key.rows);
    int64_t wholeTiles = shape.width / shape.rate / key.rows;
    Last last = findLast(shape, isCausal, query, key);
    Number first = getDistance(wide.constant(0));
    Number distance = getDistance(last.segment);
    typename Walk::List before = walk.list(first, distance);
    typename Walk::List own = walk.listOne(distance, last.exists);
    Number ofBefore = narrow.constant(wholeTiles);
    if (wholeTiles != 0)
      append(whole, before, none, ofBefore);
    if (isCausal && all != 1)
      append(whole, own, none, last.whole);
    if (all != wholeTiles)
      append(masked, before, ofBefore, narrow.constant(all - wholeTiles));
    append(masked, own, last.whole, narrow.sub(last.count, last.whole));
  }

  Last findLast(const UnionShape &shape, bool isCausal, const Query &query,
                const Key &key) {
    // Segments in front of this one have all of their keys.
    Number cut = wide.div(key.count, wide.constant(shape.width));
    Condition exists = wide.less(cut, wide.ceilDiv(key.count, shape.width));
    int64_t rows = countRows(shape), tiles = countTiles(shape, key.rows);
    Number none = narrow.constant(0), all = narrow.constant(tiles);
    if (!isCausal)
      return {cut, exists, none, all};

    Last last;
    last.segment = wide.min(query.segment, cut);
    Condition isWhole = wide.less(query.segment, cut);
    Condition hasKeys = wide.select(isWhole, wide.always(), exists);
    Number minusOne = wide.constant(-1);
    last.exists = wide.both(hasKeys, wide.less(minusOne, query.segment));
    last.whole = none;
    last.count = all;
    if (tiles == 1)
      return last;
    Number before = wide.div(query.firstRow, wide.constant(key.rows));
    before = wide.min(before, wide.constant(rows / key.rows));
    Number first = narrow.narrow(before);
    last.whole = narrow.select(isWhole, first, none);
    Number seen;
    if (query.isAligned && query.rows % key.rows == 0 &&
        rows % query.rows == 0) {
      seen = narrow.add(first, narrow.constant(query.rows / key.rows));
    } else {
      Number end = wide.add(query.firstRow, wide.constant(query.rows));
      Number tile = wide.ceilDiv(end, key.rows);
      seen = narrow.narrow(wide.min(tile, wide.constant(tiles)));
    }
    Number next = wide.add(cut, wide.constant(1));
    last.count = narrow.select(wide.less(query.segment, next), seen, all);
    return last;
  }

  A &wide, &narrow;
  Walk &walk;
  Number end;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_UNIONTILES_H
