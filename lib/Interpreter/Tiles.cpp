//===- Tiles.cpp - Arithmetic across rows and columns ---------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Tile/IR/TileDialect.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

static LogicalResult runDot(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::DotOp>(instruction.op);
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType());
  auto resultType = cast<RankedTensorType>(op.getResult().getType());
  int64_t rows = resultType.getDimSize(0), columns = resultType.getDimSize(1);
  int64_t depth = lhsType.getDimSize(1);
  const float *lhs = machine.operand(instruction, 0).floats.data();
  const float *rhs = machine.operand(instruction, 1).floats.data();
  if (op.getTransposed()) {
    machine.scratch.resize(depth * columns);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < depth; ++k)
        machine.scratch[k * columns + j] = rhs[j * depth + k];
    rhs = machine.scratch.data();
  }
  std::vector<float> &result = machine.floatResult(instruction);
  if (op.getInit())
    result = machine.operand(instruction, 2).floats;
  else
    std::fill(result.begin(), result.end(), 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    float *sums = result.data() + i * columns;
    for (int64_t k = 0; k < depth; ++k) {
      float factor = lhs[i * depth + k];
      const float *row = rhs + k * columns;
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += factor * row[j];
    }
  }
  return success();
}

static float reduceRow(rtile::ReduceKind kind, const float *row,
                       int64_t columns) {
  float value = kind == rtile::ReduceKind::sum   ? 0.0f
                : kind == rtile::ReduceKind::max ? -INFINITY
                                                 : INFINITY;
  for (int64_t j = 0; j < columns; ++j) {
    if (std::isnan(row[j]))
      return row[j];
    switch (kind) {
    case rtile::ReduceKind::sum:
      value += row[j];
      break;
    case rtile::ReduceKind::max:
      value = std::max(value, row[j]);
      break;
    case rtile::ReduceKind::min:
      value = std::min(value, row[j]);
      break;
    }
  }
  return value;
}

static LogicalResult runReduce(Machine &machine,
                               const Instruction &instruction) {
  auto op = cast<rtile::ReduceOp>(instruction.op);
  int64_t columns =
      cast<RankedTensorType>(op.getInput().getType()).getDimSize(1);
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = reduceRow(op.getKind(), input.data() + i * columns, columns);
  return success();
}

template <typename T>
static void broadcast(const std::vector<T> &input, std::vector<T> &result,
                      bool columns) {
  size_t repeats = input.empty() ? 0 : result.size() / input.size();
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = input[columns ? i % input.size() : i / repeats];
}

static LogicalResult runBroadcast(Machine &machine,
                                  const Instruction &instruction) {
  auto op = cast<rtile::BroadcastOp>(instruction.op);
  const Datum &input = machine.operand(instruction, 0);
  if (machine.resultType(instruction).isFloat())
    broadcast(input.floats, machine.floatResult(instruction), op.getColumns());
  else
    broadcast(input.ints, machine.intResult(instruction), op.getColumns());
  return success();
}

void ringlet::interpreter::registerTiles(HandlerTable &table) {
  table["rtile.dot"] = runDot;
  table["rtile.reduce"] = runReduce;
  table["rtile.broadcast"] = runBroadcast;
}
