//===- RunTest.cpp - Programs run by the CPU driver ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "lib/Layout/Order.h"

#include <atomic>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace ringlet::test {

namespace {

/// An f32 matrix with any row stride.
struct Rows {
  Rows(int64_t rows, int64_t columns, int64_t stride, float fill = -1)
      : rows(rows), columns(columns), stride(stride),
        storage(size_t(rows ? (rows - 1) * std::abs(stride) + columns : 1),
                fill) {}
  float &at(int64_t i, int64_t j) {
    return storage[size_t(origin() + i * stride + j)];
  }
  int64_t origin() const { return stride < 0 ? (rows - 1) * -stride : 0; }
  TensorArg arg() {
    return {storage.data() + origin(), RL_F32, {rows, columns}, {stride, 1}};
  }
  void count() { std::iota(storage.begin(), storage.end(), 1.0f); }

  int64_t rows, columns, stride;
  std::vector<float> storage;
};

class Run : public testing::TestWithParam<uint32_t> {
protected:
  Run() : context(makeContext(GetParam())) {
    addAffine(builder);
    addReorder(builder, "residue", order("residue", {}, 0, 4));
    addReorder(builder, "hilbert", order("hilbert", {6, 8}));
    addReorder(builder, "back", order("hilbert", {6, 8}), true);
    addVisit(builder);
    addProbe(builder);
    addCopy(builder);
    addMapped(builder);
    addBeside(builder);
    program = loadProgram(context.get(), builder.artifact);
  }
  rl_status call(const std::string &entry,
                 const std::vector<TensorArg> &tensors) {
    return test::run(program.get(), findEntry(program.get(), entry), tensors);
  }
  rl_stats stats() {
    rl_stats stats = RL_STATS_INIT;
    EXPECT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
    return stats;
  }

  Builder builder;
  ContextPtr context;
  ProgramPtr program;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Threads, Run, testing::Values(1, 2, 5));

// A kernel without tensor maps runs on any buffer, whatever its fallback.
TEST_P(Run, FallbackOfAKernelWithoutMaps) {
  std::vector<uint16_t> x(1 + 20 * 3);
  std::vector<float> y(20, -1);
  ASSERT_EQ(call("mapped", {{x.data() + 1, RL_BF16, {1, 20, 3}},
                            {y.data(), RL_F32, {20}}}),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(y, std::vector<float>(20, 2));
}

// Without queues, steps run in the order of the plan.
TEST_P(Run, TwoQueues) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6, -1), c = {7};
  int64_t factor = 10;
  ASSERT_EQ(call("beside", {{x.data(), RL_F32, {2, 3}},
                            {c.data(), RL_F32, {1}},
                            {&factor, RL_I64, {}},
                            {y.data(), RL_F32, {2, 3}}}),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(y, (std::vector<float>{17, 27, 37, 47, 57, 67}));
}

TEST_P(Run, EverySizeAndStride) {
  int64_t factor = 3;
  for (int64_t rows : {0, 1, 3, 4, 5, 37})
    for (int64_t columns : {0, 1, 6})
      for (int64_t inStride : {0, 6, 11, -9})
        for (int64_t outStride : {6, 13, -7}) {
          Rows x(rows, columns, inStride), y(rows, columns, outStride);
          x.count();
          ASSERT_EQ(call("affine", {x.arg(), {&factor, RL_I64, {}}, y.arg()}),
                    RL_OK)
              << rl_last_error();
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              ASSERT_EQ(y.at(i, j), x.at(i, j) * 3 + 1);
              y.at(i, j) = -1;
            }
          // What lies between the rows is nobody's business.
          for (float value : y.storage)
            ASSERT_EQ(value, -1);
        }
}

TEST_P(Run, ContiguousWithoutStrides) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6);
  int64_t factor = 10;
  ASSERT_EQ(call("affine", {{x.data(), RL_F32, {2, 3}},
                            {&factor, RL_I64, {}},
                            {y.data(), RL_F32, {2, 3}}}),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(y, (std::vector<float>{11, 21, 31, 41, 51, 61}));
}

