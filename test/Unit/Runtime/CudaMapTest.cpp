//===- CudaMapTest.cpp - Tensor maps over a library without a GPU -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include "ringlet/abi/Container.h"
#include "runtime/src/cuda/Types.h"

#include <algorithm>
#include <chrono>

namespace ringlet::test {

namespace {

namespace tensor = rt::cuda::tensor;

/// Entry "mapped", whose kernel has maps of x.
class CudaMaps : public Cuda {
protected:
  /// One map for each rate.
  ProgramPtr load(const std::vector<int64_t> &rates, bool fallback = true) {
    addMapped(builder);
    usePtx(builder);
    abi::KernelCodeT &code = *builder.artifact.kernels[0]->code[0];
    for (int64_t rate : rates)
      code.maps.push_back(mapOfRows(rate));
    if (!fallback)
      builder.plan().steps[0]->action.AsLaunch()->otherwise.reset();
    change(code);
    fake.mapped["mark"] = {code.maps.size(), size_t(9) + code.counts_items};
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.driver = "cuda";
    options.log = [](void *lines, rl_log_level, const char *line) {
      static_cast<std::vector<std::string> *>(lines)->push_back(line);
    };
    options.log_user = &log;
    options.log_level = RL_LOG_DEBUG;
    rl_context *made = nullptr;
    EXPECT_EQ(rl_context_create(&options, &made), RL_OK) << rl_last_error();
    context.reset(made);
    x = std::make_unique<OnDevice<uint16_t>>(made,
                                             std::vector<uint16_t>(1 << 15));
    y = std::make_unique<OnDevice<float>>(made, std::vector<float>(10000));
    return loadProgram(made, builder.artifact);
  }
  /// Runs it on x from its element `offset` on.
  rl_status runOn(const rl_program *program, std::vector<int64_t> sizes,
                  std::vector<int64_t> strides, size_t offset = 0) {
    return enqueue(program, "mapped", argumentsOf(sizes, strides, offset));
  }
  std::vector<TensorArg> argumentsOf(const std::vector<int64_t> &sizes,
                                     const std::vector<int64_t> &strides,
                                     size_t offset) {
    return {
        {static_cast<uint16_t *>(x->data) + offset, RL_BF16, sizes, strides},
        {y->data, RL_F32, {sizes[1]}}};
  }
  /// 2 where the kernel ran, 1 where its fallback did.
  float outcome(size_t rows) {
    std::vector<float> values = y->read();
    std::vector<float> expected(values.size(), 0);
    std::fill_n(expected.begin(), rows, values[0]);
    EXPECT_EQ(values, expected);
    return values[0];
  }
  bool wasLogged(const std::string &part) const {
    return std::any_of(log.begin(), log.end(), [&](const std::string &line) {
      return line.find(part) != std::string::npos;
    });
  }
  uint64_t addressOf(size_t element) const {
    return reinterpret_cast<uintptr_t>(x->data) + element * 2;
  }

