//===- Execute.cpp - A prepared call, run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

using namespace ringlet;
using namespace ringlet::rt;

std::string Call::needs() const {
  return text("needs ", totalBytes, " bytes (workspace ", workspaceBytes,
              ", scratch ", scratchBytes, ", order tables ", tableBytes, ")");
}

Status Call::obtain(Stream stream, bool captured, Workspace &workspace) {
  Context &context = *program.context;
  if (totalBytes > context.account.maximum())
    return failed(failure(RL_OUT_OF_MEMORY, needs(), ", the memory limit is ",
                          context.account.maximum()));
  uint64_t block;
  if (!roundUp(workspaceBytes, 64, block) ||
      __builtin_add_overflow(block, scratchBytes, &block))
    return failed(failure(RL_OUT_OF_MEMORY, needs()));

  // Idle memory of other shapes may stand in the way: give it back, once.
  for (bool trimmed : {false, true}) {
    bool overLimit = false;
    Status status;
    tables.assign(tableUses.size(), nullptr);
    for (uint32_t i = 0; i < tableUses.size() && status.ok(); ++i)
      status =
          context.tables.get(tableUses[i].key, tables[i], overLimit, !captured);
    if (status.ok())
      status = context.workspaces.acquire(block, stream, workspace, overLimit);
    if (status.ok())
      return {};
    // To free memory is to wait, which a capture does not allow.
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

Status Call::execute(Stream stream) {
  Context &context = *program.context;
  bool captured = false;
  RL_TRY(context.driver->isCaptured(stream, captured));
  Workspace workspace;
  RL_TRY(obtain(stream, captured, workspace));
  if (captured)
    program.keep(tables);
  for (uint32_t i = 0; i < lifetimes.size(); ++i)
    buffers[workspaceBuffers[i]].data = workspace.data() + lifetimes[i].offset;
  for (uint32_t i = 0; i < tables.size(); ++i)
    // Kernels only read it: the verifier has seen to that.
    buffers[tableUses[i].buffer].data =
        const_cast<char *>(tables[i]->upload.data());
  for (const Address &address : addresses)
    words[address.word] =
        int64_t(reinterpret_cast<intptr_t>(buffers[address.buffer].data));

  uint64_t scratchOffset = 0;
  (void)roundUp(workspaceBytes, 64, scratchOffset);
  for (const Step &step : steps) {
    Status status;
    if (step.kind == Step::LaunchStep) {
      const Launch &launch = launches[step.index];
      const KernelEntry &kernel = program.kernel(launch.kernel);
      LaunchCall call = {
          kernel.code,  words.data() + launch.firstWord,  launch.wordCount,
          launch.items, workspace.data() + scratchOffset, kernel.scratchBytes,
          stream};
      status = context.driver->launch(call);
    } else {
      const Copy &copy = copies[step.index];
      status = context.driver->copy(buffers[copy.source],
                                    buffers[copy.destination], stream);
    }
    if (!status.ok())
      return failed(status);
  }
  context.runs.fetch_add(1, std::memory_order_relaxed);
  context.launches.fetch_add(launches.size(), std::memory_order_relaxed);
  if (context.logger.wants(RL_LOG_DEBUG))
    context.logger.log(RL_LOG_DEBUG, "ran '", entry.function->name()->str(),
                       "': ", launches.size(), " launches, ", needs());
  return {};
}