// Two results interleaved in one buffer, as in a fused projection.
TEST_P(Run, OutputsMayInterleave) {
  std::vector<float> buffer(4 * 6, -1);
  int64_t factor = 2;
  TensorArg x(buffer.data(), RL_F32, {4, 3}, {6, 1});
  TensorArg y(buffer.data() + 3, RL_F32, {4, 3}, {6, 1});
  ASSERT_EQ(call("affine", {x, {&factor, RL_I64, {}}, y}), RL_OK)
      << rl_last_error();
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(buffer[size_t(i)], -1); // -1 * 2 + 1
}

// What is kept of a call holds for calls that agree in all that it read.
TEST_P(Run, NumbersAreReadEachTime) {
  Rows x(2, 3, 3), y(2, 3, 3);
  x.count();
  for (int64_t factor : {3, 5, 0, 3, -1, 5}) {
    rl_status expected = factor < 1 ? RL_INVALID_ARGUMENT : RL_OK;
    ASSERT_EQ(call("affine", {x.arg(), {&factor, RL_I64, {}}, y.arg()}),
              expected);
    if (factor >= 1) {
      EXPECT_EQ(y.at(1, 2), 6 * float(factor) + 1);
    }
  }
}

TEST_P(Run, RequirementNamesRuleAndValues) {
  Rows x(2, 2, 2), y(2, 2, 2, 7);
  int64_t factor = -4;
  EXPECT_EQ(call("affine", {x.arg(), {&factor, RL_I64, {}}, y.arg()}),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(),
               "entry 'affine': expected 1 <= s, found 1 and -4 (B1)");
  EXPECT_EQ(y.storage, std::vector<float>(4, 7)); // Untouched.
  EXPECT_EQ(stats().launches, 0u);
}

// A grid of three dimensions: each point once, the first varying fastest.
TEST_P(Run, GridOrder) {
  for (std::vector<int64_t> sizes :
       {std::vector<int64_t>{3, 5, 7}, {1, 1, 1}, {64, 1, 3}, {2, 0, 3}}) {
    std::vector<int64_t> out(size_t(sizes[0] * sizes[1] * sizes[2]));
    ASSERT_EQ(call("visit", {{out.data(), RL_I64, sizes}}), RL_OK)
        << rl_last_error();
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        for (int64_t k = 0; k < sizes[2]; ++k)
          ASSERT_EQ(out[size_t((i * sizes[1] + j) * sizes[2] + k)],
                    1 + i + sizes[0] * (j + sizes[1] * k));
  }
}

TEST_P(Run, ScratchIsAlignedAndPrivate) {
  std::vector<int64_t> good(3000);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::fill(good.begin(), good.end(), 0);
    ASSERT_EQ(call("probe", {{good.data(), RL_I64, {3000}}}), RL_OK);
    EXPECT_EQ(std::count(good.begin(), good.end(), 1), 3000);
  }
}

TEST_P(Run, OrderTables) {
  Rows x(48, 2, 2), y(48, 2, 2), z(48, 2, 2);
  x.count();
  ASSERT_EQ(call("hilbert", {x.arg(), y.arg()}), RL_OK) << rl_last_error();
  layout::OrderSpec spec;
  spec.curve = "hilbert";
  spec.grid = {6, 8};
  auto order = layout::makeOrder(spec);
  for (int64_t m = 0; m < 48; ++m)
    ASSERT_EQ(y.at(m, 1), x.at(order->token(m, 48), 1));
  ASSERT_EQ(call("back", {y.arg(), z.arg()}), RL_OK) << rl_last_error();
  EXPECT_EQ(z.storage, x.storage);
  ASSERT_EQ(call("hilbert", {x.arg(), y.arg()}), RL_OK);
  EXPECT_EQ(stats().tables_built, 2u);
  EXPECT_EQ(stats().table_bytes, 2u * 48 * 8);

  // Another length of a dynamic order is another table.
  for (int64_t rows : {10, 11, 10}) {
    Rows a(rows, 1, 1), b(rows, 1, 1);
    a.count();
    ASSERT_EQ(call("residue", {a.arg(), b.arg()}), RL_OK) << rl_last_error();
    EXPECT_EQ(b.at(1, 0), a.at(4, 0));
  }
  EXPECT_EQ(stats().tables_built, 4u);

  Rows wrong(40, 2, 2), result(40, 2, 2);
  EXPECT_EQ(call("hilbert", {wrong.arg(), result.arg()}), RL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rl_last_error()).find("expected a length of 48"),
            std::string::npos)
      << rl_last_error();
}

