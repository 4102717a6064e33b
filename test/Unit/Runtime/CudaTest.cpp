//===- CudaTest.cpp - The CUDA driver over a library without a GPU ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include "lib/Layout/Order.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ringlet::test {

TEST_F(Cuda, Devices) {
  fake.devices = 2;
  uint32_t count;
  ASSERT_EQ(rl_device_count("cuda", &count), RL_OK) << rl_last_error();
  EXPECT_EQ(count, 2u);
  rl_device device = RL_DEVICE_INIT;
  ASSERT_EQ(rl_device_describe("cuda", 0, &device), RL_OK) << rl_last_error();
  EXPECT_STREQ(device.name, "Fake GPU");
  EXPECT_STREQ(device.architecture, "sm_90");
  EXPECT_EQ(device.memory_bytes, uint64_t(80) << 30);
  EXPECT_EQ(device.multiprocessors, 132u);
  ASSERT_EQ(rl_device_describe("cuda", 1, &device), RL_OK);
  EXPECT_STREQ(device.name, "Other GPU");
  EXPECT_EQ(rl_device_describe("cuda", 2, &device), RL_INVALID_ARGUMENT);
  EXPECT_STREQ(rl_last_error(), "expected a cuda device from 0 to 1, found 2");
  EXPECT_STREQ(device.name, "");
  EXPECT_EQ(rl_device_describe("cuda", UINT32_MAX, &device),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_device_count("tpu", &count), RL_UNAVAILABLE);

  fake.devices = 0;
  EXPECT_EQ(makeCudaContext(true), nullptr);
  EXPECT_STREQ(rl_last_error(), "expected an NVIDIA GPU, found none");
}

TEST_F(Cuda, ContextStartsAndEnds) {
  {
    ContextPtr context = makeCudaContext(false, 12345);
    EXPECT_EQ(fake.contexts, 1);
    EXPECT_EQ(fake.memoryPools, 1);
    EXPECT_EQ(fake.releaseThreshold, 12345u);
  }
  // The destructor of the fixture looks at the rest.
}

TEST_F(Cuda, RunsAProgram) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  EXPECT_STREQ(rl_program_target(program.get()), "sm_80");
  Affine affine(context.get());
  ASSERT_EQ(test::run(program.get(), findEntry(program.get(), "affine"),
                      affine.arguments()),
            RL_OK)
      << rl_last_error();
  affine.expectResult();

  ASSERT_EQ(fake.launches.size(), 2u);
  const FakeLaunch &scale = fake.launches[0], &shift = fake.launches[1];
  EXPECT_EQ(scale.kernel, "scale");
  EXPECT_EQ(scale.grid, 3u); // Tiles of four rows.
  EXPECT_EQ(scale.threads, 128u);
  EXPECT_EQ(scale.sharedBytes, 0u);
  auto word = [](const void *pointer) {
    return int64_t(reinterpret_cast<intptr_t>(pointer));
  };
  int64_t workspace = scale.words[4];
  EXPECT_EQ(scale.words, (std::vector<int64_t>{word(affine.x.data), 10, 6, 6,
                                               workspace, 10, 6, 6, 3, 3}));
  int64_t constant = shift.words[8];
  EXPECT_EQ(shift.words,
            (std::vector<int64_t>{workspace, 10, 6, 6, word(affine.y.data), 10,
                                  6, 6, constant, 3}));
  // The constant lies on the device.
  EXPECT_EQ(fake.memory.count(uint64_t(constant)), 1u);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.runs, 1u);
  EXPECT_EQ(stats.launches, 2u);
  // What the pool says, and what the stream keeps.
  EXPECT_EQ(stats.workspace_bytes, 4096u + (1 << 20) + 64);
}

