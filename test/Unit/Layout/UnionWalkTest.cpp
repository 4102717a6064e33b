//===- UnionWalkTest.cpp - Keys of several branches as a list -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk over atoms, and the list of key tiles, against the oracle's keys:
// for every query of random branches, the same keys, each as often as there are
// branches that show it.
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/UnionCut.h"
#include "lib/Layout/HostArithmetic.h"
#include "lib/Layout/UnionTiles.h"

#include "lib/Oracle/Pattern.h"
#include "lib/Tensor/Dice.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>

using namespace ringlet;
using namespace ringlet::layout;

namespace {

/// Planted mistakes.
struct EveryResidue : HostArithmetic {
  bool divides(int64_t, int64_t) { return true; }
};
struct MissedResidue : HostArithmetic {
  int64_t rem(int64_t a, int64_t b) { return std::max<int64_t>(a % b, 0); }
};
/// Rings that have what the branch before has.
struct CountedAgain : HostArithmetic {
  int64_t select(bool, int64_t a, int64_t) { return a; }
};
struct RoundedToZero : HostArithmetic {
  int64_t floorMod(int64_t a, int64_t b) { return a % b; }
};

/// Tiles that are cut by the end of a query's keys.
struct MissedTile : HostArithmetic {
  int64_t ceilDiv(int64_t a, int64_t b) { return a / b; }
};
/// Tiles that have keys to hide, without a mask.
struct MissedMask : HostArithmetic {
  int64_t div(int64_t a, int64_t b) { return ceilDiv(a, b); }
};

/// How often a query sees each key.
using Keys = std::map<int64_t, int64_t>;

struct Case {
  oracle::AttentionSpec spec;
  int64_t queryHeads, keyHeads, queries, keys, offset;
  /// Whether the list of tiles is looked at; heights of tiles, and the row of
  /// an atom at which the first one begins.
  bool ofTiles = false;
  int64_t queryRows = 1, keyRows = 1, firstRow = 0;
  /// The kernels that a union is cut into; none where it is not.
  std::vector<cost::UnionPart> parts;
};

Case drawCase(Dice &dice) {
  Case drawn;
  drawn.keyHeads = dice.between(1, 3);
  drawn.queryHeads = drawn.keyHeads * dice.between(1, 2);
  drawn.keys = dice.between(0, 90);
  drawn.queries = dice.between(1, 40);
  drawn.offset =
      dice.oneIn(2) ? drawn.keys - drawn.queries : dice.between(-40, 60);
  bool nested = dice.oneIn(2), alike = dice.oneIn(2), byQuery = false;
  OffsetRule rule = OffsetRule::Modulo;
  int64_t constant = 0;
  int64_t width = dice.pick<int64_t>({4, 6, 8, 12, 15, 16}), rate = 1;
  int64_t count = dice.between(2, 5);
  for (int64_t i = 0; i < count; ++i) {
    oracle::Branch branch;
    if (nested) {
      branch.segment = width;
      branch.dilation = rate;
      width *= dice.between(1, 3);
      rate *= dice.between(1, 3);
      rate = std::min(rate, width);
    } else {
      branch.segment = dice.between(1, 40);
      if (dice.oneIn(5))
        branch.segment.reset();
      branch.dilation =
          std::min(dice.between(1, 9), branch.segment.value_or(9));
    }
    if (!alike || i == 0) {
      rule = dice.pick(
          {OffsetRule::Modulo, OffsetRule::Block, OffsetRule::Constant});
      constant = dice.between(-9, 9);
      byQuery = dice.oneIn(3);
    }
    branch.offset = rule;
    branch.constant = constant;
    branch.offsetByQuery = byQuery;
    if (!alike && dice.oneIn(4)) {
      int64_t begin = dice.between(0, drawn.queryHeads - 1);
      branch.heads =
          oracle::HeadRange{begin, dice.between(begin + 1, drawn.queryHeads)};
    }
    drawn.spec.branches.push_back(branch);
  }
  return drawn;
}

/// Whether a head's residue modulo an r is that modulo each divisor of it, for
/// branches that all heads have.
bool doResiduesNest(const Case &given) {
  const oracle::Branch &first = given.spec.branches.front();
  for (const oracle::Branch &branch : given.spec.branches)
    if (branch.heads || branch.offset != first.offset ||
        branch.offset == OffsetRule::Block ||
        (branch.offset == OffsetRule::Constant
             ? branch.constant != first.constant
             : branch.offsetByQuery != first.offsetByQuery))
      return false;
  return true;
}

UnionShape shapeOf(const Case &given, bool residuesNest) {
  std::vector<UnionBranch> branches;
  for (const oracle::Branch &branch : given.spec.branches)
    branches.push_back(
        {branch.segment.value_or(unboundedSegment), branch.dilation});
  return UnionShape(std::move(branches), residuesNest);
}

/// The residue that a head sees of a branch (B2).
int64_t headResidue(const Case &given, const oracle::Branch &branch,
                    int64_t head) {
  int64_t keyHead = head / (given.queryHeads / given.keyHeads);
  return layout::headResidue(
      branch.offset, branch.offsetByQuery ? head : keyHead,
      branch.offsetByQuery ? given.queryHeads : given.keyHeads, branch.dilation,
      branch.constant);
}

template <class A>
std::vector<typename UnionWalk<A>::Head>
getHeads(A &a, const Case &given, const UnionShape &shape, int64_t head,
         int64_t position) {
  std::vector<typename UnionWalk<A>::Head> heads;
  for (const oracle::Branch &branch : given.spec.branches) {
    int64_t residue = headResidue(given, branch, head);
    bool takesPart = !branch.heads ||
                     (branch.heads->begin <= head && head < branch.heads->end);
    int64_t segments = branch.segment && shape.width != unboundedSegment
                           ? *branch.segment / shape.width
                           : branch.dilation;
    heads.push_back({takesPart, residue,
                     a.floorMod(segmentOf(position, shape.width), segments)});
  }
  return heads;
}

/// What the queries of one atom see.
template <class A>
Keys walk(const Case &given, const UnionShape &shape, int64_t head,
          int64_t position) {
  A a;
  std::set<std::pair<int64_t, int64_t>> atoms;
  auto heads = getHeads<A>(a, given, shape, head, position);
  int64_t segment = segmentOf(position, shape.width);
  int64_t residue = residueOf(position, shape.width, shape.rate);
  int64_t keySegments =
      shape.width == unboundedSegment ? 1 : ceilDiv(given.keys, shape.width);
  UnionWalk<A> walk(a, shape, heads, residue);
  Keys keys;
  // In two lists, as kernels do that mask the last keys alone.
  int64_t whole =
      shape.width == unboundedSegment ? 0 : given.keys / shape.width;
  for (bool isRest : {false, true}) {
    auto list = isRest ? walk.listOne(whole - segment, whole < keySegments)
                       : walk.list(-segment, whole - segment);
    auto span = list.spans.begin();
    for (int64_t place = 0; place < list.count; ++place) {
      while (place >= span->end && span + 1 != list.spans.end())
        ++span;
      int64_t m = span->multiplicity;
      auto atom = walk.at(list, place);
      atom.segment += segment;
      bool isNew = atoms.emplace(atom.segment, atom.residue).second;
      if (std::is_same_v<A, HostArithmetic>) {
        EXPECT_TRUE(isNew || !shape.isNested) << "an atom is visited twice";
        EXPECT_EQ(atom.segment >= whole, isRest);
        EXPECT_TRUE(atom.segment >= 0 && atom.segment < keySegments);
        EXPECT_TRUE(atom.residue >= 0 && atom.residue < shape.rate);
      }
      int64_t begin = atom.segment * shape.width;
      for (int64_t u = begin + atom.residue;
           u < given.keys &&
           (shape.width == unboundedSegment || u < begin + shape.width);
           u += shape.rate)
        if (u >= 0)
          keys[u] += m;
    }
  }
  return keys;
}

/// The last part that computes the row at `position` of a head.
cost::UnionPart findPart(const Case &given, const UnionShape &whole,
                         int64_t head, int64_t position) {
  cost::UnionPart found = given.parts.front();
  for (const cost::UnionPart &part : given.parts) {
    UnionShape shape = cost::getShape(whole, part);
    HostArithmetic a;
    size_t last = whole.getOrder()[part.branches - 1];
    int64_t ofHead = headResidue(given, given.spec.branches[last], head);
    int64_t residue = residueOf(position, shape.width, shape.rate);
    for (int64_t place = 0; place < cost::countResidues(whole, part); ++place)
      if (UnionWalk<HostArithmetic>::getResidue(a, shape, place, ofHead) ==
          residue)
        found = part;
  }
  return found;
}

/// What the queries of one tile see, or the one at `position` under causality.
template <class A>
Keys walkTiles(const Case &given, const UnionShape &shape, int64_t head,
               int64_t position) {
  if (!given.parts.empty()) {
    cost::UnionPart part = findPart(given, shape, head, position);
    Case ofPart = given;
    ofPart.parts.clear();
    ofPart.spec.branches.clear();
    for (size_t i = 0; i < part.branches; ++i)
      ofPart.spec.branches.push_back(given.spec.branches[shape.getOrder()[i]]);
    return walkTiles<A>(ofPart, cost::getShape(shape, part), head, position);
  }
  A a;
  auto heads = getHeads<A>(a, given, shape, head, position);
  int64_t segment = segmentOf(position, shape.width);
  int64_t residue = residueOf(position, shape.width, shape.rate);
  UnionWalk<A> walk(a, shape, heads, residue);
  bool isEndless = shape.width == unboundedSegment;
  int64_t row = isEndless ? 0 : (position - segment * shape.width) / shape.rate;
  // Tiles begin at the first row of an atom or, where it has fewer rows than
  // that, at one behind it.
  bool isAligned = given.firstRow == 0;
  int64_t first = row < given.firstRow
                      ? row
                      : row - (row - given.firstRow) % given.queryRows;
  UnionTiles<A> tiles(a, a, walk, shape, given.spec.causal,
                      {segment, first, given.queryRows, isAligned},
                      {given.keys, given.keyRows},
                      [&](int64_t number) { return number - segment; });
  Keys keys;
  int64_t end = 0;
  for (bool isMasked : {false, true})
    for (const auto &stretch : isMasked ? tiles.masked : tiles.whole) {
      auto span = stretch.atoms.spans.begin();
      int64_t place = std::exchange(end, std::max(end, stretch.end));
      for (; place < stretch.end; ++place) {
        auto visit = tiles.at(stretch, place);
        while (visit.number >= span->end * stretch.tiles &&
               span + 1 != stretch.atoms.spans.end())
          ++span;
        int64_t begin = (segment + visit.atom.segment) * shape.width;
        if (isEndless)
          begin = 0;
        for (int64_t j = 0; j < given.keyRows; ++j) {
          int64_t inAtom = visit.atom.residue +
                           (visit.tile * given.keyRows + j) * shape.rate;
          int64_t u = begin + inAtom;
          bool exists = u >= 0 && u < given.keys &&
                        (isEndless || (inAtom >= 0 && inAtom < shape.width));
          bool isSeen = exists && (!given.spec.causal || u <= position);
          if (isMasked ? isSeen : true)
            keys[isSeen ? u : -1] += span->multiplicity;
        }
      }
    }
  return keys;
}

/// The number of rows for which the walk, or the list of tiles, and the oracle
/// disagree.
template <class A>
int64_t countWrong(const Case &given, bool residuesNest) {
  Tensor query(DType::f32, {1, given.queries, given.queryHeads, 1});
  Tensor key(DType::f32, {1, given.keys, given.keyHeads, 1});
  Tensor offset(DType::i64, {1});
  offset.as<int64_t>()[0] = given.offset;
  oracle::AttentionInputs inputs;
  inputs.query = query.view();
  inputs.key = inputs.value = key.view();
  inputs.qOffset = offset.view();
  std::string error;
  EXPECT_TRUE(oracle::validate(given.spec, inputs, &error)) << error;
  oracle::Pattern pattern(given.spec, inputs);
  UnionShape shape = shapeOf(given, residuesNest);
  int64_t wrong = 0;
  for (int64_t head = 0; head < given.queryHeads; ++head)
    for (int64_t row = 0; row < given.queries; ++row) {
      oracle::QueryRow at = pattern.locate(0, row);
      Keys expected;
      for (const oracle::Branch &branch : given.spec.branches)
        if (!branch.heads ||
            (branch.heads->begin <= head && head < branch.heads->end))
          pattern.forEachKey(branch, at, head,
                             [&](int64_t u) { ++expected[u]; });
      wrong += (given.ofTiles
                    ? walkTiles<A>(given, shape, head, at.position)
                    : walk<A>(given, shape, head, at.position)) != expected;
    }
  return wrong;
}

TEST(UnionShape, CommonSegmentsAndResidues) {
  UnionShape nested({{2048, 1}, {8192, 4}, {32768, 16}});
  EXPECT_EQ(nested.width, 2048);
  EXPECT_EQ(nested.rate, 16);
  UnionShape crossed({{12, 2}, {unboundedSegment, 3}, {18, 1}});
  EXPECT_EQ(crossed.width, 6);
  EXPECT_EQ(crossed.rate, 6);
  UnionShape unbounded({{unboundedSegment, 4}, {unboundedSegment, 1}});
  EXPECT_EQ(unbounded.width, unboundedSegment);
}

TEST(UnionShape, Nests) {
  EXPECT_TRUE(UnionShape({{8192, 4}, {2048, 1}}, true).isNested);
  EXPECT_TRUE(UnionShape({{unboundedSegment, 4}, {2048, 2}}, true).isNested);
  EXPECT_FALSE(UnionShape({{8192, 4}, {2048, 1}}, false).isNested);
  EXPECT_FALSE(UnionShape({{8192, 1}, {2048, 4}}, true).isNested);
  EXPECT_FALSE(UnionShape({{6144, 2}, {4096, 1}}, true).isNested);
  EXPECT_FALSE(UnionShape({{6, 4}, {12, 8}}, true).isNested);
}

TEST(UnionWalk, SeesTheKeysOfTheOracle) {
  Dice dice(20261129, 0);
  int64_t nested = 0;
  for (int number = 0; number < 1200; ++number) {
    Case drawn = drawCase(dice);
    nested += shapeOf(drawn, doResiduesNest(drawn)).isNested;
    EXPECT_EQ(countWrong<HostArithmetic>(drawn, doResiduesNest(drawn)), 0)
        << "case " << number;
  }
  EXPECT_GT(nested, 150);
}

Case drawTiles(Dice &dice) {
  Case drawn = drawCase(dice);
  drawn.ofTiles = true;
  drawn.queryRows = dice.between(1, 5);
  drawn.keyRows = dice.oneIn(2) ? drawn.queryRows : dice.between(1, 6);
  drawn.firstRow = dice.oneIn(3) ? dice.between(1, 4) : 0;
  // Without segments every atom has a run of key tiles under causality.
  drawn.spec.causal =
      shapeOf(drawn, false).width != unboundedSegment && !dice.oneIn(3);
  return drawn;
}

TEST(UnionTiles, ListsTheKeysOfTheOracle) {
  Dice dice(20261129, 2);
  int64_t nested = 0, causal = 0;
  for (int number = 0; number < 1500; ++number) {
    Case drawn = drawTiles(dice);
    bool isNested = shapeOf(drawn, doResiduesNest(drawn)).isNested;
    nested += isNested;
    causal += drawn.spec.causal && isNested;
    EXPECT_EQ(countWrong<HostArithmetic>(drawn, doResiduesNest(drawn)), 0)
        << "case " << number;
  }
  EXPECT_GT(nested, 200);
  EXPECT_GT(causal, 120);
}

/// Cuts a union of nested branches anywhere, or where it pays.
bool cut(Dice &dice, Case &drawn) {
  UnionShape shape = shapeOf(drawn, doResiduesNest(drawn));
  size_t count = shape.branches.size();
  if (!shape.isNested || shape.width % shape.rate != 0 || !drawn.spec.causal ||
      count < 2)
    return false;
  if (dice.oneIn(2)) {
    drawn.parts = cost::cutCausalUnion(shape, drawn.queryRows, drawn.keyRows);
    return true;
  }
  size_t first = dice.between(1, count - 1);
  drawn.parts = {{first, 0}};
  if (first + 1 < count && dice.oneIn(2)) {
    drawn.parts.push_back({first + 1, first});
    first += 1;
  }
  drawn.parts.push_back({count, first});
  return true;
}

TEST(UnionTiles, TheLastPartOfARowHasTheKeysOfTheOracle) {
  Dice dice(20261129, 4);
  int64_t count = 0, cuts = 0;
  for (int number = 0; count < 500; ++number) {
    Case drawn = drawTiles(dice);
    if (!cut(dice, drawn))
      continue;
    ++count;
    cuts += drawn.parts.size() > 1;
    EXPECT_EQ(countWrong<HostArithmetic>(drawn, true), 0) << "case " << number;
  }
  EXPECT_GT(cuts, 200);
}

TEST(UnionTiles, RowsOfAMissedPartAreFound) {
  Dice dice(20261129, 5);
  int64_t wrong = 0;
  for (int number = 0; number < 200; ++number) {
    Case drawn = drawTiles(dice);
    if (!cut(dice, drawn) || drawn.parts.size() < 2)
      continue;
    drawn.parts.pop_back();
    wrong += countWrong<HostArithmetic>(drawn, true);
  }
  EXPECT_GT(wrong, 0);
}

// 4 rows of each of 2 residues: the second of 2 tiles sees the first tile of
// both as a whole, and the tile beside itself through a mask.
TEST(UnionTiles, CausalTilesOfTheOwnSegmentComeLast) {
  HostArithmetic a;
  UnionShape shape({{8, 1}, {16, 2}}, true);
  UnionWalk<HostArithmetic> walk(a, shape, {{true, 0, 0}, {true, 0, 1}}, 0);
  UnionTiles<HostArithmetic> tiles(a, a, walk, shape, /*isCausal=*/true,
                                   {3, 2, 2, true}, {32, 2},
                                   [](int64_t segment) { return segment - 3; });
  ASSERT_EQ(tiles.whole.size(), 2u);
  ASSERT_EQ(tiles.masked.size(), 1u);
  // Base segment 2 at residue 0.
  EXPECT_EQ(tiles.whole[0].end, 2);
  EXPECT_EQ(tiles.at(tiles.whole[0], 1).atom.segment, -1);
  EXPECT_EQ(tiles.whole[1].end, 4);
  EXPECT_EQ(tiles.at(tiles.whole[1], 3).tile, 0);
  EXPECT_EQ(tiles.at(tiles.whole[1], 3).atom.residue, 1);
  EXPECT_EQ(tiles.masked[0].end, 6);
  EXPECT_EQ(tiles.at(tiles.masked[0], 4).tile, 1);
}

TEST(UnionWalk, ListsResiduesOfMostBranchesFirst) {
  HostArithmetic a;
  UnionShape shape({{4, 1}, {8, 2}}, true);
  UnionWalk<HostArithmetic> walk(a, shape, {{true, 0, 0}, {true, 0, 1}}, 0);
  // Base segment 1 at residue 0 in both branches, then base segment 0 at
  // residue 0 in the second, then base segment 1 at residue 1 in the first.
  auto list = walk.list(-1, 3);
  EXPECT_EQ(list.count, 3);
  ASSERT_EQ(list.spans.size(), 3u);
  EXPECT_EQ(list.spans[0].multiplicity, 2);
  EXPECT_EQ(list.spans[0].end, 1);
  std::vector<std::pair<int64_t, int64_t>> visits;
  for (int64_t place = 0; place < 3; ++place) {
    auto atom = walk.at(list, place);
    visits.push_back({atom.segment + 1, atom.residue});
  }
  EXPECT_EQ(visits,
            (std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {0, 0}, {1, 1}}));
}