TEST_P(Run, CopySteps) {
  std::vector<float> x(2 * 3 * 4), y(2 * 5 * 4, -1);
  std::iota(x.begin(), x.end(), 0.0f);
  TensorArg from(x.data(), RL_F32, {3, 2, 4}, {4, 12, 1}); // A transpose.
  TensorArg to(y.data(), RL_F32, {3, 2, 4}, {4, 20, 1});
  ASSERT_EQ(call("copy", {from, to}), RL_OK) << rl_last_error();
  for (size_t j = 0; j < 2; ++j)
    for (size_t i = 0; i < 5; ++i)
      for (size_t c = 0; c < 4; ++c)
        EXPECT_EQ(y[j * 20 + i * 4 + c], i < 3 ? x[j * 12 + i * 4 + c] : -1);
  EXPECT_EQ(call("copy", {from, {y.data(), RL_F32, {3, 1, 4}}}),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(
      rl_last_error(),
      "entry 'copy': expected a destination of size 2 on axis 1, found 1");
  EXPECT_EQ(call("copy",
                 {{nullptr, RL_F32, {3, 0, 4}}, {nullptr, RL_F32, {3, 0, 4}}}),
            RL_OK);
}

TEST_P(Run, TwoThreadsAtOnce) {
  std::atomic<int> wrong{0};
  auto work = [&](int64_t factor, int64_t rows) {
    Rows x(rows, 9, 9), y(rows, 9, 10);
    x.count();
    for (int repeat = 0; repeat < 300; ++repeat) {
      std::fill(y.storage.begin(), y.storage.end(), -1.0f);
      if (call("affine", {x.arg(), {&factor, RL_I64, {}}, y.arg()}) != RL_OK)
        ++wrong;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < 9; ++j)
          wrong += y.at(i, j) != x.at(i, j) * float(factor) + 1;
    }
  };
  std::thread other(work, 2, 23);
  work(5, 40);
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats().runs, 600u);
  EXPECT_EQ(stats().launches, 1200u);
}

TEST_P(Run, EstimateIsWhatARunTakes) {
  Rows x(100, 50, 50), y(100, 50, 50);
  int64_t factor = 2;
  std::vector<TensorArg> tensors = {x.arg(), {&factor, RL_I64, {}}, y.arg()};
  rl_estimate estimate = RL_ESTIMATE_INIT;
  ASSERT_EQ(test::run(program.get(), 0, tensors, &estimate), RL_OK);
  EXPECT_GE(estimate.workspace_bytes, 100u * 50 * 4);
  EXPECT_LE(estimate.workspace_bytes, 100u * 50 * 4 + 128);
  EXPECT_EQ(estimate.scratch_bytes, 0u);
  EXPECT_EQ(estimate.launches, 2u);
  EXPECT_EQ(stats().memory_bytes, 0u); // Nothing was taken to find out.
  ASSERT_EQ(test::run(program.get(), 0, tensors), RL_OK);
  EXPECT_EQ(stats().peak_memory_bytes, estimate.total_bytes);
  EXPECT_EQ(stats().workspace_bytes, estimate.workspace_bytes);
  // The second run finds the workspace of the first.
  ASSERT_EQ(test::run(program.get(), 0, tensors), RL_OK);
  EXPECT_EQ(stats().memory_bytes, estimate.total_bytes);
  EXPECT_EQ(rl_context_trim(context.get()), RL_OK);
  EXPECT_EQ(stats().memory_bytes, 0u);

  std::vector<int64_t> probed(4);
  rl_estimate probe = RL_ESTIMATE_INIT;
  ASSERT_EQ(test::run(program.get(), findEntry(program.get(), "probe"),
                      {{probed.data(), RL_I64, {4}}}, &probe),
            RL_OK);
  EXPECT_EQ(probe.scratch_bytes, 1024u * GetParam());
  rl_estimate table = RL_ESTIMATE_INIT;
  Rows a(48, 2, 2), b(48, 2, 2);
  ASSERT_EQ(test::run(program.get(), findEntry(program.get(), "hilbert"),
                      {a.arg(), b.arg()}, &table),
            RL_OK);
  EXPECT_EQ(table.table_bytes, 48u * 8);
  EXPECT_EQ(table.total_bytes, table.table_bytes);
}

