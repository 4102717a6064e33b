//===- CudaTargetTest.cpp - Which code a GPU runs; copies ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Tensors.h"
#include "runtime/src/cuda/Api.h"
#include "runtime/src/cuda/Blocks.h"
#include "runtime/src/cuda/CopyKernel.h"
#include "runtime/src/cuda/Target.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace ringlet::test {

using abi::CodeFormat;
using rt::cuda::Machine;

namespace {

/// The rank of a code object on a machine; `why` receives the reason.
int rankOf(const std::string &target, CodeFormat format, Machine machine,
           std::string *why = nullptr,
           const std::string &code = ".version 7.0\n.target sm_80\n") {
  flatbuffers::FlatBufferBuilder builder;
  abi::CodeObjectT object;
  object.target = target;
  object.format = format;
  object.bytes.assign(code.begin(), code.end());
  builder.Finish(abi::CodeObject::Pack(builder, &object));
  std::string reason;
  int rank = rt::cuda::rankTarget(
      *flatbuffers::GetRoot<abi::CodeObject>(builder.GetBufferPointer()),
      machine, reason);
  EXPECT_EQ(rank < 0, !reason.empty());
  if (why)
    *why = reason;
  return rank;
}

bool runs(const std::string &target, CodeFormat format, int capability) {
  return rankOf(target, format, {capability, 13000}) >= 0;
}

} // namespace

TEST(CudaTarget, MachineCode) {
  const auto cubin = CodeFormat::Cubin;
  EXPECT_TRUE(runs("sm_80", cubin, 80));
  EXPECT_TRUE(runs("sm_80", cubin, 86));
  EXPECT_TRUE(runs("sm_86", cubin, 89));
  EXPECT_FALSE(runs("sm_86", cubin, 80));
  EXPECT_FALSE(runs("sm_80", cubin, 90));
  EXPECT_FALSE(runs("sm_90", cubin, 89));
  EXPECT_TRUE(runs("sm_90a", cubin, 90));
  EXPECT_FALSE(runs("sm_90a", cubin, 100));
  EXPECT_FALSE(runs("sm_100a", cubin, 103));
  EXPECT_TRUE(runs("sm_100f", cubin, 103));
  EXPECT_FALSE(runs("sm_100f", cubin, 120));
  EXPECT_TRUE(runs("sm_120", cubin, 121));
}

TEST(CudaTarget, Ptx) {
  const auto ptx = CodeFormat::Ptx;
  EXPECT_TRUE(runs("sm_60", ptx, 90));
  EXPECT_TRUE(runs("sm_80", ptx, 120));
  EXPECT_FALSE(runs("sm_90", ptx, 89));
  EXPECT_TRUE(runs("sm_90a", ptx, 90));
  EXPECT_FALSE(runs("sm_90a", ptx, 100));
}

TEST(CudaTarget, BetterIsHigher) {
  Machine hopper = {90, 13000};
  const auto ptx = CodeFormat::Ptx, cubin = CodeFormat::Cubin;
  int last = -1;
  for (auto [target, format] : {std::pair("sm_60", ptx),
                                {"sm_80", ptx},
                                {"sm_90", ptx},
                                {"sm_90", cubin},
                                {"sm_90a", ptx},
                                {"sm_90a", cubin}}) {
    int rank = rankOf(target, format, hopper);
    EXPECT_GT(rank, last) << target;
    last = rank;
  }
  EXPECT_GT(rankOf("sm_86", cubin, {89, 13000}),
            rankOf("sm_80", cubin, {89, 13000}));
}

