//===- UnionWalk.h - The keys of several branches as one list ---*- C++ -*-===//
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

namespace ringlet::layout {

/// The atoms that the queries of one atom see. A query at position p sees, in a
/// branch that it belongs to, the keys of its segment whose position is p
/// modulo the rate. Base segments are counted from that of the queries,
/// residues as distances from theirs, in an order in which the multiples of the
/// greatest rate come first, then those of the rate before, and so on: a branch
/// has the first ones.
///
/// Of nested branches every atom is listed once. They are found in *rings*, the
/// base segments of a branch's segment that the branch before does not have,
/// and in *shells*, the residues of a branch that the branch behind it does not
/// have: an atom in the ring of branch k and in the shell of branch t belongs
/// to the branches from k to t. The list goes from the shell of the last branch
/// to that of the first one, and in each from the innermost ring outwards. Of
/// other branches atoms are listed once for each branch that has them.
///
/// `A` is an arithmetic of integers, `A::Number`, and conditions,
/// `A::Condition`: constant, add, sub, mul; div and rem by a positive number,
/// which round to 0; min, max; less, divides (by a positive constant); both,
/// select; always, never. What is written here may emit operations: an
/// argument that does stands alone, since compilers evaluate arguments in
/// orders of their own.
template <class A>
class UnionWalk {
public:
  using Number = typename A::Number;
  using Condition = typename A::Condition;

  /// What a head is to a branch: whether it takes part, and its residue (B2).
  /// `segment` is the number of the queries' base segment in their segment of
  /// the branch, where that is unbounded modulo the rate.
  struct Head {
    Condition takesPart;
    Number residue, segment;
  };
  /// An atom: a base segment, counted from that of the queries, and a residue.
  struct Atom {
    Number segment, residue;
  };

  /// Atoms by their places.
  struct List {
    /// So many branches have the atoms up to this place, and after the one
    /// before.
    struct Span {
      int64_t multiplicity;
      Number end;
    };
    std::vector<Span> spans;
    Number count;

  private:
    friend class UnionWalk;
    /// `residues` of each base segment, of which those that are not nested
    /// begin with `first` and have their own `rate`.
    struct Part {
      Number begin, end, firstResidue, residues;
      Number first, rate;
    };
    std::vector<Part> parts;
    /// Of nested branches: base segments of a branch's segment.
    struct Segments {
      Number first, count;
    };
    std::vector<Segments> segments;
    /// Whether all atoms lie in one base segment, the first one.
    bool isOne = false;
  };

  /// `heads` has an entry for each branch of `shape`; `residue` is that of the
  /// queries.
  UnionWalk(A &a, const UnionShape &shape, const std::vector<Head> &heads,
            Number residue)
      : a(a), shape(shape), residue(residue) {
    for (size_t i : shape.getOrder())
      levels.push_back(makeLevel(shape.branches[i], heads[i]));
  }
  /// The same where the queries' residue is that of getResidue() at `place`.
  UnionWalk(A &a, const UnionShape &shape, const std::vector<Head> &heads,
            Number residue, Number place)
      : UnionWalk(a, shape, heads, residue) {
    // From one base segment to the next residues stay what they are.
    if (!shape.isNested || shape.width % shape.rate != 0)
      return;
    for (Level &level : levels)
      level.isMember =
          a.less(place, a.constant(shape.rate / level.branch.rate));
  }

  /// The greatest multiplicity of an atom in a list.
  int64_t getMost() const {
    return shape.isNested ? static_cast<int64_t>(levels.size()) : 1;
  }

  /// The atoms of base segments `first` to `end` - 1.
  List list(Number first, Number end) {
    List list;
    list.count = a.constant(0);
    for (const Level &level : levels) {
      Number begin = level.isUnbounded ? first : clamp(level.first, first, end);
      Number after =
          level.isUnbounded ? a.max(first, end) : clamp(level.end, first, end);
      list.segments.push_back({begin, a.sub(after, begin)});
    }
    auto count = static_cast<int64_t>(levels.size());
    if (shape.isNested)
      for (int64_t t = count - 1; t >= 0; --t)
        appendShell(list, t);
    else
      for (int64_t k = 0; k < count; ++k)
        appendBranch(list, k);
    return list;
  }

