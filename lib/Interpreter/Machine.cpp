//===- Machine.cpp - State of a run ---------------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/ThreadBlock.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

void interpreter::roundValues(std::vector<float> &values, Kind kind) {
  if (kind == Kind::F16)
    for (float &value : values)
      value = f16ToFloat(floatToF16(value));
  else if (kind == Kind::BF16)
    for (float &value : values)
      value = bf16ToFloat(floatToBF16(value));
}

double interpreter::stickToOdd(double rounded, double error) {
  uint64_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  // Of the two doubles around the exact value one is odd.
  if (error == 0 || !std::isfinite(rounded) || (bits & 1) != 0)
    return rounded;
  return std::nextafter(rounded, error > 0 ? INFINITY : -INFINITY);
}

uint64_t interpreter::mix(uint64_t seed, ArrayRef<int64_t> values) {
  uint64_t state = seed;
  auto stir = [&](uint64_t value) {
    state += value + 0x9e3779b97f4a7c15u;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    state ^= state >> 31;
  };
  stir(0);
  for (int64_t value : values)
    stir(static_cast<uint64_t>(value));
  return state;
}

//===----------------------------------------------------------------------===//
// Run: buffers
//===----------------------------------------------------------------------===//

LogicalResult Run::fail(Operation *op, const Twine &message) {
  error = describe(op) + message.str();
  return failure();
}

LogicalResult Run::reserve(int64_t wanted, Operation *op) {
  if (wanted > options.maxBytes - bytes)
    return fail(op, "expected at most " + Twine(options.maxBytes) +
                        " bytes of memory for the interpreter, found need of " +
                        Twine(wanted) + " beside " + Twine(bytes));
  bytes += wanted;
  return success();
}

LogicalResult Run::allocate(Buffer &buffer, Operation *op) {
  Shape sizes(buffer.sizes.begin(), buffer.sizes.end());
  std::optional<int64_t> count = numBytes(sizes, buffer.dtype);
  if (!count)
    return fail(op, "expected sizes of at least 0 and fewer than 2^63 bytes, "
                    "found " +
                        toString(sizes));
  if (failed(reserve(*count, op)))
    return failure();
  auto &block = memory.emplace_back(new (std::nothrow) char[*count + 1]);
  if (!block)
    return fail(op, "expected " + Twine(*count) +
                        " bytes of free memory, "
                        "found fewer");
  buffer.data = block.get();
  Shape strides = contiguousStrides(sizes);
  buffer.strides.assign(strides.begin(), strides.end());
  // All ones is a NaN in every float type, and -1 in every integer type.
  std::memset(buffer.data, options.poison ? 0xff : 0, *count);
  auto address = reinterpret_cast<uintptr_t>(buffer.data);
  return addShadow(address, address + *count, sizeOf(buffer.dtype), {&buffer},
                   op);
}

static std::optional<DType> dtypeOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return parseDType(text);
}

/// First and one past the last byte of a buffer, if addresses hold them.
static bool extentOf(const Buffer &buffer, uintptr_t &begin, uintptr_t &end) {
  auto base = static_cast<__int128>(reinterpret_cast<uintptr_t>(buffer.data));
  __int128 low = 0, high = 0;
  for (auto [size, stride] : llvm::zip(buffer.sizes, buffer.strides)) {
    if (size == 0) {
      begin = end = reinterpret_cast<uintptr_t>(buffer.data);
      return true;
    }
    __int128 reach = static_cast<__int128>(size - 1) * stride;
    (reach < 0 ? low : high) += reach;
    // The greatest offset in bytes must fit in 64 bits (S3).
    if (low < -(__int128(1) << 59) || high > (__int128(1) << 59))
      return false;
  }
  low = base + low * sizeOf(buffer.dtype);
  high = base + (high + 1) * sizeOf(buffer.dtype);
  if (low < 0 || high > static_cast<__int128>(UINTPTR_MAX))
    return false;
  begin = static_cast<uintptr_t>(low);
  end = static_cast<uintptr_t>(high);
  return true;
}

