//===- Block.cpp - A block of GPU threads on the CPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>
#include <vector>

using namespace ringlet::emulated;

namespace {

constexpr unsigned warpSize = 32;
constexpr size_t stackBytes = 256 << 10, sharedBytes = 256 << 10;
/// Kernels take shared memory to lie below 2^32: the value of a constant in
/// host_code.py.
char *const shared = reinterpret_cast<char *>(0x50000000);

/// A copy to shared memory that nobody has waited for.
struct Copy {
  char *to;
  char bytes[16];
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  std::vector<Copy> copies;
  bool isDone;
};

/// What the lanes of a warp hand over. A lane is at most one exchange ahead of
/// the others, hence two places for what they give.
struct Warp {
  unsigned arrived = 0, turn = 0;
  uint32_t given[2][warpSize][6];
};

struct Block {
  ucontext_t caller;
  Thread threads[mostThreads];
  Warp warps[mostThreads / warpSize];
  unsigned count, number, current;
  unsigned arrived, turn;
  bool anyGiven[2];
  const Kernel *kernel;
  const uint64_t *parameters;
};

Block block;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "emulated kernel '%s', block %u, thread %u: %s\n",
               block.kernel->name, block.number, block.current, what);
  std::_Exit(1);
}

/// The next thread that has not ended, `count` if there is none.
unsigned findNext() {
  unsigned step = block.number % 2 ? block.count - 1 : 1;
  unsigned next = block.current;
  for (unsigned i = 0; i < block.count; ++i) {
    next = (next + step) % block.count;
    if (!block.threads[next].isDone)
      return next;
  }
  return block.count;
}

void letOthersRun() {
  unsigned own = block.current, next = findNext();
  if (next == own)
    fail("waits for threads that have ended");
  block.current = next;
  swapcontext(&block.threads[own].context, &block.threads[next].context);
  block.current = own;
}

void waitForTurn(unsigned &arrived, unsigned &turn, unsigned expected) {
  unsigned own = turn;
  if (++arrived == expected) {
    arrived = 0;
    ++turn;
    return;
  }
  while (turn == own)
    letOthersRun();
}

/// Whether instructions of a kind do nothing, as RINGLET_EMULATED_WITHOUT says:
/// a kernel that is right without them would be right by luck with them.
bool lacks(const char *kind) {
  static const char *const without = std::getenv("RINGLET_EMULATED_WITHOUT");
  return without && !std::strcmp(without, kind);
}

unsigned lane() { return block.current % warpSize; }

/// Gives words to the warp; returns what all its lanes have given.
using Given = const uint32_t (*)[6];
Given exchange(std::initializer_list<uint32_t> words) {
  Warp &warp = block.warps[block.current / warpSize];
  auto &given = warp.given[warp.turn % 2];
  std::copy(words.begin(), words.end(), given[lane()]);
  waitForTurn(warp.arrived, warp.turn, warpSize);
  return given;
}

template <typename To, typename From>
To bitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

uint32_t toShared(const void *address) {
  auto offset = static_cast<const char *>(address) - shared;
  if (offset < 0 || offset % 16 || size_t(offset) + 16 > sharedBytes)
    fail("expected 16 bytes of shared memory at a multiple of 16");
  return static_cast<uint32_t>(offset);
}

double fromHalf(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31)
    value = fraction ? NAN : INFINITY;
  return half >> 15 ? -value : value;
}

double element(uint32_t word, int half, bool isHalf) {
  auto bits = static_cast<uint16_t>(word >> 16 * half);
  return isHalf ? fromHalf(bits) : bitsOf<float>(uint32_t(bits) << 16);
}

template <size_t... I>
void call(std::index_sequence<I...>) {
  using Code = void (*)(decltype(I, uint64_t())...);
  reinterpret_cast<Code>(block.kernel->code)(block.parameters[I]...);
}

void runThread() {
  call(std::make_index_sequence<mostParameters>());
  block.threads[block.current].isDone = true;
  unsigned next = findNext();
  if (next == block.count)
    setcontext(&block.caller);
  block.current = next;
  setcontext(&block.threads[next].context);
}

} // namespace

void ringlet::emulated::runBlock(const Kernel &kernel,
                                 const uint64_t *parameters, unsigned number,
                                 unsigned threads) {
  static void *const memory =
      mmap(shared, sharedBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  block.kernel = &kernel;
  block.parameters = parameters;
  block.number = number;
  block.count = threads;
  block.current = block.arrived = block.turn = 0;
  if (memory != shared || threads > mostThreads || threads % warpSize)
    fail("expected whole warps, and shared memory at its place");
  std::memset(shared, 0xFF, sharedBytes);
  for (unsigned i = 0; i < threads; ++i) {
    Thread &thread = block.threads[i];
    block.warps[i / warpSize] = Warp();
    thread.isDone = false;
    thread.copies.clear();
    if (!thread.stack)
      thread.stack = std::make_unique<char[]>(stackBytes);
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = stackBytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, runThread, 0);
  }
  swapcontext(&block.caller, &block.threads[0].context);
}