  std::function<void(abi::KernelCodeT &)> change = [](abi::KernelCodeT &) {};
  std::vector<std::string> log;
  ContextPtr context;
  std::unique_ptr<OnDevice<uint16_t>> x;
  std::unique_ptr<OnDevice<float>> y;
};

using Sizes = std::vector<uint64_t>;
template <typename T, size_t N>
Sizes list(const T (&array)[N], size_t count) {
  return Sizes(array, array + count);
}

} // namespace

TEST_F(CudaMaps, Encoding) {
  ProgramPtr program = load({1, 4});
  ASSERT_EQ(runOn(program.get(), {3, 20, 40}, {1600, 80, 1}), RL_OK)
      << rl_last_error();
  EXPECT_EQ(outcome(20), 2);
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeLaunch &launch = fake.launches[0];
  EXPECT_EQ(launch.grid, 20u);
  EXPECT_EQ(launch.words,
            (std::vector<int64_t>{int64_t(addressOf(0)), 3, 20, 40, 1600, 80,
                                  launch.words[6], 20, 20}));
  ASSERT_EQ(launch.maps.size(), 2u);
  const FakeMap &whole = launch.maps[0], &fourth = launch.maps[1];
  EXPECT_EQ(whole.address, addressOf(0));
  EXPECT_EQ(whole.type, tensor::BF16);
  EXPECT_EQ(whole.rank, 3u);
  EXPECT_EQ(list(whole.sizes, 3), (Sizes{40, 20, 3}));
  EXPECT_EQ(list(whole.strides, 2), (Sizes{160, 3200}));
  EXPECT_EQ(list(whole.box, 3), (Sizes{32, 64, 1}));
  EXPECT_EQ(fourth.address, addressOf(0));
  EXPECT_EQ(fourth.rank, 4u);
  EXPECT_EQ(list(fourth.sizes, 4), (Sizes{40, 5, 3, 4}));
  EXPECT_EQ(list(fourth.strides, 3), (Sizes{640, 3200, 160}));
  EXPECT_EQ(list(fourth.box, 4), (Sizes{32, 64, 1, 1}));
  EXPECT_NE(std::string(rl_program_explain(program.get(), 0))
                .find("  tensor maps: 2\n"),
            std::string::npos);
}

TEST_F(CudaMaps, ElementTypes) {
  for (auto [ours, theirs] : {std::pair(abi::DType::F16, tensor::F16),
                              std::pair(abi::DType::I16, tensor::U16)}) {
    builder = Builder();
    addMapped(builder);
    usePtx(builder);
    builder.artifact.kernels[0]->code[0]->maps.push_back(mapOfRows());
    for (auto &kernel : builder.artifact.kernels)
      kernel->params[0]->dtype = ours;
    builder.function().arguments[0]->dtype = ours;
    fake.mapped["mark"] = {1, 9};
    ContextPtr context = makeCudaContext();
    ProgramPtr program = loadProgram(context.get(), builder.artifact);
    OnDevice<uint16_t> x(context.get(), std::vector<uint16_t>(64));
    OnDevice<float> y(context.get(), std::vector<float>(4));
    ASSERT_EQ(
        enqueue(program.get(), "mapped",
                {{x.data, rl_dtype(ours), {1, 4, 16}}, {y.data, RL_F32, {4}}}),
        RL_OK)
        << rl_last_error();
    EXPECT_EQ(fake.launches.back().maps.at(0).type, theirs);
  }
}

// Rows that the rate does not divide: residues with one row more than the
// others have a map of their own. Neither map reaches beyond the tensor.
TEST_F(CudaMaps, Residues) {
  change = [](abi::KernelCodeT &code) {
    code.maps[0]->residues = abi::Residues::Shorter;
    code.maps[1]->residues = abi::Residues::Longer;
  };
  ProgramPtr program = load({4, 4});
  const struct {
    int64_t rows;
    uint64_t shorter, shorterResidues, longer, longerResidues;
  } cases[] = {{20, 5, 4, 5, 4}, {21, 5, 4, 6, 1}, {23, 5, 4, 6, 3},
               {4, 1, 4, 1, 4},  {5, 1, 4, 2, 1},  {3, 1, 3, 1, 3},
               {1, 1, 1, 1, 1}};
  for (const auto &item : cases) {
    ASSERT_EQ(runOn(program.get(), {2, item.rows, 40}, {1600, 80, 1}), RL_OK)
        << rl_last_error();
    EXPECT_EQ(y->read()[0], 2);
    const FakeLaunch &launch = fake.launches.back();
    ASSERT_EQ(launch.maps.size(), 2u);
    EXPECT_EQ(list(launch.maps[0].sizes, 4),
              (Sizes{40, item.shorter, 2, item.shorterResidues}))
        << item.rows;
    EXPECT_EQ(list(launch.maps[1].sizes, 4),
              (Sizes{40, item.longer, 2, item.longerResidues}))
        << item.rows;
    for (const FakeMap &map : launch.maps) {
      EXPECT_EQ(map.strides[0], map.sizes[1] > 1 ? 640u : 16u);
      EXPECT_EQ(map.strides[2], map.sizes[3] > 1 ? 160u : 16u);
      uint64_t lastRow = (map.sizes[1] - 1) * 4 + map.sizes[3] - 1;
      EXPECT_LT(lastRow, uint64_t(item.rows));
    }
  }
}

// One encoding for a shape; an address for each call, and nothing else.
TEST_F(CudaMaps, AddressesChangeFromCallToCall) {
  saysMemory = true;
  ProgramPtr program = load({1, 2});
  for (size_t offset : {0, 8, 800}) {
    ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}, offset), RL_OK)
        << rl_last_error();
    for (const FakeMap &map : fake.launches.back().maps)
      EXPECT_EQ(map.address, addressOf(offset));
  }
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 2);
  EXPECT_EQ(fake.count("cuTensorMapReplaceAddress"), 6);
  fake.calls.clear();
  ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}), RL_OK);
  std::vector<std::string> calls;
  for (const std::string &call : fake.calls)
    if (call.compare(0, 5, "cuCtx") != 0)
      calls.push_back(call);
  EXPECT_EQ(calls, (std::vector<std::string>{
                       "cuStreamIsCapturing", "cuStreamGetId",
                       "cuTensorMapReplaceAddress", "cuTensorMapReplaceAddress",
                       "cuLaunchKernel", "cuMemcpyDtoDAsync"}));
  // Other strides are another shape.
  ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {960, 48, 1}), RL_OK);
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 2);
  EXPECT_EQ(list(fake.launches.back().maps[0].strides, 2), (Sizes{96, 16}));
}