LogicalResult Run::bind(Buffer &buffer, const MutableTensorView &tensor,
                        MemRefType type, Operation *op, const Twine &what) {
  std::optional<DType> dtype = dtypeOf(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!dtype || failed(type.getStridesAndOffset(strides, offset)) ||
      offset != 0) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return fail(op, "expected a strided buffer with offset 0 of a known "
                    "element type, found " +
                        text + " for " + what);
  }
  if (tensor.dtype() != *dtype)
    return fail(op, "expected elements of " + Twine(nameOf(*dtype)) + " for " +
                        what + ", found " + Twine(nameOf(tensor.dtype())));
  if (tensor.rank() != type.getRank() ||
      tensor.strides().size() != tensor.sizes().size())
    return fail(op, "expected rank " + Twine(type.getRank()) + " for " + what +
                        ", found " + Twine(tensor.rank()));
  std::optional<int64_t> elements = numElements(tensor.sizes());
  if (!elements)
    return fail(op, "expected sizes of at least 0 and fewer than 2^63 "
                    "elements for " +
                        what + ", found " + toString(tensor.sizes()));
  if (*elements > 0 && !tensor.data())
    return fail(op, "expected memory for " + what + ", found none");
  bool identity = type.getLayout().isIdentity();
  Shape contiguous = contiguousStrides(tensor.sizes());
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    int64_t size = tensor.size(axis);
    if (!type.isDynamicDim(axis) && size != type.getDimSize(axis))
      return fail(op, "expected size " + Twine(type.getDimSize(axis)) +
                          " of axis " + Twine(axis) + " of " + what +
                          ", found " + Twine(size));
    // The stride of an axis of size 1 is never used.
    bool fixed = identity || !ShapedType::isDynamic(strides[axis]);
    int64_t expected = identity ? contiguous[axis] : strides[axis];
    if (fixed && size > 1 && *elements > 0 && tensor.stride(axis) != expected)
      return fail(op, "expected stride " + Twine(expected) + " of axis " +
                          Twine(axis) + " of " + what + ", found " +
                          Twine(tensor.stride(axis)));
  }
  buffer.data = static_cast<char *>(tensor.data());
  buffer.dtype = *dtype;
  buffer.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  buffer.strides.assign(tensor.strides().begin(), tensor.strides().end());
  buffer.isArgument = true;
  uintptr_t begin, end;
  if (!extentOf(buffer, begin, end))
    return fail(op, "expected offsets within 64 bits for " + what +
                        ", found sizes " + toString(tensor.sizes()) +
                        " and strides " + toString(tensor.strides()) + " (S3)");
  return success();
}

LogicalResult Run::addShadow(uintptr_t begin, uintptr_t end, int64_t granule,
                             ArrayRef<Buffer *> users, Operation *op) {
  if (!options.detectRaces || begin == end)
    return success();
  Shadow &shadow = shadows.emplace_back(begin, end, granule);
  if (failed(reserve(shadow.bytes(), op)))
    return failure();
  if (!shadow.reserve())
    return fail(op, "expected " + Twine(shadow.bytes()) +
                        " bytes of free memory for race records, found fewer");
  for (Buffer *user : users)
    user->shadow = &shadow;
  return success();
}

LogicalResult Run::addShadows(ArrayRef<Buffer *> bound, Operation *op) {
  struct Extent {
    uintptr_t begin, end;
    Buffer *buffer;
  };
  SmallVector<Extent> extents;
  for (Buffer *buffer : bound) {
    Extent extent{0, 0, buffer};
    extentOf(*buffer, extent.begin, extent.end);
    if (extent.begin != extent.end)
      extents.push_back(extent);
  }
  llvm::sort(extents, [](const Extent &a, const Extent &b) {
    return a.begin < b.begin;
  });
  for (size_t i = 0, next; i < extents.size(); i = next) {
    uintptr_t end = extents[i].end;
    int64_t granule = 8;
    SmallVector<Buffer *> users;
    for (next = i;
         next < extents.size() && (next == i || extents[next].begin < end);
         ++next) {
      end = std::max(end, extents[next].end);
      granule = std::min(granule, sizeOf(extents[next].buffer->dtype));
      users.push_back(extents[next].buffer);
    }
    if (failed(addShadow(extents[i].begin, end, granule, users, op)))
      return failure();
  }
  return success();
}

