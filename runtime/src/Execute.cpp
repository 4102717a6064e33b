//===- Execute.cpp - A call, checked and run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Maps.h"

#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;

Status Call::failed(const Status &status) const {
  return failure(status.code(), "entry '", entry.function->name()->str(),
                 "': ", status.message());
}

/// All that prepare() reads of the arguments.
static std::vector<int64_t> keyOf(const abi::Function &function,
                                  const std::vector<TensorView> &arguments) {
  std::vector<int64_t> key;
  size_t size = 0;
  for (const TensorView &view : arguments)
    size += view.rank ? 2 * view.rank : 1;
  key.reserve(size);
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const TensorView &view = arguments[i];
    key.insert(key.end(), view.sizes, view.sizes + view.rank);
    key.insert(key.end(), view.strides, view.strides + view.rank);
    if (isHostScalar(*function.arguments()->Get(i))) {
      key.push_back(0);
      std::memcpy(&key.back(), view.data, sizeof(int64_t));
    }
  }
  return key;
}

Status Call::prepare(const rl_tensor *tensors, uint32_t count,
                     Binding binding) {
  if (!entry.plan)
    return failed(invalid("expected a program loaded into a context, got one "
                          "that can be inspected only"));
  RL_TRY(bindTensors(*entry.function, tensors, count, binding, arguments));
  std::vector<int64_t> key = keyOf(*entry.function, arguments);
  shape = entry.prepared->find(key);
  if (!shape) {
    RL_TRY(rt::prepare(program, entry, arguments, shape));
    entry.prepared->insert(std::move(key), shape);
  }
  return binding == Binding::Complete ? checkAddresses() : Status();
}

static bool isAligned(const char *address) {
  return reinterpret_cast<uintptr_t>(address) % abi::kMapAlignment == 0;
}

Status Call::misplaced(const Prepared::Launch &launch, uint32_t buffer,
                       const char *address) const {
  return invalid(
      "kernel '",
      program.artifact().kernels()->Get(launch.kernel)->name()->str(),
      "' expects ", nameOfBuffer(*entry.function, *entry.plan, buffer),
      " at a multiple of ", abi::kMapAlignment, " bytes, got it ",
      reinterpret_cast<uintptr_t>(address) % abi::kMapAlignment,
      " bytes behind one");
}

/// Of launches that nothing can take the place of. Memory of our own always
/// lies well.
Status Call::checkAddresses() const {
  for (const Prepared::Launch &launch : shape->launches)
    for (uint32_t i = 0; launch.fallback < 0 && i < launch.mapCount; ++i) {
      uint32_t index = shape->mapBuffers[launch.firstMap + i];
      const abi::Buffer &buffer = *entry.plan->buffers()->Get(index);
      if (buffer.kind() == abi::BufferKind::Argument &&
          !isAligned(arguments[buffer.index()].data))
        return failed(misplaced(launch, index, arguments[buffer.index()].data));
    }
  return {};
}

void Call::fill(rl_estimate &estimate) const {
  estimate.workspace_bytes = shape->workspaceBytes;
  estimate.scratch_bytes = shape->scratchBytes;
  estimate.table_bytes = shape->tableBytes;
  estimate.total_bytes = shape->totalBytes;
  estimate.launches = shape->launches.size();
}

std::string Call::needs() const {
  return text("needs ", shape->totalBytes, " bytes (workspace ",
              shape->workspaceBytes, ", scratch ", shape->scratchBytes,
              ", order tables ", shape->tableBytes, ")");
}

Status Call::obtain(Stream stream, Workspace &workspace) {
  Context &context = *program.context;
  // To ask takes time, and only tables outlive what is queued.
  bool captured = false;
  if (!shape->tableUses.empty())
    RL_TRY(context.driver->isCaptured(stream, captured));
  if (shape->totalBytes > context.account.maximum())
    return failed(failure(RL_OUT_OF_MEMORY, needs(), ", the memory limit is ",
                          context.account.maximum()));
  uint64_t block;
  if (!roundUp(shape->workspaceBytes, 64, block) ||
      __builtin_add_overflow(block, shape->scratchBytes, &block))
    return failed(failure(RL_OUT_OF_MEMORY, needs()));

  // Idle memory of other shapes may stand in the way: give it back, once.
  for (bool trimmed : {false, true}) {
    bool overLimit = false;
    Status status;
    tables.assign(shape->tableUses.size(), nullptr);
    for (uint32_t i = 0; i < tables.size() && status.ok(); ++i)
      status = context.tables.get(shape->tableUses[i].key, tables[i], overLimit,
                                  !captured);
    if (status.ok())
      status = context.workspaces.acquire(block, stream, workspace, overLimit);
    if (status.ok()) {
      if (captured)
        program.keep(tables);
      return {};
    }
    // To free memory is to wait, which a capture does not allow.
    if (!trimmed)
      RL_TRY(context.driver->isCaptured(stream, captured));
    if (!trimmed && !captured) {
      tables.clear();
      context.trim();
      continue;
    }
    if (!overLimit)
      return failed(failure(status.code(), needs(), "; ", status.message()));
    return failed(failure(RL_OUT_OF_MEMORY, needs(), ", the memory limit is ",
                          context.account.maximum(), ", of which ",
                          context.account.used(), " are in use"));
  }
  return {};
}