// What nobody steps along has no stride that could be wrong.
TEST_F(CudaMaps, AxesOfOneElement) {
  ProgramPtr program = load({1, 4});
  ASSERT_EQ(runOn(program.get(), {1, 4, 12}, {7, 16, 1}), RL_OK)
      << rl_last_error();
  EXPECT_EQ(outcome(4), 2);
  const FakeLaunch &launch = fake.launches.at(0);
  EXPECT_EQ(list(launch.maps[0].strides, 2), (Sizes{32, 16}));
  EXPECT_EQ(list(launch.maps[1].sizes, 4), (Sizes{12, 1, 1, 4}));
  EXPECT_EQ(list(launch.maps[1].strides, 3), (Sizes{16, 16, 32}));
}

TEST_F(CudaMaps, Fallback) {
  struct {
    std::vector<int64_t> sizes, strides;
    size_t offset;
    const char *reason;
  } cases[] = {
      {{1, 20, 40}, {800, 40, 1}, 0, nullptr},
      {{1, 20, 40},
       {800, 40, 1},
       1,
       "kernel 'mark' expects input 'x' at a multiple of 16 bytes, found it 2 "
       "bytes behind one"},
      {{1, 20, 36},
       {720, 36, 1},
       0,
       "kernel 'mark' copies input 'x': expected a stride from 0 to "
       "549755813880 on axis 1, a multiple of 8, found 36"},
      {{2, 20, 40}, {804, 40, 1}, 0, "on axis 0, a multiple of 8, found 804"},
      // A tensor that repeats itself, and one that runs backwards.
      {{2, 20, 40}, {0, 40, 1}, 0, nullptr},
      {{2, 20, 40}, {-800, 40, 1}, 800, "a multiple of 8, found -800"},
      {{1, 18, 40},
       {720, 40, 1},
       0,
       "expected a size on axis 1 that is a multiple of the rate 4, found 18: "
       "the nearest are 16 and 20"},
      {{0, 20, 40},
       {800, 40, 1},
       0,
       "expected a size from 1 to 2147483648 on axis 0, found 0"},
      {{1, 20, 0}, {800, 40, 1}, 0, "on axis 2, found 0"},
  };
  ProgramPtr program = load({1, 4});
  for (const auto &item : cases) {
    log.clear();
    fake.calls.clear();
    ASSERT_EQ(runOn(program.get(), item.sizes, item.strides, item.offset),
              RL_OK)
        << rl_last_error();
    auto rows = size_t(item.sizes[1]);
    EXPECT_EQ(y->read()[0], item.reason ? 1 : 2);
    EXPECT_EQ(y->read()[rows - 1], item.reason ? 1 : 2);
    EXPECT_EQ(fake.launches.back().kernel, item.reason ? "plain" : "mark");
    EXPECT_EQ(fake.count("cuLaunchKernel"), 1);
    EXPECT_TRUE(!item.reason || wasLogged(item.reason)) << log.at(0);
    // Once for a shape, and whoever asks is told before.
    log.clear();
    ASSERT_EQ(runOn(program.get(), item.sizes, item.strides, item.offset),
              RL_OK);
    EXPECT_FALSE(item.reason && wasLogged(item.reason));
    rl_estimate estimate = RL_ESTIMATE_INIT;
    ASSERT_EQ(run(program.get(), findEntry(program.get(), "mapped"),
                  argumentsOf(item.sizes, item.strides, item.offset),
                  &estimate),
              RL_OK)
        << rl_last_error();
    EXPECT_EQ(estimate.fallbacks, item.reason ? 1u : 0u);
  }
}