TEST(UnionWalk, ResiduesOfMostBranchesComeFirst) {
  HostArithmetic a;
  UnionShape shape({{64, 2}, {128, 4}, {256, 16}}, true);
  std::set<int64_t> residues;
  for (int64_t place = 0; place < 16; ++place) {
    int64_t residue = UnionWalk<HostArithmetic>::getResidue(a, shape, place, 7);
    EXPECT_TRUE(residues.insert(residue).second);
    EXPECT_EQ(residue == 7, place < 1);
    EXPECT_EQ(residue % 4 == 3, place < 4);
    EXPECT_EQ(residue % 2 == 1, place < 8);
    std::vector<UnionWalk<HostArithmetic>::Head> heads{
        {true, 1, 0}, {true, 3, 1}, {true, 7, 2}};
    UnionWalk<HostArithmetic> known(a, shape, heads, residue, place);
    UnionWalk<HostArithmetic> found(a, shape, heads, residue);
    EXPECT_EQ(known.list(-2, 2).count, found.list(-2, 2).count);
  }
  EXPECT_EQ(residues.size(), 16u);
}

template <class A>
int64_t countWrongOfMany(uint64_t stream, Case (*draw)(Dice &)) {
  Dice dice(20261129, stream);
  int64_t wrong = 0;
  for (int number = 0; number < 60; ++number) {
    Case drawn = draw(dice);
    wrong += countWrong<A>(drawn, doResiduesNest(drawn));
  }
  return wrong;
}

template <class A>
int64_t countWrongCases() {
  return countWrongOfMany<A>(1, drawCase);
}

template <class A>
int64_t countWrongTiles() {
  return countWrongOfMany<A>(3, drawTiles);
}

TEST(UnionWalk, PlantedMistakesAreFound) {
  EXPECT_EQ(countWrongCases<HostArithmetic>(), 0);
  EXPECT_GT(countWrongCases<EveryResidue>(), 0);
  EXPECT_GT(countWrongCases<MissedResidue>(), 0);
  EXPECT_GT(countWrongCases<CountedAgain>(), 0);
  EXPECT_GT(countWrongCases<RoundedToZero>(), 0);
}

TEST(UnionTiles, PlantedMistakesAreFound) {
  EXPECT_EQ(countWrongTiles<HostArithmetic>(), 0);
  EXPECT_GT(countWrongTiles<CountedAgain>(), 0);
  EXPECT_GT(countWrongTiles<MissedTile>(), 0);
  EXPECT_GT(countWrongTiles<MissedMask>(), 0);
}

} // namespace
