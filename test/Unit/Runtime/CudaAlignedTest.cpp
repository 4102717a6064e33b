//===- CudaAlignedTest.cpp - Copies of inputs that lie badly -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaFixture.h"

#include <algorithm>

namespace ringlet::test {

namespace {

/// Entry "total": row sums of x, by a kernel that wants an aligned x.
class CudaAligned : public Cuda {
protected:
  ProgramPtr load(bool withMap, uint64_t memoryLimit = 0) {
    addTotal(builder);
    usePtx(builder);
    if (withMap) {
      builder.artifact.kernels[1]->code[0]->maps.push_back(mapOfRows());
      fake.mapped["total"] = {1, 9};
    }
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.driver = "cuda";
    options.memory_limit = memoryLimit;
    options.log = [](void *lines, rl_log_level, const char *line) {
      static_cast<std::vector<std::string> *>(lines)->push_back(line);
    };
    options.log_user = &log;
    options.log_level = RL_LOG_INFO;
    rl_context *made = nullptr;
    EXPECT_EQ(rl_context_create(&options, &made), RL_OK) << rl_last_error();
    x.reset();
    y.reset();
    context.reset(made);
    std::vector<uint16_t> numbers(4096);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = uint16_t(i % 97);
    x = std::make_unique<OnDevice<uint16_t>>(made, numbers);
    y = std::make_unique<OnDevice<float>>(made, std::vector<float>(64));
    return loadProgram(made, builder.artifact);
  }

  struct Place {
    std::vector<int64_t> sizes, strides;
    size_t offset;
  };
  std::vector<TensorArg> argumentsOf(const Place &place) {
    return {{static_cast<uint16_t *>(x->data) + place.offset, RL_BF16,
             place.sizes, place.strides},
            {y->data, RL_F32, {place.sizes[1]}}};
  }
  rl_status runOn(const rl_program *program, const Place &place) {
    fake.launches.clear();
    log.clear();
    return enqueue(program, "total", argumentsOf(place));
  }
  void expectTotals(const Place &place) {
    std::vector<float> found = y->read();
    for (int64_t row = 0; row < place.sizes[1]; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < place.sizes[0]; ++i)
        for (int64_t j = 0; j < place.sizes[2]; ++j)
          sum += float((int64_t(place.offset) + i * place.strides[0] +
                        row * place.strides[1] + j) %
                       97);
      EXPECT_EQ(found[size_t(row)], sum) << row;
    }
  }

  std::vector<std::string> log;
  ContextPtr context;
  std::unique_ptr<OnDevice<uint16_t>> x;
  std::unique_ptr<OnDevice<float>> y;
};

} // namespace

// An input is copied if its address or a stride is no multiple of 16 bytes, and
// read where it lies if both are; strides of axes of one element do not count.
TEST_F(CudaAligned, WhatIsCopied) {
  ProgramPtr program = load(/*withMap=*/true);
  struct {
    Place place;
    bool isCopied;
  } cases[] = {
      {{{2, 10, 40}, {400, 40, 1}, 0}, false},
      {{{2, 10, 40}, {400, 40, 1}, 8}, false},
      {{{2, 10, 40}, {400, 40, 1}, 1}, true},
      {{{2, 11, 40}, {440, 40, 1}, 7}, true},
      {{{2, 10, 40}, {410, 41, 1}, 0}, true},
      {{{2, 10, 40}, {404, 40, 1}, 0}, true},
      {{{1, 10, 40}, {404, 40, 1}, 0}, false},
      {{{2, 10, 40}, {0, 40, 1}, 0}, false},
      {{{2, 10, 40}, {-400, 40, 1}, 400}, true},
  };
  for (const auto &[place, isCopied] : cases) {
    ASSERT_EQ(runOn(program.get(), place), RL_OK) << rl_last_error();
    expectTotals(place);
    ASSERT_EQ(fake.launches.size(), isCopied ? 2u : 1u);
    const FakeLaunch &total = fake.launches.back();
    EXPECT_EQ(total.maps.at(0).address % 16, 0u);
    EXPECT_EQ(total.words.at(0), int64_t(total.maps[0].address));
    std::vector<int64_t> strides(total.words.begin() + 4,
                                 total.words.begin() + 6);
    EXPECT_EQ(strides, isCopied
                           ? (std::vector<int64_t>{40 * place.sizes[1], 40})
                           : (std::vector<int64_t>{place.strides.begin(),
                                                   place.strides.begin() + 2}));
    EXPECT_EQ(std::count(log.begin(), log.end(),
                         "input 'x' is copied, as its rows do not begin at "
                         "multiples of 16 bytes"),
              isCopied);
    rl_estimate estimate = RL_ESTIMATE_INIT;
    ASSERT_EQ(run(program.get(), 0, argumentsOf(place), &estimate), RL_OK);
    EXPECT_EQ(estimate.workspace_bytes, isCopied ? 1792u : 0u);
    EXPECT_EQ(estimate.launches, isCopied ? 2u : 1u);
    EXPECT_EQ(estimate.fallbacks, 0u);
  }
}

// Too few rows are not worth a copy: the kernel gets them as they are.
TEST_F(CudaAligned, OnlyWhatIsWorthIt) {
  ProgramPtr program = load(/*withMap=*/false);
  for (int64_t rows : {7, 8}) {
    Place place{{1, rows, 40}, {400, 40, 1}, 1};
    ASSERT_EQ(runOn(program.get(), place), RL_OK) << rl_last_error();
    expectTotals(place);
    EXPECT_EQ(fake.launches.size(), rows < 8 ? 1u : 2u);
  }
}

// Within a limit that leaves no room for the copy the kernel gets the input as
// it is, and so it does where the device has no more memory; a kernel that
// cannot read it then says so.
TEST_F(CudaAligned, OnlyWhereMemoryAllows) {
  Place place{{2, 10, 40}, {400, 40, 1}, 1};
  for (bool withMap : {false, true}) {
    for (uint64_t limit : {1024, 65536}) {
      builder = Builder();
      ProgramPtr program = load(withMap, limit);
      bool hasRoom = limit > 2048;
      EXPECT_EQ(runOn(program.get(), place),
                hasRoom || !withMap ? RL_OK : RL_INVALID_ARGUMENT);
      if (hasRoom || !withMap) {
        expectTotals(place);
        EXPECT_EQ(fake.launches.size(), hasRoom ? 2u : 1u);
      } else {
        EXPECT_STREQ(rl_last_error(),
                     "entry 'total': kernel 'total' expects input 'x' at a "
                     "multiple of 16 bytes, found it 2 bytes behind one");
      }
    }
  }
  builder = Builder();
  fake.mapped.clear();
  ProgramPtr program = load(/*withMap=*/false);
  for (const char *allocation : {"cuMemAlloc", "cuMemAllocFromPoolAsync"})
    fake.failures[allocation] = 2;
  ASSERT_EQ(runOn(program.get(), place), RL_OK) << rl_last_error();
  fake.failures.clear();
  expectTotals(place);
  EXPECT_EQ(fake.launches.size(), 1u);
}

} // namespace ringlet::test
