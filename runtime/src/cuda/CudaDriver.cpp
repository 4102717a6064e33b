//===- cuda/CudaDriver.cpp - An NVIDIA GPU as a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call makes the device's primary context current and puts back what the
// caller had. Work goes to the caller's stream; what a run does once, such as
// to write down a table, goes to a stream of its own, which nobody captures.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include "Blocks.h"
#include "CopyKernel.h"
#include "CudaModule.h"
#include "Device.h"
#include "Launch.h"
#include "MessageStream.h"
#include "SideStreams.h"

#include <algorithm>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

namespace {

/// What cuMemAlloc promises.
const uint64_t blockAlignment = 256;

Address toAddress(const void *pointer) {
  return Address(reinterpret_cast<uintptr_t>(pointer));
}
char *toPointer(Address address) {
  return reinterpret_cast<char *>(uintptr_t(address));
}

class CudaDriver : public Driver {
public:
  explicit CudaDriver(std::shared_ptr<const Device> device)
      : api(device->api), device(std::move(device)), sides(this->device),
        strided(this->device) {}
  ~CudaDriver() override;
  Status start(uint64_t memoryLimit);

  const char *name() const override { return "cuda"; }
  std::string description() const override {
    return device->properties.machine.architecture();
  }
  uint32_t threads() const override { return 1; }
  uint32_t multiprocessors() const override {
    return uint32_t(device->properties.multiprocessors);
  }

  uint64_t alignment() const override { return blockAlignment; }
  Status allocate(uint64_t bytes, char *&block) override;
  void release(char *block, uint64_t) override;
  uint64_t freeBytes() const override;
  uint64_t scratchBytes(uint64_t) const override { return 0; }
  bool usesHostMemory() const override { return false; }
  Status checkPlace(const void *data, const Place &place) const override;
  Status checkHostPlace(const void *data, const Place &place) const override;
  Status upload(char *to, const void *from, uint64_t bytes) override {
    return move(to, from, bytes, Transfer::ToDevice, uploads);
  }
  Status generate(LaunchCall call) override;
  Stream uploadStream() const override { return uploads; }
  void finish() override;
  Status callBack(const std::function<void()> &function) const override;
  Status transfer(void *to, const void *from, uint64_t bytes,
                  Transfer direction) override;

  int rank(const abi::CodeObject &code, std::string &why) const override {
    return rankTarget(code, device->properties.machine, why);
  }
  Status load(const abi::CodeObject &code, const Logger &,
              std::shared_ptr<Module> &module) override {
    return CudaModule::load(device, code, module);
  }

  int64_t mostItems(uint32_t blocksThatStay) const override {
    // To the number of its item a block adds that of all blocks, in 32 bits.
    return device->properties.maxGrid -
           int64_t(blocksThatStay) * device->properties.multiprocessors;
  }
  Status launch(const LaunchCall &call) override;
  std::unique_ptr<Batch> makeBatch(const LaunchCall *calls,
                                   size_t count) override;
  Status encodeMap(const MapShape &shape, EncodedMap &map) const override;
  Status fill(float *data, uint64_t count, float value, Stream stream) override;
  Status copy(const CopyPair &pair, Stream stream) override {
    return copyAll({pair}, stream);
  }
  Status copyAll(const std::vector<CopyPair> &pairs, Stream stream) override;

  Stream ownStream() const override { return runs; }
  Status wait(Stream stream) override;
  Status check() const override;
  Status openSide(std::unique_ptr<SideQueue> &side) override {
    return sides.open(side);
  }
  Status openMessages(std::unique_ptr<MessageQueue> &queue) override {
    auto made = std::make_unique<MessageStream>(device);
    RL_TRY(made->open());
    queue = std::move(made);
    return {};
  }
  Status share(char *data, std::string &name) const override {
    return SharedName::make(*device, toAddress(data), name);
  }
  int ordinal() const override { return device->ordinal; }
  Status isCaptured(Stream stream, bool &captured) override;
  Queue identify(Stream stream) const override;
  bool ordersMemory() const override { return true; }
  Status allocateOn(Stream stream, uint64_t bytes, char *&block) override;
  void releaseOn(Stream stream, char *block, uint64_t bytes) override;
  uint64_t orderedBytes() const override;
  void trim() override;

private:
  /// Finds out what the embedder has not said.
  Status look(const void *data, Place &place) const;
  Status move(void *to, const void *from, uint64_t bytes, Transfer direction,
              StreamHandle stream);
  Status copyBlock(const CopyPair &pair, const Block &block, Stream stream);

