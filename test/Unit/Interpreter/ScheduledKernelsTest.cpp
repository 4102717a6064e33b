//===- ScheduledKernelsTest.cpp - Written plain, run with roles -----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of test/Run/Inputs/schedule, that are no attention of a graph: each
// is run as it is written and after rtile-schedule-kernels, with its roles
// interleaved in several ways. The values are the same but for the order of
// sums.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

namespace {

struct Argument {
  DType dtype;
  Shape shape;
  /// Drawn from [-1, 1), times this; an output if 0.
  double scale;
  double offset = 0;
};

struct Kernel {
  const char *file, *plan;
  std::vector<Argument> arguments;
};

const DType narrow = DType::bf16, wide = DType::f32;

/// Tiles stick out of the tensors on every axis that has several.
const Kernel kernels[] = {
    {"gemm",
     "product",
     {{narrow, {200, 150}, 1}, {narrow, {130, 150}, 1}, {wide, {200, 130}, 0}}},
    {"gemm1",
     "product",
     {{narrow, {200, 256}, 1}, {narrow, {130, 256}, 1}, {wide, {200, 130}, 0}}},
    {"div",
     "quotient",
     {{narrow, {200, 64}, 1},
      {narrow, {130, 64}, 1},
      {wide, {200}, 1, 3},
      {wide, {200, 130}, 0}}},
    {"floor",
     "rounded",
     {{narrow, {200, 64}, 1},
      {narrow, {130, 64}, 1},
      {wide, {200}, 1},
      {wide, {200, 130}, 0}}},
    {"bwd",
     "gradients",
     {{narrow, {100, 64}, 1},
      {narrow, {150, 64}, 1},
      {narrow, {150, 64}, 1},
      {narrow, {100, 64}, 1},
      {wide, {100}, 1},
      {wide, {100}, 1},
      {wide, {150, 64}, 0},
      {wide, {150, 64}, 0}}},
    {"bwd_window",
     "gradients_in_window",
     {{narrow, {300, 64}, 1},
      {narrow, {300, 64}, 1},
      {narrow, {300, 64}, 1},
      {narrow, {300, 64}, 1},
      {wide, {300}, 1},
      {wide, {300}, 1},
      {wide, {300, 64}, 0},
      {wide, {300, 64}, 0}}},
    {"dq",
     "gradients",
     {{narrow, {150, 128}, 1},
      {narrow, {100, 128}, 1},
      {narrow, {100, 128}, 1},
      {narrow, {150, 128}, 1},
      {wide, {150}, 1},
      {wide, {150}, 1},
      {wide, {150, 128}, 0}}},
    {"dq2",
     "gradients",
     {{narrow, {150, 128}, 1},
      {narrow, {100, 128}, 1},
      {narrow, {100, 128}, 1},
      {narrow, {150, 128}, 1},
      {wide, {150}, 1},
      {wide, {150}, 1},
      {wide, {150, 128}, 0}}},
    {"rms",
     "rms_norm_matmul",
     {{narrow, {100, 256}, 1},
      {wide, {256}, 0.5, 1},
      {narrow, {256, 100}, 1},
      {narrow, {100, 100}, 0}}},
};

std::string read(const std::string &file) {
  std::ifstream stream(std::string(RINGLET_TEST_KERNELS) + "/" + file +
                       ".mlir");
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str();
}

/// A plan with arguments drawn from a seed.
class Call {
public:
  explicit Call(const Kernel &kernel) : kernel(kernel) {
    Random random(20261129);
    for (const Argument &argument : kernel.arguments) {
      int64_t count = 1;
      for (int64_t size : argument.shape)
        count *= size;
      std::vector<double> values(count);
      for (double &value : values)
        value = argument.offset + argument.scale * random.uniform();
      tensors.push_back(makeTensor(argument.dtype, argument.shape, values));
    }
  }

  /// All outputs, one behind the other.
  std::vector<double> run(const Module &module, const Options &options = {}) {
    std::vector<MutableTensorView> views;
    for (Tensor &tensor : tensors)
      views.push_back(tensor.view());
    EXPECT_EQ(module.run(kernel.plan, views, options), "") << kernel.file;
    std::vector<double> result;
    for (auto [argument, tensor] : llvm::zip(kernel.arguments, tensors))
      if (argument.scale == 0)
        llvm::append_range(result, elements(tensor));
    return result;
  }

private:
  const Kernel &kernel;
  std::vector<Tensor> tensors;
};

bool hasRoles(const Module &module) {
  return llvm::any_of((*module).getOps<rtile::FuncOp>(),
                      [](rtile::FuncOp func) { return func.getScheduled(); });
}

class ScheduledKernels : public testing::TestWithParam<Kernel> {};

} // namespace

TEST_P(ScheduledKernels, HaveTheValuesOfPlainOnes) {
  const Kernel &kernel = GetParam();
  std::string text = read(kernel.file);
  Module plain(text), scheduled(text);
  mlir::PassManager pm((*scheduled).getContext());
  pm.addPass(createRTileScheduleKernels());
  ASSERT_TRUE(mlir::succeeded(pm.run(*scheduled))) << kernel.file;
  std::vector<double> expected = Call(kernel).run(plain);
  double size = 0;
  for (double value : expected)
    size = std::max(size, std::abs(value));
  ASSERT_GT(size, 0) << kernel.file;
  // Without roles the orders of steps are those of one program.
  for (int64_t seed = -1; seed < (hasRoles(scheduled) ? 4 : 0); ++seed) {
    Options options;
    if (seed >= 0)
      options.interleaving = seed;
    std::vector<double> found = Call(kernel).run(scheduled, options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], size * 1e-2)
          << kernel.file << ", element " << i << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScheduledKernels, testing::ValuesIn(kernels),
                         [](const testing::TestParamInfo<Kernel> &info) {
                           return std::string(info.param.file);
                         });
