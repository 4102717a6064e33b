//===- Evaluate.h - A graph computed by the oracle --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_EVALUATE_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_EVALUATE_H

#include "lib/Oracle/Tolerance.h"
#include "test/Run/differential/Graph.h"

namespace ringlet::differential {

/// What a result of a graph must be.
struct Expected {
  /// Exact, in f64.
  Tensor exact;
  /// The same from the unfused computations; none for tensors that are only
  /// moved, which must be met bit by bit.
  std::vector<Tensor> unfused;
  oracle::Quantity quantity = oracle::Quantity::Output;
  /// The element type of query, key and value, or of what is moved.
  DType inputs = DType::f32;
};

/// All results of `graph` for `inputs`, one view an argument. Between two
/// operations a tensor has its element type, rounded once.
std::optional<std::vector<Expected>>
evaluate(const Graph &graph, const std::vector<TensorView> &inputs,
         bool withUnfused, std::string *error);

/// Compares what an entry wrote with what it must be. Returns the empty
/// string, or what is wrong, with coordinates.
std::string compareResult(const Expected &expected, const TensorView &actual,
                          bool hasFarReference);

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_EVALUATE_H