TEST_F(Cuda, EnqueueOnlyQueues) {
  addAll();
  saysMemory = true;
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  auto callsOf = [&] {
    fake.calls.clear();
    EXPECT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
        << rl_last_error();
    std::vector<std::string> calls;
    for (const std::string &call : fake.calls)
      if (call.compare(0, 5, "cuCtx") != 0)
        calls.push_back(call);
    return calls;
  };
  // A stream keeps a small block, and nobody waits.
  EXPECT_EQ(callsOf(), (std::vector<std::string>{
                           "cuStreamIsCapturing", "cuStreamGetId",
                           "cuThreadExchangeStreamCaptureMode", "cuMemAlloc",
                           "cuThreadExchangeStreamCaptureMode",
                           "cuLaunchKernel", "cuLaunchKernel"}));
  (void)callsOf(); // Makes a graph.
  std::vector<std::string> calls = callsOf();
  EXPECT_EQ(calls,
            (std::vector<std::string>{"cuStreamIsCapturing", "cuStreamGetId",
                                      "cuGraphLaunch"}));
  // Without one, memory comes and goes in the order of the stream.
  fake.failures = {{"cuStreamGetId", 1}};
  EXPECT_EQ(callsOf(), (std::vector<std::string>{
                           "cuStreamIsCapturing", "cuStreamGetId",
                           "cuMemAllocFromPoolAsync", "cuLaunchKernel",
                           "cuLaunchKernel", "cuMemFreeAsync"}));
  fake.failures.clear();
  EXPECT_EQ(fake.count("cuCtxPushCurrent"), fake.count("cuCtxPopCurrent"));
  for (const FakeLaunch &launch : fake.launches)
    EXPECT_EQ(launch.stream, someStream);
  affine.expectResult();
}

// Of a caller who uses the device's context anyway, nothing is changed.
TEST_F(Cuda, ContextMayBeCurrentAlready) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  fake.current.push_back(fake.primary);
  fake.calls.clear();
  ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.count("cuCtxPushCurrent"), 0);
  EXPECT_EQ(fake.current, (std::vector<void *>{callersContext, fake.primary}));
  fake.current.pop_back();
  affine.expectResult();
}

TEST_F(Cuda, ConstantsAndTablesGoThereOnce) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  EXPECT_EQ(fake.count("cuMemcpyHtoDAsync"), 1); // The constant.
  std::vector<float> rows(48 * 2);
  std::iota(rows.begin(), rows.end(), 0.0f);
  OnDevice<float> x(context.get(), rows), y(context.get(), rows);
  std::vector<TensorArg> arguments = {{x.data, RL_F32, {48, 2}},
                                      {y.data, RL_F32, {48, 2}}};
  fake.calls.clear();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(enqueue(program.get(), "hilbert", arguments), RL_OK)
        << rl_last_error();
  EXPECT_EQ(fake.count("cuMemcpyHtoDAsync"), 1);
  EXPECT_EQ(fake.count("cuMemAlloc"), 1);
  ASSERT_EQ(fake.launches.size(), 3u);
  EXPECT_EQ(fake.memory.count(uint64_t(fake.launches[0].words[4])), 1u);

  std::string error;
  layout::OrderSpec spec;
  spec.curve = "hilbert";
  spec.grid = {6, 8};
  auto hilbert = layout::makeOrder(spec, &error);
  ASSERT_TRUE(hilbert) << error;
  std::vector<float> moved = y.read();
  for (int64_t slot = 0; slot < 48; ++slot)
    EXPECT_EQ(moved[size_t(slot * 2)],
              rows[size_t(hilbert->token(slot, 48) * 2)]);

  ASSERT_EQ(rl_context_trim(context.get()), RL_OK);
  EXPECT_EQ(fake.memory.count(uint64_t(fake.launches[0].words[4])), 0u);
  EXPECT_EQ(fake.count("cuMemPoolTrimTo"), 1);
}

