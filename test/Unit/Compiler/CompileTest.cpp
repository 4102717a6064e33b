//===- CompileTest.cpp - From text to what a device is told -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/Compile.h"
#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Verify.h"

#include <gtest/gtest.h>

// GoogleTest brings a global `abi` along.
namespace ringlet {

namespace {

const char *const kAttention = R"mlir(
func.func @f(%q: tensor<2x?x4x64xf16>, %k: tensor<2x?x2x64xf16>)
    -> (tensor<2x?x4x64xf16>, tensor<2x4x?xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<2x?x4x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>)
      -> (tensor<2x?x4x64xf16>, tensor<2x4x?xf32>)
  return %o, %l : tensor<2x?x4x64xf16>, tensor<2x4x?xf32>
}
)mlir";

/// An artefact for one or several targets, and its content.
struct Compiled {
  CompileResult result;
  abi::Payload payload;
  const abi::Artifact *artifact = nullptr;

  Compiled(const char *target, const char *recipe) {
    CompileOptions options;
    EXPECT_EQ(parseTarget(target, options), "");
    EXPECT_EQ(parseRecipe(recipe, options), "");
    result = compile(kAttention, options);
    if (!result.ok)
      return;
    EXPECT_EQ(
        abi::openContainer(result.output.data(), result.output.size(), payload),
        "");
    // The payload of a file wants an address of its own.
    content.assign(payload.data, payload.data + payload.size);
    EXPECT_EQ(abi::verifyArtifact(content.data(), content.size(), artifact),
              "");
  }

  /// The launches of the plan for code object `object`: those that copy inputs
  /// to where they are aligned, or all others.
  enum Which { Copies, Others };
  std::vector<const abi::Launch *> launches(uint32_t object,
                                            Which which = Others) const {
    std::vector<const abi::Launch *> list;
    auto isCopy = [](const abi::Plan &plan, const abi::Launch &launch) {
      const abi::LaunchArg &last =
          *launch.args()->Get(launch.args()->size() - 1);
      return last.kind() == abi::LaunchArgKind::Buffer &&
             plan.buffers()->Get(last.index())->kind() ==
                 abi::BufferKind::Aligned;
    };
    for (const abi::Plan *plan : *artifact->functions()->Get(0)->plans())
      for (uint32_t number : *plan->code_objects())
        for (const abi::Step *step : *plan->steps())
          if (const auto *launch = step->action_as_Launch())
            if (number == object && !isForOthers(*launch) &&
                isCopy(*plan, *launch) == (which == Copies))
              list.push_back(launch);
    return list;
  }

private:
  /// Whether it is for calls with few queries or many keys.
  bool isForOthers(const abi::Launch &launch) const {
    std::string name = artifact->kernels()->Get(launch.kernel())->name()->str();
    return name.find("_parts") != std::string::npos ||
           name.find("_merge") != std::string::npos ||
           name.find("_many_keys") != std::string::npos;
  }

  std::vector<uint8_t> content;
};

} // namespace

TEST(Compile, AKernelWithARecipeReadsThroughMaps) {
  Compiled fast("sm_90a,cpu:x86-64-v3", "fa_fwd_lazy");
  ASSERT_TRUE(fast.artifact) << fast.result.diagnostics;
  const auto &objects = *fast.artifact->code_objects();
  bool cpu = false;
  for (uint32_t object = 0; object < objects.size(); ++object) {
    auto launches = fast.launches(object);
    if (objects.Get(object)->format() == abi::CodeFormat::SharedObject) {
      // The choice is about GPUs.
      cpu = true;
      ASSERT_EQ(launches.size(), 1u);
      EXPECT_FALSE(launches[0]->otherwise());
      EXPECT_EQ(fast.launches(object, Compiled::Copies).size(), 0u);
      continue;
    }
    // Two tensors.
    EXPECT_EQ(fast.launches(object, Compiled::Copies).size(), 2u);
    ASSERT_EQ(launches.size(), 2u);
    // The second kernel does the same for any tensors.
    ASSERT_TRUE(launches[0]->otherwise());
    EXPECT_EQ(launches[0]->otherwise()->kernel(), launches[1]->kernel());
    EXPECT_FALSE(launches[1]->otherwise());
    const abi::Kernel &kernel =
        *fast.artifact->kernels()->Get(launches[0]->kernel());
    for (const abi::KernelCode *code : *kernel.code()) {
      EXPECT_GT(code->blocks_per_multiprocessor(), 0);
      ASSERT_TRUE(code->maps());
      // Q, K and V; K and V are one tensor in two parameters.
      EXPECT_EQ(code->maps()->size(), 3u);
      for (const abi::TensorMap *map : *code->maps()) {
        EXPECT_EQ(map->rows(), 1);
        EXPECT_EQ(map->columns(), 3);
        EXPECT_EQ(map->box_columns(), 64u);
        EXPECT_EQ(kernel.params()->Get(map->param())->dtype(), abi::DType::F16);
      }
    }
    const abi::Kernel &second =
        *fast.artifact->kernels()->Get(launches[1]->kernel());
    for (const abi::KernelCode *code : *second.code()) {
      EXPECT_EQ(code->blocks_per_multiprocessor(), 0);
      EXPECT_EQ(code->maps(), nullptr);
    }
  }
  EXPECT_TRUE(cpu);
}

TEST(Compile, PlainKernelsHaveNone) {
  Compiled plain("sm_90a", "plain");
  ASSERT_TRUE(plain.artifact) << plain.result.diagnostics;
  ASSERT_EQ(plain.launches(0).size(), 1u);
  EXPECT_FALSE(plain.launches(0)[0]->otherwise());
  // A plain kernel reads its queries once: only keys are worth a copy.
  EXPECT_EQ(plain.launches(0, Compiled::Copies).size(), 1u);
  for (const abi::Kernel *kernel : *plain.artifact->kernels())
    for (const abi::KernelCode *code : *kernel->code())
      EXPECT_EQ(code->maps(), nullptr);
}

TEST(Compile, ARecipeThatATargetCannotRunIsRefused) {
  Compiled old("sm_80", "fa_fwd_lazy");
  EXPECT_FALSE(old.result.ok);
  EXPECT_NE(old.result.diagnostics.find("recipe fa_fwd_lazy is not possible: "
                                        "expected an architecture with"),
            std::string::npos)
      << old.result.diagnostics;
}

TEST(Compile, RecipesHaveNames) {
  CompileOptions options;
  EXPECT_EQ(options.recipe, "auto");
  EXPECT_EQ(parseRecipe("fa_fwd_overlap", options), "");
  EXPECT_EQ(options.recipe, "fa_fwd_overlap");
  EXPECT_EQ(parseRecipe("", options),
            "expected one of auto, plain, fa_fwd_lazy, fa_fwd_overlap, "
            "pipelined, found ''");
  EXPECT_EQ(options.recipe, "fa_fwd_overlap");
}

} // namespace ringlet
