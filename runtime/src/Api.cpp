//===- Api.cpp - The C API ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thin: check pointers, keep exceptions inside, remember messages.
//
//===----------------------------------------------------------------------===//

#include "ApiSupport.h"
#include "Call.h"

#include "abi/Lists.h"
#include "ringlet/abi/Verify.h"

#include <cstddef>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;
using abi::sizeOf;

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static thread_local std::string lastError;
/// Stands in for lastError where there is no memory for a message.
static thread_local bool lostError = false;

rl_status rt::report(const Status &status) noexcept {
  if (status.ok())
    return RL_OK;
  try {
    lastError = status.message();
    lostError = false;
  } catch (...) {
    lostError = true;
  }
  return status.code();
}

void rt::reportLost() noexcept { lostError = true; }

rl_version rl_abi_version(void) { return {RL_ABI_MAJOR, RL_ABI_MINOR}; }

const char *rl_last_error(void) {
  return lostError ? "out of memory" : lastError.c_str();
}

const char *rl_status_name(rl_status status) {
  switch (status) {
  case RL_OK:
    return "ok";
  case RL_INVALID_ARGUMENT:
    return "invalid argument";
  case RL_BAD_ARTIFACT:
    return "bad artefact";
  case RL_UNAVAILABLE:
    return "unavailable";
  case RL_UNSUPPORTED:
    return "unsupported";
  case RL_OUT_OF_MEMORY:
    return "out of memory";
  case RL_DEVICE_ERROR:
    return "device error";
  case RL_PEER_ERROR:
    return "peer error";
  case RL_IO_ERROR:
    return "input/output error";
  case RL_INTERNAL_ERROR:
    return "internal error";
  }
  return "unknown status";
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

rl_status rl_context_create(const rl_context_options *options,
                            rl_context **out_context) {
  if (out_context)
    *out_context = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_context);
    rl_context_options complete = RL_CONTEXT_OPTIONS_INIT;
    if (options)
      RL_TRY(readStruct("rl_context_options", *options, complete));
    rl_allocator allocator = RL_ALLOCATOR_INIT;
    if (complete.allocator)
      RL_TRY(readStruct("rl_allocator", *complete.allocator, allocator));
    auto context = std::make_unique<rl_context>();
    RL_TRY(Context::create(complete, allocator, context->impl));
    *out_context = context.release();
    return {};
  });
}

void rl_context_destroy(rl_context *context) { delete context; }

rl_status rl_context_set_log(rl_context *context, uint32_t level,
                             rl_log_callback log, void *user) {
  return guarded([&]() -> Status {
    RL_EXPECT(context);
    RL_TRY(checkLogLevel(level));
    context->impl->logger.replace(log, user, level);
    return {};
  });
}

rl_status rl_context_stats(const rl_context *context, rl_stats *out_stats) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_stats);
    RL_TRY(clearStruct("rl_stats", out_stats));
    RL_EXPECT(context);
    rl_stats stats = RL_STATS_INIT;
    context->impl->fill(stats);
    writeStruct(stats, out_stats);
    return {};
  });
}

rl_status rl_context_check(const rl_context *context) {
  return guarded([&]() -> Status {
    RL_EXPECT(context);
    return context->impl->driver->check();
  });
}

rl_status rl_context_trim(rl_context *context) {
  return guarded([&]() -> Status {
    RL_EXPECT(context);
    context->impl->trim();
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Devices and their memory
//===----------------------------------------------------------------------===//

rl_status rl_device_count(const char *driver, uint32_t *out_count) {
  if (out_count)
    *out_count = 0;
  return guarded([&]() -> Status {
    RL_EXPECT(out_count);
    return countDevices(driver ? driver : "cpu", *out_count);
  });
}

rl_status rl_device_describe(const char *driver, uint32_t index,
                             rl_device *out_device) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_device);
    RL_TRY(clearStruct("rl_device", out_device));
    rl_device device = RL_DEVICE_INIT;
    RL_TRY(describeDevice(driver ? driver : "cpu", index, device));
    writeStruct(device, out_device);
    return {};
  });
}

rl_status rl_memory_allocate(rl_context *context, uint64_t bytes,
                             void **out_memory) {
  if (out_memory)
    *out_memory = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_memory);
    RL_EXPECT(context);
    char *block = nullptr;
    // A block of nothing has an address, too.
    RL_TRY(
        context->impl->driver->allocate(std::max<uint64_t>(bytes, 1), block));
    *out_memory = block;
    return {};
  });
}

rl_status rl_memory_release(rl_context *context, void *memory) {
  return guarded([&]() -> Status {
    RL_EXPECT(context);
    if (memory)
      context->impl->driver->release(static_cast<char *>(memory), 0);
    return {};
  });
}

