//===- Views.cpp - Views, their bounds, loads and stores ------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Rows::Rows(const View &view) : view(view), base(view.residue), rate(view.rate) {
  auto op = cast<rtile::ViewOp>(view.definition);
  size = view.buffer->sizes[op.getAxes()[0]];
  int64_t count = view.rows ? view.rows->sizes[0] : size;
  low = view.origin + std::clamp<Wide>(view.first, 0, count);
  high = view.origin + std::clamp<Wide>(view.end, 0, count);
  if (view.w) {
    Wide start = Wide(view.segment) * view.w;
    base += start;
    low = std::max(low, start);
    high = std::min(high, start + view.w);
  }
}

std::optional<int64_t> Rows::number(int64_t row) const {
  Wide rank = base + Wide(row) * rate;
  if (rank < low || rank >= high)
    return std::nullopt;
  return static_cast<int64_t>(rank - view.origin);
}

std::optional<Place> Rows::place(int64_t row) const {
  std::optional<int64_t> number = this->number(row);
  if (!number)
    return std::nullopt;
  Place place{*number, view.origin + Wide(*number)};
  if (view.order)
    place.index = view.order->slot(*number, size);
  if (view.rows)
    place.index = readTable(*view.rows, *number);
  if (view.positions) {
    if (*number >= view.positions->sizes[0])
      return std::nullopt;
    place.position = readTable(*view.positions, *number);
  }
  if (place.index < 0 || place.index >= size)
    return std::nullopt;
  return place;
}

Wide Rows::firstRowAt(Wide bound) const {
  Wide distance = bound - base;
  Wide row = distance / rate;
  return distance % rate > 0 ? row + 1 : row;
}

int64_t interpreter::readTable(const Buffer &table, int64_t index) {
  int64_t value;
  std::memcpy(&value,
              table.data +
                  index * table.strides[0] * static_cast<int64_t>(sizeof value),
              sizeof value);
  return value;
}

//===----------------------------------------------------------------------===//
// view and bounds
//===----------------------------------------------------------------------===//

static LogicalResult runView(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::ViewOp>(instruction.op);
  View &view = machine[instruction.results[0]].view;
  view.definition = op;
  unsigned next = 0;
  view.buffer = machine.operand(instruction, next++).buffer;
  view.fixed.clear();
  for (size_t i = 0; i < op.getFixed().size(); ++i)
    view.fixed.push_back(machine.scalar(instruction, next++));
  view.origin = op.getOrigin() ? machine.scalar(instruction, next++) : 0;
  view.segment = op.getSegment() ? machine.scalar(instruction, next++) : 0;
  view.residue = op.getResidue() ? machine.scalar(instruction, next++) : 0;
  rtile::ViewType type = op.getResult().getType();
  view.w =
      op.getW() ? machine.scalar(instruction, next++) : type.getSegmentLength();
  view.rate =
      op.getRate() ? machine.scalar(instruction, next++) : type.getRate();
  if ((op.getW() && view.w < 1) || view.rate < 1 ||
      (view.w != 0 && view.rate > view.w))
    return machine.fail(
        instruction, "expected w of at least 1 and a rate from 1 to w, "
                     "found " +
                         Twine(view.w) + " and " + Twine(view.rate) + " (B1)");
  view.rows =
      op.getRows() ? machine.operand(instruction, next++).buffer : nullptr;
  view.positions =
      op.getPositions() ? machine.operand(instruction, next++).buffer : nullptr;
  view.first = 0;
  view.end = std::numeric_limits<int64_t>::max();
  if (op.getFirst()) {
    view.first = machine.scalar(instruction, next++);
    view.end = machine.scalar(instruction, next++);
  }
  view.order = op.getOrder() ? op.getOrder()->getOrder() : nullptr;
  return success();
}

