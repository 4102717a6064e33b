//===- Problem.h - Small attention problems for tests -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_ORACLE_PROBLEM_H
#define RINGLET_TEST_UNIT_ORACLE_PROBLEM_H

#include "lib/Oracle/Attention.h"

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace ringlet::oracle {

/// A specification together with the memory of its operands.
struct Problem {
  AttentionSpec spec;
  Tensor query, key, value;
  std::optional<Tensor> cuSeqlensQ, cuSeqlensK, lengthsQ, lengthsK, keyBegins,
      keyScale, valueScale, qOffset, sink, blockMask;

  AttentionInputs inputs() const {
    auto view = [](const std::optional<Tensor> &tensor) {
      return tensor ? std::optional<TensorView>(tensor->view()) : std::nullopt;
    };
    AttentionInputs result;
    result.query = query.view();
    result.key = key.view();
    result.value = value.view();
    result.cuSeqlensQ = view(cuSeqlensQ);
    result.cuSeqlensK = view(cuSeqlensK);
    result.lengthsQ = view(lengthsQ);
    result.lengthsK = view(lengthsK);
    result.keyBegins = view(keyBegins);
    result.keyScale = view(keyScale);
    result.valueScale = view(valueScale);
    result.qOffset = view(qOffset);
    result.sink = view(sink);
    result.blockMask = view(blockMask);
    return result;
  }
};

inline Tensor vectorOf(DType dtype, const std::vector<double> &values) {
  Tensor result(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    result.set({static_cast<int64_t>(i)}, values[i]);
  return result;
}

inline void fillRandom(Tensor &tensor, std::mt19937_64 &random,
                       double deviation = 1) {
  std::normal_distribution<> normal(0, deviation);
  MutableTensorView view = tensor.view();
  forEachIndex(tensor.shape(), [&](const int64_t *indices) {
    view.set(indices, normal(random));
  });
}

inline Branch branchOf(std::optional<int64_t> segment, int64_t dilation) {
  Branch branch;
  branch.segment = segment;
  branch.dilation = dilation;
  return branch;
}

/// Padded operands of type f32, all zero.
inline Problem zeros(int64_t batch, int64_t rows, int64_t length,
                     int64_t queryHeads, int64_t keyHeads, int64_t dim,
                     int64_t valueDim) {
  Problem problem;
  problem.query = Tensor(DType::f32, {batch, rows, queryHeads, dim});
  problem.key = Tensor(DType::f32, {batch, length, keyHeads, dim});
  problem.value = Tensor(DType::f32, {batch, length, keyHeads, valueDim});
  return problem;
}

/// Zero scores and one-hot values: the output of a row is how often it sees
/// each key, divided by how many keys it sees.
inline Problem counting(int64_t rows, int64_t length, int64_t queryHeads = 1,
                        int64_t keyHeads = 1) {
  Problem problem = zeros(1, rows, length, queryHeads, keyHeads, 1, length);
  for (int64_t u = 0; u < length; ++u)
    for (int64_t head = 0; head < keyHeads; ++head)
      problem.value.set({0, u, head, u}, 1);
  return problem;
}

/// Fails the test and gives an empty result when the problem is refused.
AttentionResult solve(const Problem &problem,
                      const AttentionOptions &options = {});

/// The keys of one row of a `counting` problem as text: "0 2 2 5", each as
/// often as it counts, read from output and lse.
std::string keysOf(const AttentionResult &result, int64_t row,
                   int64_t head = 0);

} // namespace ringlet::oracle

#endif // RINGLET_TEST_UNIT_ORACLE_PROBLEM_H