// A stride that only the copy engine cannot count; the memory is never touched.
TEST_F(CudaMaps, LongStrides) {
  ProgramPtr program = load({4});
  fake.capturing = {someStream};
  const int64_t most = 549755813880;
  for (auto [stride, good] :
       {std::pair(most / 4 / 8 * 8, true),
        std::pair(most / 4 / 8 * 8 + 8, false), std::pair(most + 8, false)}) {
    fake.launches.clear();
    log.clear();
    // Eight rows, two of each residue.
    EXPECT_EQ(runOn(program.get(), {1, 8, 8}, {8 * stride, stride, 1}), RL_OK)
        << rl_last_error();
    ASSERT_EQ(fake.launches.size(), 1u);
    EXPECT_EQ(fake.launches[0].kernel, good ? "mark" : "plain") << stride;
    EXPECT_EQ(wasLogged("expected a stride from 0 to 137438953470 on axis 1"),
              !good);
  }
  fake.capturing.clear();
}

// A kernel would take the number of a further element as one before the first.
TEST_F(CudaMaps, LongAxes) {
  ProgramPtr program = load({1});
  fake.capturing = {someStream};
  const int64_t most = int64_t(1) << 31;
  for (auto [size, good] :
       {std::pair(most, true), std::pair(most + 1, false)}) {
    fake.launches.clear();
    log.clear();
    EXPECT_EQ(runOn(program.get(), {size, 8, 8}, {0, 8, 1}), RL_OK)
        << rl_last_error();
    ASSERT_EQ(fake.launches.size(), 1u);
    EXPECT_EQ(fake.launches[0].kernel, good ? "mark" : "plain") << size;
    EXPECT_EQ(wasLogged("expected a size from 1 to 2147483648 on axis 0, found "
                        "2147483649"),
              !good);
  }
  fake.capturing.clear();
}

TEST_F(CudaMaps, WithoutFallback) {
  ProgramPtr program = load({1, 4}, /*fallback=*/false);
  ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}), RL_OK)
      << rl_last_error();
  fake.calls.clear();
  EXPECT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}, 3),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(),
               "entry 'mapped': kernel 'mark' expects input 'x' at a multiple "
               "of 16 bytes, found it 6 bytes behind one");
  EXPECT_EQ(runOn(program.get(), {1, 22, 40}, {880, 40, 1}),
            RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(),
               "entry 'mapped': kernel 'mark' copies input 'x': expected a "
               "size on axis 1 that is a multiple of the rate 4, found 22: the "
               "nearest are 20 and 24");
  // Refused before anything was taken or queued.
  EXPECT_EQ(fake.count("cuStreamIsCapturing"), 0);
  EXPECT_EQ(fake.count("cuLaunchKernel"), 0);
}