TEST(CudaTarget, ReasonsNameBoth) {
  std::string why;
  rankOf("sm_90a", CodeFormat::Cubin, {80, 12000}, &why);
  EXPECT_EQ(why, "runs on sm_90 only, the device is sm_80");
  rankOf("sm_100", CodeFormat::Ptx, {90, 12000}, &why);
  EXPECT_EQ(why, "needs sm_100 or later, the device is sm_90");
  rankOf("sm_80", CodeFormat::Cubin, {90, 12000}, &why);
  EXPECT_EQ(why, "is for sm_8x, the device is sm_90");
  rankOf("x86-64", CodeFormat::SharedObject, {90, 12000}, &why);
  EXPECT_EQ(why, "is not code for an NVIDIA GPU");
  for (const char *name : {"sm_", "sm_9", "sm_90b", "sm_90aa", "sm_9000", "90",
                           "sm_x0", "compute_90"}) {
    EXPECT_LT(rankOf(name, CodeFormat::Cubin, {90, 12000}, &why), 0) << name;
    EXPECT_EQ(why, "is not code for an NVIDIA GPU") << name;
  }
}

TEST(CudaTarget, PtxVersions) {
  EXPECT_EQ(rt::cuda::newestPtx(11000), 70);
  EXPECT_EQ(rt::cuda::newestPtx(12080), 87);
  EXPECT_EQ(rt::cuda::newestPtx(12085), 87);
  EXPECT_EQ(rt::cuda::newestPtx(13000), 90);
  auto rank = [](const std::string &code, int cuda, std::string *why) {
    return rankOf("sm_80", CodeFormat::Ptx, {90, cuda}, why, code);
  };
  std::string why;
  EXPECT_GE(rank("// text\n.version 8.7\n", 12080, &why), 0);
  EXPECT_LT(rank(".version 8.8\n", 12080, &why), 0);
  EXPECT_EQ(why, "has PTX 8.8, the driver for CUDA 12.8 takes PTX up to 8.7; "
                 "the device is sm_90");
  // Who knows what a later driver takes? It does.
  EXPECT_GE(rank(".version 9.3\n", 14000, &why), 0);
  for (const char *text :
       {"", ".version", ".version ", ".version 8", ".version 8.", ".version .7",
        ".version x.y", ".version 99999999999.1"}) {
    EXPECT_LT(rank(text, 12080, &why), 0) << text;
    EXPECT_EQ(why, "has PTX without a .version") << text;
  }
}

// Whatever the layouts: each element once, nothing else.
/// Does with copies what the kernel does, and returns the unit.
static uint32_t takeAsKernel(std::vector<rt::cuda::StridedCopy> copies) {
  uint32_t unit = rt::cuda::chooseUnit(copies);
  for (const auto &copy : copies) {
    uint32_t count = copy.sizes[0] * copy.sizes[1] * copy.sizes[2] * copy.width;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t at = i / copy.width, at1 = at / copy.sizes[0];
      const uint64_t index[] = {at % copy.sizes[0], at1 % copy.sizes[1],
                                at1 / copy.sizes[1]};
      uint64_t from = copy.source + uint64_t(i % copy.width) * unit;
      uint64_t to = copy.target + uint64_t(i % copy.width) * unit;
      for (uint32_t axis = 0; axis < 3; ++axis) {
        from += index[axis] * uint64_t(copy.sourceStrides[axis]);
        to += index[axis] * uint64_t(copy.targetStrides[axis]);
      }
      EXPECT_EQ((from | to) % unit, 0u);
      std::memcpy(reinterpret_cast<void *>(uintptr_t(to)),
                  reinterpret_cast<const void *>(uintptr_t(from)), unit);
    }
  }
  return unit;
}

