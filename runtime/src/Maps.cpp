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

/// Appends axes of one buffer to a map.
class MapBuilder {
public:
  MapBuilder(const TensorView &view, MapShape &shape)
      : view(view), shape(shape), element(int64_t(abi::dtypeSize(view.dtype))) {
    shape.dtype = view.dtype;
    shape.rank = 0;
  }

  /// Every `rate`-th element of an axis.
  Status add(uint32_t axis, int64_t rate, uint32_t box) {
    int64_t size = view.sizes[axis];
    if (rate > mostSize)
      return invalid("expected a rate of at most ", mostSize, ", got ", rate);
    if (size < 1 || size / rate > mostSize)
      return invalid("expected a size from 1 to ", mostSize, " on axis ", axis,
                     ", got ", size);
    if (size % rate != 0)
      return invalid("expected a size on axis ", axis,
                     " that is a multiple of the rate ", rate, ", got ", size,
                     ": the nearest are ", size / rate * rate, " and ",
                     uint64_t(size / rate + 1) * uint64_t(rate));
    return append(axis, size / rate, rate, box);
  }

  /// The rows between those that `rate` picks.
  /// After add() of the same axis.
  Status addRest(uint32_t axis, int64_t rate) {
    return append(axis, rate, 1, 1);
  }

private:
  Status append(uint32_t axis, int64_t size, int64_t rate, uint32_t box) {
    int64_t stride = abi::kMapAlignment;
    // Nobody steps along an axis of one element, nor along the innermost one.
    if (size > 1 && shape.rank > 0) {
      int64_t unit = abi::kMapAlignment / element;
      if (__builtin_mul_overflow(view.strides[axis], rate * element, &stride) ||
          stride < abi::kMapAlignment || stride > mostStride ||
          stride % abi::kMapAlignment != 0)
        return invalid("expected a stride from ", unit, " to ",
                       mostStride / element / rate, " on axis ", axis,
                       ", a multiple of ", unit, ", got ", view.strides[axis]);
    }
    shape.sizes[shape.rank] = uint64_t(size);
    shape.strides[shape.rank] = uint64_t(shape.rank ? stride : element);
    shape.box[shape.rank] = box;
    ++shape.rank;
    return {};
  }

  const TensorView &view;
  MapShape &shape;
  const int64_t element;
};

} // namespace

Status rt::shapeMap(const abi::TensorMap &map, const TensorView &view,
                    MapShape &shape) {
  MapBuilder builder(view, shape);
  RL_TRY(builder.add(map.columns(), 1, map.box_columns()));
  RL_TRY(builder.add(map.rows(), map.rate(), map.box_rows()));
  for (uint32_t i = 0; i < sizeOf(map.fixed()); ++i)
    RL_TRY(builder.add(map.fixed()->Get(i), 1, 1));
  return map.rate() > 1 ? builder.addRest(map.rows(), map.rate()) : Status();
}

std::string rt::nameOfBuffer(const abi::Function &function,
                             const abi::Plan &plan, uint32_t buffer) {
  const abi::Buffer &entry = *plan.buffers()->Get(buffer);
  switch (entry.kind()) {
  case abi::BufferKind::Argument: {
    const abi::Argument &argument = *function.arguments()->Get(entry.index());
    return text(argument.is_output() ? "output '" : "input '",
                argument.name()->str(), "'");
  }
  case abi::BufferKind::Constant:
    return text("constant ", entry.index());
  case abi::BufferKind::Workspace:
    return text("workspace ", buffer);
  case abi::BufferKind::OrderTable:
    break;
  }
  return text("order table ", buffer);
}

void rt::logFallback(const Logger &logger, const Status &reason) {
  logger.log(RL_LOG_DEBUG,
             "a launch is left to its fallback: ", reason.message());
}
