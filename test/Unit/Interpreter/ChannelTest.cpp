//===- ChannelTest.cpp - Slots that threads fill, engines store -----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

/// Y += sum over tiles X_n of X_n X_n', as a chain of products; Z is the sum of
/// the tiles, which a second role reads from the same slots. Every point adds
/// to the same Y.
static const char *const kChain = R"(
!mem = memref<?x16xbf16, strided<[?, 1]>>
!out = memref<16x16xf32, strided<[16, 1]>>
!view = !rtile.view<16x16xbf16>
!wide = !rtile.view<16x16xf32>
!chan = !rtile.channel<16x16xbf16>
!slot = !rtile.slot<16x16xbf16>
!sums_chan = !rtile.channel<16x16xf32>
!sums_slot = !rtile.slot<16x16xf32>
!smem = tensor<16x16xbf16, #rtile.swizzled>
!left = tensor<16x16xbf16, #rtile.fragment<1>>
!sums = tensor<16x16xf32, #rtile.fragment<1>>
rtile.func @chain(%X: !mem, %Y: !out, %Z: !out, %steps: index)
    grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %y = rtile.view %Y[*, *] : !out to !wide
  %z = rtile.view %Z[*, *] : !out to !wide
  %xs = rtile.channel slots = 2 : !chan
  %ys = rtile.channel slots = 1 : !sums_chan
  rtile.role "load" warps = 1 {
    %first = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %first : !view, !slot
    scf.for %n = %c1 to %steps step %c1 {
      %row = arith.muli %n, %c16 : index
      %slot = rtile.acquire %xs : !chan
      rtile.copy %x[%row, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "multiply" warps = 1 {
    %first = rtile.await %xs : !chan
    %a = rtile.read %first : !slot -> !smem
    %started = rtile.start_dot %a, %a transposed : !smem, !smem -> !sums
    %last, %held = scf.for %n = %c1 to %steps step %c1
        iter_args(%before = %started, %old = %first)
        -> (!rtile.pending<!sums>, !slot) {
      %slot = rtile.await %xs : !chan
      %tile = rtile.read %slot : !slot -> !smem
      %next = rtile.start_dot %tile, %tile transposed onto(%before) : !smem, !smem -> !sums
      WAIT
      rtile.release %old : !slot
      scf.yield %next, %slot : !rtile.pending<!sums>, !slot
    }
    %sum = rtile.finish_dot %last : !sums
    rtile.release %held : !slot
    %free = rtile.acquire %ys : !sums_chan
    WRITE
  }
  rtile.role "add" warps = 1 {
    %zero = arith.constant dense<0.0> : !sums
    %first = rtile.await %xs : !chan
    %narrow = rtile.read %first : !slot -> !left
    rtile.release %first : !slot
    %begin = arith.extf %narrow : !left to !sums
    %sum = scf.for %n = %c1 to %steps step %c1 iter_args(%acc = %begin) -> (!sums) {
      %slot = rtile.await %xs : !chan
      %tile = rtile.read %slot : !slot -> !left
      rtile.release %slot : !slot
      %values = arith.extf %tile : !left to !sums
      %next = arith.addf %acc, %values : !sums
      scf.yield %next : !sums
    }
    %is_first = arith.cmpi eq, %i, %c0 : index
    scf.if %is_first {
      rtile.store %sum, %z[%c0, %c0] : !sums, !wide
    }
  }
  rtile.role "store" warps = 1 {
    %full = rtile.await %ys : !sums_chan
    rtile.copy_out add %full to %y[%c0, %c0] : !sums_slot, !wide
    rtile.release %full : !sums_slot
  }
  rtile.return
}
)";

namespace {

constexpr int64_t kSize = 16, kSteps = 3, kPoints = 4;

std::string makeProgram(const std::string &wait, const std::string &write) {
  std::string program = kChain;
  auto replace = [&](const std::string &what, const std::string &with) {
    program.replace(program.find(what), what.size(), with);
  };
  replace("WAIT", wait);
  replace("WRITE", write);
  return program;
}

const char *const kWait = "rtile.wait_dot %before : !sums";
const char *const kWrite = "rtile.write %sum to %free : !sums, !sums_slot";

/// Runs a kernel; the error, or "" if the values are right.
std::string run(const std::string &program, int64_t seed) {
  Random random(20261129);
  std::vector<double> x(kSteps * kSize * kSize);
  for (double &value : x)
    value = static_cast<double>(random.pick(-1, 1));
  Tensor tiles = makeTensor(DType::bf16, {kSteps * kSize, kSize}, x);
  std::vector<double> ones(kSize * kSize, 1), products(ones),
      sums(kSize * kSize);
  Tensor y = makeTensor(DType::f32, {kSize, kSize}, ones);
  Tensor z(DType::f32, {kSize, kSize});
  Options options;
  if (seed >= 0)
    options.interleaving = seed;
  std::string error = Module(program).runKernel(
      "chain", {tiles.view(), y.view(), z.view(), kSteps}, {kPoints}, options);
  if (!error.empty())
    return error;
  for (int64_t n = 0; n < kSteps; ++n)
    for (int64_t i = 0; i < kSize; ++i)
      for (int64_t j = 0; j < kSize; ++j) {
        auto at = [&](int64_t row, int64_t column) {
          return x[(n * kSize + row) * kSize + column];
        };
        sums[i * kSize + j] += at(i, j);
        for (int64_t d = 0; d < kSize; ++d)
          products[i * kSize + j] += kPoints * at(i, d) * at(j, d);
      }
  if (elements(z) != sums)
    return "the sums differ";
  return elements(y) == products ? "" : "the products differ";
}

} // namespace

TEST(Channels, EveryInterleavingHasOneResult) {
  std::string program = makeProgram(kWait, kWrite);
  for (int64_t seed = -1; seed < 12; ++seed)
    EXPECT_EQ(run(program, seed), "") << "seed " << seed;
}

TEST(Channels, MistakesAreNoticed) {
  auto expectError = [](const std::string &program, const char *part) {
    for (int64_t seed = -1; seed < 4; ++seed) {
      std::string error = run(program, seed);
      EXPECT_NE(error.find(part), std::string::npos) << error;
    }
  };
  // The product still reads the slot.
  expectError(makeProgram("", kWrite),
              "expected the products that read the slot to be finished before "
              "its release");
  // The sums are another product's.
  expectError(makeProgram("%w = rtile.finish_dot %before : !sums", kWrite),
              "expected a product with sums of its own");
  expectError(makeProgram(kWait, ""),
              "expected every acquired slot to be filled");
  expectError(makeProgram(kWait, std::string(kWrite) + "\n" + kWrite),
              "expected a slot to be filled once");
}
