//===- ValidateTest.cpp - Refusals with their rules -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/Problem.h"

#include "lib/Oracle/Unfused.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace ringlet;
using namespace ringlet::oracle;

namespace {

/// A legal problem, which each case spoils in one way.
Problem legal() {
  Problem problem = zeros(2, 6, 8, 4, 2, 3, 5);
  problem.spec.branches = {branchOf(4, 2)};
  return problem;
}

struct Refusal {
  /// What must be in the message.
  std::string rule;
  std::string found;
  std::function<void(Problem &)> spoil;
};

void expectRefused(const Problem &problem, const std::string &rule,
                   const std::string &found) {
  std::string error;
  EXPECT_FALSE(validate(problem.spec, problem.inputs(), &error)) << rule;
  EXPECT_NE(error.find("(" + rule + ")"), std::string::npos)
      << "rule " << rule << ": " << error;
  EXPECT_NE(error.find(found), std::string::npos) << found << ": " << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  EXPECT_FALSE(validate(problem.spec, problem.inputs(), nullptr));
  // The two computations refuse the same, with the same words.
  std::string again;
  EXPECT_FALSE(attention(problem.spec, problem.inputs(), &again));
  EXPECT_EQ(again, error);
  EXPECT_FALSE(unfusedAttention(problem.spec, problem.inputs(), &again));
  EXPECT_EQ(again, error);
}

TEST(Validate, TheLegalProblemIsLegal) {
  std::string error;
  EXPECT_TRUE(validate(legal().spec, legal().inputs(), &error)) << error;
  EXPECT_TRUE(error.empty());
}

TEST(Validate, Refusals) {
  static constexpr int64_t least = std::numeric_limits<int64_t>::min();
  const Refusal refusals[] = {
      {"section 1", "found i32",
       [](Problem &p) { p.query = Tensor(DType::i32, {2, 6, 4, 3}); }},
      {"section 1", "found f64",
       [](Problem &p) { p.query = Tensor(DType::f64, {2, 6, 4, 3}); }},
      {"section 1", "query's type f32 (section 1), found f16",
       [](Problem &p) { p.key = Tensor(DType::f16, {2, 8, 2, 3}); }},
      {"section 1", "found 3 and 7",
       [](Problem &p) { p.key = Tensor(DType::f32, {2, 8, 2, 7}); }},
      {"section 1", "[2, 8, 2, 3] and [2, 9, 2, 5]",
       [](Problem &p) { p.value = Tensor(DType::f32, {2, 9, 2, 5}); }},
      {"section 1", "found 4 and 3; nearest legal choice: 6 query heads",
       [](Problem &p) {
         p.key = Tensor(DType::f32, {2, 8, 3, 3});
         p.value = Tensor(DType::f32, {2, 8, 3, 5});
       }},
      {"section 1", "[2, 6, 0, 3]",
       [](Problem &p) { p.query = Tensor(DType::f32, {2, 6, 0, 3}); }},
      {"section 1", "[2, 6, 4, 0]",
       [](Problem &p) { p.query = Tensor(DType::f32, {2, 6, 4, 0}); }},
      {"S2", "found shape [6, 4, 3]",
       [](Problem &p) { p.query = Tensor(DType::f32, {6, 4, 3}); }},
      {"S2", "found shape [2, 8, 2, 3]",
       [](Problem &p) { p.cuSeqlensK = vectorOf(DType::i32, {0, 8}); }},
      {"S2", "found both",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {0, 3, 6});
         p.lengthsQ = vectorOf(DType::i32, {3, 3});
       }},
      {"S2", "entry 2 = 7 after 3",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {0, 3, 7});
       }},
      {"S2", "entry 2 = 2 after 3",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {0, 3, 2});
       }},
      {"S2", "entry 0 = 1",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {1, 3, 6});
       }},
      {"S2", "found none",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {});
       }},
      {"S2", "found 1 and 2",
       [](Problem &p) {
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {0, 6});
       }},
      {"S2", "type f32",
       [](Problem &p) { p.lengthsK = vectorOf(DType::f32, {3, 3}); }},
      {"S2", "2 entries of lengths_k",
       [](Problem &p) { p.lengthsK = vectorOf(DType::i32, {3, 3, 3}); }},
      {"S5", "type f32",
       [](Problem &p) { p.keyBegins = vectorOf(DType::f32, {3, 3}); }},
      {"S5", "2 entries of key_begins, one per batch item",
       [](Problem &p) { p.keyBegins = vectorOf(DType::i32, {3, 3, 3}); }},
      {"S6", "value of the element type of key, i8, found f32",
       [](Problem &p) { p.key = Tensor(DType::i8, p.key.shape()); }},
      {"S6", "shape [2] or [2, 2] and type f32, one for each head of keys",
       [](Problem &p) { p.keyScale = vectorOf(DType::f32, {1, 1, 1}); }},
      {"S6", "found shape [3, 2] of type f32",
       [](Problem &p) { p.valueScale = Tensor(DType::f32, {3, 2}); }},
      {"section 1", "query of type f16, bf16 or f32",
       [](Problem &p) { p.query = Tensor(DType::i8, p.query.shape()); }},
      {"S2", "found 9 for batch item 1; nearest legal choice: 8",
       [](Problem &p) { p.lengthsK = vectorOf(DType::i32, {3, 9}); }},
      {"S2", "found -1 for batch item 0; nearest legal choice: 0",
       [](Problem &p) { p.lengthsQ = vectorOf(DType::i64, {-1, 3}); }},
      {"S1", "found 3",
       [](Problem &p) { p.qOffset = vectorOf(DType::i64, {0, 0, 0}); }},
      {"S1", "found 0",
       [](Problem &p) { p.qOffset = vectorOf(DType::i64, {}); }},
      {"S1", "found 2305843009213693952 for sequence 1",
       [](Problem &p) { p.qOffset = vectorOf(DType::i64, {0, 0x1p61}); }},
      {"S1", "found -9223372036854775808",
       [](Problem &p) {
         p.qOffset = vectorOf(DType::i64, {static_cast<double>(least)});
       }},
      {"section 2", "found none", [](Problem &p) { p.spec.branches.clear(); }},
      {"B1", "branch 0: expected a dilation of at least 1 (B1), found 0",
       [](Problem &p) { p.spec.branches[0].dilation = 0; }},
      {"B1", "found -9223372036854775808",
       [](Problem &p) { p.spec.branches[0].dilation = least; }},
      // 0 never means unbounded.
      {"B1", "found 0; nearest legal choice: 2",
       [](Problem &p) { p.spec.branches[0].segment = 0; }},
      {"B1", "found -4", [](Problem &p) { p.spec.branches[0].segment = -4; }},
      {"B1", "branch 1: ",
       [](Problem &p) { p.spec.branches.push_back(branchOf(3, 4)); }},
      {"B1", "dilation 5 and segment 4; nearest legal choice: dilation 4",
       [](Problem &p) { p.spec.branches[0].dilation = 5; }},
      {"B2", "[0, 4) (B2), found [2, 5)",
       [](Problem &p) { p.spec.branches[0].heads = HeadRange{2, 5}; }},
      {"B2", "found [3, 2)",
       [](Problem &p) { p.spec.branches[0].heads = HeadRange{3, 2}; }},
      {"B2", "found [-1, 2)",
       [](Problem &p) { p.spec.branches[0].heads = HeadRange{-1, 2}; }},
      {"B4", "found -1; nearest legal choice: 0",
       [](Problem &p) { p.spec.windowLeft = -1; }},
      {"B4", "to the right", [](Problem &p) { p.spec.windowRight = least; }},
      {"B5", "found [2, 0]",
       [](Problem &p) { p.spec.gridWindow = GridWindow{{2, 0}, {1, 1}}; }},
      {"B5", "found []",
       [](Problem &p) { p.spec.gridWindow = GridWindow{{}, {}}; }},
      {"B5", "found 1",
       [](Problem &p) { p.spec.gridWindow = GridWindow{{2, 4}, {1}}; }},
      {"B5", "found -2",
       [](Problem &p) { p.spec.gridWindow = GridWindow{{2, 4}, {1, -2}}; }},
      {"B5", "of 6 cells (B5), found position 7",
       [](Problem &p) { p.spec.gridWindow = GridWindow{{2, 3}, {1, 1}}; }},
      {"B5", "found position -1",
       [](Problem &p) {
         p.spec.gridWindow = GridWindow{{2, 4}, {1, 1}};
         p.qOffset = vectorOf(DType::i32, {0, -1});
       }},
      {"B6", "found none",
       [](Problem &p) { p.spec.blockMask = BlockSizes{2, 2}; }},
      {"B7", "found lengths",
       [](Problem &p) {
         p.spec.branches[0].countsPadding = true;
         p.lengthsQ = vectorOf(DType::i32, {3, 3});
         p.lengthsK = vectorOf(DType::i32, {3, 3});
       }},
      {"B7", "found packed sequences",
       [](Problem &p) {
         p.spec.branches[0].countsPadding = true;
         p.query = Tensor(DType::f32, {6, 4, 3});
         p.cuSeqlensQ = vectorOf(DType::i32, {0, 3, 6});
       }},
      {"B7", "found a q_offset for each sequence",
       [](Problem &p) {
         p.spec.branches[0].countsPadding = true;
         p.qOffset = vectorOf(DType::i32, {0, 1});
       }},
      {"B7", "found a window",
       [](Problem &p) {
         p.spec.branches[0].countsPadding = true;
         p.spec.windowLeft = 2;
       }},
      {"B6", "found none",
       [](Problem &p) { p.blockMask = Tensor(DType::i1, {4, 4}); }},
      {"B6", "found 0 and 2",
       [](Problem &p) {
         p.spec.blockMask = BlockSizes{0, 2};
         p.blockMask = Tensor(DType::i1, {4, 4});
       }},
      {"B6", "found shape [4, 4] of type i32",
       [](Problem &p) {
         p.spec.blockMask = BlockSizes{2, 2};
         p.blockMask = Tensor(DType::i32, {4, 4});
       }},
      {"B6", "at least [4, 3] blocks",
       [](Problem &p) {
         p.spec.blockMask = BlockSizes{2, 3};
         p.blockMask = Tensor(DType::i1, {4, 2});
       }},
      {"B6", "found -2",
       [](Problem &p) {
         p.spec.blockMask = BlockSizes{2, 2};
         p.blockMask = Tensor(DType::i1, {4, 4});
         p.qOffset = vectorOf(DType::i32, {-2});
       }},
      {"O1", "'peano'",
       [](Problem &p) {
         p.spec.patternOrder = layout::OrderSpec();
         p.spec.patternOrder->curve = "peano";
       }},
      {"O2", "position 7",
       [](Problem &p) {
         p.spec.patternOrder = layout::OrderSpec();
         p.spec.patternOrder->curve = "snake";
         p.spec.patternOrder->grid = {2, 3};
       }},
      {"R2", "output_scale under mix = sum only",
       [](Problem &p) { p.spec.outputScale = 2; }},
      {"R2", "found inf",
       [](Problem &p) {
         p.spec.mix = Mix::Sum;
         p.spec.outputScale = HUGE_VAL;
       }},
      {"section 3", "finite scale",
       [](Problem &p) { p.spec.scale = std::nan(""); }},
      {"section 3", "found 0.000000", [](Problem &p) { p.spec.softcap = 0; }},
      {"section 3", "finite softcap",
       [](Problem &p) { p.spec.softcap = HUGE_VAL; }},
      {"R7", "a query of f16",
       [](Problem &p) {
         p.spec.precision = Precision::tf32;
         p.query = Tensor(DType::f16, p.query.shape());
         p.key = Tensor(DType::f16, p.key.shape());
         p.value = Tensor(DType::f16, p.value.shape());
       }},
      {"R3", "found shape [3]",
       [](Problem &p) { p.sink = vectorOf(DType::f32, {1, 2, 3}); }},
      {"R3", "type i32",
       [](Problem &p) { p.sink = vectorOf(DType::i32, {1, 2, 3, 4}); }},
  };
  for (const Refusal &refusal : refusals) {
    Problem problem = legal();
    refusal.spoil(problem);
    expectRefused(problem, refusal.rule, refusal.found);
  }
}

