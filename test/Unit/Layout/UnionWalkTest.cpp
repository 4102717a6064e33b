//===- UnionWalkTest.cpp - Keys of several branches, each once --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk over atoms against the oracle's keys: for every query of random
// branches, the same keys, each as often as there are branches that show it.
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/UnionWalk.h"

#include "lib/Oracle/Pattern.h"
#include "lib/Tensor/Dice.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace ringlet;
using namespace ringlet::layout;

namespace {

/// Numbers of the host.
struct HostArithmetic {
  using Number = int64_t;
  using Condition = bool;

  int64_t constant(int64_t value) { return value; }
  int64_t add(int64_t a, int64_t b) { return a + b; }
  int64_t sub(int64_t a, int64_t b) { return a - b; }
  int64_t mul(int64_t a, int64_t b) { return a * b; }
  int64_t div(int64_t a, int64_t b) { return a / b; }
  int64_t rem(int64_t a, int64_t b) { return a % b; }
  int64_t floorDiv(int64_t a, int64_t b) { return layout::floorDiv(a, b); }
  int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
  bool less(int64_t a, int64_t b) { return a < b; }
  bool divides(int64_t a, int64_t b) { return b % a == 0; }
  bool both(bool a, bool b) { return a && b; }
  bool either(bool a, bool b) { return a || b; }
  bool inverse(bool a) { return !a; }
  int64_t select(bool condition, int64_t a, int64_t b) {
    return condition ? a : b;
  }
  bool always() { return true; }
  bool never() { return false; }
};

/// Planted mistakes.
struct EveryResidue : HostArithmetic {
  bool divides(int64_t, int64_t) { return true; }
};
struct MissedResidue : HostArithmetic {
  int64_t rem(int64_t a, int64_t b) { return std::max<int64_t>(a % b, 0); }
};
struct CountedAgain : HostArithmetic {
  bool either(bool, bool b) { return b; }
};
struct RoundedToZero : HostArithmetic {
  int64_t floorDiv(int64_t a, int64_t b) { return a / b; }
};

/// How often a query sees each key.
using Keys = std::map<int64_t, int64_t>;

struct Case {
  oracle::AttentionSpec spec;
  int64_t queryHeads, keyHeads, queries, keys, offset;
};

Case drawCase(Dice &dice) {
  Case drawn;
  drawn.keyHeads = dice.between(1, 3);
  drawn.queryHeads = drawn.keyHeads * dice.between(1, 2);
  drawn.keys = dice.between(0, 90);
  drawn.queries = dice.between(1, 40);
  drawn.offset =
      dice.oneIn(2) ? drawn.keys - drawn.queries : dice.between(-40, 60);
  bool nested = dice.oneIn(2);
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
    branch.offset = dice.pick(
        {OffsetRule::Modulo, OffsetRule::Block, OffsetRule::Constant});
    branch.constant = dice.between(-9, 9);
    branch.offsetByQuery = dice.oneIn(3);
    if (dice.oneIn(4)) {
      int64_t begin = dice.between(0, drawn.queryHeads - 1);
      branch.heads =
          oracle::HeadRange{begin, dice.between(begin + 1, drawn.queryHeads)};
    }
    drawn.spec.branches.push_back(branch);
  }
  return drawn;
}

UnionShape shapeOf(const Case &given) {
  std::vector<UnionBranch> branches;
  for (const oracle::Branch &branch : given.spec.branches)
    branches.push_back(
        {branch.segment.value_or(unboundedSegment), branch.dilation});
  return UnionShape(std::move(branches));
}

