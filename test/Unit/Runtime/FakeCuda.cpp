//===- FakeCuda.cpp - A libcuda without a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCalls.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace ringlet::rt::cuda;
using namespace ringlet::test;
using ringlet::rt::EncodedMap;

extern "C" {
using HostKernel = void(const int64_t *, int64_t, int64_t, void *);
HostKernel scale, shift, gather, visit, mark, plain, turn, pack, total;
}

FakeCuda ringlet::test::fake;
EXPORT FakeCuda *fakeCuda() { return &fake; }

static const struct FakeKernel {
  const char *name;
  HostKernel *code;
} kernels[] = {{"scale", scale}, {"shift", shift}, {"gather", gather},
               {"visit", visit}, {"mark", mark},   {"plain", plain},
               {"turn", turn},   {"pack", pack},   {"total", total}};

bool ringlet::test::fails(const char *symbol, Result &code) {
  fake.calls.push_back(symbol);
  auto found = fake.failures.find(symbol);
  if (found == fake.failures.end())
    return false;
  code = found->second;
  return true;
}

bool ringlet::test::forbidden() {
  return !fake.capturing.empty() && fake.captureMode != capture::Relaxed;
}

void ringlet::test::queue(const std::string &what, void *stream) {
  std::set<size_t> &ended = fake.ended[stream];
  fake.works.push_back({what, stream, ended});
  ended.insert(fake.works.size() - 1);
}

