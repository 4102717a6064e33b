//===- ArtifactWriterTest.cpp - From modules to files -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/ArtifactWriter.h"
#include "Doubling.h"
#include "TestContext.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/CPU.h"
#include "lib/Compiler/EmitObject.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Verify.h"
#include "ringlet/runtime.h"

#include <gtest/gtest.h>

using namespace mlir;

// GoogleTest brings a global `abi` along.
namespace ringlet {

namespace {

struct Writing {
  TestContext context;
  OwningOpRef<ModuleOp> tiles = context.parse(kDoublingTiles);
  OwningOpRef<ModuleOp> code = context.parse(kDoublingCode);
  ArtifactWriter writer{"doubling"};
  std::vector<uint8_t> file;
  const abi::Artifact *artifact = nullptr;

  LogicalResult add(const char *level, std::string object = "code",
                    const Decisions &decisions = {}) {
    if (!tiles || !code) {
      ADD_FAILURE() << context.messages;
      return failure();
    }
    return writer.addLevel(*tiles, *code,
                           {level, abi::CodeFormat::SharedObject, object},
                           decisions);
  }

  void finish() {
    auto bytes = writer.finish(tiles->getLoc());
    ASSERT_TRUE(succeeded(bytes)) << context.messages;
    file = std::move(*bytes);
    abi::Payload payload;
    EXPECT_EQ(abi::openContainer(file.data(), file.size(), payload), "");
    EXPECT_EQ(abi::verifyArtifact(payload.data, payload.size, artifact), "");
  }
};

} // namespace

TEST(ArtifactWriter, KernelsSayWhatTheyTakeAndWrite) {
  Writing w;
  ASSERT_TRUE(succeeded(w.add("x86-64-v3")));
  w.finish();
  ASSERT_TRUE(w.artifact);
  const abi::Kernel &kernel = *w.artifact->kernels()->Get(0);
  EXPECT_EQ(kernel.name()->str(), "double");
  EXPECT_EQ(kernel.grid_rank(), 1);
  ASSERT_EQ(kernel.params()->size(), 2u);
  EXPECT_FALSE(kernel.params()->Get(0)->writes());
  EXPECT_TRUE(kernel.params()->Get(1)->writes());
  EXPECT_EQ(kernel.params()->Get(0)->dtype(), abi::DType::F32);
  EXPECT_EQ(kernel.params()->Get(0)->sizes()->Get(0), -1);
  EXPECT_EQ(kernel.params()->Get(0)->strides()->Get(0), 1);
  EXPECT_EQ(kernel.code()->Get(0)->scratch_bytes(), 64u);
  EXPECT_EQ(w.artifact->module_name()->str(), "doubling");
}

TEST(ArtifactWriter, EqualLevelsShareEverythingButCode) {
  Writing w;
  ASSERT_TRUE(succeeded(w.add("x86-64-v3")));
  ASSERT_TRUE(succeeded(w.add("x86-64-v4")));
  w.finish();
  ASSERT_TRUE(w.artifact);
  EXPECT_EQ(w.artifact->kernels()->size(), 1u);
  EXPECT_EQ(w.artifact->kernels()->Get(0)->code()->size(), 2u);
  ASSERT_EQ(w.artifact->functions()->Get(0)->plans()->size(), 1u);
  EXPECT_EQ(
      w.artifact->functions()->Get(0)->plans()->Get(0)->code_objects()->size(),
      2u);
}

TEST(ArtifactWriter, DifferentLevelsHaveTheirOwnPlans) {
  Writing w;
  ASSERT_TRUE(succeeded(w.add("x86-64-v3")));
  w.tiles->walk([&](rtile::FuncOp kernel) {
    kernel->setAttr("unlike", UnitAttr::get(&w.context.context));
  });
  ASSERT_TRUE(succeeded(w.add("x86-64-v4")));
  w.finish();
  ASSERT_TRUE(w.artifact);
  EXPECT_EQ(w.artifact->kernels()->size(), 2u);
  EXPECT_EQ(w.artifact->functions()->size(), 1u);
  EXPECT_EQ(w.artifact->functions()->Get(0)->plans()->size(), 2u);
}

TEST(ArtifactWriter, DecisionsGoToTheirKernelOnce) {
  Writing w;
  Decisions decisions(2);
  decisions[0].pass = "a-pass";
  decisions[0].function = "double";
  decisions[0].text = "because";
  decisions[1].pass = "b-pass";
  decisions[1].function = "another";
  ASSERT_TRUE(succeeded(w.add("x86-64-v3", "code", decisions)));
  w.finish();
  ASSERT_TRUE(w.artifact);
  const auto *list = w.artifact->kernels()->Get(0)->decisions();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->Get(0)->key()->str(), "a-pass");
  EXPECT_EQ(list->Get(0)->value()->str(), "because");
}

