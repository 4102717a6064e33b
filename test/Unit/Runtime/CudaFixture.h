//===- CudaFixture.h - A GPU that is none, for tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_CUDAFIXTURE_H
#define RINGLET_TEST_UNIT_RUNTIME_CUDAFIXTURE_H

#include "CudaProgram.h"
#include "FakeCuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <numeric>

namespace ringlet::test {

/// A stream of the caller's, and a context that is current before each call.
inline void *const someStream = reinterpret_cast<void *>(0x77);
inline void *const callersContext = reinterpret_cast<void *>(0x99);

class Cuda : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("RINGLET_CUDA_LIBRARY", RINGLET_TEST_FAKE_CUDA, 1);
  }
  Cuda() : fake(*find()) {
    fake = FakeCuda();
    fake.primary = &fake;
    fake.current = {callersContext};
  }
  ~Cuda() override {
    // Whatever happened: the caller's context is back, and nothing is left.
    EXPECT_EQ(fake.current, std::vector<void *>{callersContext});
    EXPECT_EQ(fake.captureMode, 0);
    EXPECT_EQ(fake.memory.size(), 0u);
    EXPECT_EQ(fake.contexts, 0);
    EXPECT_EQ(fake.modules, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_EQ(fake.events, 0);
    EXPECT_EQ(fake.memoryPools, 0);
    EXPECT_EQ(fake.graphs, 0);
    EXPECT_EQ(fake.readyGraphs, 0);
  }

  static FakeCuda *find() {
    void *library = dlopen(RINGLET_TEST_FAKE_CUDA, RTLD_NOW);
    auto get = reinterpret_cast<FakeCuda *(*)()>(dlsym(library, "fakeCuda"));
    return get();
  }

  /// Entries "affine", "hilbert", "visit" and "copy" for the device.
  void addAll() {
    addAffine(builder);
    addReorder(builder, "hilbert", order("hilbert", {6, 8}));
    addVisit(builder);
    addCopy(builder);
    usePtx(builder);
  }
  rl_status loadStatus(rl_context *context) {
    std::vector<uint8_t> file = fileOf(builder.artifact);
    rl_program *program;
    rl_status status =
        rl_program_load(context, file.data(), file.size(), &program);
    rl_program_destroy(program);
    return status;
  }
  rl_status enqueue(const rl_program *program, const std::string &entry,
                    const std::vector<TensorArg> &tensors,
                    void *stream = someStream) {
    std::vector<rl_tensor> list = toTensors(tensors);
    if (saysMemory)
      for (rl_tensor &tensor : list)
        tensor.memory = tensor.rank == 0 ? RL_MEMORY_HOST : RL_MEMORY_CUDA;
    rl_run run = RL_RUN_INIT;
    run.stream = stream;
    return rl_program_enqueue(program, findEntry(program, entry), list.data(),
                              uint32_t(list.size()), &run);
  }

  FakeCuda &fake;
  Builder builder;
  /// Whether tensors say where they lie, so that nobody has to look.
  bool saysMemory = false;
};

/// "affine" on 10 x 6 elements.
struct Affine {
  explicit Affine(rl_context *context)
      : x(context, values()), y(context, std::vector<float>(60, -1)) {}
  static std::vector<float> values() {
    std::vector<float> list(60);
    std::iota(list.begin(), list.end(), 1.0f);
    return list;
  }
  std::vector<TensorArg> arguments() {
    return {{x.data, RL_F32, {10, 6}},
            {&factor, RL_I64, {}},
            {y.data, RL_F32, {10, 6}}};
  }
  void expectResult() const {
    std::vector<float> expected = values();
    for (float &value : expected)
      value = value * 3 + 1;
    EXPECT_EQ(y.read(), expected);
  }

  OnDevice<float> x, y;
  int64_t factor = 3;
};

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIME_CUDAFIXTURE_H