  const Api &api;
  const std::shared_ptr<const Device> device;
  StreamHandle runs = nullptr; // Waits for the default stream, and it for it.
  StreamHandle uploads = nullptr; // Waits for nothing.
  PoolHandle pool = nullptr;      // Null where the device has none.
  SideStreams sides;
  CopyKernel strided;
};

} // namespace

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

Status CudaDriver::start(uint64_t memoryLimit) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  RL_TRY(api.check(api.streamCreate(&runs, 0), "create a stream"));
  RL_TRY(api.check(api.streamCreate(&uploads, NonBlockingStream),
                   "create a stream"));
  if (!device->properties.hasPools)
    return {};
  PoolProps props;
  props.location = device->id();
  RL_TRY(api.check(api.poolCreate(&pool, &props), "create a memory pool"));
  // By default a pool gives all back whenever somebody waits.
  uint64_t keep = memoryLimit ? memoryLimit : UINT64_MAX;
  return api.check(api.poolSetAttribute(pool, pool::ReleaseThreshold, &keep),
                   "set up a memory pool");
}

CudaDriver::~CudaDriver() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok())
    return;
  if (pool)
    (void)api.poolDestroy(pool);
  for (StreamHandle stream : {runs, uploads})
    if (stream)
      (void)api.streamDestroy(stream);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Status CudaDriver::allocate(uint64_t bytes, char *&block) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Address address = 0;
  RL_TRY(api.check(api.memAlloc(&address, bytes),
                   text("allocate ", bytes, " bytes")));
  block = toPointer(address);
  return {};
}

void CudaDriver::release(char *block, uint64_t) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok())
    return;
  // It waits for the kernels that are on their way to the block.
  (void)api.memFree(toAddress(block));
}

uint64_t CudaDriver::freeBytes() const {
  OutsideCapture outside(api);
  Current current(api, device->context());
  size_t available = 0, total = 0;
  if (!current.ok() || api.memGetInfo(&available, &total) != result::Success)
    return UINT64_MAX;
  return available;
}

Status CudaDriver::move(void *to, const void *from, uint64_t bytes,
                        Transfer direction, StreamHandle stream) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  std::string what = text("copy ", bytes, " bytes");
  Result code = result::Success;
  switch (direction) {
  case Transfer::ToDevice:
    code = api.copyToDevice(toAddress(to), from, bytes, stream);
    break;
  case Transfer::FromDevice:
    code = api.copyFromDevice(to, toAddress(from), bytes, stream);
    break;
  case Transfer::OnDevice:
    code = api.copyOnDevice(toAddress(to), toAddress(from), bytes, stream);
    break;
  }
  RL_TRY(api.check(code, what));
  return api.check(api.streamSynchronize(stream), what);
}

Status CudaDriver::generate(LaunchCall call) {
  call.stream = uploads;
  RL_TRY(launch(call));
  return wait(uploads);
}

Status CudaDriver::callBack(const std::function<void()> &function) const {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  function();
  return {};
}

Status CudaDriver::transfer(void *to, const void *from, uint64_t bytes,
                            Transfer direction) {
  return move(to, from, bytes, direction, runs);
}

Status CudaDriver::look(const void *data, Place &place) const {
  if (place.memory != RL_MEMORY_UNKNOWN || !data)
    return {};
  Current current(api, device->context());
  RL_TRY(current.status());
  return findPlace(api, data, place);
}

Status CudaDriver::checkPlace(const void *data, const Place &place) const {
  Place found = place;
  RL_TRY(look(data, found));
  if (found.memory == RL_MEMORY_HOST)
    return invalid("expected memory of GPU ", device->ordinal,
                   ", found memory of the host at ", data);
  if (found.memory == RL_MEMORY_CUDA && found.device != device->ordinal)
    return invalid("expected memory of GPU ", device->ordinal,
                   ", found memory of GPU ", found.device);
  return {};
}

