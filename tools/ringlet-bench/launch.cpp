//===- launch.cpp - What a call costs the host ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queues the first entry of artefacts on a GPU, again and again, and prints the
// median time that rl_program_enqueue takes. Then each function of libcuda is
// taken the time of, by itself, so that what is the runtime's can be told from
// what the driver takes. It sees the runtime and nothing else: no Python, no
// compiler.
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/StandardOutput.h"
#include "ringlet/runtime.h"
#include "runtime/src/cuda/Api.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

using namespace ringlet::rt;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void check(rl_status status) {
  if (status == RL_OK)
    return;
  std::fprintf(stderr, "error: %s\n", rl_last_error());
  std::exit(1);
}

//===----------------------------------------------------------------------===//
// The clock beside the driver
//===----------------------------------------------------------------------===//

/// What a function of libcuda took, all calls together.
struct Taken {
  const char *symbol;
  uint64_t calls;
  double time;
};
std::vector<Taken> taken;

/// Takes the time of one member of cuda::Api.
template <auto Member>
struct Timed;
template <typename... Parameters,
          cuda::Result (*cuda::Api::*Member)(Parameters...)>
struct Timed<Member> {
  static inline cuda::Result (*original)(Parameters...) = nullptr;
  static inline size_t row = 0;

  static cuda::Result call(Parameters... parameters) {
    Clock::time_point begin = Clock::now();
    cuda::Result result = original(parameters...);
    taken[row].time += microseconds(Clock::now() - begin);
    ++taken[row].calls;
    return result;
  }
  static void insert(cuda::Api &api, const char *symbol) {
    if (!(api.*Member))
      return;
    original = api.*Member;
    row = taken.size();
    taken.push_back({symbol, 0, 0});
    api.*Member = call;
  }
};

void timeDriver() {
  const cuda::Api *api = nullptr;
  if (!cuda::Api::get(api).ok())
    return;
  // The runtime's own table: it is no constant, only nobody else's to change.
  auto &table = const_cast<cuda::Api &>(*api);
#define RL_CUDA(member, symbol, parameters)                                    \
  Timed<&cuda::Api::member>::insert(table, #symbol);
#include "runtime/src/cuda/Symbols.def"
}

/// What reading the clock twice takes.
double clockTime() {
  Clock::time_point begin = Clock::now(), end = begin;
  for (int i = 0; i < 10000; ++i)
    end = Clock::now();
  return microseconds(end - begin) / 10000;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The first entry of an artefact with tensors of its own.
class Entry {
public:
  Entry(rl_context *context, const char *path, int64_t length)
      : context(context) {
    check(rl_program_load_file(context, path, &program));
    uint32_t count = rl_program_argument_count(program, 0);
    tensors.resize(count);
    sizes.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      rl_argument argument = RL_ARGUMENT_INIT;
      check(rl_program_argument(program, 0, i, &argument));
      uint64_t bytes = rl_dtype_size(argument.dtype);
      for (int32_t axis = 0; axis < argument.rank; ++axis) {
        int64_t size = argument.sizes[axis];
        sizes[i].push_back(size == -1 ? length : size);
        bytes *= uint64_t(sizes[i].back());
      }
      void *data = nullptr;
      check(rl_memory_allocate(context, bytes, &data));
      std::vector<char> zeros(bytes);
      check(rl_memory_copy(context, data, zeros.data(), bytes, RL_TO_DEVICE));
      tensors[i] = RL_TENSOR_INIT(data, argument.dtype, argument.rank,
                                  sizes[i].data(), nullptr);
      // As embedders do that know.
      tensors[i].memory = RL_MEMORY_CUDA;
    }
  }
  Entry(const Entry &) = delete;
  ~Entry() {
    rl_program_destroy(program);
    for (const rl_tensor &tensor : tensors)
      check(rl_memory_release(context, tensor.data));
  }

  void queue() const {
    check(rl_program_enqueue(program, 0, tensors.data(),
                             uint32_t(tensors.size()), nullptr));
  }
  /// Waits: a full queue would let the host wait for the device.
  void settle() const {
    char byte;
    check(rl_memory_copy(context, &byte, tensors[0].data, 1, RL_FROM_DEVICE));
  }

private:
  rl_context *context;
  rl_program *program = nullptr;
  std::vector<rl_tensor> tensors;
  std::vector<std::vector<int64_t>> sizes;
};

constexpr int batches = 100, batch = 40;

/// Calls in batches, each batch on an empty queue; the median of all but the
/// first of each.
double medianOfCalls(const Entry &entry) {
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    entry.settle();
    entry.queue();
    for (int j = 0; j < batch; ++j) {
      Clock::time_point begin = Clock::now();
      entry.queue();
      times.push_back(microseconds(Clock::now() - begin));
    }
  }
  entry.settle();
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return times[times.size() / 2];
}

void printDriverCalls(const Entry &entry) {
  double clock = clockTime();
  std::vector<Taken> sums;
  for (const Taken &each : taken)
    sums.push_back({each.symbol, 0, 0});
  for (int i = 0; i < batches; ++i) {
    entry.settle();
    entry.queue();
    for (Taken &each : taken)
      each.calls = 0, each.time = 0;
    for (int j = 0; j < batch; ++j)
      entry.queue();
    for (size_t row = 0; row < taken.size(); ++row) {
      sums[row].calls += taken[row].calls;
      sums[row].time += taken[row].time;
    }
  }
  entry.settle();
  for (const Taken &each : sums)
    if (each.calls)
      std::printf("  %-28s %5.2f calls %6.2f us\n", each.symbol,
                  double(each.calls) / (batches * batch),
                  (each.time - double(each.calls) * clock) / (batches * batch));
}

} // namespace

int main(int argc, char **argv) {
  ringlet::requireStandardOutput();
  if (argc < 3 || std::atoll(argv[1]) < 1) {
    std::fprintf(stderr, "usage: ringlet-launch-bench LENGTH ARTEFACT...\n"
                         "LENGTH: what dynamic sizes are\n");
    return 2;
  }
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.driver = "cuda";
  rl_context *context = nullptr;
  check(rl_context_create(&options, &context));
  std::vector<std::unique_ptr<Entry>> entries;
  for (int i = 2; i < argc; ++i)
    entries.push_back(
        std::make_unique<Entry>(context, argv[i], std::atoll(argv[1])));
  std::vector<double> medians;
  for (const auto &entry : entries)
    medians.push_back(medianOfCalls(*entry));
  timeDriver();
  for (size_t i = 0; i < entries.size(); ++i) {
    std::printf("%-40s %6.2f us, of which by the driver, on average:\n",
                argv[2 + i], medians[i]);
    printDriverCalls(*entries[i]);
  }
  entries.clear();
  rl_context_destroy(context);
  return 0;
}
