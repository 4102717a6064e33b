//===- Execute.cpp - A call, checked and run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Maps.h"
#include "RingSteps.h"
#include "RunQueues.h"

#include <algorithm>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;

Status Call::failed(const Status &status) const {
  return failure(status.code(), "entry '", entry.function->name()->str(),
                 "': ", status.message());
}

/// All that prepare() reads of the arguments.
static void writeKey(const abi::Function &function,
                     const std::vector<TensorView> &arguments,
                     std::vector<int64_t> &key) {
  key.clear();
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const TensorView &view = arguments[i];
    key.insert(key.end(), view.sizes, view.sizes + view.rank);
    key.insert(key.end(), view.strides, view.strides + view.rank);
    key.push_back(isAligned(view.data));
    // Where a number lies does not matter, only which one it is.
    if (isHostScalar(*function.arguments()->Get(i)))
      std::memcpy(&key.back(), view.data, sizeof(int64_t));
  }
}

Status Call::prepare(const rl_tensor *tensors, uint32_t count,
                     Binding binding) {
  if (!entry.plan)
    return failed(invalid("expected a program loaded into a context, found one "
                          "that can be inspected only"));
  RL_TRY(bindTensors(*entry.function, tensors, count, binding,
                     program.context->driver.get(), lists->arguments));
  return prepareArguments();
}

Status Call::prepare(const std::vector<TensorView> &tensors) {
  lists->arguments = tensors;
  return prepareArguments();
}

RingPlace Call::ringPlace() const {
  return ring ? RingPlace{ring->rank(), ring->ranks()} : RingPlace();
}

Status Call::prepareArguments() {
  writeKey(*entry.function, lists->arguments, lists->key);
  lists->key.insert(lists->key.end(), {ringPlace().rank, ringPlace().ranks});
  shape = entry.prepared->find(lists->key);
  if (!shape) {
    RL_TRY(rt::prepare(program, entry, lists->arguments, ringPlace(),
                       InputCopies::Allowed, shape));
    entry.prepared->insert(lists->key, shape);
  }
  return {};
}

void Call::fill(rl_estimate &estimate) const {
  estimate.workspace_bytes = shape->workspaceBytes + shape->counterBytes;
  estimate.scratch_bytes = shape->scratchBytes;
  estimate.table_bytes = shape->tableBytes;
  estimate.total_bytes = shape->totalBytes;
  estimate.launches = shape->launches.size();
  estimate.fallbacks = shape->fallbacks;
  estimate.run_bytes = shape->runBytes;
}

Status Call::fillRing(rl_estimate &estimate) {
  place(Workspace());
  RingSteps ringSteps(program, entry, ring);
  for (const Prepared::ExchangeUse &use : shape->exchanges) {
    uint64_t bytes = 0;
    Status status =
        ringSteps.estimate(use.step, placedBuffers(), use.offset, bytes);
    if (!status.ok())
      return failed(status);
    estimate.ring_bytes += bytes;
  }
  estimate.total_bytes += estimate.ring_bytes;
  return {};
}

std::string Call::needs() const {
  return text("needs ", shape->totalBytes, " bytes (workspace ",
              shape->workspaceBytes + shape->counterBytes, ", scratch ",
              shape->scratchBytes, ", tables ", shape->tableBytes, ")");
}

Status Call::obtainTables(bool captured, bool &overLimit) {
  tables.assign(shape->tableUses.size(), nullptr);
  for (uint32_t i = 0; i < tables.size(); ++i)
    RL_TRY(program.context->tables.get(shape->tableUses[i].key, tables[i],
                                       overLimit, !captured,
                                       shape->tableUses[i].fill));
  return {};
}