// A kernel that knows whole periods of an order writes their tables, once; the
// host writes those of other lengths. (This one turns them round, to be told
// from the host's.)
TEST_F(Cuda, TablesByKernels) {
  addReorder(builder, "chunks", order("residue", {}, 16, 4));
  builder.plan().buffers.back()->fill = int32_t(builder.kernel("turn", 1));
  builder.param(abi::DType::I64, {-1}, {1}, true);
  usePtx(builder);
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  std::vector<float> rows(480);
  std::iota(rows.begin(), rows.end(), 0.0f);
  OnDevice<float> x(context.get(), rows), y(context.get(), rows);
  auto run = [&](int64_t length) {
    ASSERT_EQ(
        enqueue(program.get(), "chunks",
                {{x.data, RL_F32, {length, 1}}, {y.data, RL_F32, {length, 1}}}),
        RL_OK)
        << rl_last_error();
  };
  auto launchesOf = [&](const std::string &kernel) {
    return std::count_if(
        fake.launches.begin(), fake.launches.end(),
        [&](const FakeLaunch &launch) { return launch.kernel == kernel; });
  };
  for (int i = 0; i < 3; ++i)
    run(480);
  EXPECT_EQ(launchesOf("turn"), 1);
  EXPECT_EQ(fake.launches[0].grid, 2u);
  EXPECT_EQ(fake.launches[0].words[1], 480);
  EXPECT_EQ(y.read()[0], 479);
  EXPECT_EQ(fake.count("cuGraphLaunch"), 2); // Of "gather" alone.
  run(479);
  EXPECT_EQ(launchesOf("turn"), 1);
  EXPECT_EQ(y.read()[1], 4);
  // It is made while somebody captures, too, and is no part of that.
  fake.capturing = {someStream};
  run(32);
  EXPECT_EQ(launchesOf("turn"), 2);
  EXPECT_NE(fake.launches[fake.launches.size() - 2].stream, someStream);
  fake.capturing.clear();
  // What cannot be started leaves nothing behind, but for tables in use.
  fake.failures = {{"cuLaunchKernel", 719}};
  EXPECT_EQ(enqueue(program.get(), "chunks",
                    {{x.data, RL_F32, {64, 1}}, {y.data, RL_F32, {64, 1}}}),
            RL_DEVICE_ERROR);
  fake.failures.clear();
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context.get(), &stats), RL_OK);
  EXPECT_EQ(stats.table_bytes, 32u * 8);
  EXPECT_EQ(stats.tables_built, 3u);
}

// A captured stream: tables are made all the same, nothing waits for the
// stream, and what the graph refers to stays as long as the program.
TEST_F(Cuda, CaptureHoldsItsTables) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  std::vector<float> rows(48 * 2, 1);
  OnDevice<float> x(context.get(), rows), y(context.get(), rows);
  std::vector<TensorArg> arguments = {{x.data, RL_F32, {48, 2}},
                                      {y.data, RL_F32, {48, 2}}};
  fake.capturing = {someStream};
  ASSERT_EQ(enqueue(program.get(), "hilbert", arguments), RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.count("cuStreamIsCapturing"), 2);
  fake.capturing.clear();
  auto table = uint64_t(fake.launches.at(0).words[4]);
  ASSERT_EQ(rl_context_trim(context.get()), RL_OK);
  EXPECT_EQ(fake.memory.count(table), 1u);
  program.reset();
  ASSERT_EQ(rl_context_trim(context.get()), RL_OK);
  EXPECT_EQ(fake.memory.count(table), 0u);
}

TEST_F(Cuda, GridOrderAndCopies) {
  addAll();
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  OnDevice<int64_t> out(context.get(), std::vector<int64_t>(3 * 5 * 7, 0));
  ASSERT_EQ(enqueue(program.get(), "visit", {{out.data, RL_I64, {3, 5, 7}}}),
            RL_OK)
      << rl_last_error();
  std::vector<int64_t> visited = out.read();
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t k = 0; k < 7; ++k)
        EXPECT_EQ(visited[size_t((i * 5 + j) * 7 + k)],
                  1 + i + 3 * (j + 5 * k));

  std::vector<float> values(4 * 3 * 2);
  std::iota(values.begin(), values.end(), 0.0f);
  OnDevice<float> from(context.get(), values),
      to(context.get(), std::vector<float>(24, -1));
  fake.calls.clear();
  ASSERT_EQ(enqueue(program.get(), "copy",
                    {{from.data, RL_F32, {3, 4, 2}, {2, 6, 1}},
                     {to.data, RL_F32, {3, 4, 2}}}),
            RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.count("cuMemcpy2DAsync"), 3);
  std::vector<float> moved = to.read();
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 2; ++k)
        EXPECT_EQ(moved[size_t((i * 4 + j) * 2 + k)],
                  values[size_t(i * 2 + j * 6 + k)]);
}