/// What the queries of one atom see, from the greatest multiplicity to 1.
template <class A>
Keys walk(const Case &given, const UnionShape &shape, int64_t head,
          int64_t position, std::set<std::pair<int64_t, int64_t>> &atoms) {
  A a;
  std::vector<typename UnionWalk<A>::Head> heads;
  for (const oracle::Branch &branch : given.spec.branches) {
    int64_t keyHead = head / (given.queryHeads / given.keyHeads);
    int64_t residue =
        headResidue(branch.offset, branch.offsetByQuery ? head : keyHead,
                    branch.offsetByQuery ? given.queryHeads : given.keyHeads,
                    branch.dilation, branch.constant);
    bool takesPart = !branch.heads ||
                     (branch.heads->begin <= head && head < branch.heads->end);
    heads.push_back({takesPart, residue});
  }
  int64_t segment = segmentOf(position, shape.width);
  int64_t residue = residueOf(position, shape.width, shape.rate);
  int64_t keySegments =
      shape.width == unboundedSegment ? 1 : ceilDiv(given.keys, shape.width);
  UnionWalk<A> walk(a, shape, heads, {segment, residue}, keySegments);
  Keys keys;
  for (int64_t m = walk.getMost(); m >= 1; --m)
    for (int64_t place = 0; place < walk.getCount(m); ++place) {
      auto next = walk.at(place);
      if (!next.isFirst || next.multiplicity != m)
        continue;
      EXPECT_TRUE(
          (std::is_same_v<A, HostArithmetic>
               ? atoms.emplace(next.atom.segment, next.atom.residue).second
               : true))
          << "an atom is visited twice";
      int64_t begin = next.atom.segment * shape.width;
      for (int64_t u = begin + next.atom.residue;
           u < given.keys &&
           (shape.width == unboundedSegment || u < begin + shape.width);
           u += shape.rate)
        if (u >= 0)
          keys[u] += m;
    }
  return keys;
}

/// The number of rows for which the walk and the oracle disagree.
template <class A>
int64_t countWrong(const Case &given) {
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
  UnionShape shape = shapeOf(given);
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
      std::set<std::pair<int64_t, int64_t>> atoms;
      wrong += walk<A>(given, shape, head, at.position, atoms) != expected;
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

TEST(UnionWalk, SeesTheKeysOfTheOracle) {
  Dice dice(20261129, 0);
  for (int number = 0; number < 800; ++number)
    EXPECT_EQ(countWrong<HostArithmetic>(drawCase(dice)), 0)
        << "case " << number;
}

/// A segment of one residue walks as kernels of one branch do.
TEST(UnionWalk, VisitsAtomsOfTheLargestSegmentLast) {
  HostArithmetic a;
  UnionShape shape({{4, 1}, {8, 2}});
  UnionWalk<HostArithmetic> walk(a, shape, {{true, 0}, {true, 0}}, {1, 0}, 4);
  // Base segment 1 at residue 0 in both branches, then at residue 1 in the
  // first, then base segment 0 at residue 0 in the second.
  EXPECT_EQ(walk.getCount(2), 2);
  EXPECT_EQ(walk.getCount(1), 4);
  std::vector<std::vector<int64_t>> visits;
  for (int64_t place = 0; place < 4; ++place) {
    auto next = walk.at(place);
    if (next.isFirst)
      visits.push_back(
          {next.atom.segment, next.atom.residue, next.multiplicity});
  }
  EXPECT_EQ(visits, (std::vector<std::vector<int64_t>>{
                        {1, 0, 2}, {1, 1, 1}, {0, 0, 1}}));
}

template <class A>
int64_t countWrongOfMany() {
  Dice dice(20261129, 1);
  int64_t wrong = 0;
  for (int number = 0; number < 60; ++number)
    wrong += countWrong<A>(drawCase(dice));
  return wrong;
}

TEST(UnionWalk, PlantedMistakesAreFound) {
  EXPECT_EQ(countWrongOfMany<HostArithmetic>(), 0);
  EXPECT_GT(countWrongOfMany<EveryResidue>(), 0);
  EXPECT_GT(countWrongOfMany<MissedResidue>(), 0);
  EXPECT_GT(countWrongOfMany<CountedAgain>(), 0);
  EXPECT_GT(countWrongOfMany<RoundedToZero>(), 0);
}

} // namespace