void Run::poisonOutputs(ArrayRef<Buffer *> bound, size_t first) {
  for (Buffer *output : bound.drop_front(first)) {
    uintptr_t begin, end;
    extentOf(*output, begin, end);
    bool apart = llvm::all_of(bound.take_front(first), [&](Buffer *input) {
      uintptr_t inputBegin, inputEnd;
      extentOf(*input, inputBegin, inputEnd);
      return inputEnd <= begin || end <= inputBegin;
    });
    if (!apart)
      continue;
    // Element by element: what lies between them is not the output's.
    int64_t size = sizeOf(output->dtype);
    Shape sizes(output->sizes.begin(), output->sizes.end());
    forEachIndex(sizes, [&](const int64_t *indices) {
      int64_t offset = 0;
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        offset += indices[axis] * output->strides[axis];
      std::memset(output->data + offset * size, 0xff, size);
    });
  }
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

Machine::Machine(Run &run, const Program &program)
    : run(run), program(program), slots(program.types.size()) {
  for (const auto &[slot, value] : program.constants)
    slots[slot] = value;
}

LogicalResult Machine::execute(const Sequence &sequence) {
  size_t floor = frames.size();
  push(sequence);
  if (failed(runFrames(floor)))
    return failure();
  assert(frames.size() == floor && "nothing waits outside of roles");
  return success();
}

LogicalResult Machine::runFrames(size_t floor) {
  isWaiting = isPausing = false;
  while (frames.size() > floor) {
    Frame &frame = frames.back();
    if (frame.next == frame.sequence->code.size()) {
      if (!frame.owner)
        frames.pop_back();
      else if (failed(frame.owner->leave(*this, *frame.owner)))
        return failure();
      if (isPausing)
        return success();
      continue;
    }
    // The stack may move while the instruction runs.
    size_t depth = frames.size() - 1;
    const Instruction &instruction = frame.sequence->code[frame.next++];
    if (failed(runInstruction(instruction)))
      return failure();
    if (isWaiting) {
      // As if it had not run.
      --frames[depth].next;
      --run.steps;
    }
    if (isWaiting || isPausing)
      return success();
  }
  return success();
}

LogicalResult Machine::runInstruction(const Instruction &instruction) {
  if (failed(step(instruction.op)) ||
      (agent && failed(agent->check(instruction))))
    return failure();
  return instruction.handler(*this, instruction);
}

LogicalResult Machine::move(const Instruction &instruction,
                            ArrayRef<uint32_t> from, ArrayRef<uint32_t> to) {
  if (agent && failed(agent->checkWrites(instruction, to)))
    return failure();
  moving.resize(std::max(moving.size(), to.size()));
  for (size_t i = 0; i < to.size(); ++i)
    moving[i] = slots[from[i]];
  for (size_t i = 0; i < to.size(); ++i)
    std::swap(slots[to[i]], moving[i]);
  return success();
}

std::vector<int64_t> &Machine::intResult(const Instruction &instruction,
                                         unsigned i) {
  uint32_t slot = instruction.results[i];
  slots[slot].ints.resize(program.types[slot].count);
  return slots[slot].ints;
}

std::vector<float> &Machine::floatResult(const Instruction &instruction,
                                         unsigned i) {
  uint32_t slot = instruction.results[i];
  slots[slot].floats.resize(program.types[slot].count);
  return slots[slot].floats;
}