Status Call::borrow(const Queue &queue, char *block, uint64_t bytes,
                    Workspace &workspace) {
  if (reinterpret_cast<uintptr_t>(block) % RL_ALIGNMENT != 0)
    return failed(invalid("expected a workspace at a multiple of ",
                          RL_ALIGNMENT, " bytes, found ",
                          static_cast<const void *>(block)));
  if (bytes < shape->runBytes)
    return failed(failure(RL_OUT_OF_MEMORY, "expected a workspace of at least ",
                          shape->runBytes,
                          " bytes (rl_estimate.run_bytes), found ", bytes));
  Context &context = *program.context;
  bool captured = false, overLimit = false;
  if (!shape->tableUses.empty())
    RL_TRY(context.driver->isCaptured(queue.stream, captured));
  Status status = obtainTables(captured, overLimit);
  if (!status.ok())
    return failed(failure(status.code(), needs(), "; ", status.message()));
  if (captured)
    program.keep(tables);
  return context.workspaces.borrow(block, shape->runBytes, queue, workspace,
                                   shape->counterBytes > 0);
}

Status Call::obtain(const Queue &queue, Workspace &workspace) {
  Context &context = *program.context;
  // To ask takes time, only tables outlive what is queued, and a queue that has
  // a number is not captured.
  bool captured = false;
  if (!shape->tableUses.empty() && !queue.number)
    RL_TRY(context.driver->isCaptured(queue.stream, captured));
  if (shape->totalBytes > context.account.maximum())
    return failed(failure(RL_OUT_OF_MEMORY, needs(), ", the memory limit is ",
                          context.account.maximum()));
  // Idle memory of other shapes may stand in the way: give it back, once.
  for (bool trimmed : {false, true}) {
    bool overLimit = false;
    Status status = obtainTables(captured, overLimit);
    if (status.ok())
      status = context.workspaces.acquire(shape->blockBytes, queue, workspace,
                                          overLimit, shape->counterBytes > 0);
    if (status.ok()) {
      if (captured)
        program.keep(tables);
      return {};
    }
    // To free memory is to wait, which a capture does not allow.
    if (!trimmed)
      RL_TRY(context.driver->isCaptured(queue.stream, captured));
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

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Call::runCopy(const Prepared::Copy &copy, Stream stream) {
  RL_TRY(start());
  CopyPair pair = {shape->buffers[copy.source],
                   shape->buffers[copy.destination]};
  pair.source.data = lists->places[copy.source];
  pair.destination.data = lists->places[copy.destination];
  return program.context->driver->copy(pair, stream);
}

void Call::runLaunch(const Prepared::Launch &launch, char *scratch,
                     Stream stream) {
  const KernelEntry &kernel = program.kernel(launch.kernel);
  lists->launches.push_back(
      {kernel.code, lists->words.data() + launch.firstWord, launch.wordCount,
       shape->maps.data() + launch.firstMap,
       lists->mapAddresses.data() + launch.firstMap, launch.mapCount,
       launch.items, scratch, kernel.scratchBytes, stream,
       /*follows=*/!lists->launches.empty(), spared});
}

std::vector<TensorView> Call::placedBuffers() const {
  std::vector<TensorView> tensors = shape->buffers;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    tensors[i].data = lists->places[i];
  return tensors;
}

Status Call::runRing(RingSteps &ringSteps, const Prepared::Step &step,
                     Stream stream) {
  RL_TRY(start());
  RingSteps::Tensors tensors = placedBuffers();
  if (step.kind == Prepared::Step::AttendStep)
    return ringSteps.attend(
        *entry.plan->steps()->Get(step.index)->action_as_Attend(), tensors,
        stream);
  const Prepared::ExchangeUse &use = shape->exchanges[step.index];
  return ringSteps.exchange(use.step, tensors, use.offset, stream);
}

/// Launches wait in a list, to be started at once, until something else comes.
Status Call::runSteps(RunQueues &queues, RingSteps &ringSteps, char *scratch) {
  for (uint32_t i = 0; i < shape->steps.size(); ++i) {
    if (queues.isApart(i)) {
      RL_TRY(start());
      RL_TRY(queues.enter(i));
    }
    const Prepared::Step &step = shape->steps[i];
    if (step.kind == Prepared::Step::LaunchStep)
      runLaunch(shape->launches[step.index], scratch, queues.streamOf(i));
    else if (step.kind == Prepared::Step::CopyStep)
      RL_TRY(runCopy(shape->copies[step.index], queues.streamOf(i)));
    else
      RL_TRY(runRing(ringSteps, step, queues.streamOf(i)));
    if (queues.isAwaited(i)) {
      RL_TRY(start());
      RL_TRY(queues.leave(i));
    }
  }
  return {};
}

Status Call::start(Batch *batch) {
  const std::vector<LaunchCall> &launches = lists->launches;
  if (batch)
    return batch->launch(launches.data(), launches.size());
  for (const LaunchCall &launch : launches)
    RL_TRY(program.context->driver->launch(launch));
  lists->launches.clear();
  return {};
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static int64_t toWord(const char *address) {
  return int64_t(reinterpret_cast<intptr_t>(address));
}

void Call::place(const Workspace &workspace) {
  std::vector<char *> &places = lists->places;
  places.clear();
  for (const TensorView &buffer : shape->buffers)
    places.push_back(buffer.data);
  for (const Prepared::ArgumentUse &use : shape->argumentUses)
    places[use.buffer] = lists->arguments[use.argument].data;
  for (uint32_t i = 0; i < shape->lifetimes.size(); ++i)
    places[shape->workspaceBuffers[i]] =
        workspace.data() + shape->lifetimes[i].offset;
  for (uint32_t i = 0; i < tables.size(); ++i)
    // Kernels only read it: the verifier has seen to that.
    places[shape->tableUses[i].buffer] =
        const_cast<char *>(tables[i]->upload.data());

  std::vector<int64_t> &words = lists->words;
  words = shape->words;
  for (const Prepared::Address &address : shape->addresses)
    words[address.word] = toWord(places[address.buffer]);
  for (const Prepared::Step &step : shape->steps) {
    if (step.kind != Prepared::Step::LaunchStep)
      continue;
    const Prepared::Launch &launch = shape->launches[step.index];
    if (launch.countsItems)
      words[launch.firstWord + launch.wordCount - 1] =
          toWord(workspace.counter(step.queue));
  }
  lists->mapAddresses.clear();
  for (uint32_t buffer : shape->mapBuffers)
    lists->mapAddresses.push_back(places[buffer]);
}

Status Call::execute(Stream stream, char *ownWorkspace, uint64_t ownBytes) {
  Context &context = *program.context;
  Queue queue = context.driver->identify(stream);
  Workspace workspace;
  auto take = [&] {
    return ownWorkspace ? borrow(queue, ownWorkspace, ownBytes, workspace)
                        : obtain(queue, workspace);
  };
  Status obtained = take();
  if (obtained.code() == RL_OUT_OF_MEMORY && shape->copiesInputs) {
    RL_TRY(rt::prepare(program, entry, lists->arguments, ringPlace(),
                       InputCopies::None, shape));
    obtained = take();
  }
  RL_TRY(obtained);
  place(workspace);

  lists->launches.clear();
  // Before the workspace: its memory is free when all queues are done.
  RunQueues queues(*context.driver, queue.stream, shape->steps);
  RingSteps ringSteps(program, entry, ring);
  Status status = queues.open();
  if (status.ok())
    status =
        runSteps(queues, ringSteps, workspace.data() + shape->scratchOffset);
  if (!status.ok())
    return failed(status);
  // A batch is of all steps of one queue: where something else came in between,
  // of none. It has all multiprocessors.
  BatchCache::Use use;
  Batch *batch = nullptr;
  if (!queues.areSeveral() && spared == 0 && !lists->launches.empty() &&
      lists->launches.size() == shape->steps.size())
    batch = shape->batches->find(*context.driver, queue, lists->launches, use);
  status = start(batch);
  if (status.ok())
    status = queues.join();
  if (!status.ok())
    return failed(status);
  size_t launches = shape->launches.size();
  context.runs.fetch_add(1, std::memory_order_relaxed);
  context.launches.fetch_add(launches, std::memory_order_relaxed);
  if (context.logger.wants(RL_LOG_DEBUG))
    context.logger.log(RL_LOG_DEBUG, "ran '", entry.function->name()->str(),
                       "': ", launches, " launches, ", needs());
  return {};
}