TEST(ArtifactWriter, ALoweringThatLeftNothingIsRefused) {
  Writing w;
  w.code->walk(
      [&](LLVM::LLVMFuncOp kernel) { kernel->removeAttr("rtile.grid_rank"); });
  EXPECT_TRUE(failed(w.add("x86-64-v3")));
  EXPECT_NE(w.context.messages.find("expected rtile.grid_rank"),
            std::string::npos)
      << w.context.messages;
}

namespace {

/// A kernel of a GPU that reads through tensor maps: what the writer sees of
/// it. `maps` stands in the lowered kernel.
struct WritingMaps : Writing {
  explicit WritingMaps(const std::string &maps) {
    const std::string plan = R"mlir(
      rplan.func @main(%x: memref<?x?x64xbf16, strided<[?, ?, 1]>>) outputs()
          names ["x"] {
        %n = rplan.size %x[1] : memref<?x?x64xbf16, strided<[?, ?, 1]>>
        %marks = rplan.workspace(%n) : memref<?xf32>
        rplan.launch @k grid(%n) args(%x, %marks)
            otherwise launch @plain grid(%n) args(%x, %marks
                : memref<?x?x64xbf16, strided<[?, ?, 1]>>, memref<?xf32>)
            : memref<?x?x64xbf16, strided<[?, ?, 1]>>, memref<?xf32>
        rplan.return
      }
    )mlir";
    tiles = context.parse(R"mlir(
      rtile.func @k(%x: memref<?x?x64xbf16, strided<[?, ?, 1]>>,
                    %marks: memref<?xf32>) grid(%i: index) { rtile.return }
      rtile.func @plain(%x: memref<?x?x64xbf16, strided<[?, ?, 1]>>,
                        %marks: memref<?xf32>) grid(%i: index) { rtile.return }
    )mlir" + plan);
    std::string text = R"mlir(
      llvm.func @plain(%a: !llvm.ptr) attributes {rtile.grid_rank = 1 : i64,
          rtile.scratch_bytes = 0 : i64,
          rtile.parameters = [memref<?x?x64xbf16, strided<[?, ?, 1]>>,
                              memref<?xf32>]} { llvm.return }
      llvm.func @k(%a: !llvm.ptr) attributes {rtile.grid_rank = 1 : i64,
          rtile.scratch_bytes = 0 : i64, rtile.threads = 384 : i64,
          rtile.parameters = [memref<?x?x64xbf16, strided<[?, ?, 1]>>,
                              memref<?xf32>], )mlir";
    code = context.parse(plan + text + maps + "} { llvm.return }");
  }
  LogicalResult addCubin() {
    if (!tiles || !code) {
      ADD_FAILURE() << context.messages;
      return failure();
    }
    return writer.addLevel(*tiles, *code,
                           {"sm_90a", abi::CodeFormat::Cubin, "code"}, {});
  }
};

} // namespace

TEST(ArtifactWriter, TensorMapsAndBlocksThatStay) {
  WritingMaps w("rtile.persistent = 2 : i64, rtile.maps = ["
                "#rtile.map<buffer = 0, rows = 1, columns = 2, fixed = [0], "
                "rate = 1, box = [128, 64]>, "
                "#rtile.map<buffer = 0, rows = 1, columns = 2, fixed = [], "
                "rate = 4, box = [80, 32]>]");
  ASSERT_TRUE(succeeded(w.addCubin())) << w.context.messages;
  w.finish();
  ASSERT_TRUE(w.artifact);
  const abi::KernelCode &code = *w.artifact->kernels()->Get(0)->code()->Get(0);
  EXPECT_EQ(code.blocks_per_multiprocessor(), 2);
  ASSERT_EQ(code.maps()->size(), 2u);
  const abi::TensorMap &first = *code.maps()->Get(0),
                       &second = *code.maps()->Get(1);
  EXPECT_EQ(first.param(), 0u);
  EXPECT_EQ(first.rows(), 1);
  EXPECT_EQ(first.columns(), 2);
  ASSERT_EQ(first.fixed()->size(), 1u);
  EXPECT_EQ(first.fixed()->Get(0), 0);
  EXPECT_EQ(first.rate(), 1);
  EXPECT_EQ(first.box_rows(), 128u);
  EXPECT_EQ(first.box_columns(), 64u);
  EXPECT_EQ(second.rate(), 4);
  EXPECT_EQ(second.box_rows(), 80u);
  EXPECT_EQ(second.box_columns(), 32u);
  EXPECT_EQ(second.fixed(), nullptr);
  const abi::Plan &plan = *w.artifact->functions()->Get(0)->plans()->Get(0);
  const abi::Launch &launch = *plan.steps()->Get(0)->action_as_Launch();
  ASSERT_TRUE(launch.otherwise());
  EXPECT_EQ(
      w.artifact->kernels()->Get(launch.otherwise()->kernel())->name()->str(),
      "plain");
}