Status Call::fill(uint32_t buffer, const std::vector<char *> &places,
                  Stream stream) const {
  // A workspace of f32, as the verifier has seen: its elements follow each
  // other.
  return program.context->driver->fill(
      reinterpret_cast<float *>(places[buffer]),
      uint64_t(elementCount(shape->buffers[buffer])), 1.0f, stream);
}

Status Call::runLaunch(const Prepared::Launch &launch,
                       const std::vector<char *> &places,
                       const std::vector<int64_t> &words, char *scratch,
                       Stream stream) const {
  char *addresses[abi::kMaxMaps];
  for (uint32_t i = 0; i < launch.mapCount; ++i) {
    uint32_t buffer = shape->mapBuffers[launch.firstMap + i];
    addresses[i] = places[buffer];
    if (isAligned(addresses[i]) || launch.fallback < 0)
      continue;
    // Words are dear.
    if (program.context->logger.wants(RL_LOG_DEBUG))
      logFallback(program.context->logger,
                  misplaced(launch, buffer, addresses[i]));
    return fill(uint32_t(launch.fallback), places, stream);
  }
  if (launch.counterOffset >= 0)
    RL_TRY(program.context->driver->fill(
        reinterpret_cast<float *>(
            words[launch.firstWord + launch.wordCount - 1]),
        1, 0.0f, stream));
  const KernelEntry &kernel = program.kernel(launch.kernel);
  return program.context->driver->launch(
      {kernel.code, words.data() + launch.firstWord, launch.wordCount,
       shape->maps.data() + launch.firstMap, addresses, launch.mapCount,
       launch.items, scratch, kernel.scratchBytes, stream});
}

Status Call::runStep(const Prepared::Step &step,
                     const std::vector<char *> &places,
                     const std::vector<int64_t> &words, char *scratch,
                     Stream stream) const {
  switch (step.kind) {
  case Prepared::Step::LaunchStep:
    return runLaunch(shape->launches[step.index], places, words, scratch,
                     stream);
  case Prepared::Step::FillStep:
    return fill(step.index, places, stream);
  case Prepared::Step::CopyStep:
    break;
  }
  const Prepared::Copy &copy = shape->copies[step.index];
  TensorView source = shape->buffers[copy.source];
  TensorView destination = shape->buffers[copy.destination];
  source.data = places[copy.source];
  destination.data = places[copy.destination];
  return program.context->driver->copy(source, destination, stream);
}

Status Call::execute(Stream stream) {
  Context &context = *program.context;
  Workspace workspace;
  RL_TRY(obtain(stream, workspace));

  std::vector<char *> places(shape->buffers.size());
  for (uint32_t i = 0; i < places.size(); ++i)
    places[i] = shape->buffers[i].data;
  for (const Prepared::ArgumentUse &use : shape->argumentUses)
    places[use.buffer] = arguments[use.argument].data;
  for (uint32_t i = 0; i < shape->lifetimes.size(); ++i)
    places[shape->workspaceBuffers[i]] =
        workspace.data() + shape->lifetimes[i].offset;
  for (uint32_t i = 0; i < tables.size(); ++i)
    // Kernels only read it: the verifier has seen to that.
    places[shape->tableUses[i].buffer] =
        const_cast<char *>(tables[i]->upload.data());
  std::vector<int64_t> words = shape->words;
  for (const Prepared::Address &address : shape->addresses)
    words[address.word] =
        int64_t(reinterpret_cast<intptr_t>(places[address.buffer]));
  for (const Prepared::Launch &launch : shape->launches)
    if (launch.counterOffset >= 0)
      words[launch.firstWord + launch.wordCount - 1] = int64_t(
          reinterpret_cast<intptr_t>(workspace.data() + launch.counterOffset));

  uint64_t scratchOffset = 0;
  (void)roundUp(shape->workspaceBytes, 64, scratchOffset);
  for (const Prepared::Step &step : shape->steps) {
    Status status =
        runStep(step, places, words, workspace.data() + scratchOffset, stream);
    if (!status.ok())
      return failed(status);
  }
  size_t launches = shape->launches.size();
  context.runs.fetch_add(1, std::memory_order_relaxed);
  context.launches.fetch_add(launches, std::memory_order_relaxed);
  if (context.logger.wants(RL_LOG_DEBUG))
    context.logger.log(RL_LOG_DEBUG, "ran '", entry.function->name()->str(),
                       "': ", launches, " launches, ", needs());
  return {};
}
