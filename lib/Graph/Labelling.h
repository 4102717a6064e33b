//===- Labelling.h - Cheap labels for the ends of nets ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hypergraph of sites, each of which has a label. A net leads from one site,
// its driver, to others, its readers. It costs its weight once for each label
// that a reader has and the driver has not: a conversion of what the driver
// gives, made once and read by all who want it.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_GRAPH_LABELLING_H
#define RINGLET_LIB_GRAPH_LABELLING_H

#include "lib/Graph/MinCut.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ringlet::graph {

/// Sums of a million such weights and more stay within 64 bits.
constexpr int64_t maxWeight = int64_t(1) << 41;
/// Weight of a net whose readers have its driver's label to begin with, and
/// always.
constexpr int64_t neverConverted = MinCut::uncut;

struct Net {
  unsigned driver;
  std::vector<unsigned> readers;
  /// From 0 to maxWeight, or neverConverted.
  int64_t weight;
};

/// Labels are small numbers; label 0 loses ties.
using Labels = std::vector<unsigned>;

struct LabelProblem {
  std::vector<Net> nets;
  /// The label that each site has to begin with.
  Labels labels;
  /// Number of labels.
  unsigned count;
  /// Whether a site may have another label than its own.
  std::function<bool(unsigned site, unsigned label)> mayTake;
};

/// What `labels` cost.
int64_t getCost(const LabelProblem &problem, const Labels &labels);

/// Labels that cost no more than those to begin with, and where no set of sites
/// saves anything by going over to one label together. Sites that may go along
/// for nothing do.
Labels improve(const LabelProblem &problem);

} // namespace ringlet::graph

#endif // RINGLET_LIB_GRAPH_LABELLING_H
