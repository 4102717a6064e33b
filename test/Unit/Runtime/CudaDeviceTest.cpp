//===- CudaDeviceTest.cpp - The CUDA driver on a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Skipped where there is no GPU of sm_80 or later.
//
//===----------------------------------------------------------------------===//

#include "CudaProgram.h"

#include "lib/Layout/Order.h"
#include "runtime/src/cuda/Types.h"

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <numeric>

namespace ringlet::test {

namespace {

/// What the tests themselves need of libcuda.
struct Library {
  void *handle = dlopen("libcuda.so.1", RTLD_NOW);
  template <typename... Parameters>
  int call(const char *symbol, Parameters... parameters) {
    auto function =
        reinterpret_cast<int (*)(Parameters...)>(dlsym(handle, symbol));
    return function ? function(parameters...) : -1;
  }
};

class CudaDevice : public testing::Test {
protected:
  void SetUp() override {
    uint32_t count = 0;
    rl_device device = RL_DEVICE_INIT;
    if (rl_device_count("cuda", &count) != RL_OK || count == 0)
      GTEST_SKIP() << "no GPU: " << rl_last_error();
    ASSERT_EQ(rl_device_describe("cuda", 0, &device), RL_OK);
    architecture = device.architecture;
    if (device.architecture < std::string("sm_80"))
      GTEST_SKIP() << "the kernels are for sm_80, the GPU is " << architecture;
    context = makeCudaContext();
    ASSERT_TRUE(context);
    // What a program of its own would do.
    int number = 0;
    ASSERT_EQ(library.call("cuDeviceGet", &number, 0), 0);
    ASSERT_EQ(library.call("cuDevicePrimaryCtxRetain", &primary, number), 0);
    ASSERT_EQ(library.call("cuCtxPushCurrent_v2", primary), 0);
    ASSERT_EQ(library.call("cuStreamCreate", &stream, 1u), 0);
  }
  void TearDown() override {
    if (!stream)
      return;
    void *popped = nullptr;
    EXPECT_EQ(library.call("cuStreamDestroy_v2", stream), 0);
    EXPECT_EQ(library.call("cuCtxPopCurrent_v2", &popped), 0);
    EXPECT_EQ(popped, primary);
    EXPECT_EQ(library.call("cuDevicePrimaryCtxRelease_v2", 0), 0);
  }

  ProgramPtr load(bool cubin = false) {
    Builder builder("sm_80", ptxCode());
    addAffine(builder);
    addReorder(builder, "hilbert", order("hilbert", {64, 48}));
    addVisit(builder);
    addProbe(builder);
    addCopy(builder);
    if (cubin)
      useCuda(builder, "sm_90", abi::CodeFormat::Cubin, cubinCode());
    else
      usePtx(builder);
    return loadProgram(context.get(), builder.artifact);
  }
  rl_status enqueue(const rl_program *program, const std::string &entry,
                    const std::vector<TensorArg> &tensors) {
    std::vector<rl_tensor> list = toTensors(tensors);
    rl_run run = RL_RUN_INIT;
    run.stream = stream;
    return rl_program_enqueue(program, findEntry(program, entry), list.data(),
                              uint32_t(list.size()), &run);
  }
  void wait() { ASSERT_EQ(library.call("cuStreamSynchronize", stream), 0); }

  Library library;
  ContextPtr context;
  std::string architecture;
  void *primary = nullptr, *stream = nullptr;
};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

} // namespace

TEST_F(CudaDevice, Affine) {
  for (bool cubin : {false, true}) {
    if (cubin && (cubinCode().empty() || architecture != "sm_90"))
      continue;
    ProgramPtr program = load(cubin);
    ASSERT_TRUE(program);
    for (int64_t rows : {0, 1, 4, 37, 1000})
      for (int64_t columns : {0, 1, 6, 300}) {
        OnDevice<float> x(context.get(), counted(size_t(rows * columns))),
            y(context.get(), std::vector<float>(size_t(rows * columns), -1));
        int64_t factor = 3;
        ASSERT_EQ(test::run(program.get(), findEntry(program.get(), "affine"),
                            {{x.data, RL_F32, {rows, columns}},
                             {&factor, RL_I64, {}},
                             {y.data, RL_F32, {rows, columns}}}),
                  RL_OK)
            << rl_last_error();
        std::vector<float> expected = counted(size_t(rows * columns));
        for (float &value : expected)
          value = value * 3 + 1;
        EXPECT_EQ(y.read(), expected);
      }
  }
}

TEST_F(CudaDevice, VisitProbeAndCopy) {
  ProgramPtr program = load();
  OnDevice<int64_t> out(context.get(), std::vector<int64_t>(30 * 5 * 7, 0));
  ASSERT_EQ(enqueue(program.get(), "visit", {{out.data, RL_I64, {30, 5, 7}}}),
            RL_OK)
      << rl_last_error();
  OnDevice<int64_t> good(context.get(), std::vector<int64_t>(500, 0));
  ASSERT_EQ(enqueue(program.get(), "probe", {{good.data, RL_I64, {500}}}),
            RL_OK)
      << rl_last_error();
  OnDevice<float> from(context.get(), counted(24)),
      to(context.get(), std::vector<float>(24, -1));
  ASSERT_EQ(enqueue(program.get(), "copy",
                    {{from.data, RL_F32, {3, 4, 2}, {2, 6, 1}},
                     {to.data, RL_F32, {3, 4, 2}}}),
            RL_OK)
      << rl_last_error();
  wait();
  std::vector<int64_t> visited = out.read();
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t k = 0; k < 7; ++k)
        ASSERT_EQ(visited[size_t((i * 5 + j) * 7 + k)],
                  1 + i + 30 * (j + 5 * k));
  EXPECT_EQ(good.read(), std::vector<int64_t>(500, 1));
  std::vector<float> moved = to.read();
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 2; ++k)
        EXPECT_EQ(moved[size_t((i * 4 + j) * 2 + k)],
                  float(1 + i * 2 + j * 6 + k));
}