// Where the driver refuses a map, the reason is its own.
TEST_F(CudaMaps, RefusedByTheDriver) {
  fake.failures = {{"cuTensorMapEncodeTiled", 801}};
  ProgramPtr program = load({1});
  ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}), RL_OK)
      << rl_last_error();
  EXPECT_EQ(outcome(20), 1);
  EXPECT_TRUE(wasLogged("cuda cannot make a tensor map: CUDA_ERROR_FAKE (801)"))
      << log.at(0);
  fake.failures = {{"cuTensorMapReplaceAddress", 1}};
  EXPECT_EQ(runOn(program.get(), {1, 16, 40}, {640, 40, 1}), RL_DEVICE_ERROR);
  EXPECT_EQ(std::string(rl_last_error())
                .find("entry 'mapped': cuda cannot point tensor map 0 to "
                      "address "),
            0u)
      << rl_last_error();
  fake.failures.clear();
}

// Both ways can be captured: nothing waits, nothing is allocated but in the
// order of the stream.
TEST_F(CudaMaps, Capture) {
  ProgramPtr program = load({1});
  fake.capturing = {someStream};
  fake.calls.clear();
  for (size_t offset : {0, 1})
    ASSERT_EQ(runOn(program.get(), {1, 20, 40}, {800, 40, 1}, offset), RL_OK)
        << rl_last_error();
  EXPECT_EQ(fake.count("cuLaunchKernel"), 2);
  EXPECT_EQ(fake.count("cuMemAlloc") + fake.count("cuStreamSynchronize") +
                fake.count("cuThreadExchangeStreamCaptureMode"),
            0);
  fake.capturing.clear();
}

TEST_F(CudaMaps, Estimate) {
  ProgramPtr program = load({4});
  rl_estimate estimate = RL_ESTIMATE_INIT;
  for (int64_t rows : {20, 18}) {
    ASSERT_EQ(test::run(program.get(), 0,
                        {{x->data, RL_BF16, {1, rows, 40}},
                         {y->data, RL_F32, {rows}}},
                        &estimate),
              RL_OK)
        << rl_last_error();
    EXPECT_EQ(estimate.launches, 1u);
    EXPECT_EQ(estimate.fallbacks, rows == 20 ? 0u : 1u);
    EXPECT_EQ(estimate.workspace_bytes, 256u);
  }
  EXPECT_EQ(fake.launches.size(), 0u);
}

TEST_F(CudaMaps, BlocksThatStay) {
  change = [](abi::KernelCodeT &code) { code.blocks_per_multiprocessor = 2; };
  ProgramPtr program = load({});
  EXPECT_NE(std::string(rl_program_explain(program.get(), 0))
                .find("  blocks a multiprocessor: 2\n"),
            std::string::npos);
  for (int64_t rows : {3, 264, 265, 10000}) {
    ASSERT_EQ(runOn(program.get(), {1, rows, 1}, {1, 1, 1}), RL_OK)
        << rl_last_error();
    EXPECT_EQ(fake.launches.back().grid, std::min<int64_t>(rows, 132 * 2));
    EXPECT_EQ(fake.launches.back().words.back(), rows);
  }
}

// Who reads what was decided sees which kernels others may take the place of.
TEST_F(CudaMaps, FallbackIsExplained) {
  ProgramPtr program = load({1});
  EXPECT_NE(std::string(rl_program_explain(program.get(), 0))
                .find("kernel: mark\n  fallback: plain, for tensors"),
            std::string::npos);
}
TEST_F(CudaMaps, NoFallbackIsExplained) {
  ProgramPtr program = load({1}, /*fallback=*/false);
  EXPECT_EQ(std::string(rl_program_explain(program.get(), 0)).find("fallback"),
            std::string::npos);
}

// A block adds the number of blocks to that of its item: both have to fit.
TEST_F(CudaMaps, ItemsOfBlocksThatStay) {
  change = [](abi::KernelCodeT &code) { code.blocks_per_multiprocessor = 2; };
  fake.maxGrid = 1000;
  ProgramPtr program = load({});
  EXPECT_EQ(runOn(program.get(), {1, 736, 1}, {1, 1, 1}), RL_OK)
      << rl_last_error();
  EXPECT_EQ(runOn(program.get(), {1, 737, 1}, {1, 1, 1}), RL_UNSUPPORTED);
  EXPECT_STREQ(rl_last_error(), "entry 'mapped': the grid of kernel 'mark' has "
                                "737 items, the device takes 736");
}

