//===- Labelling.cpp - Cheap labels for the ends of nets ------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One label at a time is offered to every site. Which of them take it is a
// cheapest cut: those on the source's side do. Each part of a net's cost is an
// edge or a node with a few edges, so the cut is exact (the expansion moves of
// Boykov, Veksler and Zabih). Offers repeat until none saves anything.
//
//===----------------------------------------------------------------------===//

#include "lib/Graph/Labelling.h"

#include <algorithm>
#include <map>

using namespace ringlet::graph;

namespace {

/// The labels of `net`'s readers, and who has them.
std::map<unsigned, std::vector<unsigned>> groupReaders(const Net &net,
                                                       const Labels &labels) {
  std::map<unsigned, std::vector<unsigned>> groups;
  for (unsigned reader : net.readers)
    groups[labels[reader]].push_back(reader);
  return groups;
}

/// `offered` for whoever takes it.
class Offer {
public:
  Offer(const LabelProblem &problem, const Labels &labels, unsigned offered)
      : labels(labels), offered(offered), nodes(labels.size(), nobody) {
    for (unsigned site = 0; site < labels.size(); ++site)
      if (labels[site] != offered && problem.mayTake(site, offered))
        nodes[site] = cut.addNode();
    for (const Net &net : problem.nets)
      add(net);
  }

  Labels solve() {
    std::vector<bool> takes = cut.solve(/*greatestSourceSide=*/offered != 0);
    Labels result = labels;
    for (unsigned site = 0; site < labels.size(); ++site)
      if (nodes[site] != nobody && takes[nodes[site]])
        result[site] = offered;
    return result;
  }

private:
  static constexpr unsigned nobody = ~0u;

  bool canTake(unsigned site) const { return nodes[site] != nobody; }

  void add(const Net &net) {
    unsigned before = labels[net.driver];
    bool offeredRead = false;
    for (const auto &[label, readers] : groupReaders(net, labels)) {
      if (label == offered) {
        offeredRead = true;
        continue;
      }
      // Read in `label` unless all readers take the offer, and by then
      // converted if the driver has it no more.
      if (!std::all_of(readers.begin(), readers.end(),
                       [&](unsigned reader) { return canTake(reader); })) {
        if (label == before && canTake(net.driver))
          cut.addEdge(nodes[net.driver], MinCut::sink, net.weight);
        continue;
      }
      if (label != before)
        payUnlessAll(MinCut::source, readers, net.weight);
      else if (canTake(net.driver))
        payUnlessAll(nodes[net.driver], readers, net.weight);
    }
    if (before == offered)
      return;
    // Converted to the offer unless the driver has taken it.
    unsigned driver = canTake(net.driver) ? nodes[net.driver] : MinCut::sink;
    if (offeredRead)
      cut.addEdge(MinCut::source, driver, net.weight);
    else
      payIfAny(net.readers, driver, net.weight);
  }

  /// Pays where `taker` takes and one of `readers` does not.
  void payUnlessAll(unsigned taker, const std::vector<unsigned> &readers,
                    int64_t weight) {
    unsigned all = cut.addNode();
    cut.addEdge(taker, all, weight);
    for (unsigned reader : readers)
      cut.addEdge(all, nodes[reader], MinCut::uncut);
  }

  /// Pays where one of `readers` takes and `refuser` does not.
  void payIfAny(const std::vector<unsigned> &readers, unsigned refuser,
                int64_t weight) {
    unsigned any = cut.addNode();
    cut.addEdge(any, refuser, weight);
    for (unsigned reader : readers)
      if (canTake(reader))
        cut.addEdge(nodes[reader], any, MinCut::uncut);
  }

  const Labels &labels;
  unsigned offered;
  MinCut cut;
  /// Of each site that may take the offer.
  std::vector<unsigned> nodes;
};

} // namespace

int64_t ringlet::graph::getCost(const LabelProblem &problem,
                                const Labels &labels) {
  int64_t cost = 0;
  for (const Net &net : problem.nets)
    for (const auto &[label, readers] : groupReaders(net, labels))
      if (label != labels[net.driver])
        cost += net.weight;
  return cost;
}

Labels ringlet::graph::improve(const LabelProblem &problem) {
  Labels best = problem.labels;
  int64_t cost = getCost(problem, best);
  for (bool improved = true; improved;) {
    improved = false;
    for (unsigned turn = 1; turn <= problem.count; ++turn) {
      unsigned label = turn % problem.count; // 0 comes last
      Labels next = Offer(problem, best, label).solve();
      int64_t nextCost = getCost(problem, next);
      if (nextCost >= cost)
        continue;
      best = std::move(next);
      cost = nextCost;
      improved = true;
    }
  }
  return best;
}
