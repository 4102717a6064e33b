//===- Views.cpp - Views, their bounds, loads and stores ------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"
#include "lib/Interpreter/ThreadBlock.h"

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
  if (view.pages)
    size *= view.pages->sizes[1];
  group = op.getGroupSize();
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
  Wide ordinal = this->ordinal(row);
  if (ordinal < low || ordinal >= high)
    return std::nullopt;
  return static_cast<int64_t>(ordinal - view.origin);
}

std::optional<Place> Rows::place(int64_t row) const {
  std::optional<int64_t> number = this->number(row);
  return number ? placeOf(*number) : std::nullopt;
}

std::optional<Place> Rows::placeBeyond(int64_t row) const {
  Wide number = ordinal(row) - view.origin;
  int64_t count = view.rows ? view.rows->sizes[0] : size;
  if (number < 0 || number >= count)
    return std::nullopt;
  return placeOf(static_cast<int64_t>(number));
}

std::optional<Place> Rows::placeOf(int64_t entry) const {
  Place place{entry, view.origin + Wide(entry)};
  if (view.order)
    place.index = view.order->slot(entry, size);
  if (view.rows)
    place.index = readTable(*view.rows, entry);
  if (view.positions) {
    if (entry >= view.positions->sizes[0])
      return std::nullopt;
    place.position = readTable(*view.positions, entry);
  }
  if (place.index < 0 || place.index >= size)
    return std::nullopt;
  return place;
}

Wide Rows::firstRowAt(Wide bound) const {
  Wide distance = bound - base;
  Wide row = distance / rate;
  return (distance % rate > 0 ? row + 1 : row) * group;
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
  view.pages =
      op.getPages() ? machine.operand(instruction, next++).buffer : nullptr;
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
  if (sizeOf(dtype) == 1)
    return static_cast<float>(loadElement(address, dtype, 0));
  uint16_t bits;
  std::memcpy(&bits, address, sizeof bits);
  return dtype == DType::f16 ? f16ToFloat(bits) : bf16ToFloat(bits);
}

static void encode(char *address, DType dtype, float value) {
  if (dtype == DType::f32) {
    std::memcpy(address, &value, sizeof value);
    return;
  }
  if (sizeOf(dtype) == 1)
    return storeElement(address, dtype, 0, value);
  uint16_t bits = dtype == DType::f16 ? floatToF16(value) : floatToBF16(value);
  std::memcpy(address, &bits, sizeof bits);
}

namespace {
/// Visits the elements of one tile of a view that exist.
class Access {
public:
  Access(Machine &machine, const Instruction &instruction, const View &view,
         rtile::ViewType type, ArrayRef<int64_t> offsets, Stamp stamp)
      : machine(machine), instruction(instruction), view(view), type(type),
        offsets(offsets), stamp(stamp) {}

  /// Calls `visit(element, address)` for each, `element` being its number in
  /// the tile. Stops at the first failure.
  template <typename Visitor>
  LogicalResult forEach(Visitor visit);
  /// Reads them; all others are 0.
  LogicalResult read(std::vector<float> &tile);
  /// Reads those of the buffer that lie outside of the view's rows.
  LogicalResult readBeyond(std::vector<float> &tile);

private:
  /// For a row that is number `member` of its group.
  LogicalResult addFixedOffset(int64_t &offset, int64_t member);
  /// True if the indices of the other axes exist.
  bool hasFixedIndices() const;
  /// Columns of the tile that lie in the buffer.
  std::pair<int64_t, int64_t> getColumns() const;
  int64_t getWidth() const {
    return type.getShape().size() == 2 ? type.getShape()[1] : 1;
  }
  LogicalResult findPage(int64_t &index, int64_t &offset);
  LogicalResult readTableOfRows(const Rows &rows, int64_t row);
  template <typename Visitor>
  LogicalResult visitRow(int64_t i, int64_t index, int64_t member,
                         Visitor visit);

  Machine &machine;
  const Instruction &instruction;
  const View &view;
  rtile::ViewType type;
  ArrayRef<int64_t> offsets;
  Stamp stamp;
};
} // namespace