rl_status rl_memory_copy(rl_context *context, void *to, const void *from,
                         uint64_t bytes, rl_transfer transfer) {
  return guarded([&]() -> Status {
    RL_EXPECT(context);
    if (bytes == 0)
      return {};
    RL_EXPECT(to);
    RL_EXPECT(from);
    switch (transfer) {
    case RL_TO_DEVICE:
      return context->impl->driver->transfer(to, from, bytes,
                                             Transfer::ToDevice);
    case RL_FROM_DEVICE:
      return context->impl->driver->transfer(to, from, bytes,
                                             Transfer::FromDevice);
    case RL_ON_DEVICE:
      return context->impl->driver->transfer(to, from, bytes,
                                             Transfer::OnDevice);
    }
    return invalid("expected a transfer from ", int(RL_TO_DEVICE), " to ",
                   int(RL_ON_DEVICE), ", found ", int(transfer));
  });
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

static Status loadProgram(rl_context *context, const void *bytes, size_t size,
                          rl_program **out_program) {
  auto program = std::make_unique<rl_program>();
  std::unique_ptr<Program> loaded;
  RL_TRY(Program::load(context ? context->impl : nullptr, bytes, size, loaded));
  program->impl = std::move(loaded);
  *out_program = program.release();
  return {};
}

rl_status rl_program_load(rl_context *context, const void *bytes, size_t size,
                          rl_program **out_program) {
  if (out_program)
    *out_program = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_program);
    RL_EXPECT(bytes);
    return loadProgram(context, bytes, size, out_program);
  });
}

rl_status rl_program_load_file(rl_context *context, const char *path,
                               rl_program **out_program) {
  if (out_program)
    *out_program = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_program);
    RL_EXPECT(path);
    std::vector<uint8_t> bytes;
    std::string error = abi::readFile(path, bytes);
    if (!error.empty())
      return Status(RL_IO_ERROR, error);
    Status status =
        loadProgram(context, bytes.data(), bytes.size(), out_program);
    if (status.ok())
      return status;
    return failure(status.code(), "'", path, "': ", status.message());
  });
}

void rl_program_destroy(rl_program *program) { delete program; }

const char *rl_dtype_name(int32_t dtype) {
  if (dtype < 0 || dtype > int32_t(abi::DType::MAX))
    return "none";
  return abi::dtypeName(abi::DType(dtype));
}

size_t rl_dtype_size(int32_t dtype) {
  if (dtype < 0 || dtype > int32_t(abi::DType::MAX))
    return 0;
  return abi::dtypeSize(abi::DType(dtype));
}

static_assert(
    RL_F16 == int(abi::DType::F16) && RL_BF16 == int(abi::DType::BF16) &&
        RL_F32 == int(abi::DType::F32) && RL_F64 == int(abi::DType::F64) &&
        RL_I8 == int(abi::DType::I8) && RL_U8 == int(abi::DType::U8) &&
        RL_I16 == int(abi::DType::I16) && RL_I32 == int(abi::DType::I32) &&
        RL_I64 == int(abi::DType::I64) && RL_BOOL == int(abi::DType::Bool) &&
        RL_F8E4M3FN == int(abi::DType::F8E4M3FN),
    "rl_dtype mirrors abi::DType");
static_assert(RL_MAX_RANK == abi::kMaxRank, "and the rank its limit");

