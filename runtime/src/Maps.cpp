//===- Maps.cpp - Buffers as a copy engine sees them ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Maps.h"

#include "abi/Lists.h"
#include "ringlet/abi/Verify.h"

using namespace ringlet;
using namespace ringlet::rt;
using abi::sizeOf;

/// Kernels name elements of an axis by signed numbers of 32 bits.
static const int64_t mostSize = int64_t(1) << 31;
/// In bytes.
static const int64_t mostStride = (int64_t(1) << 40) - abi::kMapAlignment;

namespace {

/// Every rate-th row of an axis, of so many residues.
struct Rows {
  int64_t count, residues;
};

Status divideRows(const abi::TensorMap &map, int64_t size, Rows &rows) {
  int64_t rate = map.rate(), rest = size % rate;
  if (rate > mostSize)
    return invalid("expected a rate of at most ", mostSize, ", found ", rate);
  if (map.residues() == abi::Residues::All && rest != 0)
    return invalid("expected a size on axis ", uint32_t(map.rows()),
                   " that is a multiple of the rate ", rate, ", found ", size,
                   ": the nearest are ", size - rest, " and ",
                   uint64_t(size - rest) + uint64_t(rate));
  bool longer =
      rest != 0 && (map.residues() == abi::Residues::Longer || size < rate);
  rows = longer ? Rows{size / rate + 1, rest} : Rows{size / rate, rate};
  return {};
}

/// Appends axes of one buffer to a map.
class MapBuilder {
public:
  MapBuilder(const TensorView &view, MapShape &shape)
      : view(view), shape(shape), element(int64_t(abi::dtypeSize(view.dtype))) {
    shape.dtype = view.dtype;
    shape.rank = 0;
  }

  /// An axis of the buffer, or `count` elements of it that lie `step` apart.
  Status add(uint32_t axis, uint32_t box) {
    return add(axis, view.sizes[axis], 1, box);
  }
  Status add(uint32_t axis, int64_t count, int64_t step, uint32_t box) {
    if (count < 1 || count > mostSize)
      return invalid("expected a size from 1 to ", mostSize, " on axis ", axis,
                     ", found ", count);
    int64_t stride = abi::kMapAlignment;
    // Nobody steps along an axis of one element, nor along the innermost one.
    if (count > 1 && shape.rank > 0) {
      int64_t unit = abi::kMapAlignment / element;
      if (__builtin_mul_overflow(view.strides[axis], step * element, &stride) ||
          stride < 0 || stride > mostStride || stride % abi::kMapAlignment != 0)
        return invalid("expected a stride from 0 to ",
                       mostStride / element / step, " on axis ", axis,
                       ", a multiple of ", unit, ", found ",
                       view.strides[axis]);
    }
    shape.sizes[shape.rank] = uint64_t(count);
    shape.strides[shape.rank] = uint64_t(shape.rank ? stride : element);
    shape.box[shape.rank] = box;
    ++shape.rank;
    return {};
  }

private:
  const TensorView &view;
  MapShape &shape;
  const int64_t element;
};

} // namespace

static bool isMultiple(int64_t bytes) {
  return bytes % abi::kMapAlignment == 0;
}

bool rt::isAligned(const char *address) {
  return isMultiple(int64_t(reinterpret_cast<uintptr_t>(address)));
}

bool rt::isAligned(const TensorView &view) {
  auto element = int64_t(abi::dtypeSize(view.dtype));
  for (uint32_t axis = 0; axis + 1 < view.rank; ++axis)
    if (view.sizes[axis] > 1 &&
        (view.strides[axis] < 0 || !isMultiple(view.strides[axis] * element)))
      return false;
  return isAligned(view.data);
}

Status rt::shapeMap(const abi::TensorMap &map, const TensorView &view,
                    MapShape &shape) {
  MapBuilder builder(view, shape);
  Rows rows;
  RL_TRY(divideRows(map, view.sizes[map.rows()], rows));
  RL_TRY(builder.add(map.columns(), map.box_columns()));
  RL_TRY(builder.add(map.rows(), rows.count, map.rate(), map.box_rows()));
  for (uint32_t i = 0; i < sizeOf(map.fixed()); ++i)
    RL_TRY(builder.add(map.fixed()->Get(i), 1));
  return map.rate() > 1 ? builder.add(map.rows(), rows.residues, 1, 1)
                        : Status();
}

std::string rt::nameOfBuffer(const abi::Function &function,
                             const abi::Plan &plan, uint32_t buffer) {
  const abi::Buffer &entry = *plan.buffers()->Get(buffer);
  switch (entry.kind()) {
  case abi::BufferKind::Argument:
  case abi::BufferKind::Aligned: {
    const abi::Argument &argument = *function.arguments()->Get(entry.index());
    return text(argument.is_output() ? "output '" : "input '",
                argument.name()->str(), "'");
  }
  case abi::BufferKind::Constant:
    return text("constant ", entry.index());
  case abi::BufferKind::Workspace:
    return text("workspace ", buffer);
  case abi::BufferKind::OrderTable:
    return text("order table ", buffer);
  case abi::BufferKind::OrdinalTable:
    return text("ordinal table ", buffer);
  case abi::BufferKind::TileIndex:
    break;
  }
  return text("tile index ", buffer);
}
