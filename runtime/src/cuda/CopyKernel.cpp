//===- cuda/CopyKernel.cpp - Strided copies by a kernel ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyKernel.h"

#include "Blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

static constexpr std::array<uint32_t, 3> units = {16, 4, 1};
/// That fit into the parameters of a kernel, of which there are 4 KiB.
static constexpr size_t mostCopies = 42;
static constexpr uint32_t threads = 256;
/// More blocks than run at once on any device.
static constexpr uint32_t mostBlocks = 4096;

//===----------------------------------------------------------------------===//
// What it copies
//===----------------------------------------------------------------------===//

/// Adds axes `next` and those outside of it to a copy that has `used` of its
/// own and `count` bytes.
static void addAxes(const StridedCopy &copy, const std::vector<Axis> &axes,
                    size_t next, uint32_t used, int64_t count,
                    std::vector<StridedCopy> &copies) {
  if (next == axes.size()) {
    copies.push_back(copy);
    return;
  }
  // What is too much for one copy is taken in parts.
  const Axis &axis = axes[next];
  int64_t most = used < StridedCopy::kAxes
                     ? std::clamp<int64_t>(INT32_MAX / count, 1, axis.size)
                     : 1;
  for (int64_t first = 0; first < axis.size; first += most) {
    int64_t size = std::min(most, axis.size - first);
    StridedCopy part = copy;
    part.source += uint64_t(first * axis.source);
    part.target += uint64_t(first * axis.target);
    if (size > 1) {
      part.sizes[used] = uint32_t(size);
      part.sourceStrides[used] = axis.source;
      part.targetStrides[used] = axis.target;
    }
    addAxes(part, axes, next + 1, used + (size > 1), count * size, copies);
  }
}

bool cuda::addCopies(const CopyPair &pair, std::vector<StridedCopy> &copies) {
  std::vector<Axis> axes;
  int64_t width = mergeAxes(pair.source, pair.destination, axes);
  if (width > INT32_MAX)
    return false;
  StridedCopy copy;
  copy.source = reinterpret_cast<uintptr_t>(pair.source.data);
  copy.target = reinterpret_cast<uintptr_t>(pair.destination.data);
  copy.width = uint32_t(width);
  addAxes(copy, axes, 0, 0, width, copies);
  return true;
}

uint32_t cuda::chooseUnit(std::vector<StridedCopy> &copies) {
  uint64_t bits = 0;
  for (const StridedCopy &copy : copies) {
    bits |= copy.source | copy.target | copy.width;
    for (uint32_t i = 0; i < StridedCopy::kAxes; ++i)
      bits |= uint64_t(copy.sourceStrides[i] | copy.targetStrides[i]);
  }
  uint32_t unit = *std::find_if(units.begin(), units.end(), [&](uint32_t each) {
    return bits % each == 0;
  });
  for (StridedCopy &copy : copies)
    copy.width /= unit;
  return unit;
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

static_assert(sizeof(StridedCopy) == 80 &&
              offsetof(StridedCopy, sourceStrides) == 16 &&
              offsetof(StridedCopy, targetStrides) == 40 &&
              offsetof(StridedCopy, sizes) == 64 &&
              offsetof(StridedCopy, width) == 76);

/// Each row of blocks has a copy; its threads take units in turn.
static const char *const kernelText = R"(
.visible .entry rl_copy_UNIT(.param .align 8 .b8 copies[COPIES]) {
  .reg .pred %p;
  .reg .b32 %u<16>;
  .reg .b32 %v<4>;
  .reg .b64 %d<24>;
  mov.b64 %d0, copies;
  mov.u32 %u0, %ctaid.y;
  mul.wide.u32 %d1, %u0, 80;
  add.u64 %d0, %d0, %d1;
  ld.param.u64 %d2, [%d0];
  ld.param.u64 %d3, [%d0+8];
  ld.param.u64 %d4, [%d0+16];
  ld.param.u64 %d5, [%d0+24];
  ld.param.u64 %d6, [%d0+32];
  ld.param.u64 %d7, [%d0+40];
  ld.param.u64 %d8, [%d0+48];
  ld.param.u64 %d9, [%d0+56];
  ld.param.u32 %u1, [%d0+64];
  ld.param.u32 %u2, [%d0+68];
  ld.param.u32 %u3, [%d0+72];
  ld.param.u32 %u4, [%d0+76];
  mul.lo.u32 %u5, %u1, %u2;
  mul.lo.u32 %u5, %u5, %u3;
  mul.lo.u32 %u5, %u5, %u4;
  mov.u32 %u6, %ntid.x;
  mov.u32 %u7, %ctaid.x;
  mov.u32 %u8, %tid.x;
  mad.lo.u32 %u7, %u7, %u6, %u8;
  mov.u32 %u8, %nctaid.x;
  mul.lo.u32 %u6, %u6, %u8;
  setp.ge.u32 %p, %u7, %u5;
  @%p bra done;
next:
  div.u32 %u8, %u7, %u4;
  mul.lo.u32 %u9, %u8, %u4;
  sub.u32 %u9, %u7, %u9;
  div.u32 %u10, %u8, %u1;
  mul.lo.u32 %u11, %u10, %u1;
  sub.u32 %u11, %u8, %u11;
  div.u32 %u12, %u10, %u2;
  mul.lo.u32 %u13, %u12, %u2;
  sub.u32 %u13, %u10, %u13;
  cvt.u64.u32 %d10, %u11;
  cvt.u64.u32 %d11, %u13;
  cvt.u64.u32 %d12, %u12;
  mul.wide.u32 %d13, %u9, UNIT;
  add.u64 %d14, %d2, %d13;
  mad.lo.u64 %d14, %d10, %d4, %d14;
  mad.lo.u64 %d14, %d11, %d5, %d14;
  mad.lo.u64 %d14, %d12, %d6, %d14;
  add.u64 %d15, %d3, %d13;
  mad.lo.u64 %d15, %d10, %d7, %d15;
  mad.lo.u64 %d15, %d11, %d8, %d15;
  mad.lo.u64 %d15, %d12, %d9, %d15;
  ld.global.TYPE VALUE, [%d14];
  st.global.TYPE [%d15], VALUE;
  add.u32 %u7, %u7, %u6;
  setp.lt.u32 %p, %u7, %u5;
  @%p bra next;
done:
  ret;
}
)";