TEST_F(Cuda, TooManyBlocks) {
  addAll();
  fake.maxGrid = 2;
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  Affine affine(context.get());
  EXPECT_EQ(enqueue(program.get(), "affine", affine.arguments()),
            RL_UNSUPPORTED);
  EXPECT_STREQ(rl_last_error(), "entry 'affine': the grid of kernel 'scale' "
                                "has 3 items, the device takes 2");
  EXPECT_EQ(fake.launches.size(), 0u);
}

// A number of the host is no tensor of the device.
TEST_F(Cuda, KernelsCannotReadHostNumbers) {
  uint32_t kernel = builder.kernel("shift", 1);
  builder.param(abi::DType::I64, {}, {});
  builder.param(abi::DType::I64, {1}, {1}, true);
  builder.function("read");
  uint32_t s = builder.argument("s", abi::DType::I64, {});
  uint32_t y = builder.argument("result0", abi::DType::I64, {1}, true);
  uint32_t one = builder.expr({constant(1)});
  uint32_t in = builder.argumentBuffer(s), out = builder.argumentBuffer(y);
  builder.launch(kernel, {one}, {buffer(in), buffer(out)});
  usePtx(builder);
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  int64_t number = 1;
  OnDevice<int64_t> result(context.get(), {0});
  EXPECT_EQ(enqueue(program.get(), "read",
                    {{&number, RL_I64, {}}, {result.data, RL_I64, {1}}}),
            RL_UNSUPPORTED);
  EXPECT_STREQ(rl_last_error(), "entry 'read': input 's' is a number of the "
                                "host; no kernel of cuda can read it");
}

TEST_F(Cuda, SharedMemoryIsAskedFor) {
  addAll();
  setResource(builder, 0, "shared_bytes", "49152");
  setResource(builder, 1, "shared_bytes", "200000");
  ContextPtr context = makeCudaContext();
  ProgramPtr program = loadProgram(context.get(), builder.artifact);
  EXPECT_EQ(fake.dynamicShared,
            (std::map<std::string, int>{{"shift", 200000}}));
  Affine affine(context.get());
  ASSERT_EQ(enqueue(program.get(), "affine", affine.arguments()), RL_OK)
      << rl_last_error();
  EXPECT_EQ(fake.launches.at(0).sharedBytes, 49152u);
  EXPECT_EQ(fake.launches.at(1).sharedBytes, 200000u);
}

