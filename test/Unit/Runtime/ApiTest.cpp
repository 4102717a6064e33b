//===- ApiTest.cpp - The C API beyond running ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "ringlet/abi/Container.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace ringlet::test {

extern "C" int runtimeHeaderInC(void);

static void expectError(const std::string &part) {
  EXPECT_NE(std::string(rl_last_error()).find(part), std::string::npos)
      << rl_last_error();
}

TEST(Api, HeaderWorksInC) { EXPECT_EQ(runtimeHeaderInC(), 0); }

TEST(Api, NullPointers) {
  EXPECT_EQ(rl_context_create(nullptr, nullptr), RL_INVALID_ARGUMENT);
  expectError("expected out_context, found a null pointer");
  rl_program *program;
  EXPECT_EQ(rl_program_load(nullptr, nullptr, 10, &program),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(rl_program_load_file(nullptr, nullptr, &program),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_program_run(nullptr, 0, nullptr, 0), RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_context_trim(nullptr), RL_INVALID_ARGUMENT);
  rl_context_destroy(nullptr);
  rl_program_destroy(nullptr);
  EXPECT_EQ(rl_program_entry_count(nullptr), 0u);
  EXPECT_EQ(rl_program_entry_name(nullptr, 0), nullptr);
  EXPECT_STREQ(rl_program_explain(nullptr, 0), "");
  EXPECT_STREQ(rl_program_target(nullptr), "");
  EXPECT_EQ(rl_program_target_name(nullptr, 0), nullptr);
}

TEST(Api, Names) {
  EXPECT_STREQ(rl_dtype_name(RL_BF16), "bf16");
  EXPECT_STREQ(rl_dtype_name(RL_BOOL), "i1");
  EXPECT_STREQ(rl_dtype_name(-1), "none");
  EXPECT_STREQ(rl_dtype_name(256 + RL_F32), "none");
  EXPECT_EQ(rl_dtype_size(RL_F64), 8u);
  EXPECT_EQ(rl_dtype_size(0), 0u);
  EXPECT_STREQ(rl_status_name(RL_BAD_ARTIFACT), "bad artefact");
  EXPECT_STREQ(rl_status_name(rl_status(1000)), "unknown status");
}

TEST(Api, ErrorsBelongToTheirThread) {
  rl_context *context;
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.driver = "abacus";
  EXPECT_EQ(rl_context_create(&options, &context), RL_UNAVAILABLE);
  expectError("expected the driver 'cpu' or 'cuda', found 'abacus'");
  std::thread([] { EXPECT_STREQ(rl_last_error(), ""); }).join();
}

TEST(Api, ContextOptions) {
  rl_context *context;
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.flags = 4;
  EXPECT_EQ(rl_context_create(&options, &context), RL_INVALID_ARGUMENT);
  expectError("expected flags 0, found 4");
  options = RL_CONTEXT_OPTIONS_INIT;
  options.device = 1;
  EXPECT_EQ(rl_context_create(&options, &context), RL_INVALID_ARGUMENT);
  options = RL_CONTEXT_OPTIONS_INIT;
  options.threads = 1u << 30;
  EXPECT_EQ(rl_context_create(&options, &context), RL_INVALID_ARGUMENT);
  expectError("at most 4096 threads, found 1073741824");
  options = RL_CONTEXT_OPTIONS_INIT;
  options.log_level = 9;
  EXPECT_EQ(rl_context_create(&options, &context), RL_INVALID_ARGUMENT);
  ASSERT_EQ(rl_context_create(nullptr, &context), RL_OK);
  rl_stats stats = RL_STATS_INIT;
  ASSERT_EQ(rl_context_stats(context, &stats), RL_OK);
  EXPECT_EQ(stats.threads, std::thread::hardware_concurrency());
  rl_context_destroy(context);
}

// A caller from before or after this library.
TEST(Api, StructsGrowAtTheEnd) {
  rl_context *context;
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.struct_size = offsetof(rl_context_options, driver);
  options.threads = 3;
  options.driver = "not read";
  ASSERT_EQ(rl_context_create(&options, &context), RL_OK) << rl_last_error();

  struct {
    size_t struct_size;
    uint32_t threads;
    uint32_t untouched;
  } older = {offsetof(rl_stats, reserved), 0, 77};
  ASSERT_EQ(rl_context_stats(context, reinterpret_cast<rl_stats *>(&older)),
            RL_OK);
  EXPECT_EQ(older.threads, 3u);
  EXPECT_EQ(older.untouched, 77u);
  rl_context_destroy(context);

  struct {
    rl_context_options known;
    uint64_t added;
  } newer = {RL_CONTEXT_OPTIONS_INIT, 0};
  newer.known.struct_size = sizeof(newer);
  ASSERT_EQ(rl_context_create(&newer.known, &context), RL_OK);
  rl_context_destroy(context);
  newer.added = 1;
  EXPECT_EQ(rl_context_create(&newer.known, &context), RL_UNSUPPORTED);
  EXPECT_EQ(context, nullptr);

  options.struct_size = 0;
  EXPECT_EQ(rl_context_create(&options, &context), RL_INVALID_ARGUMENT);
  expectError("_INIT macro");
  rl_stats stats = {};
  EXPECT_EQ(rl_context_stats(nullptr, &stats), RL_INVALID_ARGUMENT);
}

TEST(Api, Introspection) {
  Builder b;
  addAffine(b);
  addGraph(b);
  b.artifact.functions[0]->arguments[0]->layout = "#rlayout.layout<>";
  auto resource = std::make_unique<abi::KeyValueT>();
  resource->key = "registers";
  resource->value = "17";
  b.artifact.kernels[1]->code[0]->resources.push_back(std::move(resource));
  ContextPtr context = makeContext();
  ProgramPtr program = loadProgram(context.get(), b.artifact);
  ASSERT_EQ(rl_program_entry_count(program.get()), 2u);
  EXPECT_STREQ(rl_program_entry_name(program.get(), 1), "graph");
  EXPECT_EQ(rl_program_entry_name(program.get(), 2), nullptr);
  EXPECT_STREQ(rl_program_compiler(program.get()), "test 1.0");
  EXPECT_STREQ(rl_program_module_name(program.get()), "module");
  EXPECT_STREQ(rl_program_target(program.get()), "x86-64");
  ASSERT_EQ(rl_program_argument_count(program.get(), 0), 3u);
  rl_argument argument = RL_ARGUMENT_INIT;
  ASSERT_EQ(rl_program_argument(program.get(), 0, 0, &argument), RL_OK);
  EXPECT_STREQ(argument.name, "x");
  EXPECT_EQ(argument.dtype, RL_F32);
  ASSERT_EQ(argument.rank, 2);
  EXPECT_EQ(argument.sizes[1], RL_DYNAMIC);
  EXPECT_EQ(argument.is_output, 0);
  EXPECT_STREQ(argument.layout, "#rlayout.layout<>");
  EXPECT_EQ(rl_program_argument(program.get(), 0, 3, &argument),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(argument.name, nullptr);
  EXPECT_STREQ(rl_program_explain(program.get(), 0),
               "kernel: scale\n  made by: hand\n  target: x86-64\n"
               "  scratch bytes: 0\n"
               "kernel: shift\n  made by: hand\n  target: x86-64\n"
               "  scratch bytes: 0\n  registers: 17\n");
  uint32_t entry;
  EXPECT_EQ(rl_program_find_entry(program.get(), "main", &entry),
            RL_INVALID_ARGUMENT);
  expectError("expected one of the entries 'affine', 'graph', found 'main'");
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static rl_status loadInto(rl_context *context, const abi::ArtifactT &artifact) {
  std::vector<uint8_t> file = fileOf(artifact);
  rl_program *program;
  rl_status status =
      rl_program_load(context, file.data(), file.size(), &program);
  rl_program_destroy(program);
  return status;
}

TEST(Load, RefusesDamage) {
  Builder b;
  b.artifact.code_objects[0]->bytes.resize(1);
  std::vector<uint8_t> file = fileOf(b.artifact);
  rl_program *program;
  for (size_t size = 0; size < file.size(); ++size) {
    ASSERT_EQ(rl_program_load(nullptr, file.data(), size, &program),
              RL_BAD_ARTIFACT);
    ASSERT_EQ(program, nullptr);
  }
  for (size_t i = 0; i < file.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      file[i] ^= uint8_t(1 << bit);
      ASSERT_EQ(rl_program_load(nullptr, file.data(), file.size(), &program),
                RL_BAD_ARTIFACT);
      file[i] ^= uint8_t(1 << bit);
    }
  ASSERT_EQ(rl_program_load(nullptr, file.data(), file.size(), &program),
            RL_OK);
  rl_program_destroy(program);
}

TEST(Load, NamesArtefactAndMachine) {
  Builder b("sm_90a");
  b.artifact.code_objects[0]->format = abi::CodeFormat::Cubin;
  addAffine(b);
  ContextPtr context = makeContext(1);
  EXPECT_EQ(loadInto(context.get(), b.artifact), RL_UNSUPPORTED);
  expectError("expected code for cpu up to x86-64");
  expectError("the artefact has sm_90a (is not code for a CPU)");

  Builder arm("aarch64");
  EXPECT_EQ(loadInto(context.get(), arm.artifact), RL_UNSUPPORTED);
  expectError("aarch64 (is another architecture)");

  Builder fancy;
  fancy.artifact.code_objects[0]->min_features = {"sse3", "warp-drive"};
  EXPECT_EQ(loadInto(context.get(), fancy.artifact), RL_UNSUPPORTED);
  expectError("x86-64 (needs warp-drive)");

  Builder partial;
  addAffine(partial);
  addCopy(partial);
  partial.artifact.functions[1]->plans.clear();
  EXPECT_EQ(loadInto(context.get(), partial.artifact), RL_UNSUPPORTED);
  expectError("x86-64 (has no plan for 'copy')");

  // Looking inside needs none of that.
  ProgramPtr program = loadProgram(nullptr, b.artifact);
  ASSERT_EQ(rl_program_target_count(program.get()), 1u);
  EXPECT_STREQ(rl_program_target_name(program.get(), 0), "sm_90a");
  EXPECT_STREQ(rl_program_target(program.get()), "");
  EXPECT_NE(std::string(rl_program_explain(program.get(), 0)).find("sm_90a"),
            std::string::npos);
  rl_estimate estimate = RL_ESTIMATE_INIT;
  EXPECT_EQ(test::run(program.get(), 0, {}, &estimate), RL_INVALID_ARGUMENT);
  expectError("inspected only");
}

// Of several levels the best is taken, or the one that was asked for.
TEST(Load, ChoosesTheLevel) {
  Builder b("x86-64");
  auto better = std::make_unique<abi::CodeObjectT>(*b.artifact.code_objects[0]);
  better->target = "x86-64-v2";
  b.artifact.code_objects.push_back(std::move(better));
  addAffine(b);
  b.plan().code_objects = {0, 1};
  ContextPtr context = makeContext(1);
  ProgramPtr program = loadProgram(context.get(), b.artifact);
  EXPECT_STREQ(rl_program_target(program.get()), "x86-64-v2");

  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.target = "x86-64";
  rl_context *raw;
  ASSERT_EQ(rl_context_create(&options, &raw), RL_OK);
  ContextPtr asked(raw);
  program = loadProgram(asked.get(), b.artifact);
  EXPECT_STREQ(rl_program_target(program.get()), "x86-64");
  options.target = "x86-64-v9";
  ASSERT_EQ(rl_context_create(&options, &raw), RL_OK);
  asked.reset(raw);
  EXPECT_EQ(loadInto(asked.get(), b.artifact), RL_UNSUPPORTED);
  expectError("expected code for cpu x86-64-v9 (as asked for)");
}

TEST(Load, RefusesBadCode) {
  ContextPtr context = makeContext(1);
  Builder b;
  addAffine(b);
  b.artifact.kernels[0]->code[0]->symbol = "nothing";
  EXPECT_EQ(loadInto(context.get(), b.artifact), RL_BAD_ARTIFACT);
  expectError("the code object has no symbol 'nothing'");

  Builder text;
  text.artifact.code_objects[0]->bytes.assign(1000, 'x');
  EXPECT_EQ(loadInto(context.get(), text.artifact), RL_BAD_ARTIFACT);
  expectError("not a 64-bit ELF file");

  // Cut anywhere, the file ends before some segment or header does.
  Builder cut;
  for (size_t size : {10ul, 63ul, 100ul, 400ul, kernelCode().size() / 4}) {
    cut.artifact.code_objects[0]->bytes.assign(
        kernelCode().begin(), kernelCode().begin() + long(size));
    EXPECT_EQ(loadInto(context.get(), cut.artifact), RL_BAD_ARTIFACT) << size;
  }

  Builder wrongOrder;
  addReorder(wrongOrder, "r", order("hilbrt", {4, 4}));
  EXPECT_EQ(loadInto(context.get(), wrongOrder.artifact), RL_BAD_ARTIFACT);
  expectError("nearest legal choice: hilbert");
}

/// What "affine" makes of 5 and 10.
static float affineOf(rl_context *context, const abi::ArtifactT &artifact) {
  ProgramPtr program = loadProgram(context, artifact);
  float x = 5, y = 0;
  int64_t factor = 10;
  EXPECT_EQ(
      test::run(
          program.get(), 0,
          {{&x, RL_F32, {1, 1}}, {&factor, RL_I64, {}}, {&y, RL_F32, {1, 1}}}),
      RL_OK);
  return y;
}

// The loader knows libraries by name: code of one program must never be taken
// for that of another, not even where the other one never leaves.
TEST(Load, ProgramsKeepApart) {
  ContextPtr context = makeContext(1);
  Builder ours, resident;
  addAffine(ours);
  addAffine(resident);
  std::vector<uint8_t> &code = resident.artifact.code_objects[0]->bytes;
  ASSERT_EQ(abi::readFile(RINGLET_TEST_RESIDENT, code), "");
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_EQ(affineOf(context.get(), ours.artifact), 51);
    EXPECT_EQ(affineOf(context.get(), resident.artifact), -49);
    EXPECT_EQ(affineOf(context.get(), ours.artifact), 51);
    ProgramPtr both = loadProgram(context.get(), resident.artifact);
    EXPECT_EQ(affineOf(context.get(), ours.artifact), 51);
  }
}

TEST(Load, ContextMayGoFirst) {
  Builder b;
  addAffine(b);
  ContextPtr context = makeContext(2);
  ProgramPtr program = loadProgram(context.get(), b.artifact);
  context.reset();
  float x = 5, y;
  int64_t factor = 10;
  EXPECT_EQ(
      test::run(
          program.get(), 0,
          {{&x, RL_F32, {1, 1}}, {&factor, RL_I64, {}}, {&y, RL_F32, {1, 1}}}),
      RL_OK);
  EXPECT_EQ(y, 51);
}

TEST(Load, Files) {
  Builder b;
  addAffine(b);
  std::vector<uint8_t> file = fileOf(b.artifact);
  char path[] = "/tmp/ringlet-api-XXXXXX";
  int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, file.data(), file.size()), ssize_t(file.size()));
  rl_program *program;
  EXPECT_EQ(rl_program_load_file(nullptr, path, &program), RL_OK);
  rl_program_destroy(program);
  ASSERT_EQ(::ftruncate(fd, off_t(file.size() - 1)), 0);
  EXPECT_EQ(rl_program_load_file(nullptr, path, &program), RL_BAD_ARTIFACT);
  expectError(std::string("'") + path + "': truncated artefact");
  ::close(fd);
  ::unlink(path);
  EXPECT_EQ(rl_program_load_file(nullptr, path, &program), RL_IO_ERROR);
  expectError("No such file or directory");
}

} // namespace ringlet::test