TEST(ArtifactWriter, KernelsWithoutMapsHaveNone) {
  WritingMaps w("rtile.maps = []");
  ASSERT_TRUE(succeeded(w.addCubin())) << w.context.messages;
  w.finish();
  ASSERT_TRUE(w.artifact);
  const abi::KernelCode &code = *w.artifact->kernels()->Get(0)->code()->Get(0);
  EXPECT_TRUE(!code.maps() || code.maps()->size() == 0);
  EXPECT_EQ(code.blocks_per_multiprocessor(), 0);
}

TEST(ArtifactWriter, MapsThatAreNoneAreRefused) {
  WritingMaps other("rtile.maps = [42 : i64]");
  EXPECT_TRUE(failed(other.addCubin()));
  EXPECT_NE(other.context.messages.find(
                "expected rtile.maps that an artefact can hold, found 42"),
            std::string::npos)
      << other.context.messages;
  WritingMaps far("rtile.maps = [#rtile.map<buffer = 0, rows = 257, columns = "
                  "258, fixed = [], rate = 1, box = [128, 64]>]");
  EXPECT_TRUE(failed(far.addCubin()));
  // What fits is checked as a reader would.
  WritingMaps wrong("rtile.maps = [#rtile.map<buffer = 1, rows = 0, columns = "
                    "1, fixed = [], rate = 1, box = [128, 64]>]");
  ASSERT_TRUE(succeeded(wrong.addCubin())) << wrong.context.messages;
  EXPECT_TRUE(failed(wrong.writer.finish(wrong.tiles->getLoc())));
  EXPECT_NE(wrong.context.messages.find("expected an axis of the buffer below "
                                        "1, found 1"),
            std::string::npos)
      << wrong.context.messages;
}

TEST(ArtifactWriter, TheRuntimeRunsIt) {
  Writing w;
  auto code =
      KernelCode::translate(*w.code, *arch::lookupCPULevel("x86-64-v3"));
  ASSERT_TRUE(code);
  auto object = code->emit(CodeKind::SharedObject, "");
  ASSERT_TRUE(static_cast<bool>(object)) << llvm::toString(object.takeError());
  ASSERT_TRUE(succeeded(w.add("x86-64-v3", *object)));
  w.finish();

  rl_context *context = nullptr;
  rl_program *program = nullptr;
  ASSERT_EQ(rl_context_create(nullptr, &context), RL_OK) << rl_last_error();
  ASSERT_EQ(rl_program_load(context, w.file.data(), w.file.size(), &program),
            RL_OK)
      << rl_last_error();
  std::vector<float> x(1000), y(1000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i) - 500;
  int64_t size = 1000, inferred[RL_MAX_RANK] = {};
  rl_tensor tensors[] = {RL_TENSOR_INIT(x.data(), RL_F32, 1, &size, nullptr),
                         RL_TENSOR_INIT(y.data(), RL_F32, 1, &size, nullptr)};
  EXPECT_EQ(rl_program_output_sizes(program, 0, tensors, 1, inferred), RL_OK)
      << rl_last_error();
  EXPECT_EQ(inferred[0], 1000);
  ASSERT_EQ(rl_program_run(program, 0, tensors, 2), RL_OK) << rl_last_error();
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], 2 * x[i]) << i;
  int64_t wrong = 999;
  tensors[1].sizes = &wrong;
  EXPECT_EQ(rl_program_run(program, 0, tensors, 2), RL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rl_last_error())
                .find("expected result0 to have the size of x, found 1000 and "
                      "999"),
            std::string::npos)
      << rl_last_error();
  rl_program_destroy(program);
  rl_context_destroy(context);
}

} // namespace ringlet
