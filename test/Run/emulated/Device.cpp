//===- Device.cpp - A libcuda whose GPU is the CPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of the driver API as the runtime needs (runtime/src/cuda/Symbols.def)
// for a GPU without tensor maps, graphs and pools; its memory is in Memory.cpp.
// Modules are not looked at:
// the kernels are in the table that the library is linked with, and run at
// once. RINGLET_EMULATED_ARCH is the compute capability, as 80.
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace ringlet::emulated;

/// Ends with a name that is null.
extern "C" const Kernel gpu_kernels[];

namespace {

using Address = uint64_t;
using Handle = void *;
using Stream = void *;

constexpr int success = 0, notFound = 500, notReady = 600, notSupported = 801;
constexpr int sharedBytes = 227 << 10;
constexpr size_t memoryBytes = size_t(8) << 30;
Handle const something = const_cast<char *>("");

/// CUDA_MEMCPY2D, between memories of the device.
struct Copy2D {
  size_t sourceX, sourceY;
  int sourceType;
  const void *sourceHost;
  Address source;
  void *sourceArray;
  size_t sourcePitch, targetX, targetY;
  int targetType;
  void *targetHost;
  Address target;
  void *targetArray;
  size_t targetPitch, width, height;
};

int architecture() {
  const char *text = std::getenv("RINGLET_EMULATED_ARCH");
  return text ? std::atoi(text) : 80;
}

int copy(void *to, const void *from, size_t bytes) {
  std::memmove(to, from, bytes);
  return success;
}

void *at(Address address) { return reinterpret_cast<void *>(address); }

} // namespace

extern "C" {

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return success;
}
int cuInit(unsigned) { return success; }
int cuGetErrorName(int, const char **name) {
  *name = "emulated";
  return success;
}
int cuGetErrorString(int, const char **text) {
  *text = "the emulated GPU does not do this";
  return success;
}

int cuDeviceGetCount(int *count) {
  *count = 1;
  return success;
}
int cuDeviceGet(int *device, int) {
  *device = 0;
  return success;
}
int cuDeviceGetName(char *name, int size, int) {
  std::snprintf(name, size_t(size), "emulated");
  return success;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = memoryBytes;
  return success;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case 1: // Threads of a block.
    *value = mostThreads;
    break;
  case 5:  // Blocks of a grid.
  case 11: // Bytes of a pitch.
    *value = 0x7fffffff;
    break;
  case 16: // Multiprocessors.
    *value = 2;
    break;
  case 75:
    *value = architecture() / 10;
    break;
  case 76:
    *value = architecture() % 10;
    break;
  case 97: // Shared memory of a block.
    *value = sharedBytes;
    break;
  default:
    *value = 0;
  }
  return success;
}

int cuDevicePrimaryCtxRetain(Handle *context, int) {
  *context = something;
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int) { return success; }
int cuCtxGetCurrent(Handle *context) {
  *context = something;
  return success;
}
int cuCtxPushCurrent_v2(Handle) { return success; }
int cuCtxPopCurrent_v2(Handle *) { return success; }
int cuCtxSynchronize() { return success; }
int cuCtxEnablePeerAccess(Handle, unsigned) { return success; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return success;
}

int cuModuleLoadDataEx(Handle *module, const void *, unsigned, int *, void **) {
  *module = something;
  return success;
}
int cuModuleUnload(Handle) { return success; }
int cuModuleGetFunction(Handle *function, Handle, const char *name) {
  for (const Kernel *kernel = gpu_kernels; kernel->name; ++kernel)
    if (!std::strcmp(kernel->name, name)) {
      *function = const_cast<Kernel *>(kernel);
      return success;
    }
  return notFound;
}
int cuFuncGetAttribute(int *value, int attribute, Handle) {
  *value = attribute == 0 ? int(mostThreads) : attribute == 8 ? sharedBytes : 0;
  return success;
}
int cuFuncSetAttribute(Handle, int, int) { return success; }

int cuLaunchKernel(Handle function, unsigned blocks, unsigned, unsigned,
                   unsigned threads, unsigned, unsigned, unsigned, Stream,
                   void **parameters, void **extra) {
  const Kernel &kernel = *static_cast<const Kernel *>(function);
  // The kernel is one that cannot be emulated.
  if (!kernel.code || kernel.parameters > mostParameters)
    return notSupported;
  uint64_t words[mostParameters] = {};
  const char *buffer = nullptr;
  for (; extra && *extra; extra += 2)
    if (*extra == reinterpret_cast<void *>(1))
      buffer = static_cast<const char *>(extra[1]);
  for (int i = 0; i < kernel.parameters; ++i)
    std::memcpy(words + i, buffer ? buffer + 8 * i : parameters[i], 8);
  // Blocks share one memory, whoever starts them.
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  for (unsigned block = 0; block < blocks; ++block)
    runBlock(kernel, words, block, threads);
  return success;
}

// All memory is the host's, and pinned.
int cuPointerGetAttributes(unsigned count, const int *names, void **values,
                           Address) {
  for (unsigned i = 0; i < count; ++i)
    *static_cast<int *>(values[i]) = names[i] == 2; // The kind of memory.
  return success;
}
int cuMemGetInfo_v2(size_t *unused, size_t *all) {
  *unused = *all = memoryBytes;
  return success;
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream) {
  return copy(at(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream) {
  return copy(to, at(from), bytes);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream) {
  return copy(at(to), at(from), bytes);
}
int cuMemcpyPeerAsync(Address to, Handle, Address from, Handle, size_t bytes,
                      Stream) {
  return copy(at(to), at(from), bytes);
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, Stream) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<unsigned *>(at(to)) + i, &value, sizeof value);
  return success;
}
int cuMemcpy2DAsync_v2(const Copy2D *shape, Stream) {
  for (size_t row = 0; row < shape->height; ++row)
    copy(at(shape->target + row * shape->targetPitch),
         at(shape->source + row * shape->sourcePitch), shape->width);
  return success;
}

int cuStreamCreate(Stream *stream, unsigned) {
  *stream = something;
  return success;
}
int cuStreamCreateWithPriority(Stream *stream, unsigned, int) {
  *stream = something;
  return success;
}
int cuStreamDestroy_v2(Stream) { return success; }
int cuStreamSynchronize(Stream) { return success; }
int cuStreamQuery(Stream) { return success; }
// All streams do their work at once.
int cuStreamWaitEvent(Stream, Handle, unsigned) { return success; }
int cuStreamIsCapturing(Stream, int *status) {
  *status = 0;
  return success;
}
int cuThreadExchangeStreamCaptureMode(int *) { return success; }

// Work is done at once, but an event says so at the second question.
int cuEventCreate(Handle *event, unsigned) {
  *event = new int(0);
  return success;
}
int cuEventRecord(Handle, Stream) { return success; }
int cuEventQuery(Handle event) {
  return (*static_cast<int *>(event))++ ? success : notReady;
}
int cuEventDestroy_v2(Handle event) {
  delete static_cast<int *>(event);
  return success;
}

} // extern "C"