// The counter is 32 bits that kernels leave at 0: a queue has one and sets it
// once, a run that becomes a graph has one of its own.
TEST_F(CudaMaps, CountedItems) {
  change = [](abi::KernelCodeT &code) {
    code.blocks_per_multiprocessor = 1;
    code.counts_items = true;
  };
  ProgramPtr program = load({1});
  rl_estimate estimate = RL_ESTIMATE_INIT;
  ASSERT_EQ(
      test::run(program.get(), 0,
                {{x->data, RL_BF16, {1, 20, 40}}, {y->data, RL_F32, {20}}},
                &estimate),
      RL_OK)
      << rl_last_error();
  EXPECT_EQ(estimate.workspace_bytes, 256u + 64u);
  auto counterOf = [&](int64_t rows) {
    EXPECT_EQ(runOn(program.get(), {1, rows, 40}, {rows * 40, 40, 1}), RL_OK)
        << rl_last_error();
    const std::vector<int64_t> &words = fake.launches.back().words;
    EXPECT_EQ(words[words.size() - 2], rows);
    EXPECT_EQ(words.back() % 64, 0);
    return reinterpret_cast<uint32_t *>(intptr_t(words.back()));
  };
  uint32_t *counter = counterOf(20);
  EXPECT_EQ(*counter, 0u);
  EXPECT_EQ(outcome(20), 2);
  EXPECT_EQ(counterOf(20), counter);
  EXPECT_EQ(counterOf(12), counter);
  EXPECT_EQ(fake.count("cuMemsetD32Async"), 1);
  fake.capturing = {someStream};
  uint32_t *captured = counterOf(20);
  EXPECT_NE(captured, counter);
  EXPECT_NE(counterOf(20), captured);
  EXPECT_EQ(fake.count("cuMemsetD32Async"), 3);
  fake.capturing.clear();
}

// Code of format version 2 would leave the number of items there.
TEST_F(CudaMaps, CountedItemsOfOlderFormats) {
  change = [](abi::KernelCodeT &code) {
    code.blocks_per_multiprocessor = 1;
    code.counts_items = true;
  };
  (void)load({1});
  std::vector<uint8_t> file = fileOf(builder.artifact);
  for (uint32_t version : {2, 4}) {
    std::vector<uint8_t> other =
        abi::makeContainer(file.data() + abi::kHeaderSize,
                           file.size() - abi::kHeaderSize, version);
    rl_program *program = nullptr;
    EXPECT_EQ(
        rl_program_load(context.get(), other.data(), other.size(), &program),
        version == 4 ? RL_OK : RL_BAD_ARTIFACT);
    rl_program_destroy(program);
  }
  EXPECT_STREQ(rl_last_error(),
               "kernel 'mark' counts items: expected format version 4 or "
               "later, found 2; compile the artefact anew");
}

TEST_F(CudaMaps, RoomForParameters) {
  // 16 maps take half of the room and 8 words, the kernel itself needs 9.
  addMapped(builder);
  usePtx(builder);
  abi::KernelT &kernel = *builder.artifact.kernels[0];
  for (int i = 0; i < 16; ++i)
    kernel.code[0]->maps.push_back(mapOfRows());
  while (kernel.params.size() < 2 + 240) {
    kernel.params.push_back(std::make_unique<abi::KernelParamT>());
    kernel.params.back()->kind = abi::ParamKind::Scalar;
  }
  builder.artifact.functions.clear();
  ContextPtr context = makeCudaContext();
  EXPECT_EQ(loadStatus(context.get()), RL_UNSUPPORTED);
  EXPECT_STREQ(rl_last_error(), "kernel 'mark': expected at most 512 words of "
                                "parameters, found 513");
  kernel.params.pop_back();
  EXPECT_EQ(loadStatus(context.get()), RL_OK) << rl_last_error();
}

} // namespace ringlet::test