TEST(Validate, HostileViews) {
  Problem problem = legal();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  auto refuse = [&](const AttentionInputs &inputs, const std::string &found) {
    std::string error;
    EXPECT_FALSE(validate(problem.spec, inputs, &error));
    EXPECT_NE(error.find(found), std::string::npos) << error;
  };
  float element = 0;
  AttentionInputs inputs = problem.inputs();
  inputs.query = TensorView(&element, DType::f32, {2, 6, 4, 3}, {72, 12, 3, 2});
  refuse(inputs, "contiguous last axis (section 1), found stride 2");
  inputs.query =
      TensorView(&element, DType::f32, {2, most, 4, 3}, {0, 0, 0, 1});
  refuse(inputs, "(S3)");
  inputs.query = TensorView(&element, DType::f32, {2, -6, 4, 3}, {0, 0, 0, 1});
  refuse(inputs, "(S3), found shape [2, -6, 4, 3]");
  inputs.query = TensorView();
  refuse(inputs, "found shape []");
  inputs = problem.inputs();
  inputs.sink = TensorView();
  refuse(inputs, "(R3)");
  inputs.sink.reset();
  inputs.lengthsQ = TensorView();
  refuse(inputs, "(S2)");
}

/// What the rules allow although it looks odd.
TEST(Validate, Permits) {
  const std::function<void(Problem &)> permitted[] = {
      [](Problem &p) { p.spec.branches = {branchOf(1, 1)}; },
      [](Problem &p) { p.spec.branches = {branchOf(std::nullopt, 1000)}; },
      [](Problem &p) { p.spec.branches[0].heads = HeadRange{2, 2}; },
      [](Problem &p) { p.spec.branches[0].heads = HeadRange{0, 4}; },
      [](Problem &p) { p.spec.scale = -1; },
      [](Problem &p) { p.spec.windowLeft = p.spec.windowRight = 0; },
      [](Problem &p) { p.qOffset = vectorOf(DType::i32, {-100}); },
      [](Problem &p) { p.lengthsK = vectorOf(DType::i32, {0, 8}); },
      [](Problem &p) { p.keyBegins = vectorOf(DType::i32, {-1, 99}); },
      [](Problem &p) {
        p.key = Tensor(DType::f8E4M3FN, p.key.shape());
        p.value = Tensor(DType::f8E4M3FN, p.value.shape());
        p.valueScale = Tensor(DType::f32, {2, 2});
      },
      [](Problem &p) { p.spec.patternOrder = layout::OrderSpec(); },
      [](Problem &p) { p.sink = vectorOf(DType::bf16, {0, 0, 0, -HUGE_VAL}); },
  };
  for (const auto &change : permitted) {
    Problem problem = legal();
    change(problem);
    std::string error;
    EXPECT_TRUE(validate(problem.spec, problem.inputs(), &error)) << error;
    EXPECT_TRUE(attention(problem.spec, problem.inputs(), &error)) << error;
  }
}

} // namespace