std::string cuda::makeCopyKernels() {
  const char *const types[] = {"v4.b32", "b32", "b8"};
  const char *const values[] = {"{%v0, %v1, %v2, %v3}", "%v0", "%v0"};
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  for (size_t i = 0; i < units.size(); ++i) {
    std::string kernel = kernelText;
    auto replace = [&](const char *word, const std::string &by) {
      for (size_t at = 0; (at = kernel.find(word, at)) != std::string::npos;)
        kernel.replace(at, std::strlen(word), by);
    };
    replace("UNIT", rt::text(units[i]));
    replace("COPIES", rt::text(mostCopies * sizeof(StridedCopy)));
    replace("TYPE", types[i]);
    replace("VALUE", values[i]);
    text += kernel;
  }
  return text;
}

void CopyKernel::load() {
  const Api &api = device->api;
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok() ||
      api.moduleLoadDataEx(&module, makeCopyKernels().c_str(), 0, nullptr,
                           nullptr) != result::Success) {
    module = nullptr;
    return;
  }
  for (size_t i = 0; i < units.size(); ++i)
    if (api.moduleGetFunction(&functions[i], module,
                              text("rl_copy_", units[i]).c_str()) !=
        result::Success)
      functions[i] = nullptr;
}

bool CopyKernel::isThere() {
  std::call_once(once, [this] { load(); });
  return std::all_of(functions.begin(), functions.end(),
                     [](FunctionHandle each) { return each != nullptr; });
}

CopyKernel::~CopyKernel() {
  OutsideCapture outside(device->api);
  Current current(device->api, device->context());
  if (module && current.ok())
    (void)device->api.moduleUnload(module);
}

Status CopyKernel::launch(std::vector<StridedCopy> copies, Stream stream) {
  uint32_t unit = chooseUnit(copies);
  size_t kernel =
      size_t(std::find(units.begin(), units.end(), unit) - units.begin());
  Current current(device->api, device->context());
  RL_TRY(current.status());
  for (size_t first = 0; first < copies.size(); first += mostCopies) {
    size_t count = std::min(copies.size() - first, mostCopies);
    StridedCopy params[mostCopies];
    std::copy_n(copies.begin() + ptrdiff_t(first), count, params);
    uint64_t most = 0;
    for (size_t i = 0; i < count; ++i)
      most = std::max(most, uint64_t(params[i].width) * params[i].sizes[0] *
                                params[i].sizes[1] * params[i].sizes[2]);
    auto blocks = uint32_t(
        std::min<uint64_t>((most + threads - 1) / threads, mostBlocks / count));
    void *list[] = {params};
    Result code = device->api.launchKernel(
        functions[kernel], std::max(blocks, 1u), uint32_t(count), 1, threads, 1,
        1, 0, stream, list, nullptr);
    RL_TRY(device->api.check(
        code, text("start a kernel for ", count, " strided copies")));
  }
  return {};
}