// Capture before anything ran: the graph runs again and again on what its
// inputs hold then, whatever else the context does in between.
TEST_F(CudaDevice, Graph) {
  ProgramPtr program = load();
  const int64_t rows = 64 * 48, columns = 16;
  const auto count = size_t(rows * columns);
  OnDevice<float> x(context.get(), counted(count)),
      y(context.get(), std::vector<float>(count, 0)),
      z(context.get(), std::vector<float>(count, 0));
  int64_t factor = 2;
  std::vector<TensorArg> reorder = {{x.data, RL_F32, {rows, columns}},
                                    {y.data, RL_F32, {rows, columns}}};
  std::vector<TensorArg> affine = {{y.data, RL_F32, {rows, columns}},
                                   {&factor, RL_I64, {}},
                                   {z.data, RL_F32, {rows, columns}}};
  for (int mode : {0, 2}) { // Global and relaxed.
    ASSERT_EQ(library.call("cuStreamBeginCapture_v2", stream, mode), 0);
    ASSERT_EQ(enqueue(program.get(), "hilbert", reorder), RL_OK)
        << rl_last_error();
    ASSERT_EQ(enqueue(program.get(), "affine", affine), RL_OK)
        << rl_last_error();
    void *graph = nullptr, *executable = nullptr;
    ASSERT_EQ(library.call("cuStreamEndCapture", stream, &graph), 0);
    ASSERT_EQ(
        library.call("cuGraphInstantiateWithFlags", &executable, graph, 0ull),
        0);
    layout::OrderSpec spec;
    spec.curve = "hilbert";
    spec.grid = {64, 48};
    std::string error;
    auto hilbert = layout::makeOrder(spec, &error);
    ASSERT_TRUE(hilbert) << error;
    for (int round = 0; round < 3; ++round) {
      std::vector<float> values = counted(count);
      for (float &value : values)
        value += float(round * 100 + mode);
      ASSERT_EQ(rl_memory_copy(context.get(), x.data, values.data(),
                               count * sizeof(float), RL_TO_DEVICE),
                RL_OK);
      ASSERT_EQ(library.call("cuGraphLaunch", executable, stream), 0);
      wait();
      std::vector<float> result = z.read();
      for (int64_t slot = 0; slot < rows; ++slot)
        ASSERT_EQ(result[size_t(slot * columns)],
                  values[size_t(hilbert->token(slot, rows) * columns)] * 2 + 1);
      ASSERT_EQ(rl_context_trim(context.get()), RL_OK) << rl_last_error();
    }
    EXPECT_EQ(library.call("cuGraphExecDestroy", executable), 0);
    EXPECT_EQ(library.call("cuGraphDestroy", graph), 0);
  }
}

