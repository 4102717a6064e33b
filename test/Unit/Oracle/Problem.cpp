//===- Problem.cpp - Small attention problems for tests ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/Problem.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ringlet::oracle {

AttentionResult solve(const Problem &problem, const AttentionOptions &options) {
  std::string error;
  std::optional<AttentionResult> result =
      attention(problem.spec, problem.inputs(), &error, options);
  EXPECT_TRUE(result) << error;
  return result ? std::move(*result) : AttentionResult();
}

std::string keysOf(const AttentionResult &result, int64_t row, int64_t head) {
  double total = std::exp(result.lse.get({0, head, row}));
  EXPECT_NEAR(total, std::round(total), 1e-9);
  std::string text;
  for (int64_t u = 0; u < result.output.shape()[3]; ++u) {
    double count = result.output.get({0, row, head, u}) * total;
    EXPECT_NEAR(count, std::round(count), 1e-9);
    for (int64_t i = 0; i < std::llround(count); ++i)
      text += (text.empty() ? "" : " ") + std::to_string(u);
  }
  return text;
}

} // namespace ringlet::oracle