Status CudaDriver::checkHostPlace(const void *data, const Place &place) const {
  Place found = place;
  RL_TRY(look(data, found));
  return Driver::checkHostPlace(data, found);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

Status CudaDriver::launch(const LaunchCall &call) {
  Current current(api, device->context());
  RL_TRY(current.status());
  KernelStart start;
  RL_TRY(start.set(api, call));
  const KernelNode &node = start.node();
  Result code;
  if (start.isEarly() && api.launchKernelEx) {
    LaunchAttribute attribute = {launch::EarlyStart, 0, {1}};
    LaunchConfig config = {
        node.gridX,  1,          1, node.threadsX, 1, 1, node.sharedBytes,
        call.stream, &attribute, 1};
    code = api.launchKernelEx(&config, node.function, node.list, node.extra);
  } else {
    code =
        api.launchKernel(node.function, node.gridX, 1, 1, node.threadsX, 1, 1,
                         node.sharedBytes, call.stream, node.list, node.extra);
  }
  return code == result::Success ? Status()
                                 : api.check(code, start.description());
}

std::unique_ptr<Batch> CudaDriver::makeBatch(const LaunchCall *calls,
                                             size_t count) {
  if (!api.graphInstantiate)
    return nullptr;
  auto batch = std::make_unique<GraphBatch>(device);
  return batch->make(calls, count).ok() ? std::move(batch) : nullptr;
}

Status CudaDriver::encodeMap(const MapShape &shape, EncodedMap &map) const {
  if (!api.mapEncode)
    return failure(RL_UNSUPPORTED,
                   "expected a driver for CUDA 12.0 or later, "
                   "which has tensor maps, found one for CUDA ",
                   api.versionName());
  int type = shape.dtype == abi::DType::F16    ? tensor::F16
             : shape.dtype == abi::DType::BF16 ? tensor::BF16
             : shape.dtype == abi::DType::F32  ? tensor::F32
                                               : tensor::U16;
  const uint32_t steps[abi::kMaxMapRank] = {1, 1, 1, 1, 1};
  // Each launch has an address of its own; this one is legal.
  void *anywhere = reinterpret_cast<void *>(uintptr_t(blockAlignment));
  Current current(api, device->context());
  RL_TRY(current.status());
  Result code = api.mapEncode(&map, type, shape.rank, anywhere, shape.sizes,
                              shape.strides + 1, shape.box, steps,
                              tensor::NotInterleaved, tensor::Swizzle128,
                              tensor::Promote128, tensor::ZerosOutside);
  return code == result::Success ? Status()
                                 : api.check(code, "make a tensor map");
}

Status CudaDriver::fill(float *data, uint64_t count, float value,
                        Stream stream) {
  if (count == 0)
    return {};
  uint32_t bits;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  Current current(api, device->context());
  RL_TRY(current.status());
  Result code = api.fill32(toAddress(data), bits, count, stream);
  return code == result::Success
             ? Status()
             : api.check(code, text("fill ", count, " elements"));
}

Status CudaDriver::copyBlock(const CopyPair &pair, const Block &block,
                             Stream stream) {
  Address from = toAddress(pair.source.data + block.source);
  Address to = toAddress(pair.destination.data + block.target);
  Result code;
  if (block.height == 1) {
    code = api.copyOnDevice(to, from, size_t(block.width), stream);
  } else {
    Copy2D shape = {};
    shape.sourceType = shape.targetType = DeviceMemory;
    shape.sourceDevice = from;
    shape.targetDevice = to;
    shape.sourcePitch = size_t(block.sourcePitch);
    shape.targetPitch = size_t(block.targetPitch);
    shape.width = size_t(block.width);
    shape.height = size_t(block.height);
    code = api.copy2D(&shape, stream);
  }
  return code == result::Success
             ? Status()
             : api.check(code, text("copy ", block.height, " rows of ",
                                    block.width, " bytes"));
}

Status CudaDriver::copyAll(const std::vector<CopyPair> &pairs, Stream stream) {
  Current current(api, device->context());
  RL_TRY(current.status());
  std::vector<StridedCopy> copies;
  for (const CopyPair &pair : pairs) {
    std::vector<Axis> axes;
    mergeAxes(pair.source, pair.destination, axes);
    if (!axes.empty() && strided.isThere() && addCopies(pair, copies))
      continue;
    for (const Block &block :
         splitCopy(pair.source, pair.destination, device->properties.maxPitch))
      RL_TRY(copyBlock(pair, block, stream));
  }
  return copies.empty() ? Status() : strided.launch(std::move(copies), stream);
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Status CudaDriver::wait(Stream stream) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Result code = api.streamSynchronize(stream);
  return code == result::Success ? Status()
                                 : api.check(code, "finish the work");
}

Status CudaDriver::check() const {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  // A fault is the device's; any stream tells it, and nobody captures this one.
  Result code = api.streamQuery(uploads);
  return code == result::NotReady
             ? Status()
             : api.check(code, "go on: a kernel that was queued has failed");
}

void CudaDriver::finish() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (current.ok())
    (void)api.ctxSynchronize();
}