TEST(CudaBlocks, CopyEveryLayout) {
  std::mt19937 random(7);
  size_t most = 0;
  std::map<uint32_t, int> ofUnit;
  for (int round = 0; round < 3000; ++round) {
    rt::TensorView source, target;
    source.dtype = target.dtype = abi::DType::F16;
    source.rank = target.rank = random() % 5;
    for (uint32_t i = 0; i < source.rank; ++i)
      source.sizes[i] = target.sizes[i] = 1 + random() % 4;
    // Row-major, permuted, with gaps, some reversed, inputs broadcast.
    auto lay = [&](rt::TensorView &view, bool broadcast) {
      int64_t stride = 1, origin = 0;
      std::vector<uint32_t> axes;
      for (uint32_t i = 0; i + 1 < view.rank; ++i)
        axes.push_back(i);
      if (random() % 2)
        std::shuffle(axes.begin(), axes.end(), random);
      if (view.rank)
        axes.push_back(view.rank - 1);
      for (size_t i = axes.size(); i-- > 0;) {
        uint32_t axis = axes[i];
        view.strides[axis] = stride;
        stride *= view.sizes[axis];
        if (axis + 1 == view.rank)
          continue;
        if (random() % 4 == 0)
          stride += random() % 3;
        if (random() % 6 == 0) {
          origin += view.strides[axis] * (view.sizes[axis] - 1);
          view.strides[axis] *= -1;
        }
        if (broadcast && random() % 6 == 0)
          view.strides[axis] = 0;
      }
      return std::pair(stride + 8, origin);
    };
    auto [sourceSize, sourceOrigin] = lay(source, true);
    auto [targetSize, targetOrigin] = lay(target, false);
    if (source.rank && source.sizes[source.rank - 1] > 1) {
      ASSERT_EQ(source.strides[source.rank - 1], 1);
    }
    std::vector<uint16_t> from(size_t(sourceSize) * 2 + 64),
        to(size_t(targetSize) * 2 + 64, 0), expected(to);
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = uint16_t(1 + i);
    uint16_t *in = from.data() + sourceOrigin, *out = to.data() + targetOrigin;
    int64_t count = rt::elementCount(source);
    for (int64_t item = 0; item < count; ++item) {
      int64_t rest = item, a = 0, b = 0;
      for (uint32_t i = source.rank; i-- > 0;) {
        a += rest % source.sizes[i] * source.strides[i];
        b += rest % source.sizes[i] * target.strides[i];
        rest /= source.sizes[i];
      }
      expected[size_t(targetOrigin + b)] = in[a];
    }
    auto blocks = rt::cuda::splitCopy(source, target, 1 << 20);
    most = std::max(most, blocks.size());
    for (const auto &block : blocks)
      for (int64_t row = 0; row < block.height; ++row) {
        ASSERT_TRUE(block.height == 1 || (block.sourcePitch >= block.width &&
                                          block.targetPitch >= block.width));
        std::memcpy(reinterpret_cast<char *>(out) + block.target +
                        row * block.targetPitch,
                    reinterpret_cast<const char *>(in) + block.source +
                        row * block.sourcePitch,
                    size_t(block.width));
      }
    ASSERT_EQ(to, expected);

    std::fill(to.begin(), to.end(), 0);
    source.data = reinterpret_cast<char *>(in);
    target.data = reinterpret_cast<char *>(out);
    std::vector<rt::cuda::StridedCopy> copies;
    ASSERT_TRUE(rt::cuda::addCopies({source, target}, copies));
    ++ofUnit[takeAsKernel(copies)];
    ASSERT_EQ(to, expected);
  }
  EXPECT_GT(most, 1u);
  EXPECT_GT(ofUnit[1], 0);
  EXPECT_GT(ofUnit[4], 0);
}

// Each copy is of fewer units than a 32-bit number can count, whatever a tensor
// has.
TEST(CudaBlocks, CopiesOfLongTensors) {
  rt::CopyPair pair;
  pair.source.dtype = abi::DType::F32;
  pair.source.rank = 5;
  const int64_t sizes[] = {3, 1 << 14, 5, 1 << 10, 64};
  int64_t stride = 1;
  for (uint32_t i = 5; i-- > 0;) {
    pair.source.sizes[i] = sizes[i];
    pair.source.strides[i] = stride;
    stride *= 2 * sizes[i];
  }
  pair.destination = pair.source;
  ASSERT_TRUE(rt::makeContiguous(pair.destination));
  std::vector<rt::cuda::StridedCopy> copies;
  ASSERT_TRUE(rt::cuda::addCopies(pair, copies));
  EXPECT_GT(copies.size(), 1u);
  EXPECT_LE(copies.size(), 3u * 11);
  uint64_t bytes = 0;
  for (const auto &copy : copies) {
    uint64_t own = copy.width;
    for (uint32_t size : copy.sizes)
      own *= size;
    EXPECT_LT(own, uint64_t(1) << 31);
    bytes += own;
  }
  EXPECT_EQ(bytes, uint64_t(rt::elementCount(pair.source)) * 4);
  // One row that is longer than that is for the library.
  pair.source.rank = pair.destination.rank = 2;
  for (auto *view : {&pair.source, &pair.destination}) {
    view->sizes[0] = 2;
    view->sizes[1] = int64_t(1) << 30;
    view->strides[0] = int64_t(1) << 31;
    view->strides[1] = 1;
  }
  EXPECT_FALSE(rt::cuda::addCopies(pair, copies));
}