static const char *orEmpty(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

/// Null where there is no such entry.
static const Entry *findEntry(const rl_program *program, uint32_t index) {
  if (!program || index >= program->impl->publicCount())
    return nullptr;
  return &program->impl->entries()[index];
}

uint32_t rl_program_entry_count(const rl_program *program) {
  return program ? uint32_t(program->impl->publicCount()) : 0;
}

const char *rl_program_entry_name(const rl_program *program, uint32_t entry) {
  const Entry *found = findEntry(program, entry);
  return found ? found->function->name()->c_str() : nullptr;
}

uint32_t rl_program_argument_count(const rl_program *program, uint32_t entry) {
  const Entry *found = findEntry(program, entry);
  return found ? sizeOf(found->function->arguments()) : 0;
}

uint32_t rl_program_target_count(const rl_program *program) {
  return program ? sizeOf(program->impl->artifact().code_objects()) : 0;
}

const char *rl_program_target_name(const rl_program *program, uint32_t index) {
  if (index >= rl_program_target_count(program))
    return nullptr;
  return program->impl->artifact()
      .code_objects()
      ->Get(index)
      ->target()
      ->c_str();
}

const char *rl_program_target(const rl_program *program) {
  return program ? program->impl->target().c_str() : "";
}

const char *rl_program_compiler(const rl_program *program) {
  return program ? orEmpty(program->impl->artifact().compiler()) : "";
}

const char *rl_program_module_name(const rl_program *program) {
  return program ? orEmpty(program->impl->artifact().module_name()) : "";
}

const char *rl_program_explain(const rl_program *program, uint32_t entry) {
  const Entry *found = findEntry(program, entry);
  return found ? found->explanation.c_str() : "";
}

rl_status rl_program_find_entry(const rl_program *program, const char *name,
                                uint32_t *out_entry) {
  if (out_entry)
    *out_entry = 0;
  return guarded([&]() -> Status {
    RL_EXPECT(out_entry);
    RL_EXPECT(program);
    RL_EXPECT(name);
    std::string known;
    for (uint32_t i = 0; i < program->impl->publicCount(); ++i) {
      const char *candidate = rl_program_entry_name(program, i);
      if (std::strcmp(candidate, name) == 0) {
        *out_entry = i;
        return {};
      }
      if (i < 16)
        known += text(i ? ", " : "", "'", candidate, "'");
      else if (i == 16)
        known += ", ...";
    }
    return invalid("expected one of the entries ",
                   known.empty() ? "(none)" : known, ", found '", name, "'");
  });
}

Status rt::needEntry(const char *caller, const rl_program *program,
                     uint32_t index, const Entry *&entry) {
  if (!program)
    return invalid(caller, ": expected program, found a null pointer");
  entry = findEntry(program, index);
  if (entry)
    return {};
  return invalid(caller, ": expected an entry below ",
                 program->impl->publicCount(), ", found ", index);
}

Status rt::readRun(const rl_run *given, rl_run &complete) {
  complete = RL_RUN_INIT;
  if (given)
    RL_TRY(readStruct("rl_run", *given, complete));
  if (complete.flags || complete.reserved)
    return invalid("expected rl_run.flags and reserved to be 0, found ",
                   complete.flags, " and ", complete.reserved);
  return {};
}

rl_status rl_program_argument(const rl_program *program, uint32_t entry,
                              uint32_t index, rl_argument *out_argument) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_argument);
    RL_TRY(clearStruct("rl_argument", out_argument));
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_program_argument", program, entry, found));
    uint32_t count = sizeOf(found->function->arguments());
    if (index >= count)
      return invalid("rl_program_argument: expected an argument below ", count,
                     ", found ", index);
    const abi::Argument &argument = *found->function->arguments()->Get(index);
    rl_argument complete = RL_ARGUMENT_INIT;
    complete.name = argument.name()->c_str();
    complete.dtype = int32_t(argument.dtype());
    complete.rank = int32_t(sizeOf(argument.sizes()));
    // The payload is little-endian, as is every host that the CPU driver and
    // any GPU has.
    if (argument.sizes())
      complete.sizes = argument.sizes()->data();
    complete.is_output = argument.is_output();
    complete.layout = orEmpty(argument.layout());
    writeStruct(complete, out_argument);
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

rl_status rl_program_output_sizes(const rl_program *program, uint32_t entry,
                                  const rl_tensor *tensors, uint32_t count,
                                  int64_t *out_sizes) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_sizes);
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_program_output_sizes", program, entry, found));
    size_t outputs = 0;
    for (uint32_t i = 0; i < sizeOf(found->function->arguments()); ++i)
      outputs += found->function->arguments()->Get(i)->is_output();
    std::vector<int64_t> sizes(outputs * RL_MAX_RANK, 0);
    std::copy(sizes.begin(), sizes.end(), out_sizes);
    RL_TRY(outputSizes(*found, tensors, count, sizes.data()));
    std::copy(sizes.begin(), sizes.end(), out_sizes);
    return {};
  });
}

rl_status rl_program_estimate(const rl_program *program, uint32_t entry,
                              const rl_tensor *tensors, uint32_t count,
                              rl_estimate *out_estimate) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_estimate);
    RL_TRY(clearStruct("rl_estimate", out_estimate));
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_program_estimate", program, entry, found));
    Call call(*program->impl, *found);
    RL_TRY(call.prepare(tensors, count, Binding::Shapes));
    rl_estimate estimate = RL_ESTIMATE_INIT;
    call.fill(estimate);
    writeStruct(estimate, out_estimate);
    return {};
  });
}

rl_status rl_program_run(const rl_program *program, uint32_t entry,
                         const rl_tensor *tensors, uint32_t count) {
  return guarded([&]() -> Status {
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_program_run", program, entry, found));
    Call call(*program->impl, *found);
    RL_TRY(call.prepare(tensors, count, Binding::Complete));
    Driver &driver = *program->impl->context->driver;
    RL_TRY(call.execute(driver.ownStream()));
    return driver.wait(driver.ownStream());
  });
}

rl_status rl_program_enqueue(const rl_program *program, uint32_t entry,
                             const rl_tensor *tensors, uint32_t count,
                             const rl_run *run) {
  return guarded([&]() -> Status {
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_program_enqueue", program, entry, found));
    rl_run complete;
    RL_TRY(readRun(run, complete));
    Call call(*program->impl, *found);
    RL_TRY(call.prepare(tensors, count, Binding::Complete));
    return call.execute(complete.stream,
                        static_cast<char *>(complete.workspace),
                        complete.workspace_bytes);
  });
}
