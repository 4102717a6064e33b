//===- Context.cpp - A device with its memory ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"

#include "cpu/CpuDriver.h"
#include "cuda/CudaDriver.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

using namespace ringlet::rt;

static Status unknownDriver(const std::string &name) {
  return failure(RL_UNAVAILABLE, "expected the driver 'cpu' or 'cuda', found '",
                 name, "'");
}

Status ringlet::rt::makeDriver(const std::string &name,
                               const rl_context_options &options,
                               std::unique_ptr<Driver> &driver) {
  if (name == "cpu")
    return makeCpuDriver(options, driver);
  if (name == "cuda")
    return makeCudaDriver(options, driver);
  return unknownDriver(name);
}

Status ringlet::rt::countDevices(const std::string &name, uint32_t &count) {
  if (name == "cpu") {
    count = 1;
    return {};
  }
  return name == "cuda" ? countCudaDevices(count) : unknownDriver(name);
}

Status ringlet::rt::describeDevice(const std::string &name, uint32_t index,
                                   rl_device &device) {
  if (name == "cpu")
    return describeCpu(index, device);
  if (name == "cuda")
    return describeCudaDevice(index, device);
  return unknownDriver(name);
}

Status Driver::encodeMap(const MapShape &, EncodedMap &) const {
  return failure(RL_UNSUPPORTED, "the ", name(), " driver has no tensor maps");
}

Status Driver::fill(float *data, uint64_t count, float value, Stream) {
  std::fill_n(data, count, value);
  return {};
}

Status Driver::transfer(void *to, const void *from, uint64_t bytes, Transfer) {
  std::memcpy(to, from, bytes);
  return {};
}

Status Driver::upload(char *to, const void *from, uint64_t bytes) {
  return transfer(to, from, bytes, Transfer::ToDevice);
}

Status MessageQueue::copy(void *to, const void *from, uint64_t bytes,
                          const Driver &) {
  if (bytes > 0)
    std::memcpy(to, from, bytes);
  return {};
}

Status Driver::share(char *data, std::string &name) const {
  name = text(::getpid(), " ", reinterpret_cast<uintptr_t>(data));
  return {};
}

Status MessageQueue::push(const std::string &name, const void *from,
                          uint64_t bytes, uint64_t offset) {
  char *end = nullptr;
  auto process = pid_t(std::strtol(name.c_str(), &end, 10));
  auto target = uintptr_t(std::strtoull(end, nullptr, 10) + offset);
  auto source = reinterpret_cast<uintptr_t>(from);
  while (bytes > 0) {
    iovec there = {reinterpret_cast<void *>(target), size_t(bytes)};
    iovec here = {reinterpret_cast<void *>(source), size_t(bytes)};
    ssize_t count = ::process_vm_writev(process, &here, 1, &there, 1, 0);
    if (count <= 0)
      return failure(RL_UNAVAILABLE, "cannot write to memory of process ",
                     process, ": ", std::strerror(errno));
    target += uintptr_t(count);
    source += uintptr_t(count);
    bytes -= uint64_t(count);
  }
  return {};
}

Status Driver::openMessages(std::unique_ptr<MessageQueue> &queue) {
  queue = std::make_unique<MessageQueue>();
  return {};
}

static bool isOfHost(rl_memory memory) {
  return memory == RL_MEMORY_UNKNOWN || memory == RL_MEMORY_HOST ||
         memory == RL_MEMORY_CUDA_HOST || memory == RL_MEMORY_CUDA_MANAGED;
}

Status Driver::checkHostPlace(const void *, const Place &place) const {
  if (isOfHost(place.memory))
    return {};
  return invalid("expected memory of the host, found memory of GPU ",
                 place.device);
}

Status Driver::checkPlace(const void *data, const Place &place) const {
  return Driver::checkHostPlace(data, place);
}

Context::Context(const rl_context_options &options,
                 const rl_allocator &allocator,
                 std::unique_ptr<Driver> ownDriver)
    : logger(options.log, options.log_user, options.log_level),
      driver(std::move(ownDriver)),
      target(options.target ? options.target : ""), memory(*driver, allocator),
      account(options.memory_limit), workspaces(*driver, memory, account),
      tables(*driver, memory, account) {}

Status Context::create(const rl_context_options &options,
                       const rl_allocator &allocator,
                       std::shared_ptr<Context> &context) {
  if (options.flags != 0)
    return invalid("expected flags 0, found ", options.flags);
  RL_TRY(checkLogLevel(options.log_level));
  RL_TRY(MemorySource::validate(allocator));
  std::unique_ptr<Driver> driver;
  RL_TRY(makeDriver(options.driver ? options.driver : "cpu", options, driver));
  context.reset(new Context(options, allocator, std::move(driver)));
  context->logger.log(RL_LOG_INFO, "context on driver ",
                      context->driver->name(), ", ",
                      context->driver->description(), ", ",
                      context->driver->threads(), " threads");
  return {};
}

void Context::trim() {
  workspaces.trim();
  tables.trim();
}

void Context::fill(rl_stats &stats) const {
  stats.threads = driver->threads();
  stats.runs = runs;
  stats.launches = launches;
  // What the driver holds in stream order is not in the account once it is let
  // go.
  stats.memory_bytes = account.used() + driver->orderedBytes();
  stats.peak_memory_bytes = std::max(account.peak(), stats.memory_bytes);
  stats.workspace_bytes = workspaces.held();
  stats.table_bytes = tables.held();
  stats.tables_built = tables.built();
}