TEST(CudaBlocks, KernelsAreAssembled) {
  if (std::system("command -v ptxas >/dev/null") != 0 &&
      std::system("test -x /usr/local/cuda/bin/ptxas") != 0)
    GTEST_SKIP() << "no ptxas";
  std::string path = testing::TempDir() + "rl-copy.ptx";
  std::ofstream(path) << rt::cuda::makeCopyKernels();
  for (const char *target : {"sm_80", "sm_90a", "sm_120"}) {
    std::string command =
        "PATH=$PATH:/usr/local/cuda/bin ptxas --warning-as-error -arch " +
        std::string(target) + " -o /dev/null " + path;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::remove(path.c_str());
}

TEST(CudaBlocks, FewCopies) {
  rt::TensorView source, target;
  source.dtype = abi::DType::F32;
  source.rank = 4;
  int64_t sizes[] = {2, 100, 8, 64};
  std::copy(std::begin(sizes), std::end(sizes), source.sizes);
  target = source;
  ASSERT_TRUE(rt::makeContiguous(source) && rt::makeContiguous(target));
  auto blocks = rt::cuda::splitCopy(source, target, 1 << 30);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].height, 1);
  EXPECT_EQ(blocks[0].width, 2 * 100 * 8 * 64 * 4);
  // One part of a fused projection: one two-dimensional copy.
  int64_t fused[] = {100 * 3 * 512, 3 * 512, 64, 1};
  std::copy(std::begin(fused), std::end(fused), source.strides);
  blocks = rt::cuda::splitCopy(source, target, 1 << 30);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].height, 200);
  EXPECT_EQ(blocks[0].width, 512 * 4);
  EXPECT_EQ(blocks[0].sourcePitch, 3 * 512 * 4);
  // Too far apart for one: row by row.
  blocks = rt::cuda::splitCopy(source, target, 1024);
  EXPECT_EQ(blocks.size(), 200u);
}

namespace {

std::string loadError(const char *path) {
  rt::cuda::Api api;
  rt::Status status = rt::cuda::Api::load(path, api);
  EXPECT_EQ(status.code(), RL_UNAVAILABLE);
  return status.message();
}

} // namespace

TEST(CudaLibrary, Absent) {
  std::string error = loadError("/nowhere/libcuda.so.1");
  EXPECT_EQ(error.find("the cuda driver needs NVIDIA's library "
                       "'/nowhere/libcuda.so.1': "),
            0u)
      << error;
}

TEST(CudaLibrary, AnotherLibrary) {
  EXPECT_EQ(loadError(RINGLET_TEST_KERNELS),
            "'" RINGLET_TEST_KERNELS
            "' is no CUDA library: it has no cuDriverGetVersion");
}

TEST(CudaLibrary, TooOld) {
  EXPECT_EQ(loadError(RINGLET_TEST_CUDA_10),
            "expected an NVIDIA driver for CUDA 11.0 or later, "
            "'" RINGLET_TEST_CUDA_10 "' is for CUDA 10.2");
}

TEST(CudaLibrary, LacksAFunction) {
  EXPECT_EQ(loadError(RINGLET_TEST_CUDA_12),
            "'" RINGLET_TEST_CUDA_12 "' for CUDA 12.8 has no cuInit");
}

TEST(CudaLibrary, DoesNotTellItsVersion) {
  EXPECT_EQ(loadError(RINGLET_TEST_CUDA_0),
            "'" RINGLET_TEST_CUDA_0 "' does not tell its version: error 35");
}

} // namespace ringlet::test