TEST_F(Cuda, BadResources) {
  struct {
    const char *key, *value, *error;
  } cases[] = {
      {"threads", "", "expected 'threads' from 1 to 1024, found ''"},
      {"threads", "0", "expected 'threads' from 1 to 1024, found '0'"},
      {"threads", "1025", "expected 'threads' from 1 to 1024, found '1025'"},
      {"threads", "12x", "expected 'threads' from 1 to 1024, found '12x'"},
      {"threads", "-4", "expected 'threads' from 1 to 1024, found '-4'"},
      {"threads", "99999999999999999999",
       "expected 'threads' from 1 to 1024, found '99999999999999999999'"},
      {"threads", "1024",
       "runs with at most 512 threads in a block, found "
       "'threads' 1024"},
      {"shared_bytes", "232449",
       "expected 'shared_bytes' from 0 to 232448, found '232449'"},
      {"shared_bytes", "232448",
       "expected at most 232448 bytes of shared "
       "memory, found 16 static and 232448 dynamic"},
  };
  fake.kernelThreads = 512;
  fake.staticShared = 16;
  ContextPtr context = makeCudaContext();
  for (const auto &item : cases) {
    builder = Builder();
    addAll();
    setResource(builder, 0, item.key, item.value);
    EXPECT_EQ(loadStatus(context.get()), RL_BAD_ARTIFACT) << item.value;
    EXPECT_EQ(std::string(rl_last_error()),
              std::string("kernel 'scale': ") + item.error);
  }
  builder = Builder();
  addAll();
  builder.artifact.kernels[0]->code[0]->resources.clear();
  EXPECT_EQ(loadStatus(context.get()), RL_BAD_ARTIFACT);
  EXPECT_STREQ(rl_last_error(),
               "kernel 'scale': expected a resource 'threads', found none");
  builder = Builder();
  addAll();
  builder.artifact.kernels[0]->code[0]->scratch_bytes = 64;
  EXPECT_EQ(loadStatus(context.get()), RL_BAD_ARTIFACT);
  EXPECT_STREQ(rl_last_error(),
               "kernel 'scale': expected no scratch on a GPU, found 64 bytes");
  builder = Builder();
  addAll();
  builder.artifact.kernels[0]->code[0]->symbol = "absent";
  EXPECT_EQ(loadStatus(context.get()), RL_BAD_ARTIFACT);
  EXPECT_STREQ(rl_last_error(), "the code object has no kernel 'absent'");
}

TEST_F(Cuda, RefusedTargetsNameBoth) {
  addAll();
  fake.major = 8;
  ContextPtr context = makeCudaContext();
  builder.artifact.code_objects[0]->target = "sm_90a";
  EXPECT_EQ(loadStatus(context.get()), RL_UNSUPPORTED);
  EXPECT_STREQ(rl_last_error(),
               "expected code for cuda up to sm_80, the artefact has sm_90a "
               "(runs on sm_90 only, the device is sm_80)");
}

TEST_F(Cuda, PtxErrorsAreShown) {
  addAll();
  const std::string wrong = ".version 7.0\nsyntax error\n";
  builder.artifact.code_objects[0]->bytes.assign(wrong.begin(), wrong.end());
  ContextPtr context = makeCudaContext();
  EXPECT_EQ(loadStatus(context.get()), RL_DEVICE_ERROR);
  EXPECT_STREQ(rl_last_error(),
               "cuda cannot load the PTX for sm_80 on sm_90 with the driver "
               "for CUDA 12.8: CUDA_ERROR_FAKE (218), a fake failure; ptxas: "
               "line 1; syntax error");
}

TEST_F(Cuda, DamagedCubin) {
  if (cubinCode().empty())
    GTEST_SKIP() << "no ptxas";
  addAll();
  useCuda(builder, "sm_90", abi::CodeFormat::Cubin, cubinCode());
  ContextPtr context = makeCudaContext();
  EXPECT_EQ(loadStatus(context.get()), RL_OK) << rl_last_error();
  fake.calls.clear();
  for (size_t size = 0; size < cubinCode().size();
       size += size < 100 ? 1 : 997) {
    auto &bytes = builder.artifact.code_objects[0]->bytes;
    bytes.assign(cubinCode().begin(), cubinCode().begin() + long(size));
    EXPECT_EQ(loadStatus(context.get()), RL_BAD_ARTIFACT) << size;
  }
  EXPECT_EQ(fake.count("cuModuleLoadDataEx"), 0);
}