// What the copy engine makes of maps whose address changes from call to call:
// numbers of rows that the rate does not divide or that are less than it, odd
// numbers of columns, strides of all kinds, more points than blocks.
TEST_F(CudaDevice, TensorMaps) {
  if (architecture != "sm_90")
    GTEST_SKIP() << "the kernel is for sm_90, the GPU is " << architecture;
  Builder builder;
  addBoxes(builder, 2);
  addBoxes(builder, 4);
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  ASSERT_TRUE(program);
  std::vector<uint16_t> values(1 << 22);
  std::iota(values.begin(), values.end(), uint16_t(1));
  OnDevice<uint16_t> x(context.get(), values);
  const struct {
    std::vector<int64_t> sizes, strides;
    int64_t offset;
  } cases[] = {
      {{1, 64, 64}, {4096, 64, 1}, 0},
      {{1, 256, 64}, {16384, 64, 1}, 0},
      {{3, 200, 80}, {16000, 80, 1}, 8},
      {{2, 500, 37}, {20000, 40, 1}, 16},
      {{16, 512, 128}, {128, 2048, 1}, 8 * 1001}, // [rows, batch, columns].
      {{7, 1024, 256}, {262144, 256, 1}, 0},
      {{1, 4, 8}, {3, 8, 1}, 64},
      {{2, 501, 64}, {32064, 64, 1}, 8},
      {{3, 259, 48}, {48, 144, 1}, 0},
      {{2, 3, 64}, {192, 64, 1}, 0},
      {{2, 1, 64}, {192, 64, 1}, 0},
      // Batches of one sequence, and sequences of one row.
      {{3, 130, 64}, {0, 64, 1}, 8},
      {{2, 130, 64}, {64, 0, 1}, 8},
      {{3, 131, 64}, {0, 0, 1}, 8},
  };
  for (int64_t rate : {2, 4})
    for (const auto &item : cases) {
      int64_t count = item.sizes[0] * item.sizes[1] * item.sizes[2];
      OnDevice<uint16_t> y(context.get(),
                           std::vector<uint16_t>(size_t(count), 0));
      ASSERT_EQ(enqueue(program.get(), "boxes" + std::to_string(rate),
                        {{static_cast<uint16_t *>(x.data) + item.offset,
                          RL_BF16, item.sizes, item.strides},
                         {y.data, RL_BF16, item.sizes}}),
                RL_OK)
          << rl_last_error();
      wait();
      std::vector<uint16_t> copied = y.read();
      ASSERT_EQ(copied.size(), size_t(count));
      size_t at = 0;
      for (int64_t i = 0; i < item.sizes[0]; ++i)
        for (int64_t j = 0; j < item.sizes[1]; ++j)
          for (int64_t k = 0; k < item.sizes[2]; ++k, ++at)
            ASSERT_EQ(copied[at],
                      values[size_t(item.offset + i * item.strides[0] +
                                    j * item.strides[1] + k)])
                << rate << ": " << i << ", " << j << ", " << k;
    }
  EXPECT_EQ(
      enqueue(program.get(), "boxes2",
              {{static_cast<uint16_t *>(x.data) + 4, RL_BF16, {1, 64, 64}},
               {static_cast<uint16_t *>(x.data) + 8192, RL_BF16, {1, 64, 64}}}),
      RL_INVALID_ARGUMENT);
}

// Nothing here can fail but by refusal; the figures are for people.
TEST_F(CudaDevice, LaunchOverhead) {
  ProgramPtr program = load(!cubinCode().empty() && architecture == "sm_90");
  OnDevice<float> x(context.get(), counted(64)), y(context.get(), counted(64));
  OnDevice<int64_t> out(context.get(), std::vector<int64_t>(1, 0));
  OnDevice<uint16_t> rows(context.get(), std::vector<uint16_t>(2 * 4096));
  int64_t factor = 2;
  Builder builder;
  addBoxes(builder, 2);
  ProgramPtr boxes = architecture == "sm_90"
                         ? loadProgram(context.get(), builder.artifact)
                         : ProgramPtr();
  struct {
    const char *what, *entry;
    std::vector<TensorArg> arguments;
  } cases[] = {
      {"one kernel", "visit", {{out.data, RL_I64, {1, 1, 1}}}},
      {"two kernels and a workspace",
       "affine",
       {{x.data, RL_F32, {8, 8}},
        {&factor, RL_I64, {}},
        {y.data, RL_F32, {8, 8}}}},
      {"one kernel with a tensor map",
       "boxes2",
       {{rows.data, RL_BF16, {1, 64, 64}},
        {static_cast<uint16_t *>(rows.data) + 4096, RL_BF16, {1, 64, 64}}}},
  };
  for (auto &item : cases) {
    bool mapped = item.entry == std::string("boxes2");
    if (mapped && !boxes)
      continue;
    if (mapped)
      program = std::move(boxes);
    uint32_t entry = findEntry(program.get(), item.entry);
    std::vector<rl_tensor> list = toTensors(item.arguments);
    rl_run run = RL_RUN_INIT;
    run.stream = stream;
    auto queue = [&] {
      return rl_program_enqueue(program.get(), entry, list.data(),
                                uint32_t(list.size()), &run);
    };
    std::vector<double> times;
    for (int round = 0; round < 60; ++round) {
      // Fewer than the queue holds, or the host waits for the device.
      auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < 200; ++i)
        ASSERT_EQ(queue(), RL_OK) << rl_last_error();
      auto end = std::chrono::steady_clock::now();
      wait();
      times.push_back(
          std::chrono::duration<double, std::micro>(end - begin).count() / 200);
    }
    std::sort(times.begin(), times.end());
    std::printf("launch overhead, %s: %.2f us median (%.2f to %.2f)\n",
                item.what, times[times.size() / 2], times.front(),
                times.back());
    ASSERT_EQ(rl_program_run(program.get(), entry, list.data(),
                             uint32_t(list.size())),
              RL_OK);
  }
}

} // namespace ringlet::test
