//===- Graph.h - The reference graph in the oracle's words ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_GRAPH_H
#define RINGLET_TOOLS_RINGLET_RUN_GRAPH_H

#include "lib/Layout/OrderSpec.h"
#include "lib/Oracle/AttentionSpec.h"
#include "ringlet/abi/ArtifactGenerated.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet::run {

/// Nothing for types that host tensors do not have.
std::optional<DType> fromAbi(abi::DType dtype);
layout::OrderSpec fromAbi(const abi::Order &order);
/// They are numbered alike.
inline Precision fromAbi(abi::Precision precision) {
  return static_cast<Precision>(precision);
}
/// A branch without the values that its w and r may be given by.
oracle::Branch fromAbi(const abi::Branch &branch, int64_t heads);

/// "3 branches (w 2048, r 1) ..., causal", a line for each attention.
std::vector<std::string> describeGraph(const abi::Graph &graph);

/// Rows that the first attention computes: batch times length, or the packed
/// total; 0 if there is none.
int64_t countTokens(const abi::Graph &graph,
                    const std::vector<TensorView> &arguments);

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_GRAPH_H