// Whichever call fails: a status with its name, and all is cleaned up.
TEST_F(Cuda, EveryFailure) {
  addAll();
  const struct {
    const char *symbol;
    int code;
    rl_status status;
  } cases[] = {
      {"cuDeviceGetCount", 3, RL_DEVICE_ERROR},
      {"cuDeviceGet", 101, RL_DEVICE_ERROR},
      {"cuDeviceGetName", 1, RL_DEVICE_ERROR},
      {"cuDeviceTotalMem", 1, RL_DEVICE_ERROR},
      {"cuDeviceGetAttribute", 1, RL_DEVICE_ERROR},
      {"cuDevicePrimaryCtxRetain", 2, RL_OUT_OF_MEMORY},
      {"cuCtxPushCurrent", 201, RL_DEVICE_ERROR},
      {"cuStreamCreate", 2, RL_OUT_OF_MEMORY},
      {"cuMemPoolCreate", 801, RL_DEVICE_ERROR},
      {"cuMemPoolSetAttribute", 1, RL_DEVICE_ERROR},
      {"cuModuleLoadDataEx", 209, RL_DEVICE_ERROR},
      {"cuModuleGetFunction", 999, RL_DEVICE_ERROR},
      {"cuFuncGetAttribute", 999, RL_DEVICE_ERROR},
      {"cuFuncSetAttribute", 999, RL_DEVICE_ERROR},
      {"cuMemAlloc", 2, RL_OUT_OF_MEMORY},
      {"cuMemcpyHtoDAsync", 700, RL_DEVICE_ERROR},
      {"cuStreamIsCapturing", 400, RL_DEVICE_ERROR},
      {"cuMemAllocFromPoolAsync", 2, RL_OUT_OF_MEMORY},
      {"cuLaunchKernel", 701, RL_DEVICE_ERROR},
      {"cuMemcpyDtoDAsync", 719, RL_DEVICE_ERROR},
      {"cuStreamSynchronize", 700, RL_DEVICE_ERROR},
  };
  setResource(builder, 1, "shared_bytes", "100000");
  auto use = [&]() -> rl_status {
    uint32_t count;
    if (rl_status status = rl_device_count("cuda", &count))
      return status;
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.driver = "cuda";
    rl_context *rawContext;
    if (rl_status status = rl_context_create(&options, &rawContext))
      return status;
    ContextPtr context(rawContext);
    std::vector<uint8_t> file = fileOf(builder.artifact);
    rl_program *rawProgram;
    if (rl_status status = rl_program_load(context.get(), file.data(),
                                           file.size(), &rawProgram))
      return status;
    ProgramPtr program(rawProgram);
    std::vector<float> values(60);
    int64_t factor = 1;
    void *memory;
    if (rl_status status = rl_memory_allocate(context.get(), 480, &memory))
      return status;
    char *data = static_cast<char *>(memory);
    rl_status status = test::run(program.get(), 0,
                                 {{data, RL_F32, {10, 6}},
                                  {&factor, RL_I64, {}},
                                  {data + 240, RL_F32, {10, 6}}});
    if (!status)
      status = test::run(
          program.get(), findEntry(program.get(), "copy"),
          {{data, RL_F32, {1, 10, 6}}, {data + 240, RL_F32, {1, 10, 6}}});
    if (!status)
      status =
          test::run(program.get(), findEntry(program.get(), "hilbert"),
                    {{data, RL_F32, {48, 1}}, {data + 240, RL_F32, {48, 1}}});
    rl_memory_release(context.get(), memory);
    return status;
  };
  ASSERT_EQ(use(), RL_OK) << rl_last_error();
  for (const auto &item : cases) {
    // Without numbers of streams all memory is the pool's.
    fake.failures = {{item.symbol, item.code}, {"cuStreamGetId", 1}};
    EXPECT_EQ(use(), item.status) << item.symbol << ": " << rl_last_error();
    EXPECT_NE(std::string(rl_last_error())
                  .find("(" + std::to_string(item.code) + ")"),
              std::string::npos)
        << item.symbol << ": " << rl_last_error();
    EXPECT_EQ(fake.current, std::vector<void *>{callersContext}) << item.symbol;
    EXPECT_EQ(fake.memory.size(), 0u) << item.symbol;
    EXPECT_EQ(fake.contexts, 0) << item.symbol;
  }
  fake.failures.clear();
}

} // namespace ringlet::test
