//===- Emulator.cpp - AMX instructions on processors without ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library to be loaded before code with AMX instructions runs. A processor
// that does not know one, or a kernel that does not allow it, raises SIGILL;
// the handler decodes what stands there, does it and goes on behind it. Where
// hardware would fault, as for shapes that do not fit each other, the process
// ends with a message. At the end it says on stderr how many products there
// were, and fails if a thread has kept its registers.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr int registers = 8, maxRows = 16, maxBytes = 64;

struct Register {
  int rows = 0, bytes = 0;
  uint8_t data[maxRows][maxBytes] = {};
};

struct State {
  bool configured = false;
  Register tiles[registers];
};

thread_local State state;
std::atomic<int64_t> products{0}, owners{0};

[[noreturn]] void fail(const char *message) {
  std::fprintf(stderr, "amx emulator: %s\n", message);
  _exit(3);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void release() {
  owners -= state.configured;
  state = State();
}

void configure(const uint8_t *memory) {
  if (memory[0] != 1)
    fail("expected palette 1");
  release();
  for (int i = 0; i < registers; ++i) {
    uint16_t bytes;
    std::memcpy(&bytes, memory + 16 + 2 * i, 2);
    state.tiles[i].bytes = bytes;
    state.tiles[i].rows = memory[48 + i];
    if (bytes > maxBytes || memory[48 + i] > maxRows)
      fail("expected registers of at most 16 rows of 64 bytes");
  }
  state.configured = true;
  ++owners;
}

Register &getTile(int number) {
  if (!state.configured)
    fail("expected a configuration before the first tile register");
  if (number >= registers)
    fail("expected one of 8 tile registers");
  return state.tiles[number];
}

void zero(Register &tile) { std::memset(tile.data, 0, sizeof(tile.data)); }

void load(Register &tile, const uint8_t *memory, int64_t stride) {
  zero(tile);
  for (int row = 0; row < tile.rows; ++row)
    std::memcpy(tile.data[row], memory + row * stride, tile.bytes);
}

void store(const Register &tile, uint8_t *memory, int64_t stride) {
  for (int row = 0; row < tile.rows; ++row)
    std::memcpy(memory + row * stride, tile.data[row], tile.bytes);
}

float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? 0 : value;
}

/// The lower or upper bf16 of the word at `column`.
float getHalf(const uint8_t *row, int column, int half) {
  uint16_t bits;
  std::memcpy(&bits, row + 4 * column + 2 * half, 2);
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return flush(value);
}

void multiply(Register &sum, const Register &a, const Register &b) {
  if (a.rows != sum.rows || b.bytes != sum.bytes || a.bytes != 4 * b.rows)
    fail("expected shapes that fit each other");
  ++products;
  for (int row = 0; row < sum.rows; ++row)
    for (int column = 0; column < sum.bytes / 4; ++column) {
      float halves[2] = {0, 0};
      for (int step = 0; step < a.bytes / 4; ++step)
        for (int half = 0; half < 2; ++half)
          halves[half] = flush(std::fma(getHalf(a.data[row], step, half),
                                        getHalf(b.data[step], column, half),
                                        halves[half]));
      float value;
      std::memcpy(&value, sum.data[row] + 4 * column, 4);
      value = flush(flush(value) + flush(halves[0] + halves[1]));
      std::memcpy(sum.data[row] + 4 * column, &value, 4);
    }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

enum Prefix { NoPrefix = 0, Prefix66 = 1, PrefixF3 = 2, PrefixF2 = 3 };

/// An instruction with a prefix VEX of three bytes in the map 0F38.
class Instruction {
public:
  explicit Instruction(ucontext_t *context) : context(context) {
    at = reinterpret_cast<const uint8_t *>(gregs()[REG_RIP]);
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0)
      fail("expected an AMX instruction");
    extendReg = !(at[1] & 0x80), extendIndex = !(at[1] & 0x40);
    extendBase = !(at[1] & 0x20);
    third = ~at[2] >> 3 & 15;
    prefix = Prefix(at[2] & 3);
    opcode = at[3];
    modrm = at[4];
    at += 5;
    if (!isRegister())
      decodeMemory();
  }

  bool isRegister() const { return modrm >> 6 == 3; }
  int reg() const { return (modrm >> 3 & 7) + 8 * extendReg; }
  int rm() const { return (modrm & 7) + 8 * extendBase; }

  void skip() { gregs()[REG_RIP] = reinterpret_cast<greg_t>(at); }

  uint8_t opcode, modrm;
  Prefix prefix;
  int third;
  uint8_t *memory = nullptr;
  /// The scaled index, which is no part of `memory`.
  int64_t index = 0;

private:
  greg_t *gregs() { return context->uc_mcontext.gregs; }

  int64_t get(int number) {
    static const int names[] = {
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return gregs()[names[number]];
  }

  template <typename T>
  int64_t read() {
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }

  void decodeMemory() {
    int mode = modrm >> 6, base = modrm & 7;
    int64_t address = 0;
    bool hasSib = base == 4, hasBase = true;
    if (hasSib) {
      uint8_t sib = read<uint8_t>();
      base = sib & 7;
      int number = (sib >> 3 & 7) + 8 * extendIndex;
      if (number != 4)
        index = get(number) * (1 << (sib >> 6));
    }
    if (mode == 0 && base == 5) {
      hasBase = false;
      address = read<int32_t>();
      // Without a SIB byte that is an address behind the instruction.
      if (!hasSib)
        address += reinterpret_cast<int64_t>(at);
    }
    if (hasBase)
      address = get(base + 8 * extendBase);
    if (mode == 1)
      address += read<int8_t>();
    if (mode == 2)
      address += read<int32_t>();
    memory = reinterpret_cast<uint8_t *>(address);
  }

  ucontext_t *context;
  const uint8_t *at;
  bool extendReg, extendIndex, extendBase;
};

void execute(Instruction &in) {
  bool isMemory = !in.isRegister();
  if (in.opcode == 0x49 && in.prefix == NoPrefix && isMemory)
    return configure(in.memory + in.index);
  if (in.opcode == 0x49 && in.prefix == NoPrefix && in.modrm == 0xc0)
    return release();
  if (in.opcode == 0x49 && in.prefix == PrefixF2 && !isMemory)
    return zero(getTile(in.reg()));
  if (in.opcode == 0x4b && in.prefix == PrefixF2 && isMemory)
    return load(getTile(in.reg()), in.memory, in.index);
  if (in.opcode == 0x4b && in.prefix == PrefixF3 && isMemory)
    return store(getTile(in.reg()), in.memory, in.index);
  if (in.opcode == 0x5c && in.prefix == PrefixF3 && !isMemory)
    return multiply(getTile(in.reg()), getTile(in.rm()), getTile(in.third));
  fail("expected an instruction that kernels use");
}

void handle(int, siginfo_t *, void *context) {
  Instruction instruction(static_cast<ucontext_t *>(context));
  execute(instruction);
  instruction.skip();
}

__attribute__((constructor)) void install() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

__attribute__((destructor)) void report() {
  if (owners != 0)
    fail("expected every thread to release its tile registers");
  if (products != 0)
    std::fprintf(stderr, "amx emulator: %lld products\n",
                 static_cast<long long>(products));
}

} // namespace
