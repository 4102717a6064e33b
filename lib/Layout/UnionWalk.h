//===- UnionWalk.h - The keys of several branches, each once ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which atoms (see UnionShape.h) the queries of one atom see, and in how many
// branches. It is written once for all arithmetics: numbers here are those of
// the host, or values of a kernel that is being built.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_UNIONWALK_H
#define RINGLET_LIB_LAYOUT_UNIONWALK_H

#include "lib/Layout/UnionShape.h"

#include <algorithm>
#include <tuple>

namespace ringlet::layout {

/// The atoms that the queries of one atom see. Those of a branch are its
/// segment's base segments, and in each one the residues that follow each other
/// at its rate. Branches come one after the other, from the shortest segment to
/// the longest; an atom of several is visited at the first of these that the
/// queries belong to.
///
/// `A` is an arithmetic of integers, `A::Number`, and conditions,
/// `A::Condition`: constant, add, sub, mul; div and rem by a positive constant
/// or number, which round to 0; floorDiv and floorMod by a positive constant;
/// min, max; less, divides (by a positive constant); both, either, select;
/// always and never.
template <class A>
class UnionWalk {
public:
  using Number = typename A::Number;
  using Condition = typename A::Condition;

  /// What a head is to a branch: whether it takes part, and its residue (B2).
  struct Head {
    Condition takesPart;
    Number residue;
  };
  /// An atom, by numbers of base segment and residue. The segment may lie
  /// before position 0.
  struct Atom {
    Number segment, residue;
  };

  /// `heads` has an entry for each branch of `shape`. Keys lie in the base
  /// segments 0 to `keySegments` - 1.
  UnionWalk(A &a, const UnionShape &shape, const std::vector<Head> &heads,
            Atom queries, Number keySegments)
      : a(a), shape(shape) {
    std::vector<size_t> order(shape.branches.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      return keyOf(shape.branches[x], x) < keyOf(shape.branches[y], y);
    });
    for (size_t i : order)
      levels.push_back(
          makeLevel(shape.branches[i], heads[i], queries, keySegments));
    Number end = a.constant(0);
    for (Level &level : levels) {
      level.begin = end;
      level.end = end = a.add(end, level.count);
    }
  }

  /// How many branches there are, the greatest multiplicity.
  int64_t getMost() const { return static_cast<int64_t>(levels.size()); }

  /// Places of a list that has every atom of the given multiplicity.
  Number getCount(Number multiplicity) {
    // Those of m branches are first met m - 1 branches before the last.
    Number count = levels.front().end;
    for (int64_t i = 1; i < getMost(); ++i)
      count = a.select(a.less(multiplicity, a.constant(getMost() - i + 1)),
                       levels[i].end, count);
    return count;
  }

  struct Visit {
    Atom atom;
    /// Whether this is the place at which the atom is visited.
    Condition isFirst;
    /// How many branches have it.
    Number multiplicity;
  };
  /// The atom at a place of the list.
  Visit at(Number place) {
    Visit visit;
    visit.atom = getAtom(place);
    Number segmentBegin = a.mul(visit.atom.segment, a.constant(shape.width));
    Condition before = a.never();
    Number multiplicity = a.constant(0);
    for (const Level &level : levels) {
      Condition has = contains(level, visit.atom, segmentBegin);
      multiplicity =
          a.add(multiplicity, a.select(has, a.constant(1), a.constant(0)));
      Condition isEarlier = a.less(place, level.end);
      before = a.either(before, a.both(has, a.inverse(isEarlier)));
    }
    visit.isFirst = a.inverse(before);
    visit.multiplicity = multiplicity;
    return visit;
  }

private:
  /// A branch.
  struct Level {
    UnionBranch branch;
    Condition isMember;
    Number residue;
    /// Base segments of the queries' segment: from `firstSegment` to before
    /// `endSegment`, and the first of these that has keys. The position at
    /// which the segment begins.
    Number firstSegment, endSegment, firstOfKeys, position;
    bool isUnbounded;
    /// Places, and where these begin and end in the list.
    Number count, begin, end;
  };