Status CudaDriver::isCaptured(Stream stream, bool &captured) {
  Current current(api, device->context());
  RL_TRY(current.status());
  int status = capture::None;
  Result code = api.streamIsCapturing(stream, &status);
  captured = status != capture::None;
  return code == result::Success ? Status()
                                 : api.check(code, "look at the stream");
}

Queue CudaDriver::identify(Stream stream) const {
  if (!api.streamGetId)
    return stream;
  Current current(api, device->context());
  int status = capture::None;
  unsigned long long number = 0;
  if (!current.ok() ||
      api.streamIsCapturing(stream, &status) != result::Success ||
      status != capture::None ||
      api.streamGetId(stream, &number) != result::Success)
    return stream;
  return {stream, number};
}

Status CudaDriver::allocateOn(Stream stream, uint64_t bytes, char *&block) {
  if (!pool)
    return allocate(bytes, block);
  Current current(api, device->context());
  RL_TRY(current.status());
  Address address = 0;
  Result code = api.allocFromPool(&address, bytes, pool, stream);
  if (code != result::Success)
    return api.check(code, text("allocate ", bytes, " bytes"));
  block = toPointer(address);
  return {};
}

void CudaDriver::releaseOn(Stream stream, char *block, uint64_t bytes) {
  if (!pool)
    return release(block, bytes);
  Current current(api, device->context());
  if (current.ok())
    (void)api.freeAsync(toAddress(block), stream);
}

uint64_t CudaDriver::orderedBytes() const {
  uint64_t bytes = 0;
  Current current(api, device->context());
  if (!pool || !current.ok() ||
      api.poolGetAttribute(pool, pool::ReservedNow, &bytes) != result::Success)
    return 0;
  return bytes;
}

void CudaDriver::trim() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!pool || !current.ok())
    return;
  // What runs have let go of but not finished with cannot be given back.
  (void)api.ctxSynchronize();
  (void)api.poolTrimTo(pool, 0);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

Status rt::makeCudaDriver(const rl_context_options &options,
                          std::unique_ptr<Driver> &driver) {
  const Api *api = nullptr;
  RL_TRY(Api::get(api));
  std::shared_ptr<const Device> device;
  RL_TRY(Device::open(*api, options.device, device));
  auto made = std::make_unique<CudaDriver>(std::move(device));
  RL_TRY(made->start(options.memory_limit));
  driver = std::move(made);
  return {};
}

Status rt::countCudaDevices(uint32_t &count) {
  const Api *api = nullptr;
  RL_TRY(Api::get(api));
  int found = 0;
  RL_TRY(cuda::countDevices(*api, found));
  count = uint32_t(found);
  return {};
}

Status rt::describeCudaDevice(uint32_t index, rl_device &device) {
  const Api *api = nullptr;
  RL_TRY(Api::get(api));
  Properties properties;
  int ordinal = int(std::min<uint32_t>(index, INT32_MAX));
  RL_TRY(readProperties(*api, ordinal, properties));
  auto put = [](const std::string &string, char *place, size_t size) {
    std::strncpy(place, string.c_str(), size - 1);
  };
  put(properties.name, device.name, sizeof(device.name));
  put(properties.machine.architecture(), device.architecture,
      sizeof(device.architecture));
  device.memory_bytes = properties.memoryBytes;
  device.multiprocessors = uint32_t(properties.multiprocessors);
  return {};
}
