//===- VerifyRingTest.cpp - The verifier against malformed rings -*- C++ -*-==//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "ringlet/abi/Verify.h"

#include <functional>
#include <gtest/gtest.h>

namespace ringlet::test {

using abi::DType;

namespace {

constexpr int64_t any = -1, heads = 4, keyHeads = 2, dim = 8;

/// A plan of pieces, for as many heads.
void addPieces(Builder &b, const std::string &name, int64_t query,
               int64_t key) {
  b.function(name);
  b.function().is_private = true;
  b.argument("q", DType::BF16, {any, any, query, dim});
  b.argument("k", DType::BF16, {any, any, key, dim});
  b.argument("v", DType::BF16, {any, any, key, dim});
  b.argument("position", DType::I64, {});
  b.argument("edge", DType::I64, {});
  b.argument("a", DType::F32, {any, any, query, dim}, true);
  for (const char *of : {"m", "s"})
    b.argument(of, DType::F32, {any, query, any, 1}, true);
  b.argument("o", DType::BF16, {any, any, query, dim}, true);
  b.argument("l", DType::F32, {any, query, any, 1}, true);
}

/// Function 0: steps 0, an exchange, and 1, its pieces, which have functions 1
/// and 2. Buffers are arguments.
void addRing(Builder &b) {
  b.function("ring");
  std::vector<int64_t> rows = {any, any, heads, dim},
                       ofRows = {any, heads, any};
  b.argument("q", DType::BF16, rows);                      // 0
  b.argument("k", DType::BF16, {any, any, keyHeads, dim}); // 1
  b.argument("v", DType::BF16, {any, any, keyHeads, dim}); // 2
  b.argument("queries", DType::I64, {any});                // 3
  b.argument("keys", DType::I64, {any});                   // 4
  b.argument("positions", DType::I64, {any});              // 5
  b.argument("a", DType::F32, rows, true);                 // 6
  b.argument("m", DType::F32, ofRows, true);               // 7
  b.argument("s", DType::F32, ofRows, true);               // 8
  b.argument("o", DType::BF16, rows, true);                // 9
  b.argument("l", DType::F32, ofRows, true);               // 10
  for (uint32_t i = 0; i <= 10; ++i)
    b.argumentBuffer(i);
  abi::ExchangeT exchange;
  exchange.query = 0;
  exchange.key = 1;
  exchange.value = 2;
  exchange.query_lengths = 3;
  exchange.key_lengths = 4;
  exchange.offsets = 5;
  auto branch = std::make_unique<abi::RingBranchT>();
  branch->w = 64;
  branch->rate = 2;
  branch->head_end = heads;
  branch->whole = 1;
  branch->part = 2;
  exchange.branches.push_back(std::move(branch));
  abi::AttendT attend;
  attend.accumulator = 6;
  attend.maximum = 7;
  attend.sum = 8;
  attend.output = 9;
  attend.lse = 10;
  for (int i = 0; i < 2; ++i)
    b.plan().steps.push_back(std::make_unique<abi::StepT>());
  b.plan().steps[0]->action.Set(std::move(exchange));
  b.plan().steps[1]->action.Set(std::move(attend));
  addPieces(b, "whole", heads, keyHeads);
  addPieces(b, "part", heads / keyHeads, 1);
}

std::string verify(const Builder &b) {
  std::vector<uint8_t> payload = payloadOf(b.artifact);
  const abi::Artifact *artifact;
  return abi::verifyArtifact(payload.data(), payload.size(), artifact);
}

abi::FunctionT &ring(abi::ArtifactT &a) { return *a.functions[0]; }
abi::ExchangeT &exchange(abi::ArtifactT &a) {
  return *ring(a).plans[0]->steps[0]->action.AsExchange();
}
abi::AttendT &attend(abi::ArtifactT &a) {
  return *ring(a).plans[0]->steps[1]->action.AsAttend();
}

/// No piece ends the softmax.
void leaveStates(abi::ArtifactT &a) {
  for (int i : {1, 2}) {
    auto &arguments = a.functions[size_t(i)]->arguments;
    arguments.erase(arguments.begin() + 8, arguments.end());
    arguments.erase(arguments.begin() + 4);
  }
  attend(a).output = attend(a).lse = -1;
}

struct Malformed {
  const char *name;
  const char *message;
  std::function<void(abi::ArtifactT &)> spoil;
};

const Malformed malformed[] = {
    // Sequences.
    {"KeyStartsAlone", "expected starts of queries and of keys together",
     [](auto &a) { exchange(a).key_starts = 4; }},
    {"QueryLengthsAlone", "expected lengths of queries and of keys together",
     [](auto &a) { exchange(a).key_lengths = -1; }},
    {"StartsOfBatch", "an argument of 3 axes, found 4",
     [](auto &a) {
       auto &of = exchange(a);
       std::swap(of.query_starts, of.query_lengths);
       std::swap(of.key_starts, of.key_lengths);
     }},
    {"StartsAndLengths", "expected starts or lengths, found both (S2)",
     [](auto &a) {
       exchange(a).query_starts = exchange(a).key_starts = 3;
       for (uint32_t i = 0; i < 3; ++i)
         ring(a).arguments[i]->sizes.erase(ring(a).arguments[i]->sizes.begin());
     }},
    {"LengthsBuffer", "a buffer below 11, found 11",
     [](auto &a) { exchange(a).key_lengths = 11; }},
    {"LengthsType", "starts, lengths and positions of i64 and one axis",
     [](auto &a) { ring(a).arguments[3]->dtype = DType::F32; }},
    {"OffsetsRank", "starts, lengths and positions of i64 and one axis",
     [](auto &a) { ring(a).arguments[5]->sizes = {}; }},
    {"OffsetAndOffsets", "or one for each sequence, found both (S1)",
     [](auto &a) { exchange(a).offset = 0; }},
    {"Sharding", "expected a sharding from 0 to 2, found 9",
     [](auto &a) { exchange(a).sharding = abi::Sharding(9); }},
    {"Branches", "expected branches, found none (B1)",
     [](auto &a) { exchange(a).branches.clear(); }},
    // Where last pieces may end the softmax.
    {"LseAlone", "expected an output beside an lse",
     [](auto &a) {
       leaveStates(a);
       attend(a).lse = 10;
     }},
    {"OutputBuffer", "a buffer below 11, found 11",
     [](auto &a) { attend(a).output = 11; }},
    {"LseBuffer", "a buffer below 11, found 12",
     [](auto &a) { attend(a).lse = 12; }},
    {"OutputToInput", "neither an output nor a workspace",
     [](auto &a) { attend(a).output = 0; }},
    {"LseToInput", "neither an output nor a workspace",
     [](auto &a) {
       ring(a).arguments[5]->sizes = {any, heads, any};
       ring(a).arguments[5]->dtype = DType::F32;
       exchange(a).offsets = -1;
       attend(a).lse = 5;
     }},
    {"OutputAxes", "expected an output of 4 axes, found f32 of 3",
     [](auto &a) {
       for (int i : {1, 2})
         a.functions[size_t(i)]->arguments[8]->dtype = DType::F32;
       attend(a).output = 10;
     }},
    {"LseAxes", "expected an lse in f32 of 3 axes, found f32 of 4",
     [](auto &a) { attend(a).lse = 6; }},
    {"LseType", "expected an lse in f32 of 3 axes, found bf16 of 3",
     [](auto &a) { ring(a).arguments[10]->dtype = DType::BF16; }},
    {"OutputType", "expected inputs query, key, value and a position, an edge",
     [](auto &a) { ring(a).arguments[9]->dtype = DType::F16; }},
    {"PiecesWithoutEnds",
     "an edge and outputs accumulator, maximum and sum, an "
     "output, an lse",
     [](auto &a) { a.functions[1]->arguments.pop_back(); }},
    {"PiecesWithEnds", "a position and outputs accumulator, maximum and sum of",
     [](auto &a) { attend(a).output = attend(a).lse = -1; }},
    {"StateType", "expected a state of f32 and 3 axes, found bf16 of 3",
     [](auto &a) { ring(a).arguments[7]->dtype = DType::BF16; }},
    {"TwoAttends", "step 1 has used up the exchange",
     [](auto &a) {
       auto &steps = ring(a).plans[0]->steps;
       steps.push_back(std::make_unique<abi::StepT>());
       steps.back()->action.Set(abi::AttendT(attend(a)));
     }},
    {"NoExchange", "expected an earlier step below 1, found 1",
     [](auto &a) {
       leaveStates(a);
       attend(a).exchange = 1;
     }},
};

class VerifyRing : public testing::TestWithParam<Malformed> {};

} // namespace

TEST(VerifyRingAccepts, All) {
  Builder b;
  addRing(b);
  EXPECT_EQ(verify(b), "");
  leaveStates(b.artifact);
  EXPECT_EQ(verify(b), "");
}

TEST_P(VerifyRing, IsRefused) {
  Builder b;
  addRing(b);
  GetParam().spoil(b.artifact);
  std::string error = verify(b);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyRing, testing::ValuesIn(malformed),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace ringlet::test
