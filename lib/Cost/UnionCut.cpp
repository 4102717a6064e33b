//===- UnionCut.cpp - Kernels that a union is cut into -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/UnionCut.h"

#include "lib/Layout/HostArithmetic.h"
#include "lib/Layout/UnionTiles.h"

using namespace ringlet;
using namespace ringlet::cost;
using layout::HostArithmetic;
using layout::UnionShape;

/// Tiles of queries to look at, at most.
static constexpr int64_t mostTiles = int64_t(1) << 16;
/// What the beginning and the end of a tile of queries cost, in steps, and what
/// a step with a mask costs more than one without.
static constexpr double stepsOfTile = 2.0, maskedStep = 0.25;

UnionShape ringlet::cost::getShape(const UnionShape &whole,
                                   const UnionPart &part) {
  std::vector<layout::UnionBranch> branches;
  std::vector<size_t> order = whole.getOrder();
  for (size_t i = 0; i < part.branches; ++i)
    branches.push_back(whole.branches[order[i]]);
  return UnionShape(std::move(branches), whole.isNested);
}

int64_t ringlet::cost::countResidues(const UnionShape &whole,
                                     const UnionPart &part) {
  int64_t all = getShape(whole, part).rate;
  if (part.rowsOf == 0)
    return all;
  return all / whole.branches[whole.getOrder()[part.rowsOf]].rate;
}

namespace {

/// Of the tiles of queries of a part, for heads whose residues are 0.
class StepCounter {
public:
  StepCounter(const UnionShape &whole, const UnionPart &part)
      : shape(getShape(whole, part)), residues(countResidues(whole, part)),
        segments(shape.branches.back().width / shape.width) {}

  int64_t countTiles(int64_t rows) const {
    return segments * residues * tilesOfAtom(rows);
  }
  double count(int64_t queryRows, int64_t keyRows);

private:
  int64_t tilesOfAtom(int64_t rows) const {
    return layout::ceilDiv(layout::ceilDiv(shape.width, shape.rate), rows);
  }

  UnionShape shape;
  int64_t residues, segments;
};

} // namespace

double StepCounter::count(int64_t queryRows, int64_t keyRows) {
  using Walk = layout::UnionWalk<HostArithmetic>;
  using Tiles = layout::UnionTiles<HostArithmetic>;
  HostArithmetic a;
  double steps = 0;
  auto visit = [&](int64_t segment, int64_t place, int64_t tile) {
    std::vector<Walk::Head> heads;
    for (const layout::UnionBranch &branch : shape.branches)
      heads.push_back({true, 0, segment % (branch.width / shape.width)});
    int64_t residue = Walk::getResidue(a, shape, place, 0);
    Walk walk(a, shape, heads, residue, place);
    Tiles tiles(a, a, walk, shape, /*isCausal=*/true,
                {segment, tile * queryRows, queryRows, /*isAligned=*/true},
                {segments * shape.width, keyRows},
                [&](int64_t number) { return number - segment; });
    int64_t whole = tiles.whole.empty() ? 0 : tiles.whole.back().end;
    auto all = static_cast<double>(tiles.masked.back().end);
    steps +=
        all + maskedStep * (all - static_cast<double>(whole)) + stepsOfTile;
  };
  for (int64_t segment = 0; segment < segments; ++segment)
    for (int64_t place = 0; place < residues; ++place)
      for (int64_t tile = 0; tile < tilesOfAtom(queryRows); ++tile)
        visit(segment, place, tile);
  return steps / static_cast<double>(segments);
}

double ringlet::cost::countSteps(const UnionShape &whole, const UnionPart &part,
                                 int64_t queryRows, int64_t keyRows) {
  return StepCounter(whole, part).count(queryRows, keyRows);
}

std::vector<UnionPart> ringlet::cost::cutCausalUnion(const UnionShape &shape,
                                                     int64_t queryRows,
                                                     int64_t keyRows) {
  size_t count = shape.branches.size();
  std::vector<UnionPart> whole{{count, 0}};
  const layout::UnionBranch &last = shape.branches[shape.getOrder().back()];
  // From one base segment to the next residues have to stay what they are.
  if (!shape.isNested || last.width == layout::unboundedSegment ||
      shape.width % shape.rate != 0 ||
      StepCounter(shape, whole.front()).countTiles(queryRows) > mostTiles)
    return whole;
  // best[n]: how the first n branches are cut, and what that takes; the last
  // kernel of it has rows of all of these.
  struct Cut {
    std::vector<UnionPart> parts;
    double steps = 0;
  };
  std::vector<Cut> best(count + 1);
  for (size_t n = 1; n <= count; ++n)
    for (size_t before = 0; before < n; ++before) {
      UnionPart part{n, before};
      double steps =
          best[before].steps + countSteps(shape, part, queryRows, keyRows);
      if (before != 0 && steps >= best[n].steps)
        continue;
      best[n] = {best[before].parts, steps};
      best[n].parts.push_back(part);
    }
  return best[count].parts;
}
