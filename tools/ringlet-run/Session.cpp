//===- Session.cpp - One run of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Session.h"

#include "lib/Tensor/SafetensorsHeader.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Format.h"
#include "ringlet/abi/Verify.h"
#include "tools/ringlet-run/Graph.h"
#include "tools/ringlet-run/Interpreted.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace ringlet;
using namespace ringlet::run;

bool Session::fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  exitCode = code;
  return false;
}

bool Session::failRuntime(const std::string &what) {
  return fail(kRefused, (what.empty() ? "" : what + ": ") + rl_last_error());
}

static std::string formatBytes(uint64_t bytes) {
  if (bytes < 10240)
    return formatText("{} bytes", bytes);
  if (bytes < (uint64_t(10) << 20))
    return formatText("{:.1f} KiB", double(bytes) / 1024);
  return formatText("{:.1f} MiB", double(bytes) / (1 << 20));
}

/// 1234567 as "1,234,567".
static std::string formatCount(double value) {
  std::string digits = formatText("{}", int64_t(value));
  for (size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

//===----------------------------------------------------------------------===//
// Artefact
//===----------------------------------------------------------------------===//

bool Session::loadArtifact() {
  std::string error = abi::readFile(options.artifact, bytes);
  if (!error.empty())
    return fail(kBadUsage, error);
  abi::Payload payload;
  error = abi::openContainer(bytes.data(), bytes.size(), payload);
  if (error.empty())
    error = abi::verifyArtifact(payload.data, payload.size, artifact);
  if (!error.empty())
    return fail(kRefused, options.artifact + ": " + error);

  rl_context_options contextOptions = RL_CONTEXT_OPTIONS_INIT;
  contextOptions.threads = options.threads;
  contextOptions.driver = options.driver.c_str();
  contextOptions.device = int32_t(options.device);
  contextOptions.target =
      options.target.empty() ? nullptr : options.target.c_str();
  rl_context *newContext = nullptr;
  if (rl_context_create(&contextOptions, &newContext) != RL_OK)
    return failRuntime("cannot start");
  context.reset(newContext);
  rl_program *newProgram = nullptr;
  if (rl_program_load(context.get(), bytes.data(), bytes.size(), &newProgram) !=
      RL_OK)
    return failRuntime(options.artifact);
  program.reset(newProgram);

  uint32_t count = rl_program_entry_count(program.get());
  std::string list;
  for (uint32_t i = 0; i < count; ++i)
    list +=
        (i ? ", " : "") + std::string(rl_program_entry_name(program.get(), i));
  if (options.entry.empty() && count != 1)
    return fail(kBadUsage,
                formatText("expected --entry to name one of {} entries: {}",
                           count, list));
  if (!options.entry.empty() &&
      rl_program_find_entry(program.get(), options.entry.c_str(), &entry) !=
          RL_OK)
    return fail(kBadUsage, "expected --entry to name one of " + list +
                               ", found '" + options.entry + "'");
  function = artifact->functions()->Get(entry);

  std::printf("artefact   %s, %s, %s\n", options.artifact.c_str(),
              formatBytes(bytes.size()).c_str(),
              rl_program_compiler(program.get()));
  rl_stats stats = RL_STATS_INIT;
  rl_context_stats(context.get(), &stats);
  std::printf("target     %s, ", rl_program_target(program.get()));
  rl_device device = RL_DEVICE_INIT;
  if (options.driver == "cpu")
    std::printf("%u threads\n", stats.threads);
  else if (rl_device_describe(options.driver.c_str(), options.device,
                              &device) == RL_OK)
    std::printf("%s\n", describe(device).c_str());
  else
    return failRuntime("cannot describe the device");
  std::printf("entry      %s\n", signature().c_str());
  if (graph())
    for (const std::string &line : describeGraph(*graph()))
      std::printf("attention  %s\n", line.c_str());
  if (options.explain)
    std::fputs(rl_program_explain(program.get(), entry), stdout);
  return true;
}

std::string Session::signature() const {
  std::string text = function->name()->str() + "(";
  bool outputs = false;
  uint32_t count = rl_program_argument_count(program.get(), entry);
  for (uint32_t i = 0; i < count; ++i) {
    rl_argument argument = RL_ARGUMENT_INIT;
    rl_program_argument(program.get(), entry, i, &argument);
    if (argument.is_output && !outputs) {
      text += ") -> (";
      outputs = true;
    } else if (i) {
      text += ", ";
    }
    text += std::string(argument.name) + ": ";
    for (int32_t axis = 0; axis < argument.rank; ++axis)
      text += (argument.sizes[axis] == RL_DYNAMIC
                   ? "?"
                   : formatText("{}", argument.sizes[axis])) +
              "x";
    text += rl_dtype_name(argument.dtype);
  }
  return text + ")";
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int32_t ringlet::run::toRuntime(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return RL_F16;
  case DType::bf16:
    return RL_BF16;
  case DType::f32:
    return RL_F32;
  case DType::f64:
    return RL_F64;
  case DType::i1:
    return RL_BOOL;
  case DType::i32:
    return RL_I32;
  case DType::i64:
    return RL_I64;
  case DType::f8E4M3FN:
    return RL_F8E4M3FN;
  case DType::i8:
    return RL_I8;
  }
  return 0;
}

static rl_tensor bind(Tensor &tensor) {
  rl_tensor result = {};
  result.data = tensor.data();
  result.dtype = toRuntime(tensor.dtype());
  result.rank = tensor.rank();
  result.sizes = tensor.shape().data();
  return result;
}

bool Session::bindInputs() {
  Safetensors file;
  if (!options.in.empty()) {
    std::string error;
    auto read = readSafetensors(options.in, &error);
    if (!read)
      return fail(kBadUsage, error);
    file = std::move(*read);
  }
  std::string found;
  for (const NamedTensor &tensor : file.tensors)
    found += (found.empty() ? "" : ", ") + quoteForMessage(tensor.name);

  uint32_t count = rl_program_argument_count(program.get(), entry);
  for (uint32_t i = 0; i < count; ++i) {
    rl_argument argument = RL_ARGUMENT_INIT;
    rl_program_argument(program.get(), entry, i, &argument);
    names.push_back(argument.name);
    if (argument.is_output)
      continue;
    if (options.in.empty())
      return fail(kBadUsage,
                  "expected --in=FILE with the input '" + names.back() + "'");
    auto tensor = std::find_if(
        file.tensors.begin(), file.tensors.end(),
        [&](const NamedTensor &item) { return item.name == names.back(); });
    if (auto other = file.others.find(names.back()); other != file.others.end())
      return fail(kBadUsage, options.in +
                                 ": expected dtype F16, BF16, F32, F64, BOOL, "
                                 "I32, I64, F8_E4M3 or I8 of tensor " +
                                 quoteForMessage(other->first) + ", found " +
                                 quoteForMessage(other->second));
    if (tensor == file.tensors.end())
      return fail(kBadUsage, options.in + ": expected a tensor '" +
                                 names.back() + "', found " +
                                 (found.empty() ? "none" : found));
    tensors.push_back(std::move(tensor->tensor));
    file.tensors.erase(tensor);
  }
  inputCount = static_cast<uint32_t>(tensors.size());
  for (const NamedTensor &tensor : file.tensors)
    file.others.emplace(tensor.name, "");
  for (const auto &other : file.others)
    std::fprintf(stderr, "note: %s: %s is no input of the entry\n",
                 options.in.c_str(), quoteForMessage(other.first).c_str());
  for (Tensor &tensor : tensors)
    bound.push_back(bind(tensor));
  return true;
}

bool Session::allocateOutputs() {
  uint32_t outputs = static_cast<uint32_t>(names.size()) - inputCount;
  std::vector<int64_t> sizes(size_t(outputs) * RL_MAX_RANK + 1);
  if (rl_program_output_sizes(program.get(), entry, bound.data(), inputCount,
                              sizes.data()) != RL_OK)
    return failRuntime("");
  for (uint32_t i = 0; i < outputs; ++i) {
    rl_argument argument = RL_ARGUMENT_INIT;
    rl_program_argument(program.get(), entry, inputCount + i, &argument);
    auto dtype = fromAbi(static_cast<abi::DType>(argument.dtype));
    if (!dtype)
      return fail(kRefused, "output '" + names[inputCount + i] + "' is of " +
                                rl_dtype_name(argument.dtype) +
                                ", which safetensors files here do not hold");
    const int64_t *first = sizes.data() + size_t(i) * RL_MAX_RANK;
    std::string error;
    auto tensor =
        Tensor::create(*dtype, Shape(first, first + argument.rank), &error);
    if (!tensor)
      return fail(kRefused, "output '" + names[inputCount + i] + "': " + error);
    tensors.push_back(std::move(*tensor));
  }
  // Moving a tensor keeps its memory, but not its shape's.
  bound.clear();
  for (Tensor &tensor : tensors)
    bound.push_back(bind(tensor));
  return true;
}

bool Session::placeTensors() {
  ring.emplace(options, bytes, *function, entry);
  // Ranks place their parts themselves.
  if (options.driver == "cpu" || ring->isAsked())
    return true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor &tensor = tensors[i];
    // Numbers for the plan stay with the host.
    if (i < inputCount && tensor.rank() == 0 && tensor.dtype() == DType::i64)
      continue;
    auto bytes = uint64_t(tensor.bytes());
    // An element that no kernel writes shall not look like a result.
    if (i >= inputCount)
      std::memset(tensor.data(), 0xff, bytes);
    placed.emplace_back(context.get(), i, bytes);
    if (!placed.back().data() ||
        rl_memory_copy(context.get(), placed.back().data(), tensor.data(),
                       bytes, RL_TO_DEVICE) != RL_OK)
      return failRuntime("cannot place '" + names[i] + "' on the device");
    bound[i].data = placed.back().data();
  }
  return true;
}

bool Session::fetchOutputs() {
  for (const DeviceMemory &memory : placed) {
    if (memory.argument() < inputCount)
      continue;
    if (rl_memory_copy(context.get(), tensors[memory.argument()].data(),
                       memory.data(), memory.bytes(), RL_FROM_DEVICE) != RL_OK)
      return failRuntime("cannot fetch '" + names[memory.argument()] + "'");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

double run::now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Session::runOnRing() {
  if (ring->isOne() && options.check)
    return fail(kNotCheckable, "--check: expected --ranks=N, which has all "
                               "rows here, found one rank of torchrun's");
  std::printf("ring       %lld ranks\n",
              static_cast<long long>(ring->rankCount()));
  if (options.explain)
    for (const std::string &line : ring->explain(tensors))
      std::printf("ring       %s\n", line.c_str());
  std::fflush(stdout);
  std::string error = ring->writePlot(tensors);
  if (error.empty())
    error = ring->run(tensors, inputCount, options.repeat);
  if (error.empty())
    std::printf("transport  %s\n", ring->transport.c_str());
  if (error.empty())
    error = ring->writeTrace();
  if (!error.empty())
    return fail(kRefused, error);
  if (!options.trace.empty())
    std::printf("trace      %s\n", options.trace.c_str());
  if (!options.plot.empty())
    std::printf("plot       %s\n", options.plot.c_str());
  printTimes(ring->times);
  return true;
}

bool Session::run() {
  if (options.ranks > 0 && !ring->canExchange())
    return fail(kBadUsage, "--ranks: expected an entry with sharded tensors, "
                           "found '" +
                               function->name()->str() + "'");
  for (const char *option : {options.trace.empty() ? "" : "--trace",
                             options.plot.empty() ? "" : "--plot"})
    if (*option && !ring->isAsked())
      return fail(kBadUsage,
                  std::string(option) +
                      ": expected --ranks, or the environment of torchrun, and "
                      "an entry with sharded tensors");
  if (!options.transport.empty() && !(ring->isAsked() && ring->isOne()))
    return fail(kBadUsage, "--transport: expected the environment of torchrun, "
                           "whose ranks are processes");
  if (ring->isAsked())
    return runOnRing();
  auto count = static_cast<uint32_t>(bound.size());
  rl_estimate estimate = RL_ESTIMATE_INIT;
  if (rl_program_estimate(program.get(), entry, bound.data(), count,
                          &estimate) != RL_OK)
    return failRuntime("");
  std::printf("memory     %s of workspace, %s of scratch, %s of tables; %llu "
              "launches%s\n",
              formatBytes(estimate.workspace_bytes).c_str(),
              formatBytes(estimate.scratch_bytes).c_str(),
              formatBytes(estimate.table_bytes).c_str(),
              static_cast<unsigned long long>(estimate.launches),
              estimate.fallbacks ? (formatText(", {} left to slower kernels",
                                               estimate.fallbacks))
                                       .c_str()
                                 : "");
  std::fflush(stdout);

  std::vector<double> times;
  uint32_t warmup = options.repeat > 1 ? 1 : 0;
  double start = now();
  for (uint32_t i = 0; i < options.repeat + warmup; ++i) {
    double begin = now();
    if (rl_program_run(program.get(), entry, bound.data(), count) != RL_OK)
      return failRuntime("");
    double end = now();
    if (i >= warmup)
      times.push_back(end - begin);
    if (end - start > 2 && i + 1 < options.repeat + warmup)
      std::fprintf(stderr, "\rrun %u of %u", i + 1 - warmup, options.repeat);
  }
  if (now() - start > 2 && options.repeat > 1)
    std::fprintf(stderr, "\r%40s\r", "");
  printTimes(times);
  return true;
}

void Session::printTimes(std::vector<double> times) const {
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  double median = times.size() % 2 ? times[middle]
                                   : (times[middle - 1] + times[middle]) / 2;
  std::printf("time       %.3f ms", median * 1e3);
  if (times.size() > 1)
    std::printf(" median of %zu runs (%.3f to %.3f)", times.size(),
                times.front() * 1e3, times.back() * 1e3);
  std::vector<TensorView> views;
  for (const Tensor &tensor : tensors)
    views.push_back(tensor.view());
  int64_t tokens = graph() ? countTokens(*graph(), views) : 0;
  if (tokens && median > 0)
    std::printf(", %s tokens/s", formatCount(double(tokens) / median).c_str());
  std::printf("\n");
}

bool Session::writeOutputs() {
  if (options.out.empty())
    return true;
  Safetensors file;
  for (size_t i = inputCount; i < tensors.size(); ++i)
    file.tensors.push_back({names[i], Tensor::copyOf(tensors[i].view())});
  std::string error;
  if (!writeSafetensors(options.out, file, &error))
    return fail(kBadUsage, error);
  std::printf("outputs    %s\n", options.out.c_str());
  return true;
}

bool Session::check() {
  if (!options.check)
    return true;
  bool allWritten = true;
  if (!checkWritten(allWritten))
    return false;
  CheckReport report;
  std::string error = compare(allWritten, report);
  // What is not written is wrong, whatever the rest should be.
  if (!error.empty() && allWritten)
    return fail(kNotCheckable, "--check: " + error);
  for (const std::string &line : report.lines)
    std::printf("check      %s\n", line.c_str());
  report.ok &= allWritten;
  std::printf("check      %s\n", report.ok ? "passed" : "FAILED");
  if (!report.ok)
    exitCode = kCheckFailed;
  return report.ok;
}

std::string Session::compare(bool allWritten, CheckReport &report) {
  std::fflush(stdout);
  if (!graph() || !graph()->values() || !graph()->nodes()) {
    if (!artifact->source() || ring->isAsked())
      return formatText(
          "all of the outputs is written, but the artefact does not say what "
          "'{}' computes: expected a graph of ringlet operations, or a plan "
          "written by hand and run by one rank",
          function->name()->str());
    return checkInterpreted({artifact->source()->str(), function->name()->str(),
                             options.interpreter, options.checkSeconds,
                             inputCount, !allWritten},
                            names, tensors, report);
  }
  std::vector<TensorView> views;
  for (const Tensor &tensor : tensors)
    views.push_back(tensor.view());
  std::vector<uint32_t> outputs;
  for (size_t i = inputCount; i < tensors.size(); ++i)
    outputs.push_back(static_cast<uint32_t>(i));
  Reference reference(*artifact, *graph(), views, options.threads,
                      options.checkSeconds);
  return reference.check(outputs, report);
}