  /// The atoms of one base segment; none unless it `exists`.
  List listOne(Number segment, Condition exists) {
    if (!shape.isNested) {
      Number one = a.constant(1), none = a.constant(0);
      return list(segment, a.add(segment, a.select(exists, one, none)));
    }
    // The first branch whose segment has it, number k, has the residues of all
    // others.
    auto count = static_cast<int64_t>(levels.size());
    std::vector<Number> ends(count, a.constant(0));
    for (int64_t k = count - 1; k >= 0; --k) {
      const Level &level = levels[k];
      Condition has = exists;
      if (!level.isUnbounded) {
        Condition isBehind = a.less(segment, level.first);
        has = a.both(exists, a.less(segment, level.end));
        has = a.select(isBehind, a.never(), has);
      }
      for (int64_t m = 1; m <= count; ++m) {
        Number end = k + m <= count ? countResidues(k + m - 1) : a.constant(0);
        ends[m - 1] = a.select(has, end, ends[m - 1]);
      }
    }
    List list;
    list.isOne = true;
    list.segments.push_back({segment, a.constant(1)});
    for (int64_t m = count; m >= 1; --m)
      list.spans.push_back({m, ends[m - 1]});
    list.count = ends.front();
    return list;
  }

  /// The atom at a place of a list.
  Atom at(const List &list, Number place) {
    if (list.isOne) {
      Number segment = list.segments.front().first;
      Number from = findResidue(segment);
      Number distance = getDistance(a, shape, place);
      return {segment, turn(a, shape.rate, from, distance)};
    }
    auto part = list.parts.back();
    for (size_t i = list.parts.size() - 1; i-- > 0;) {
      const auto &here = list.parts[i];
      Condition isHere = a.less(place, here.end);
      auto pick = [&](Number &number, Number other) {
        number = a.select(isHere, other, number);
      };
      pick(part.begin, here.begin);
      pick(part.residues, here.residues);
      pick(part.firstResidue, here.firstResidue);
      if (shape.isNested)
        continue;
      pick(part.first, here.first);
      pick(part.rate, here.rate);
    }
    Number number = a.sub(place, part.begin);
    Number across = a.div(number, a.max(part.residues, a.constant(1)));
    Number along = a.sub(number, a.mul(across, part.residues));
    Atom atom;
    Number distance;
    if (shape.isNested) {
      atom.segment = findSegment(list, across);
      distance = getDistance(a, shape, a.add(along, part.firstResidue));
    } else {
      atom.segment = a.add(part.first, across);
      distance = a.mul(along, part.rate);
    }
    Number from = findResidue(atom.segment);
    atom.residue = turn(a, shape.rate, from, distance);
    return atom;
  }

  /// The residue at a place of an order in which those of most branches come
  /// first, if `residue` is that of a head in the branch of the greatest rate.
  static Number getResidue(A &a, const UnionShape &shape, Number place,
                           Number residue) {
    if (!shape.isNested)
      return place;
    return turn(a, shape.rate, residue, getDistance(a, shape, place));
  }

private:
  /// A branch.
  struct Level {
    UnionBranch branch;
    Condition isMember;
    /// The base segments of the queries' segment.
    Number first, end;
    bool isUnbounded = false;
  };
  Level makeLevel(const UnionBranch &branch, const Head &head) {
    Level level;
    level.branch = branch;
    level.isUnbounded = branch.width == unboundedSegment;
    level.first = level.end = a.constant(0);
    if (!level.isUnbounded) {
      level.first = a.sub(a.constant(0), head.segment);
      level.end = a.add(level.first, a.constant(branch.width / shape.width));
    }
    level.isMember = head.takesPart;
    if (branch.rate != 1) {
      Number before =
          a.mul(head.segment, a.constant(shape.width % branch.rate));
      Number place = a.add(before, a.sub(residue, head.residue));
      level.isMember = a.both(level.isMember, a.divides(branch.rate, place));
    }
    return level;
  }

