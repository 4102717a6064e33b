//===- ExprTest.cpp - The plan's integer arithmetic ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "runtime/src/Expr.h"

#include <gtest/gtest.h>

namespace ringlet::test {

using abi::ExprOp;
using rt::ExprValues;
using rt::Status;

namespace {

/// The expressions of the builder's last function, evaluated for one input of
/// rank 2 and one scalar.
class Evaluation {
public:
  explicit Evaluation(Builder &b) : payload(payloadOf(b.artifact)) {
    tensors.resize(2);
    tensors[0].rank = 2;
    tensors[0].sizes[0] = 5;
    tensors[0].sizes[1] = 7;
    tensors[0].strides[0] = -70;
    tensors[0].strides[1] = 1;
    tensors[1].data = reinterpret_cast<char *>(&scalarValue);
  }
  std::string get(uint32_t expr) {
    const auto *artifact = abi::GetArtifact(payload.data());
    ExprValues values(*artifact->functions()->Get(0), tensors, machine);
    int64_t value;
    Status status = values.get(expr, value);
    return status.ok() ? std::to_string(value) : status.message();
  }

  const rt::Machine *machine = nullptr;

private:
  std::vector<uint8_t> payload;
  std::vector<rt::TensorView> tensors;
  int64_t scalarValue = -42;
};

struct Case {
  ExprOp op;
  int64_t a, b;
  const char *result; // A part of the message where it is no number.
};

} // namespace

const int64_t big = INT64_MAX, small = INT64_MIN;

TEST(Expr, Operators) {
  const Case cases[] = {
      {ExprOp::Add, 2, 3, "5"},
      {ExprOp::Add, big, 1, "9223372036854775807 + 1 overflows 64 bits"},
      {ExprOp::Add, small, -1, "overflows"},
      {ExprOp::Sub, 2, 3, "-1"},
      {ExprOp::Sub, small, 1, "overflows"},
      {ExprOp::Mul, -4, 3, "-12"},
      {ExprOp::Mul, big, 2, "9223372036854775807 * 2 overflows"},
      {ExprOp::Mul, small, -1, "overflows"},
      {ExprOp::FloorDiv, 7, 2, "3"},
      {ExprOp::FloorDiv, -7, 2, "-4"},
      {ExprOp::FloorDiv, 7, -2, "-4"},
      {ExprOp::FloorDiv, -7, -2, "3"},
      {ExprOp::FloorDiv, 6, -2, "-3"},
      {ExprOp::FloorDiv, 7, -1, "-7"},
      {ExprOp::FloorDiv, small, -1, "overflows"},
      {ExprOp::FloorDiv, 1, 0, "1 floordiv 0 divides by zero"},
      {ExprOp::CeilDiv, 7, 2, "4"},
      {ExprOp::CeilDiv, -7, 2, "-3"},
      {ExprOp::CeilDiv, 7, -2, "-3"},
      {ExprOp::CeilDiv, -7, -2, "4"},
      {ExprOp::CeilDiv, 6, 2, "3"},
      {ExprOp::CeilDiv, small, -1, "overflows"},
      {ExprOp::CeilDiv, 1, 0, "divides by zero"},
      {ExprOp::FloorMod, 7, 3, "1"},
      {ExprOp::FloorMod, -7, 3, "2"},
      {ExprOp::FloorMod, 7, -3, "-2"},
      {ExprOp::FloorMod, -7, -3, "-1"},
      {ExprOp::FloorMod, small, -1, "0"},
      {ExprOp::FloorMod, 0, 0, "divides by zero"},
      {ExprOp::Min, -3, 4, "-3"},
      {ExprOp::Max, -3, 4, "4"}};
  for (const Case &c : cases) {
    Builder b;
    b.function("f");
    uint32_t e = b.expr({constant(c.a), constant(c.b), op(c.op)}, "e");
    std::string result = Evaluation(b).get(e);
    if (std::string(c.result).find_first_not_of("-0123456789") ==
        std::string::npos)
      EXPECT_EQ(result, c.result);
    else
      EXPECT_NE(result.find(c.result), std::string::npos) << result;
  }
}

// Floor, ceiling and remainder fit together for every pair of signs.
TEST(Expr, DivisionLaws) {
  for (int64_t a = -12; a <= 12; ++a)
    for (int64_t d = -5; d <= 5; ++d) {
      if (d == 0)
        continue;
      Builder b;
      b.function("f");
      uint32_t q = b.expr({constant(a), constant(d), op(ExprOp::FloorDiv)});
      uint32_t m = b.expr({constant(a), constant(d), op(ExprOp::FloorMod)});
      uint32_t c = b.expr({constant(a), constant(d), op(ExprOp::CeilDiv)});
      Evaluation e(b);
      int64_t quotient = std::stoll(e.get(q)), rest = std::stoll(e.get(m));
      EXPECT_EQ(quotient * d + rest, a);
      EXPECT_TRUE(rest == 0 || (rest < 0) == (d < 0));
      EXPECT_LT(std::abs(rest), std::abs(d));
      EXPECT_EQ(std::stoll(e.get(c)), quotient + (rest != 0));
    }
}

TEST(Expr, ReadsArguments) {
  Builder b;
  b.function("f");
  b.argument("x", abi::DType::F32, {-1, -1});
  b.argument("s", abi::DType::I64, {});
  uint32_t e = b.expr({dim(0, 0), dim(0, 1), op(ExprOp::Mul), stride(0, 0),
                       op(ExprOp::Sub), scalar(1), op(ExprOp::Add)});
  EXPECT_EQ(Evaluation(b).get(e), "63"); // 5 * 7 + 70 - 42
}

// A failure is the business of those who use the value, and of them only.
TEST(Expr, FailuresTravelWithTheValue) {
  Builder b;
  b.function("f");
  uint32_t bad =
      b.expr({constant(1), constant(0), op(ExprOp::FloorDiv)}, "tiles");
  uint32_t user = b.expr({ref(bad), constant(1), op(ExprOp::Add)}, "items");
  uint32_t other = b.expr({constant(8)});
  Evaluation e(b);
  EXPECT_EQ(e.get(other), "8");
  for (uint32_t expr : {bad, user})
    EXPECT_EQ(e.get(expr),
              "entry 'f': expression 'tiles': 1 floordiv 0 divides by zero");
}

TEST(Expr, NumbersOfTheMachine) {
  Builder b;
  b.function("f");
  b.argument("x", abi::DType::F32, {-1, -1});
  uint32_t blocks =
      b.expr({op(ExprOp::Multiprocessors), constant(2), op(ExprOp::Mul)});
  uint32_t rank = b.expr({op(ExprOp::Rank)}),
           ranks = b.expr({op(ExprOp::Ranks)});
  Evaluation values(b);
  EXPECT_EQ(values.get(blocks),
            "entry 'f': expression 0 depends on an output or on the machine");
  const rt::Machine machine = {132, 3, 5};
  values.machine = &machine;
  EXPECT_EQ(values.get(blocks), "264");
  EXPECT_EQ(values.get(rank), "3");
  EXPECT_EQ(values.get(ranks), "5");
}

} // namespace ringlet::test