static LogicalResult runBounds(Machine &machine,
                               const Instruction &instruction) {
  const View &view = machine.operand(instruction, 0).view;
  Rows rows(view);
  Wide begin = rows.begin(), end = rows.end();
  const Options &options = machine.run.options;
  if (end <= begin && options.chooseFreely) {
    // Any other empty range does as well.
    uint64_t choice = mix(options.seed.value_or(0),
                          {view.origin, view.segment, view.residue, 1});
    begin += static_cast<int64_t>(choice % 301) - 150;
    end = begin - static_cast<int64_t>(choice / 301 % 40);
  }
  if (begin != static_cast<int64_t>(begin) || end != static_cast<int64_t>(end))
    return machine.fail(instruction, "expected bounds within 64 bits for "
                                     "segment " +
                                         Twine(view.segment) + " and origin " +
                                         Twine(view.origin) +
                                         ", found an overflow (S3)");
  machine.intResult(instruction, 0)[0] = static_cast<int64_t>(begin);
  machine.intResult(instruction, 1)[0] = static_cast<int64_t>(end);
  return success();
}

/// What passes write in place of bounds.
static LogicalResult runDim(Machine &machine, const Instruction &instruction) {
  const Buffer &buffer = *machine.operand(instruction, 0).buffer;
  int64_t axis = machine.scalar(instruction, 1);
  auto rank = static_cast<int64_t>(buffer.sizes.size());
  if (axis < 0 || axis >= rank)
    return machine.fail(instruction, "expected an axis in [0, " + Twine(rank) +
                                         "), found " + Twine(axis));
  machine.intResult(instruction)[0] = buffer.sizes[axis];
  return success();
}

//===----------------------------------------------------------------------===//
// load and store
//===----------------------------------------------------------------------===//

static float decode(const char *address, DType dtype) {
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, address, sizeof bits);
  return dtype == DType::f16 ? f16ToFloat(bits) : bf16ToFloat(bits);
}

static void encode(char *address, DType dtype, float value) {
  if (dtype == DType::f32) {
    std::memcpy(address, &value, sizeof value);
    return;
  }
  uint16_t bits = dtype == DType::f16 ? floatToF16(value) : floatToBF16(value);
  std::memcpy(address, &bits, sizeof bits);
}

namespace {
/// Visits the elements of one tile of a view that exist.
class Access {
public:
  Access(Machine &machine, const Instruction &instruction, const View &view,
         rtile::ViewType type, unsigned firstOffset)
      : machine(machine), instruction(instruction), view(view), type(type),
        firstOffset(firstOffset) {}

  /// Calls `visit(element, address)` for each, `element` being its number in
  /// the tile. Stops at the first failure.
  template <typename Visit>
  LogicalResult forEach(Visit visit);

private:
  LogicalResult addFixedOffset(int64_t &offset);

  Machine &machine;
  const Instruction &instruction;
  const View &view;
  rtile::ViewType type;
  unsigned firstOffset;
};
} // namespace

LogicalResult Access::addFixedOffset(int64_t &offset) {
  auto op = cast<rtile::ViewOp>(view.definition);
  ArrayRef<int64_t> axes = op.getAxes();
  size_t next = 0;
  for (int64_t axis = 0; axis < static_cast<int64_t>(view.buffer->sizes.size());
       ++axis) {
    if (llvm::is_contained(axes, axis))
      continue;
    int64_t index = view.fixed[next++];
    int64_t size = view.buffer->sizes[axis];
    if (index < 0 || index >= size)
      return machine.fail(instruction,
                          "expected an index in [0, " + Twine(size) +
                              ") for axis " + Twine(axis) +
                              " of the buffer, found " + Twine(index));
    offset += index * view.buffer->strides[axis];
  }
  return success();
}