EXPORT Result cuDriverGetVersion(int *version) {
  CALL("cuDriverGetVersion");
  *version = fake.version;
  return 0;
}
EXPORT Result cuInit(unsigned) {
  CALL("cuInit");
  return 0;
}
EXPORT Result cuGetErrorName(Result, const char **name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
EXPORT Result cuGetErrorString(Result, const char **text) {
  *text = "a fake failure";
  return 0;
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

EXPORT Result cuDeviceGetCount(int *count) {
  CALL("cuDeviceGetCount");
  *count = fake.devices;
  return 0;
}
EXPORT Result cuDeviceGet(DeviceId *device, int ordinal) {
  CALL("cuDeviceGet");
  *device = 100 + ordinal;
  return 0;
}
EXPORT Result cuDeviceGetName(char *name, int size, DeviceId device) {
  CALL("cuDeviceGetName");
  std::strncpy(name, device == 100 ? "Fake GPU" : "Other GPU", size_t(size));
  return 0;
}
EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, DeviceId) {
  CALL("cuDeviceTotalMem");
  *bytes = size_t(80) << 30;
  return 0;
}
EXPORT Result cuDeviceGetAttribute(int *value, int attribute, DeviceId) {
  CALL("cuDeviceGetAttribute");
  const std::map<int, int> values = {{attribute::MaxThreadsPerBlock, 1024},
                                     {attribute::MaxGridX, fake.maxGrid},
                                     {attribute::MaxPitch, 2147483647},
                                     {attribute::Multiprocessors, 132},
                                     {attribute::CapabilityMajor, fake.major},
                                     {attribute::CapabilityMinor, fake.minor},
                                     {attribute::MaxSharedOptIn, 232448},
                                     {attribute::MemoryPools, fake.pools}};
  auto found = values.find(attribute);
  if (found == values.end())
    return invalidValue;
  *value = found->second;
  return 0;
}
EXPORT Result cuDevicePrimaryCtxRetain(void **context, DeviceId) {
  CALL("cuDevicePrimaryCtxRetain");
  ++fake.contexts;
  *context = theContext;
  return 0;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(DeviceId) {
  CALL("cuDevicePrimaryCtxRelease");
  --fake.contexts;
  return 0;
}
EXPORT Result cuCtxGetCurrent(void **context) {
  CALL("cuCtxGetCurrent");
  *context = fake.current.empty() ? nullptr : fake.current.back();
  return 0;
}
EXPORT Result cuCtxPushCurrent_v2(void *context) {
  CALL("cuCtxPushCurrent");
  fake.current.push_back(context);
  return 0;
}
EXPORT Result cuCtxPopCurrent_v2(void **context) {
  CALL("cuCtxPopCurrent");
  *context = fake.current.back();
  fake.current.pop_back();
  return 0;
}
EXPORT Result cuCtxEnablePeerAccess(void *, unsigned) {
  CALL_IN_CONTEXT("cuCtxEnablePeerAccess");
  return 0;
}
EXPORT Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CALL_IN_CONTEXT("cuCtxGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return 0;
}
EXPORT Result cuCtxSynchronize() {
  CALL_IN_CONTEXT("cuCtxSynchronize");
  return fake.capturing.empty() ? 0 : captureUnsupported;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

EXPORT Result cuModuleLoadDataEx(void **module, const void *image, unsigned,
                                 int *, void **values) {
  CALL_IN_CONTEXT("cuModuleLoadDataEx");
  const char *text = static_cast<const char *>(image);
  if (std::strstr(text, "syntax error")) {
    std::strcpy(static_cast<char *>(values[0]), "ptxas: line 1; syntax error");
    return result::InvalidPtx;
  }
  ++fake.modules;
  *module = &fake.modules;
  return 0;
}
EXPORT Result cuModuleUnload(void *) {
  CALL_IN_CONTEXT("cuModuleUnload");
  --fake.modules;
  return 0;
}
EXPORT Result cuModuleGetFunction(const void **function, void *,
                                  const char *name) {
  CALL_IN_CONTEXT("cuModuleGetFunction");
  for (const FakeKernel &kernel : kernels)
    if (std::strcmp(kernel.name, name) == 0) {
      *function = &kernel;
      return 0;
    }
  return result::NotFound;
}
EXPORT Result cuFuncGetAttribute(int *value, int attribute, const void *) {
  CALL_IN_CONTEXT("cuFuncGetAttribute");
  *value = attribute == function::MaxThreads ? fake.kernelThreads
                                             : fake.staticShared;
  return 0;
}
EXPORT Result cuFuncSetAttribute(const void *function, int attribute,
                                 int value) {
  CALL_IN_CONTEXT("cuFuncSetAttribute");
  if (attribute != function::MaxDynamicShared)
    return invalidValue;
  fake.dynamicShared[static_cast<const FakeKernel *>(function)->name] = value;
  return 0;
}
static const FakeKernel *toKernel(FunctionHandle function) {
  return reinterpret_cast<const FakeKernel *>(function);
}

/// What a kernel gets, as the library copies it when it is told.
static Result describe(const KernelNode &node, FakeLaunch &launch) {
  const auto &kernel = *toKernel(node.function);
  if (node.gridY != 1 || node.gridZ != 1 || node.threadsY != 1 ||
      node.threadsZ != 1)
    return invalidValue;
  launch = {kernel.name, node.gridX, node.threadsX, node.sharedBytes, nullptr,
            {},          {},         launch.early};
  // Words alone come packed; maps do not, as their place has no simple rule.
  auto mapped = fake.mapped.find(kernel.name);
  if (mapped != fake.mapped.end() && mapped->second.maps) {
    if (!node.list || node.extra)
      return invalidValue;
    const auto *first = static_cast<const FakeMap *>(node.list[0]);
    launch.maps.assign(first, first + mapped->second.maps);
    for (size_t i = 0; i < mapped->second.words; ++i)
      launch.words.push_back(*static_cast<const int64_t *>(node.list[1 + i]));
  } else {
    if (node.list || node.extra[0] != launch::Buffer ||
        node.extra[2] != launch::BufferBytes || node.extra[4] != launch::End)
      return invalidValue;
    const auto *first = static_cast<const int64_t *>(node.extra[1]);
    launch.words.assign(first,
                        first + *static_cast<const size_t *>(node.extra[3]) /
                                    sizeof(int64_t));
  }
  auto limit = fake.dynamicShared.find(kernel.name);
  if (int(node.sharedBytes) >
      (limit == fake.dynamicShared.end() ? 48 * 1024 : limit->second))
    return invalidValue;
  return 0;
}

/// Writes the launch down and runs it, unless it only becomes part of a graph.
static void start(FakeLaunch launch, void *stream) {
  launch.stream = stream;
  fake.launches.push_back(launch);
  queue(launch.kernel, stream);
  if (fake.capturing.count(stream))
    return;
  for (const FakeKernel &kernel : kernels)
    if (launch.kernel == kernel.name)
      kernel.code(launch.words.data(), 0, launch.grid, nullptr);
}

EXPORT Result cuLaunchKernel(FunctionHandle function, unsigned x, unsigned y,
                             unsigned z, unsigned threads, unsigned threadsY,
                             unsigned threadsZ, unsigned shared, void *stream,
                             void **params, void **extra) {
  CALL_IN_CONTEXT("cuLaunchKernel");
  FakeLaunch launch;
  Result code = describe(
      {function, x, y, z, threads, threadsY, threadsZ, shared, params, extra},
      launch);
  if (code == 0)
    start(std::move(launch), stream);
  return code;
}

EXPORT Result cuLaunchKernelEx(const LaunchConfig *config,
                               FunctionHandle function, void **params,
                               void **extra) {
  CALL_IN_CONTEXT("cuLaunchKernelEx");
  if (config->attributeCount != 1 ||
      config->attributes->id != launch::EarlyStart)
    return invalidValue;
  FakeLaunch launch;
  Result code = describe({function, config->gridX, config->gridY, config->gridZ,
                          config->threadsX, config->threadsY, config->threadsZ,
                          config->sharedBytes, params, extra},
                         launch);
  launch.early = config->attributes->allowed;
  if (code == 0)
    start(std::move(launch), config->stream);
  return code;
}

//===----------------------------------------------------------------------===//
// Graphs of kernels that follow each other
//===----------------------------------------------------------------------===//

EXPORT Result cuGraphCreate(FakeGraph **graph, unsigned) {
  CALL_IN_CONTEXT("cuGraphCreate");
  ++fake.graphs;
  *graph = new FakeGraph;
  return 0;
}
EXPORT Result cuGraphDestroy(FakeGraph *graph) {
  CALL_IN_CONTEXT("cuGraphDestroy");
  --fake.graphs;
  delete graph;
  return 0;
}
EXPORT Result cuGraphAddKernelNode(void **node, FakeGraph *graph,
                                   void *const *before, size_t count,
                                   const KernelNode *kernel) {
  CALL_IN_CONTEXT("cuGraphAddKernelNode");
  if (count > 1 || (count && *before != graph->nodes.back().get()))
    return invalidValue;
  graph->edges += count;
  graph->nodes.push_back(std::make_unique<FakeLaunch>());
  *node = graph->nodes.back().get();
  return describe(*kernel, *graph->nodes.back());
}
EXPORT Result cuGraphAddDependencies_v2(FakeGraph *graph, void *const *from,
                                        void *const *to, const EdgeData *edge,
                                        size_t count) {
  CALL_IN_CONTEXT("cuGraphAddDependencies");
  size_t nodes = graph->nodes.size();
  if (count != 1 || nodes < 2 || *from != graph->nodes[nodes - 2].get() ||
      *to != graph->nodes.back().get() || edge->fromPort != edge::OfBlocks ||
      edge->toPort != 0 || edge->type != edge::EarlyStart)
    return invalidValue;
  graph->nodes.back()->early = true;
  graph->edges += 1;
  return 0;
}
EXPORT Result cuGraphInstantiateWithFlags(FakeReadyGraph **ready,
                                          FakeGraph *graph,
                                          unsigned long long) {
  CALL_IN_CONTEXT("cuGraphInstantiateWithFlags");
  if (forbidden())
    return captureUnsupported;
  // Kernels of a run follow each other.
  if (graph->edges + 1 != graph->nodes.size())
    return invalidValue;
  ++fake.readyGraphs;
  *ready = new FakeReadyGraph;
  for (const auto &node : graph->nodes) {
    (*ready)->nodes[node.get()] = *node;
    (*ready)->order.push_back(node.get());
  }
  return 0;
}
EXPORT Result cuGraphExecDestroy(FakeReadyGraph *ready) {
  CALL_IN_CONTEXT("cuGraphExecDestroy");
  --fake.readyGraphs;
  delete ready;
  return 0;
}
EXPORT Result cuGraphExecKernelNodeSetParams(FakeReadyGraph *ready, void *node,
                                             const KernelNode *kernel) {
  CALL_IN_CONTEXT("cuGraphExecKernelNodeSetParams");
  auto found = ready->nodes.find(node);
  return found == ready->nodes.end() ? invalidValue
                                     : describe(*kernel, found->second);
}
EXPORT Result cuGraphLaunch(FakeReadyGraph *ready, void *stream) {
  CALL_IN_CONTEXT("cuGraphLaunch");
  if (fake.capturing.count(stream))
    return captureUnsupported;
  for (const void *node : ready->order)
    start(ready->nodes[node], stream);
  return 0;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// What cuda.h says of addresses.
static bool isMisplaced(const EncodedMap *map, const void *address) {
  return reinterpret_cast<uintptr_t>(map) % 64 != 0 ||
         reinterpret_cast<uintptr_t>(address) % 16 != 0;
}

EXPORT Result cuTensorMapEncodeTiled(EncodedMap *map, int type, unsigned rank,
                                     void *address, const uint64_t *sizes,
                                     const uint64_t *strides,
                                     const unsigned *box, const unsigned *steps,
                                     int interleave, int swizzle, int promotion,
                                     int fill) {
  CALL_IN_CONTEXT("cuTensorMapEncodeTiled");
  if (isMisplaced(map, address) || rank < 1 || rank > 5 ||
      interleave != tensor::NotInterleaved || swizzle != tensor::Swizzle128 ||
      promotion != tensor::Promote128 || fill != tensor::ZerosOutside)
    return invalidValue;
  FakeMap made = {};
  made.address = reinterpret_cast<uintptr_t>(address);
  made.type = type;
  made.rank = rank;
  for (unsigned i = 0; i < rank; ++i) {
    made.sizes[i] = sizes[i];
    made.box[i] = box[i];
    if (sizes[i] < 1 || sizes[i] > uint64_t(1) << 32 || box[i] < 1 ||
        box[i] > 256 || steps[i] != 1)
      return invalidValue;
    if (i + 1 == rank)
      break;
    made.strides[i] = strides[i];
    if (strides[i] % 16 != 0 || strides[i] >= uint64_t(1) << 40)
      return invalidValue;
  }
  if (box[0] * 2 % 16 != 0 || box[0] * 2 > 128)
    return invalidValue;
  std::memcpy(map, &made, sizeof(made));
  return 0;
}
EXPORT Result cuTensorMapReplaceAddress(EncodedMap *map, void *address) {
  CALL_IN_CONTEXT("cuTensorMapReplaceAddress");
  if (isMisplaced(map, address))
    return invalidValue;
  auto value = uint64_t(reinterpret_cast<uintptr_t>(address));
  std::memcpy(map, &value, sizeof(value));
  return 0;
}

//===----------------------------------------------------------------------===//
// Streams and pools
//===----------------------------------------------------------------------===//

EXPORT Result cuStreamCreate(void **stream, unsigned) {
  CALL_IN_CONTEXT("cuStreamCreate");
  ++fake.streams;
  *stream = reinterpret_cast<void *>(uintptr_t(0x1000 + fake.calls.size()));
  return 0;
}
EXPORT Result cuStreamCreateWithPriority(void **stream, unsigned,
                                         int priority) {
  CALL_IN_CONTEXT("cuStreamCreateWithPriority");
  if (priority != -5)
    return invalidValue;
  ++fake.streams;
  *stream = reinterpret_cast<void *>(uintptr_t(0x1000 + fake.calls.size()));
  return 0;
}
EXPORT Result cuStreamDestroy_v2(void *) {
  CALL_IN_CONTEXT("cuStreamDestroy");
  --fake.streams;
  return 0;
}
EXPORT Result cuStreamSynchronize(void *stream) {
  CALL_IN_CONTEXT("cuStreamSynchronize");
  return fake.capturing.count(stream) || forbidden() ? captureUnsupported : 0;
}
EXPORT Result cuStreamQuery(void *stream) {
  CALL_IN_CONTEXT("cuStreamQuery");
  return fake.capturing.count(stream) || forbidden() ? captureUnsupported
                                                     : fake.busy;
}
EXPORT Result cuStreamIsCapturing(void *stream, int *status) {
  CALL_IN_CONTEXT("cuStreamIsCapturing");
  *status = fake.capturing.count(stream) ? 1 : 0;
  return 0;
}
EXPORT Result cuStreamGetId(void *stream, unsigned long long *number) {
  CALL_IN_CONTEXT("cuStreamGetId");
  *number = reinterpret_cast<uintptr_t>(stream) + fake.streamEpoch;
  return 0;
}
EXPORT Result cuEventCreate(FakeEvent **event, unsigned flags) {
  CALL_IN_CONTEXT("cuEventCreate");
  if (flags != EventWithoutTime)
    return invalidValue;
  ++fake.events;
  *event = new FakeEvent;
  return 0;
}
EXPORT Result cuEventDestroy_v2(FakeEvent *event) {
  CALL_IN_CONTEXT("cuEventDestroy");
  --fake.events;
  delete event;
  return 0;
}
EXPORT Result cuEventRecord(FakeEvent *event, void *stream) {
  CALL_IN_CONTEXT("cuEventRecord");
  event->ended = fake.ended[stream];
  event->isCaptured = fake.capturing.count(stream);
  return 0;
}
EXPORT Result cuEventQuery(FakeEvent *) {
  CALL_IN_CONTEXT("cuEventQuery");
  return fake.busy;
}
EXPORT Result cuStreamWaitEvent(void *stream, FakeEvent *event, unsigned) {
  CALL_IN_CONTEXT("cuStreamWaitEvent");
  if (event->isCaptured && !fake.capturing.count(stream))
    fake.capturing.insert(stream);
  fake.ended[stream].insert(event->ended.begin(), event->ended.end());
  return 0;
}

EXPORT Result cuThreadExchangeStreamCaptureMode(int *mode) {
  CALL("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, fake.captureMode);
  return 0;
}
