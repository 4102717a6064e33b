//===- TensorsTest.cpp - The checks of the caller's tensors ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "runtime/src/Tensors.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace ringlet::test {

using rt::TensorView;

static TensorView view(char *data, abi::DType dtype, std::vector<int64_t> sizes,
                       std::vector<int64_t> strides) {
  TensorView v;
  v.data = data;
  v.dtype = dtype;
  v.rank = uint32_t(sizes.size());
  std::copy(sizes.begin(), sizes.end(), v.sizes);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

/// Addresses of all bytes of the view.
static std::multiset<intptr_t> bytesOf(const TensorView &v) {
  std::multiset<intptr_t> bytes;
  int64_t count = rt::elementCount(v);
  int64_t size = v.dtype == abi::DType::I16 ? 2 : 1;
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, offset = 0;
    for (uint32_t axis = v.rank; axis-- > 0;) {
      offset += rest % v.sizes[axis] * v.strides[axis];
      rest /= v.sizes[axis];
    }
    for (int64_t i = 0; i < size; ++i)
      bytes.insert(reinterpret_cast<intptr_t>(v.data) + offset * size + i);
  }
  return bytes;
}

// Against the list of all bytes, on small layouts of every kind: negative,
// zero, interleaved, overlapping in themselves.
TEST(Overlap, AgreesWithTheListOfBytes) {
  std::mt19937 random(7);
  auto between = [&](int low, int high) {
    return low + int(random() % unsigned(high - low + 1));
  };
  int meet = 0;
  for (int round = 0; round < 20000; ++round) {
    TensorView views[2];
    for (TensorView &v : views) {
      std::vector<int64_t> sizes, strides;
      for (int axis = between(0, 3); axis > 0; --axis) {
        sizes.push_back(between(0, 4) ? between(1, 4) : between(0, 1));
        strides.push_back(between(-12, 24));
      }
      v = view(reinterpret_cast<char *>(4096) + 2 * between(-30, 30),
               between(0, 1) ? abi::DType::I16 : abi::DType::I8, sizes,
               strides);
    }
    std::multiset<intptr_t> a = bytesOf(views[0]), b = bytesOf(views[1]);
    bool expected = false;
    for (intptr_t byte : a)
      expected |= b.count(byte) != 0;
    meet += expected;
    ASSERT_EQ(rt::mayOverlap(views[0], views[1]), expected);
    ASSERT_EQ(rt::mayOverlap(views[1], views[0]), expected);
  }
  EXPECT_GT(meet, 1000);
  EXPECT_LT(meet, 19000);
}

// Slices of one buffer, as a fused result has them, at real sizes.
TEST(Overlap, SeesThroughInterleaving) {
  auto *base = reinterpret_cast<char *>(uintptr_t(1) << 40);
  std::vector<int64_t> sizes = {2, 131072, 16, 128};
  std::vector<int64_t> strides = {131072 * 3 * 2048, 3 * 2048, 128, 1};
  TensorView q = view(base, abi::DType::BF16, sizes, strides);
  TensorView k = view(base + 2048 * 2, abi::DType::BF16, sizes, strides);
  TensorView inside = view(base + 2047 * 2, abi::DType::BF16, sizes, strides);
  EXPECT_FALSE(rt::mayOverlap(q, k));
  EXPECT_TRUE(rt::mayOverlap(q, inside));
  EXPECT_TRUE(rt::mayOverlap(q, q));
}

//===----------------------------------------------------------------------===//
// Through the C API
//===----------------------------------------------------------------------===//

namespace {

class Tensors : public testing::Test {
protected:
  Tensors() {
    Builder b;
    addAffine(b);
    b.function("fixed");
    b.argument("x", abi::DType::F16, {2, -1});
    b.argument("result0", abi::DType::F16, {-1, -1, -1}, true);
    context = makeContext(1);
    program = loadProgram(context.get(), b.artifact);
  }
  /// The message with which "affine" refuses these tensors.
  std::string refusal(const std::vector<TensorArg> &tensors) {
    EXPECT_EQ(test::run(program.get(), 0, tensors), RL_INVALID_ARGUMENT);
    return rl_last_error();
  }
  std::string refusalOf(TensorArg x, TensorArg y) { return refusal({x, s, y}); }

  float in[64] = {}, out[64] = {};
  int64_t factor = 2;
  TensorArg x{in, RL_F32, {4, 8}}, s{&factor, RL_I64, {}},
      y{out, RL_F32, {4, 8}};
  ContextPtr context;
  ProgramPtr program;
};

void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

} // namespace