template <typename Visit>
LogicalResult Access::forEach(Visit visit) {
  const Buffer &buffer = *view.buffer;
  ArrayRef<int64_t> axes = cast<rtile::ViewOp>(view.definition).getAxes();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t firstRow = machine.scalar(instruction, firstOffset);
  int64_t width = 1, columnStride = 0, beginColumn = 0, endColumn = 1;
  int64_t firstColumn = 0;
  if (axes.size() == 2) {
    width = shape[1];
    firstColumn = machine.scalar(instruction, firstOffset + 1);
    columnStride = buffer.strides[axes[1]];
    Wide size = buffer.sizes[axes[1]];
    // Columns of the tile that lie in the buffer.
    beginColumn =
        static_cast<int64_t>(std::clamp<Wide>(-Wide(firstColumn), 0, width));
    endColumn = static_cast<int64_t>(
        std::clamp<Wide>(size - firstColumn, beginColumn, width));
  }
  if (beginColumn == endColumn)
    return success();

  Rows rows(view);
  int64_t fixedOffset = 0;
  bool first = true;
  int64_t elementSize = sizeOf(buffer.dtype);
  for (int64_t i = 0; i < shape[0]; ++i) {
    int64_t row;
    if (__builtin_add_overflow(firstRow, i, &row))
      break;
    std::optional<int64_t> number = rows.number(row);
    if (number && view.rows && view.rows->shadow) {
      // Reading the table counts, too.
      auto address = reinterpret_cast<uintptr_t>(view.rows->data) +
                     *number * view.rows->strides[0] * 8;
      if (auto other = view.rows->shadow->read(
              address, 8, Stamp(machine.run.launch, machine.run.point)))
        return machine.fail(instruction, "reads row " + Twine(row) +
                                             " of a table that grid point " +
                                             Twine(*other) +
                                             " of the same launch writes");
    }
    std::optional<Place> place = rows.place(row);
    if (!place)
      continue;
    // Only now: a tile without elements needs no legal indices.
    if (first && failed(addFixedOffset(fixedOffset)))
      return failure();
    first = false;
    int64_t offset = fixedOffset + place->index * buffer.strides[axes[0]];
    for (int64_t j = beginColumn; j < endColumn; ++j)
      if (failed(
              visit(i * width + j,
                    buffer.data + (offset + (firstColumn + j) * columnStride) *
                                      elementSize)))
        return failure();
  }
  return success();
}

static LogicalResult runLoad(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::LoadOp>(instruction.op);
  const View &view = machine.operand(instruction, 0).view;
  std::vector<float> &result = machine.floatResult(instruction);
  std::fill(result.begin(), result.end(), 0.0f);
  Access access(machine, instruction, view, op.getView().getType(), 1);
  DType dtype = view.buffer->dtype;
  Shadow *shadow = view.buffer->shadow;
  if (!shadow)
    return access.forEach([&](int64_t element, const char *address) {
      result[element] = decode(address, dtype);
      return success();
    });
  Stamp stamp(machine.run.launch, machine.run.point);
  int64_t size = sizeOf(dtype);
  return access.forEach([&](int64_t element, const char *address) {
    result[element] = decode(address, dtype);
    auto other =
        shadow->read(reinterpret_cast<uintptr_t>(address), size, stamp);
    if (!other)
      return success();
    return machine.fail(instruction, "reads element " + Twine(element) +
                                         " of its tile, which grid point " +
                                         Twine(*other) +
                                         " of the same launch writes");
  });
}

static LogicalResult runStore(Machine &machine,
                              const Instruction &instruction) {
  auto op = cast<rtile::StoreOp>(instruction.op);
  const std::vector<float> &tile = machine.operand(instruction, 0).floats;
  const View &view = machine.operand(instruction, 1).view;
  Access access(machine, instruction, view, op.getView().getType(), 2);
  DType dtype = view.buffer->dtype;
  return access.forEach([&](int64_t element, char *address) -> LogicalResult {
    if (failed(recordWrite(machine, instruction, *view.buffer, address, element,
                           "tile")))
      return failure();
    encode(address, dtype, tile[element]);
    return success();
  });
}

void interpreter::registerViews(HandlerTable &table) {
  table["rtile.view"] = runView;
  table["rtile.bounds"] = runBounds;
  table["memref.dim"] = runDim;
  table["rtile.load"] = runLoad;
  table["rtile.store"] = runStore;
}