//===----------------------------------------------------------------------===//
// What kernels call: prelude.ll and host_code.py have the names
//===----------------------------------------------------------------------===//

extern "C" {

uint32_t gpu_thread() { return block.current; }
uint32_t gpu_block() { return block.number; }

void gpu_barrier() {
  if (!lacks("barriers"))
    waitForTurn(block.arrived, block.turn, block.count);
}
void gpu_warp_barrier() { exchange({}); }

/// A barrier that says whether a thread had `value`.
uint8_t gpu_barrier_or(uint8_t value) {
  bool &any = block.anyGiven[block.turn % 2];
  any = (block.arrived > 0 && any) || value != 0;
  gpu_barrier();
  return any;
}

uint8_t gpu_any(uint8_t value) {
  Given given = exchange({value});
  for (unsigned i = 0; i < warpSize; ++i)
    if (given[i][0])
      return 1;
  return 0;
}

uint32_t gpu_shuffle(uint32_t value, uint32_t distance) {
  return exchange({value})[lane() ^ distance][0];
}

/// 16 bytes, of which the first `count` are those of `from`, the others 0. They
/// are there when the thread has waited.
void gpu_copy_async(void *to, const void *from, uint32_t count) {
  Copy copy = {static_cast<char *>(to), {}};
  toShared(to);
  if (count && reinterpret_cast<uintptr_t>(from) % 16)
    fail("expected a copy from a multiple of 16 bytes");
  std::memcpy(copy.bytes, from, count);
  block.threads[block.current].copies.push_back(copy);
}

void gpu_wait_copies() {
  if (lacks("waits"))
    return;
  std::vector<Copy> &copies = block.threads[block.current].copies;
  for (const Copy &copy : copies)
    std::memcpy(copy.to, copy.bytes, sizeof copy.bytes);
  copies.clear();
}

/// Row l mod 8 of matrix l / 8 is at the address of lane l.
void gpu_load_matrices(const void *row, uint32_t isTransposed, uint32_t *out) {
  Given rows = exchange({toShared(row)});
  unsigned outer = lane() / 4, pair = lane() % 4 * 2;
  for (unsigned matrix = 0; matrix < 4; ++matrix)
    for (unsigned i = 0; i < 2; ++i) {
      unsigned line = isTransposed ? pair + i : outer;
      unsigned column = isTransposed ? outer : pair + i;
      std::memcpy(reinterpret_cast<char *>(out + matrix) + 2 * i,
                  shared + rows[8 * matrix + line][0] + 2 * column, 2);
    }
}

/// Sums of products have as many binary digits as RINGLET_EMULATED_DIGITS says,
/// and what is below the last one is cut off, as GPUs do: with few of them, a
/// sum of a few hundred terms loses what one of a million does there.
static float cut(double sum) {
  static const char *const digits = std::getenv("RINGLET_EMULATED_DIGITS");
  if (!digits || sum == 0 || !std::isfinite(sum))
    return static_cast<float>(sum);
  int exponent;
  double fraction = std::frexp(sum, &exponent),
         unit = std::ldexp(1, std::atoi(digits));
  return static_cast<float>(
      std::ldexp(std::trunc(fraction * unit) / unit, exponent));
}

/// m16n8k16; `words` holds four of A and two of B.
void gpu_multiply(const uint32_t *words, uint32_t isHalf, float *sums) {
  Given given =
      exchange({words[0], words[1], words[2], words[3], words[4], words[5]});
  unsigned row = lane() / 4, pair = lane() % 4 * 2;
  for (unsigned i = 0; i < 4; ++i) {
    double sum = 0;
    for (unsigned k = 0; k < 16; ++k) {
      unsigned source = k % 8 / 2, high = k / 8;
      uint32_t a = given[4 * row + source][i / 2 + 2 * high];
      uint32_t b = given[4 * (pair + i % 2) + source][4 + high];
      sum += element(a, k % 2, isHalf) * element(b, k % 2, isHalf);
    }
    sums[i] = cut(sums[i] + sum);
  }
}

/// m16n8k8 of numbers whose last 13 digits do not count.
void gpu_multiply_tf32(const uint32_t *words, float *sums) {
  Given given =
      exchange({words[0], words[1], words[2], words[3], words[4], words[5]});
  auto element = [](uint32_t word) {
    uint32_t bits = word & 0xffffe000u;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
  };
  unsigned row = lane() / 4, pair = lane() % 4 * 2;
  for (unsigned i = 0; i < 4; ++i) {
    double sum = 0;
    for (unsigned k = 0; k < 8; ++k) {
      unsigned source = k % 4, high = k / 4;
      sum += element(given[4 * row + source][i / 2 + 2 * high]) *
             element(given[4 * (pair + i % 2) + source][4 + high]);
    }
    sums[i] = cut(sums[i] + sum);
  }
}

float gpu_exp2(float x) {
  auto flush = [](float y) { return std::fabs(y) < 0x1p-126f ? 0 : y; };
  return flush(std::exp2(flush(x)));
}
float gpu_divide(float a, float b) { return a / b; }

} // extern "C"