  /// Orders branches from the shortest segment to the longest.
  static auto keyOf(const UnionBranch &branch, size_t number) {
    return std::tuple(branch.width == unboundedSegment, branch.width,
                      branch.rate, number);
  }

  Level makeLevel(const UnionBranch &branch, const Head &head, Atom queries,
                  Number keySegments) {
    Level level;
    level.branch = branch;
    level.residue = head.residue;
    level.isUnbounded = branch.width == unboundedSegment;
    if (level.isUnbounded) {
      level.firstSegment = level.firstOfKeys = level.position = a.constant(0);
      level.endSegment = keySegments;
    } else {
      int64_t segments = branch.width / shape.width;
      level.firstSegment =
          a.mul(a.floorDiv(queries.segment, segments), a.constant(segments));
      Number end = a.add(level.firstSegment, a.constant(segments));
      level.position = a.mul(level.firstSegment, a.constant(shape.width));
      level.firstOfKeys = a.max(level.firstSegment, a.constant(0));
      level.endSegment = a.min(end, keySegments);
    }
    Number begin = a.mul(queries.segment, a.constant(shape.width));
    level.isMember =
        a.both(head.takesPart, hasResidue(level, begin, queries.residue));
    Number segments =
        a.max(a.sub(level.endSegment, level.firstOfKeys), a.constant(0));
    Number atoms = a.mul(segments, a.constant(shape.rate / branch.rate));
    level.count = a.select(level.isMember, atoms, a.constant(0));
    return level;
  }

  /// Whether the rows at a residue behind position `begin` are a branch's.
  Condition hasResidue(const Level &level, Number begin, Number residue) {
    if (level.branch.rate == 1)
      return a.always();
    Number place =
        a.sub(a.add(a.sub(begin, level.position), residue), level.residue);
    return a.divides(level.branch.rate, place);
  }

  Condition contains(const Level &level, const Atom &atom, Number begin) {
    Condition has =
        a.both(level.isMember, hasResidue(level, begin, atom.residue));
    if (level.isUnbounded)
      return has;
    Condition isBehind = a.less(atom.segment, level.endSegment);
    Condition isBefore = a.less(atom.segment, level.firstSegment);
    return a.both(has, a.both(isBehind, a.inverse(isBefore)));
  }

  Atom getAtom(Number place) {
    // Of the branch whose places these are.
    Number begin = levels.front().begin, first = levels.front().firstOfKeys;
    Number position = levels.front().position;
    Number residue = levels.front().residue;
    Number rate = a.constant(levels.front().branch.rate);
    Number residues = a.constant(shape.rate / levels.front().branch.rate);
    for (size_t i = 1; i < levels.size(); ++i) {
      const Level &level = levels[i];
      Condition isBefore = a.less(place, level.begin);
      auto pick = [&](Number here, Number before) {
        return a.select(isBefore, before, here);
      };
      begin = pick(level.begin, begin);
      first = pick(level.firstOfKeys, first);
      position = pick(level.position, position);
      residue = pick(level.residue, residue);
      rate = pick(a.constant(level.branch.rate), rate);
      residues = pick(a.constant(shape.rate / level.branch.rate), residues);
    }
    Number number = a.sub(place, begin);
    Number across = a.div(number, residues);
    Atom atom;
    atom.segment = a.add(first, across);
    Number shift =
        a.sub(a.mul(atom.segment, a.constant(shape.width)), position);
    Number turned = a.rem(a.sub(residue, shift), rate);
    // What rounds to 0 may lie below it.
    turned =
        a.select(a.less(turned, a.constant(0)), a.add(turned, rate), turned);
    Number along = a.sub(number, a.mul(across, residues));
    atom.residue = a.add(turned, a.mul(along, rate));
    return atom;
  }

  A &a;
  const UnionShape &shape;
  std::vector<Level> levels;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_UNIONWALK_H