TEST_P(Run, MemoryLimit) {
  ContextPtr small = makeContext(GetParam(), 20000);
  ProgramPtr limited = loadProgram(small.get(), builder.artifact);
  int64_t factor = 2;
  auto affine = [&](int64_t rows, float fill, std::vector<float> *result) {
    Rows x(rows, 50, 50), y(rows, 50, 50, fill);
    rl_status status =
        test::run(limited.get(), 0, {x.arg(), {&factor, RL_I64, {}}, y.arg()});
    if (result)
      *result = y.storage;
    return status;
  };
  std::vector<float> result;
  EXPECT_EQ(affine(101, 7, &result), RL_OUT_OF_MEMORY);
  EXPECT_STREQ(rl_last_error(),
               "entry 'affine': needs 20224 bytes (workspace 20224, scratch 0, "
               "tables 0), the memory limit is 20000");
  EXPECT_EQ(result, std::vector<float>(5050, 7));
  EXPECT_EQ(affine(90, 0, nullptr), RL_OK) << rl_last_error();
  // The idle workspace and table of other calls give way.
  Rows x(48, 1, 1), y(48, 1, 1);
  uint32_t hilbert = findEntry(limited.get(), "hilbert");
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(affine(99, 0, nullptr), RL_OK) << rl_last_error();
    EXPECT_EQ(test::run(limited.get(), hilbert, {x.arg(), y.arg()}), RL_OK)
        << rl_last_error();
    EXPECT_EQ(affine(30, 0, nullptr), RL_OK) << rl_last_error();
  }
  rl_stats used = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(small.get(), &used), RL_OK);
  EXPECT_LE(used.peak_memory_bytes, 20000u);
}

// Memory that no machine has is refused before anybody tries.
TEST_P(Run, RefusesAbsurdMemory) {
  float x = 1;
  int64_t factor = 2, rows = int64_t(1) << 40;
  // Far from everything else, and never touched.
  auto *y = reinterpret_cast<char *>(uintptr_t(1) << 16);
  EXPECT_EQ(call("affine", {{&x, RL_F32, {rows, 1}, {0, 1}},
                            {&factor, RL_I64, {}},
                            {y, RL_F32, {rows, 1}}}),
            RL_OUT_OF_MEMORY);
  EXPECT_NE(std::string(rl_last_error()).find("needs 4398046511104 bytes"),
            std::string::npos)
      << rl_last_error();
}

// Kernels with static sizes and strides fit what they were made for.
TEST_P(Run, StaticViewsAreChecked) {
  Builder b;
  addAffine(b);
  b.artifact.kernels[0]->params[0]->sizes = {-1, 8};
  b.artifact.kernels[0]->params[0]->strides = {24, 1};
  ProgramPtr fixed = loadProgram(context.get(), b.artifact);
  Rows narrow(4, 7, 24), loose(4, 8, 25), y(4, 8, 8), yNarrow(4, 7, 7);
  int64_t factor = 2;
  TensorArg s(&factor, RL_I64, {});
  EXPECT_EQ(test::run(fixed.get(), 0, {narrow.arg(), s, yNarrow.arg()}),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "entry 'affine': kernel 'scale' expects size 8 "
                                "on axis 1 of parameter 0, found 7");
  EXPECT_EQ(test::run(fixed.get(), 0, {loose.arg(), s, y.arg()}),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "entry 'affine': kernel 'scale' expects stride "
                                "24 on axis 0 of parameter 0, found 25");
}

} // namespace ringlet::test
