//===- Elements.cpp - Numbers of tables and masks ------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"

#include "lib/Layout/Dilation.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

/// The bytes of the element at `indices`, which must exist.
FailureOr<const char *> interpreter::findElement(Machine &machine,
                                                 const Instruction &instruction,
                                                 const Buffer &buffer,
                                                 ArrayRef<int64_t> indices) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    if (indices[axis] < 0 || indices[axis] >= buffer.sizes[axis])
      return machine.fail(instruction, "expected an index in [0, " +
                                           Twine(buffer.sizes[axis]) +
                                           ") for axis " + Twine(axis) +
                                           ", found " + Twine(indices[axis]));
    offset += indices[axis] * buffer.strides[axis];
  }
  int64_t size = sizeOf(buffer.dtype);
  const char *address = buffer.data + offset * size;
  if (buffer.shadow)
    if (auto other = buffer.shadow->read(reinterpret_cast<uintptr_t>(address),
                                         size, machine.stamp()))
      return machine.fail(instruction,
                          "reads an element that " + describeWriter(*other));
  return address;
}

std::string interpreter::describeWriter(int64_t point) {
  return (point == Stamp::kAdditions
              ? "additions of the same launch change"
              : "grid point " + Twine(point) + " of the same launch writes")
      .str();
}

LogicalResult interpreter::recordWrite(Machine &machine,
                                       const Instruction &instruction,
                                       const Buffer &buffer,
                                       const char *address, int64_t element,
                                       StringRef whole, Stamp stamp) {
  if (buffer.readOnly)
    return machine.fail(instruction, "expected a store to an output or a "
                                     "workspace, found one to an input");
  if (!buffer.shadow)
    return success();
  auto conflict = buffer.shadow->write(reinterpret_cast<uintptr_t>(address),
                                       sizeOf(buffer.dtype), stamp);
  if (!conflict)
    return success();
  std::string others =
      conflict->point < 0 ? "other grid points of the same launch read"
      : conflict->written ? describeWriter(conflict->point)
                          : ("grid point " + Twine(conflict->point) +
                             " of the same launch reads")
                                .str();
  return machine.fail(instruction, "writes element " + Twine(element) +
                                       " of its " + whole + ", which " +
                                       others);
}

FailureOr<bool> interpreter::readBlock(Machine &machine,
                                       const Instruction &instruction,
                                       const Buffer &blocks, int64_t queryBlock,
                                       int64_t keyBlock) {
  FailureOr<const char *> address =
      findElement(machine, instruction, blocks, {queryBlock, keyBlock});
  if (failed(address))
    return failure();
  return **address != 0;
}

static LogicalResult runElement(Machine &machine,
                                const Instruction &instruction) {
  const Buffer &buffer = *machine.operand(instruction, 0).buffer;
  SmallVector<int64_t> indices;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    indices.push_back(machine.scalar(instruction, i));
  if (buffer.dtype != DType::i64 && buffer.dtype != DType::i32 &&
      buffer.dtype != DType::i1)
    return machine.fail(instruction,
                        "expected a buffer of i32, i64 or i1, found " +
                            Twine(nameOf(buffer.dtype)));
  FailureOr<const char *> address =
      findElement(machine, instruction, buffer, indices);
  if (failed(address))
    return failure();
  machine.intResult(instruction)[0] =
      buffer.dtype == DType::i1 ? -static_cast<int64_t>(**address != 0)
                                : loadInt(*address, buffer.dtype, 0);
  return success();
}

static LogicalResult runAnyBlock(Machine &machine,
                                 const Instruction &instruction) {
  auto op = cast<rtile::AnyBlockOp>(instruction.op);
  const Buffer &blocks = *machine.operand(instruction, 4).buffer;
  /// The blocks that a tile's rows lie in, both ends included.
  auto find = [&](unsigned view, rtile::ViewType type, int64_t size) {
    Rows rows(machine.operand(instruction, view).view);
    int64_t row = machine.scalar(instruction, view + 1);
    Wide first = std::max<Wide>(row, rows.begin());
    Wide last = std::min<Wide>(Wide(row) + type.getShape()[0], rows.end()) - 1;
    if (first > last)
      return std::pair<int64_t, int64_t>(0, -1);
    return std::pair(
        layout::floorDiv(static_cast<int64_t>(rows.ordinal(first)), size),
        layout::floorDiv(static_cast<int64_t>(rows.ordinal(last)), size));
  };
  auto [firstQuery, lastQuery] =
      find(0, op.getQuery().getType(), op.getBlockSize()[0]);
  auto [firstKey, lastKey] =
      find(2, op.getKey().getType(), op.getBlockSize()[1]);
  bool any = false;
  for (int64_t query = firstQuery; query <= lastQuery; ++query)
    for (int64_t key = firstKey; key <= lastKey; ++key) {
      FailureOr<bool> set = readBlock(machine, instruction, blocks, query, key);
      if (failed(set))
        return failure();
      any |= *set;
    }
  machine.intResult(instruction)[0] = -static_cast<int64_t>(any);
  return success();
}

static LogicalResult runGenerate(Machine &machine,
                                 const Instruction &instruction) {
  const Buffer &table = *machine.operand(instruction, 0).buffer;
  const Sequence &body = instruction.bodies[0];
  int64_t begin = std::max<int64_t>(machine.scalar(instruction, 1), 0);
  int64_t end = std::min(machine.scalar(instruction, 2), table.sizes[0]);
  for (int64_t place = begin; place < end; ++place) {
    machine[body.arguments[0]].ints.assign(1, place);
    if (failed(machine.step(instruction.op)) || failed(machine.execute(body)))
      return failure();
    char *address = table.data + place * table.strides[0] * sizeOf(table.dtype);
    if (failed(recordWrite(machine, instruction, table, address, place, "table",
                           machine.stamp())))
      return failure();
    if (table.dtype == DType::f32) {
      auto entry = static_cast<float>(machine[body.yields[0]].floats[0]);
      std::memcpy(address, &entry, sizeof(entry));
    } else {
      std::memcpy(address, &machine[body.yields[0]].ints[0], sizeof(int64_t));
    }
  }
  return success();
}

void interpreter::registerElements(HandlerTable &table) {
  table["memref.load"] = runElement;
  table["rtile.any_block"] = runAnyBlock;
  table["rtile.generate"] = runGenerate;
}