  Number clamp(Number segment, Number first, Number end) {
    Number least = a.max(segment, first), most = a.max(first, end);
    return a.min(least, most);
  }

  /// The residues of a branch, if queries belong to it.
  Number countResidues(int64_t t) {
    Number all = a.constant(shape.rate / levels[t].branch.rate);
    return a.select(levels[t].isMember, all, a.constant(0));
  }

  /// Appends the atoms of the shell of branch t.
  void appendShell(List &list, int64_t t) {
    typename List::Part part;
    part.begin = list.count;
    part.firstResidue = t + 1 < static_cast<int64_t>(levels.size())
                            ? countResidues(t + 1)
                            : a.constant(0);
    part.residues =
        a.max(a.sub(countResidues(t), part.firstResidue), a.constant(0));
    for (int64_t k = 0; k <= t; ++k) {
      list.count =
          a.add(part.begin, a.mul(list.segments[k].count, part.residues));
      list.spans.push_back({t - k + 1, list.count});
    }
    part.end = list.count;
    list.parts.push_back(part);
  }

  /// Appends all atoms of branch k.
  void appendBranch(List &list, int64_t k) {
    typename List::Part part;
    part.begin = list.count;
    part.firstResidue = a.constant(0);
    part.residues = countResidues(k);
    part.first = list.segments[k].first;
    part.rate = a.constant(levels[k].branch.rate);
    list.count = part.end =
        a.add(part.begin, a.mul(list.segments[k].count, part.residues));
    list.spans.push_back({1, list.count});
    list.parts.push_back(part);
  }

  /// The base segment at a place, from the innermost ring outwards.
  Number findSegment(const List &list, Number place) {
    Number segment = a.add(list.segments.front().first, place);
    for (size_t k = 1; k < list.segments.size(); ++k) {
      const auto &inner = list.segments[k - 1], &outer = list.segments[k];
      Number here = a.add(outer.first, a.sub(place, inner.count));
      Number behind = a.add(here, inner.count);
      here = a.select(a.less(here, inner.first), here, behind);
      segment = a.select(a.less(place, inner.count), segment, here);
    }
    return segment;
  }

  /// A distance of residues by its place in their order.
  static Number getDistance(A &a, const UnionShape &shape, Number place) {
    std::vector<int64_t> rates{1};
    for (size_t i : shape.getOrder())
      rates.push_back(shape.branches[i].rate);
    Number distance = place;
    for (size_t t = 0; t < rates.size(); ++t) {
      int64_t rate = rates[t], next = t + 1 < rates.size() ? rates[t + 1] : 0;
      if (rate == next)
        continue;
      Number found = a.mul(place, a.constant(rate));
      if (next != 0) {
        // Those that are no multiples of the next rate.
        Number number = a.sub(place, a.constant(shape.rate / next));
        Number between = a.constant(next / rate - 1);
        Number across = a.div(number, between);
        Number along = a.sub(number, a.mul(across, between));
        Number behind = a.add(along, a.constant(1));
        behind = a.mul(behind, a.constant(rate));
        found = a.add(a.mul(across, a.constant(next)), behind);
      }
      distance = t == 0 ? found
                        : a.select(a.less(place, a.constant(shape.rate / rate)),
                                   found, distance);
    }
    return distance;
  }

  /// The residue of positions in `segment` that are equal to those of the
  /// queries modulo the common rate.
  Number findResidue(Number segment) {
    int64_t step = shape.width % shape.rate;
    if (step == 0)
      return residue;
    Number common = a.constant(shape.rate);
    Number rest =
        a.rem(a.sub(residue, a.mul(segment, a.constant(step))), common);
    // What rounds to 0 may lie below it.
    Number above = a.add(rest, common);
    return a.select(a.less(rest, a.constant(0)), above, rest);
  }

  /// Both are less than the common rate.
  static Number turn(A &a, int64_t rate, Number residue, Number distance) {
    Number sum = a.add(residue, distance), common = a.constant(rate);
    Number turned = a.sub(sum, common);
    return a.select(a.less(sum, common), sum, turned);
  }

  A &a;
  UnionShape shape;
  Number residue;
  std::vector<Level> levels;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_UNIONWALK_H