TEST_F(Tensors, CountTypeRank) {
  expectPart(refusal({x, s}),
             "expected 3 tensors, inputs and then outputs, found 2");
  EXPECT_EQ(rl_program_run(program.get(), 0, nullptr, 3), RL_INVALID_ARGUMENT);
  expectPart(refusalOf({in, RL_F16, {4, 8}}, y),
             "input 'x': expected elements of f32, found f16 (dtype 1)");
  expectPart(refusalOf({in, rl_dtype(99), {4, 8}}, y), "found none (dtype 99)");
  expectPart(refusalOf({in, RL_F32, {4}}, y), "expected rank 2, found 1");
  expectPart(refusalOf({in, RL_F32, {4, -1}}, y),
             "size of at least 0 on axis 1, found -1");
  rl_tensor bare[3] = {RL_TENSOR_INIT(in, RL_F32, 2, nullptr, nullptr), {}, {}};
  EXPECT_EQ(rl_program_run(program.get(), 0, bare, 3), RL_INVALID_ARGUMENT);
  expectPart(rl_last_error(), "expected 2 sizes, found a null pointer");
}

TEST_F(Tensors, StaticSizes) {
  EXPECT_EQ(test::run(program.get(), findEntry(program.get(), "fixed"),
                      {{in, RL_F16, {3, 4}}, {out, RL_F16, {1, 1, 1}}}),
            RL_INVALID_ARGUMENT);
  expectPart(rl_last_error(), "input 'x': expected size 2 on axis 0, found 3");
}

TEST_F(Tensors, Strides) {
  expectPart(refusalOf({in, RL_F32, {4, 8}, {16, 2}}, y),
             "expected stride 1 on the last axis, found 2; copy");
  expectPart(refusalOf(x, {out, RL_F32, {4, 8}, {0, 1}}),
             "output 'result0': expected distinct elements, but axis 0 of size "
             "4 has stride 0");
  expectPart(refusalOf(x, {out, RL_F32, {4, 8}, {-7, 1}}),
             "axis 0 has stride -7 where the axes within it reach over 8 "
             "elements");
  // Strides of axes with one element mean nothing.
  EXPECT_EQ(
      test::run(
          program.get(), 0,
          {{in, RL_F32, {1, 1}, {0, 77}}, s, {out, RL_F32, {1, 1}, {-5, 0}}}),
      RL_OK)
      << rl_last_error();
}

TEST_F(Tensors, Overflow) {
  expectPart(refusalOf({in, RL_F32, {INT64_MAX, 8}}, y),
             "its sizes are too large: offsets overflow 64 bits (S3)");
  expectPart(refusalOf({in, RL_F32, {4, 8}, {INT64_MAX / 2, 1}}, y),
             "sizes and strides are too large");
  expectPart(refusalOf({in, RL_F32, {2, 8}, {INT64_MIN / 4, 1}}, y),
             "sizes and strides are too large");
  expectPart(refusalOf({in, RL_F32, {3, 1}, {8 - INT64_MAX / 8, 1}}, y),
             "outside the address space");
  expectPart(refusalOf({in, RL_F32, {4, int64_t(1) << 31}}, y),
             "last axis of at most 2147483647 elements, found 2147483648 (S3)");
}

TEST_F(Tensors, Memory) {
  expectPart(refusalOf({nullptr, RL_F32, {4, 8}}, y),
             "input 'x': expected data, found a null pointer");
  expectPart(refusal({x, {nullptr, RL_I64, {}}, y}),
             "input 's': expected data, found a null pointer");
  expectPart(refusalOf({reinterpret_cast<char *>(in) + 2, RL_F32, {4, 8}}, y),
             "an address that is a multiple of 4");
  expectPart(refusalOf(x, {in, RL_F32, {4, 8}}),
             "output 'result0': expected memory of its own, but it overlaps "
             "'x'");
  expectPart(refusalOf(x, {in + 31, RL_F32, {4, 8}}), "it overlaps 'x'");
}

TEST_F(Tensors, OutputSizes) {
  expectPart(refusalOf(x, {out, RL_F32, {4, 7}}),
             "output 'result0': expected size 8 on axis 1, found 7");
  std::vector<TensorArg> shapes = {{nullptr, RL_F32, {4, 8}}, s};
  std::vector<rl_tensor> inputs = toTensors(shapes);
  int64_t sizes[RL_MAX_RANK] = {99, 99, 99};
  ASSERT_EQ(rl_program_output_sizes(program.get(), 0, inputs.data(), 2, sizes),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(sizes[0], 4);
  EXPECT_EQ(sizes[1], 8);
  EXPECT_EQ(sizes[2], 0);

  shapes = {{nullptr, RL_F16, {2, 8}}};
  inputs = toTensors(shapes);
  EXPECT_EQ(rl_program_output_sizes(program.get(),
                                    findEntry(program.get(), "fixed"),
                                    inputs.data(), 1, sizes),
            RL_UNSUPPORTED);
  expectPart(rl_last_error(), "does not tell the size of axis 0 of output");
}

} // namespace ringlet::test
