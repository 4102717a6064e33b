//===- LabellingTest.cpp - Cheap labels, compared with all labels ---------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Graph/Labelling.h"

#include "gtest/gtest.h"

#include <random>

using namespace ringlet::graph;

namespace {

LabelProblem makeProblem(std::mt19937 &random) {
  LabelProblem problem;
  unsigned sites = 2 + random() % 6;
  problem.count = 2 + random() % 2;
  for (unsigned site = 0; site < sites; ++site)
    problem.labels.push_back(random() % problem.count);
  for (unsigned count = 1 + random() % 6; count > 0; --count) {
    Net net{unsigned(random() % sites), {}, int64_t(random() % 5)};
    for (unsigned readers = random() % 4; readers > 0; --readers)
      net.readers.push_back(random() % sites);
    problem.nets.push_back(net);
  }
  unsigned movable = random(), oneOnly = random();
  problem.mayTake = [=](unsigned site, unsigned label) {
    return (movable >> site & 1) && (label != 1 || (oneOnly >> site & 1));
  };
  return problem;
}

// On random problems: nobody has a label that it may not take, nothing costs
// more than before, and no set of sites saves by taking one label, of which
// every set is tried.
TEST(Labelling, NoSetOfSitesSavesAnything) {
  std::mt19937 random(3);
  int improved = 0;
  for (int round = 0; round < 500; ++round) {
    LabelProblem problem = makeProblem(random);
    Labels found = improve(problem);
    int64_t cost = getCost(problem, found);
    EXPECT_LE(cost, getCost(problem, problem.labels));
    improved += cost < getCost(problem, problem.labels);
    unsigned sites = problem.labels.size();
    for (unsigned site = 0; site < sites; ++site)
      EXPECT_TRUE(found[site] == problem.labels[site] ||
                  problem.mayTake(site, found[site]));
    for (unsigned label = 0; label < problem.count; ++label)
      for (unsigned set = 0; set < 1u << sites; ++set) {
        Labels other = found;
        for (unsigned site = 0; site < sites; ++site)
          if ((set >> site & 1) && problem.mayTake(site, label))
            other[site] = label;
        EXPECT_GE(getCost(problem, other), cost);
      }
  }
  EXPECT_GT(improved, 100);
}

// A conversion is made once for all readers that want it.
TEST(Labelling, OneConversionForAllReadersOfALabel) {
  LabelProblem problem{{{0, {1, 2, 3}, 5}}, {0, 1, 1, 2}, 3, nullptr};
  EXPECT_EQ(getCost(problem, problem.labels), 10);
}

// A site between two labels at equal cost stays; where something is saved, one
// that may go along for nothing goes along, but not to label 0.
TEST(Labelling, TiesStayUnlessSomethingIsSaved) {
  auto any = [](unsigned site, unsigned) { return site == 1 || site == 2; };
  // 0 -> 1 -> 2 -> 3, ends fixed.
  std::vector<Net> chain{{0, {1}, 1}, {1, {2}, 1}, {2, {3}, 1}};
  EXPECT_EQ(improve({chain, {0, 0, 1, 1}, 2, any}), (Labels{0, 0, 1, 1}));
  EXPECT_EQ(improve({chain, {0, 1, 0, 1}, 2, any}), (Labels{0, 1, 1, 1}));
}

} // namespace
