//===- cuda/Launch.cpp - Kernels one by one or as a graph ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

Status KernelStart::set(const Api &api, const LaunchCall &call) {
  const auto &found = *static_cast<const Kernel *>(call.kernel);
  auto blocks = unsigned(call.items);
  if (found.blocksPerMultiprocessor) {
    uint32_t taken = call.spared < found.multiprocessors
                         ? found.multiprocessors - call.spared
                         : 1;
    blocks = std::min(blocks, found.blocksPerMultiprocessor * taken);
  }
  kernel = {found.function,    blocks,  1,      1, found.threads, 1, 1,
            found.sharedBytes, nullptr, nullptr};
  early = found.startsEarly && call.follows;
  if (!call.mapCount) {
    // The words are the parameters, one after the other: no list of pointers.
    bytes = call.paramCount * sizeof(int64_t);
    packed[0] = launch::Buffer;
    packed[1] = const_cast<int64_t *>(call.params);
    packed[2] = launch::BufferBytes;
    packed[3] = &bytes;
    packed[4] = launch::End;
    kernel.extra = packed;
    return {};
  }
  // Maps are one parameter in front of them. Where it lies is the compiler's
  // choice, as the first place of parameters is a multiple of 16 bytes only:
  // the driver knows. Maps of a call are shared by all runs of its shape: each
  // run gives addresses to a copy.
  for (uint32_t i = 0; i < call.mapCount; ++i) {
    maps[i] = call.maps[i];
    Result code = api.mapReplaceAddress(&maps[i], call.mapAddresses[i]);
    if (code != result::Success)
      return api.check(code,
                       text("point tensor map ", i, " to address ",
                            reinterpret_cast<uintptr_t>(call.mapAddresses[i])));
  }
  places[0] = maps;
  for (uint32_t i = 0; i < call.paramCount; ++i)
    places[1 + i] = const_cast<int64_t *>(call.params + i);
  kernel.list = places;
  return {};
}

std::string KernelStart::description() const {
  return text("start a kernel of ", kernel.gridX, " blocks of ",
              kernel.threadsX, " threads with ", kernel.sharedBytes,
              " bytes of shared memory");
}

//===----------------------------------------------------------------------===//
// All kernels of a run
//===----------------------------------------------------------------------===//

GraphBatch::~GraphBatch() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok())
    return;
  // A graph that still runs goes when it has ended.
  if (ready)
    (void)api.graphExecDestroy(ready);
  if (graph)
    (void)api.graphDestroy(graph);
}

bool GraphBatch::Member::has(const LaunchCall &call) const {
  return std::equal(words.begin(), words.end(), call.params,
                    call.params + call.paramCount) &&
         std::equal(mapAddresses.begin(), mapAddresses.end(), call.mapAddresses,
                    call.mapAddresses + call.mapCount);
}

void GraphBatch::Member::take(const LaunchCall &call) {
  words.assign(call.params, call.params + call.paramCount);
  mapAddresses.assign(call.mapAddresses, call.mapAddresses + call.mapCount);
}

Status GraphBatch::make(const LaunchCall *calls, size_t count) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  RL_TRY(api.check(api.graphCreate(&graph, 0), "make a graph"));
  members.resize(count);
  for (size_t i = 0; i < count; ++i) {
    KernelStart start;
    RL_TRY(start.set(api, calls[i]));
    RL_TRY(add(start, i ? &members[i - 1].node : nullptr, members[i].node));
    members[i].take(calls[i]);
  }
  return api.check(api.graphInstantiate(&ready, graph, 0),
                   text("make a graph of ", count, " kernels ready"));
}

Status GraphBatch::add(const KernelStart &start, const NodeHandle *before,
                       NodeHandle &node) {
  bool isEarly = before && start.isEarly() && api.graphAddEdges;
  bool waits = before && !isEarly;
  RL_TRY(api.check(api.graphAddKernel(&node, graph, waits ? before : nullptr,
                                      waits, &start.node()),
                   "add a kernel to a graph"));
  if (!isEarly)
    return {};
  const EdgeData edge = {edge::OfBlocks, 0, edge::EarlyStart, {}};
  return api.check(api.graphAddEdges(graph, before, &node, &edge, 1),
                   "let a kernel of a graph start early");
}

Status GraphBatch::launch(const LaunchCall *calls, size_t count) {
  Current current(api, device->context());
  RL_TRY(current.status());
  for (size_t i = 0; i < count; ++i) {
    if (members[i].has(calls[i]))
      continue;
    KernelStart start;
    RL_TRY(start.set(api, calls[i]));
    Result code = api.graphSetKernel(ready, members[i].node, &start.node());
    if (code != result::Success)
      return api.check(code, "give parameters to a kernel of a graph");
    members[i].take(calls[i]);
  }
  Result code = api.graphLaunch(ready, calls->stream);
  return code == result::Success
             ? Status()
             : api.check(code, text("start a graph of ", count, " kernels"));
}