LogicalResult Access::addFixedOffset(int64_t &offset, int64_t member) {
  auto op = cast<rtile::ViewOp>(view.definition);
  ArrayRef<int64_t> axes = op.getAxes();
  size_t next = 0;
  for (int64_t axis = 0; axis < static_cast<int64_t>(view.buffer->sizes.size());
       ++axis) {
    if (llvm::is_contained(axes, axis))
      continue;
    int64_t index = view.fixed[next++];
    if (view.pages && axis + 1 == axes[0])
      continue;
    if (op.getGroup() && (*op.getGroup())[0] == axis)
      index += member;
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

bool Access::hasFixedIndices() const {
  ArrayRef<int64_t> axes = cast<rtile::ViewOp>(view.definition).getAxes();
  size_t next = 0;
  for (auto [axis, size] : llvm::enumerate(view.buffer->sizes))
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      if (int64_t index = view.fixed[next++]; index < 0 || index >= size)
        return false;
  return true;
}

std::pair<int64_t, int64_t> Access::getColumns() const {
  if (offsets.size() == 1)
    return {0, 1};
  ArrayRef<int64_t> axes = cast<rtile::ViewOp>(view.definition).getAxes();
  int64_t width = getWidth();
  Wide size = view.buffer->sizes[axes[1]];
  auto begin =
      static_cast<int64_t>(std::clamp<Wide>(-Wide(offsets[1]), 0, width));
  return {begin, static_cast<int64_t>(
                     std::clamp<Wide>(size - offsets[1], begin, width))};
}

/// Reading the table of a view's rows counts, too.
LogicalResult Access::readTableOfRows(const Rows &rows, int64_t row) {
  std::optional<int64_t> number = rows.number(row);
  if (!number || !view.rows || !view.rows->shadow)
    return success();
  auto address = reinterpret_cast<uintptr_t>(view.rows->data) +
                 *number * view.rows->strides[0] * 8;
  if (auto other = view.rows->shadow->read(address, 8, stamp))
    return machine.fail(instruction, "reads row " + Twine(row) +
                                         " of a table that " +
                                         describeWriter(*other));
  return success();
}

/// S4: the page that has an index of the row axis, and the index on it.
LogicalResult Access::findPage(int64_t &index, int64_t &offset) {
  auto op = cast<rtile::ViewOp>(view.definition);
  int64_t axis = op.getAxes()[0] - 1, rows = op.getPageSize();
  const Buffer &table = *view.pages;
  // Indices of axes in front of the row axis come first.
  int64_t indices[] = {view.fixed[axis], index / rows};
  FailureOr<const char *> entry =
      findElement(machine, instruction, table, indices);
  if (failed(entry))
    return failure();
  int64_t pool = view.buffer->sizes[axis];
  if (pool == 0)
    return machine.fail(instruction, "expected a page, found none (S4)");
  int32_t page;
  std::memcpy(&page, *entry, sizeof page);
  offset += std::clamp<int64_t>(page, 0, pool - 1) * view.buffer->strides[axis];
  index %= rows;
  return success();
}

template <typename Visitor>
LogicalResult Access::visitRow(int64_t i, int64_t index, int64_t member,
                               Visitor visit) {
  const Buffer &buffer = *view.buffer;
  ArrayRef<int64_t> axes = cast<rtile::ViewOp>(view.definition).getAxes();
  int64_t offset = 0;
  if (view.pages && failed(findPage(index, offset)))
    return failure();
  offset += index * buffer.strides[axes[0]];
  if (failed(addFixedOffset(offset, member)))
    return failure();
  int64_t firstColumn = offsets.size() == 2 ? offsets[1] : 0;
  int64_t stride = axes.size() == 2 ? buffer.strides[axes[1]] : 0;
  auto [begin, end] = getColumns();
  for (int64_t j = begin; j < end; ++j)
    if (failed(visit(i * getWidth() + j,
                     buffer.data + (offset + (firstColumn + j) * stride) *
                                       sizeOf(buffer.dtype))))
      return failure();
  return success();
}

template <typename Visitor>
LogicalResult Access::forEach(Visitor visit) {
  auto [begin, end] = getColumns();
  if (begin == end)
    return success();
  Rows rows(view);
  for (int64_t i = 0; i < type.getShape()[0]; ++i) {
    int64_t row;
    if (__builtin_add_overflow(offsets[0], i, &row))
      break;
    if (failed(readTableOfRows(rows, row)))
      return failure();
    // A tile without elements needs no legal indices.
    if (std::optional<Place> place = rows.place(row);
        place && failed(visitRow(i, place->index, rows.member(row), visit)))
      return failure();
  }
  return success();
}

LogicalResult Access::read(std::vector<float> &tile) {
  std::fill(tile.begin(), tile.end(), 0.0f);
  DType dtype = view.buffer->dtype;
  Shadow *shadow = view.buffer->shadow;
  int64_t size = sizeOf(dtype);
  return forEach([&](int64_t element, const char *address) -> LogicalResult {
    tile[element] = decode(address, dtype);
    if (!shadow)
      return success();
    auto other =
        shadow->read(reinterpret_cast<uintptr_t>(address), size, stamp);
    if (!other)
      return success();
    return machine.fail(instruction, "reads element " + Twine(element) +
                                         " of its tile, which " +
                                         describeWriter(*other));
  });
}

LogicalResult Access::readBeyond(std::vector<float> &tile) {
  // Outside of the buffer there are zeros.
  auto [begin, end] = getColumns();
  if (begin == end || !hasFixedIndices())
    return success();
  Rows rows(view);
  DType dtype = view.buffer->dtype;
  const Options &options = machine.run.options;
  for (int64_t i = 0; i < type.getShape()[0]; ++i) {
    int64_t row;
    if (__builtin_add_overflow(offsets[0], i, &row))
      break;
    std::optional<Place> place = rows.placeBeyond(row);
    if (!place || rows.place(row))
      continue;
    // Zeros do as well.
    if (options.chooseFreely &&
        (mix(options.seed.value_or(0), {stamp.point(), row, 5}) & 1))
      continue;
    if (failed(visitRow(i, place->index, rows.member(row),
                        [&](int64_t element, const char *address) {
                          tile[element] = decode(address, dtype);
                          return success();
                        })))
      return failure();
  }
  return success();
}

/// The operands from number `first` on that are offsets.
static SmallVector<int64_t, 2>
getOffsets(Machine &machine, const Instruction &instruction, unsigned first) {
  SmallVector<int64_t, 2> offsets;
  for (unsigned i = first; i < instruction.operands.size(); ++i)
    offsets.push_back(machine.scalar(instruction, i));
  return offsets;
}

static LogicalResult runLoad(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::LoadOp>(instruction.op);
  const View &view = machine.operand(instruction, 0).view;
  return Access(machine, instruction, view, op.getView().getType(),
                getOffsets(machine, instruction, 1), machine.stamp())
      .read(machine.floatResult(instruction));
}

LogicalResult interpreter::copyTile(Machine &machine,
                                    const Instruction &instruction,
                                    const View &view, rtile::ViewType type,
                                    ArrayRef<int64_t> offsets, Stamp stamp,
                                    std::vector<float> &tile) {
  tile.resize(type.getTileType().getNumElements());
  Access access(machine, instruction, view, type, offsets, stamp);
  if (failed(access.read(tile)))
    return failure();
  return access.readBeyond(tile);
}

LogicalResult interpreter::storeTile(Machine &machine,
                                     const Instruction &instruction,
                                     const View &view, rtile::ViewType type,
                                     ArrayRef<int64_t> offsets, Stamp stamp,
                                     const std::vector<float> &tile) {
  int64_t width = type.getRank() == 2 ? type.getShape()[1] : 1;
  DType dtype = view.buffer->dtype;
  return Access(machine, instruction, view, type, offsets, stamp)
      .forEach([&](int64_t element, char *address) -> LogicalResult {
        // Other warps of the role write other rows.
        if (machine.agent && !machine.agent->owns(element / width))
          return success();
        if (failed(recordWrite(machine, instruction, *view.buffer, address,
                               element, "tile", stamp)))
          return failure();
        encode(address, dtype, tile[element]);
        return success();
      });
}

LogicalResult interpreter::addTile(Machine &machine,
                                   const Instruction &instruction,
                                   const View &view, rtile::ViewType type,
                                   ArrayRef<int64_t> offsets, Stamp stamp,
                                   int64_t order,
                                   const std::vector<float> &tile) {
  int64_t width = type.getRank() == 2 ? type.getShape()[1] : 1;
  if (failed(machine.run.reserveAdditions(tile.size(), instruction.op)))
    return failure();
  return Access(machine, instruction, view, type, offsets, stamp)
      .forEach([&](int64_t element, char *address) -> LogicalResult {
        if (machine.agent && !machine.agent->owns(element / width))
          return success();
        if (failed(recordWrite(machine, instruction, *view.buffer, address,
                               element, "tile",
                               Stamp::ofAdditions(machine.run.launch))))
          return failure();
        machine.run.add(address, stamp.point(), order, tile[element]);
        return success();
      });
}

static LogicalResult runStore(Machine &machine,
                              const Instruction &instruction) {
  auto op = cast<rtile::StoreOp>(instruction.op);
  return storeTile(machine, instruction, machine.operand(instruction, 1).view,
                   op.getView().getType(), getOffsets(machine, instruction, 2),
                   machine.stamp(), machine.operand(instruction, 0).floats);
}

/// It only says what may be done.
static LogicalResult runTotals(Machine &, const Instruction &) {
  return success();
}

void interpreter::registerViews(HandlerTable &table) {
  table["rtile.totals"] = runTotals;
  table["rtile.view"] = runView;
  table["rtile.bounds"] = runBounds;
  table["memref.dim"] = runDim;
  table["rtile.load"] = runLoad;
  table["rtile.store"] = runStore;
}
