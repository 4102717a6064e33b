//===- Tiles.cpp - Arithmetic across rows and columns ---------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/ThreadBlock.h"

#include "dialects/Tile/IR/TileDialect.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

ProductShape::ProductShape(Type lhs, Type result, bool transposed)
    : rows(cast<RankedTensorType>(result).getDimSize(0)),
      columns(cast<RankedTensorType>(result).getDimSize(1)),
      depth(cast<RankedTensorType>(lhs).getDimSize(1)), transposed(transposed) {
}

/// `result` += `left` * `right`.
static void addProduct(Machine &machine, const ProductShape &shape,
                       const std::vector<float> &left,
                       const std::vector<float> &right,
                       std::vector<float> &result) {
  auto [rows, columns, depth, transposed] = shape;
  const float *lhs = left.data(), *rhs = right.data();
  if (transposed) {
    machine.scratch.resize(depth * columns);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < depth; ++k)
        machine.scratch[k * columns + j] = rhs[j * depth + k];
    rhs = machine.scratch.data();
  }
  for (int64_t i = 0; i < rows; ++i) {
    float *sums = result.data() + i * columns;
    for (int64_t k = 0; k < depth; ++k) {
      float factor = lhs[i * depth + k];
      const float *row = rhs + k * columns;
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += factor * row[j];
    }
  }
}

namespace {
/// The factors of a tile as products have them.
struct SplitTile {
  SplitTile(Precision precision, const std::vector<float> &tile) {
    for (float value : tile) {
      Parts parts(precision, value);
      high.push_back(parts.high);
      low.push_back(parts.low);
    }
  }
  std::vector<float> high, low;
};
} // namespace

void interpreter::multiply(Machine &machine, const ProductShape &shape,
                           const std::vector<float> &left,
                           const std::vector<float> &right,
                           const std::vector<float> *init,
                           std::vector<float> &result, Precision precision) {
  if (init && precision == Precision::f32)
    result = *init;
  else
    result.assign(shape.rows * shape.columns, 0.0f);
  if (precision == Precision::f32)
    return addProduct(machine, shape, left, right, result);
  SplitTile lhs(precision, left), rhs(precision, right);
  if (isSplit(precision)) {
    addProduct(machine, shape, lhs.low, rhs.high, result);
    addProduct(machine, shape, lhs.high, rhs.low, result);
  }
  addProduct(machine, shape, lhs.high, rhs.high, result);
  if (init)
    for (size_t i = 0; i < result.size(); ++i)
      result[i] += (*init)[i];
}

static LogicalResult runDot(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::DotOp>(instruction.op);
  multiply(machine,
           ProductShape(op.getLhs().getType(), op.getResult().getType(),
                        op.getTransposed()),
           machine.operand(instruction, 0).floats,
           machine.operand(instruction, 1).floats,
           op.getInit() ? &machine.operand(instruction, 2).floats : nullptr,
           machine.floatResult(instruction), op.getProductPrecision());
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

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

static int64_t columnsOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getDimSize(1);
}

static LogicalResult runFold(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::FoldOp>(instruction.op);
  int64_t columns = columnsOf(op.getInput()), width = columnsOf(op.getResult());
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  std::fill(result.begin(), result.end(), 0.0f);
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t row = i / columns, column = i % columns;
    result[row * width + column % width] += input[i];
  }
  return success();
}

static LogicalResult runAny(Machine &machine, const Instruction &instruction) {
  if (machine.agent && failed(machine.agent->meet()))
    return failure();
  if (machine.isWaiting)
    return success();
  const std::vector<int64_t> &input = machine.operand(instruction, 0).ints;
  bool found = llvm::any_of(input, [](int64_t value) { return value != 0; });
  machine.intResult(instruction)[0] = -static_cast<int64_t>(found);
  return success();
}

/// Copies `count` columns of every row, from one tile to another.
template <typename T>
static void copyColumns(const std::vector<T> &from, int64_t fromColumns,
                        int64_t fromBegin, std::vector<T> &to,
                        int64_t toColumns, int64_t toBegin, int64_t count) {
  int64_t rows = toColumns == 0 ? 0 : to.size() / toColumns;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(from.begin() + row * fromColumns + fromBegin, count,
                to.begin() + row * toColumns + toBegin);
}

static LogicalResult runSlice(Machine &machine,
                              const Instruction &instruction) {
  auto op = cast<rtile::SliceOp>(instruction.op);
  int64_t from = columnsOf(op.getInput()), to = columnsOf(op.getResult());
  const Datum &input = machine.operand(instruction, 0);
  if (machine.resultType(instruction).isFloat())
    copyColumns(input.floats, from, op.getBegin(),
                machine.floatResult(instruction), to, 0, to);
  else
    copyColumns(input.ints, from, op.getBegin(), machine.intResult(instruction),
                to, 0, to);
  return success();
}

static LogicalResult runJoin(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::JoinOp>(instruction.op);
  int64_t to = columnsOf(op.getResult()), begin = 0;
  for (auto [i, value] : llvm::enumerate(op.getInputs())) {
    int64_t count = columnsOf(value);
    const Datum &input = machine.operand(instruction, i);
    if (machine.resultType(instruction).isFloat())
      copyColumns(input.floats, count, 0, machine.floatResult(instruction), to,
                  begin, count);
    else
      copyColumns(input.ints, count, 0, machine.intResult(instruction), to,
                  begin, count);
    begin += count;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

/// What a row becomes: its reference moves by a number of powers of two, and
/// what is measured by it is multiplied.
struct Rebased {
  int exponent = 0;
  float factor = 1.0f;
};

static Rebased rebase(Machine &machine, rtile::RebaseOp op, const float *sums,
                      int64_t columns, int64_t row) {
  float greatest = 0.0f;
  for (int64_t j = 0; j < columns; ++j) {
    // Neither an infinity nor a NaN has an exponent to move.
    if (!std::isfinite(sums[j]))
      return {};
    greatest = std::max(greatest, sums[j]);
  }
  bool wanted = greatest > std::ldexp(1.0f, static_cast<int>(op.getBound()));
  const Options &options = machine.run.options;
  if (!wanted && options.chooseFreely)
    wanted = mix(options.seed.value_or(0), {machine.point, row, 4}) & 1;
  if (!wanted || greatest < 1.0f)
    return {};
  Rebased result;
  result.exponent = std::ilogb(greatest);
  result.factor = std::ldexp(1.0f, -result.exponent);
  if (std::optional<int64_t> limit = op.getLimit();
      limit && greatest > std::ldexp(1.0f, static_cast<int>(*limit)))
    result.factor = std::numeric_limits<float>::infinity();
  return result;
}

static LogicalResult runRebase(Machine &machine,
                               const Instruction &instruction) {
  auto op = cast<rtile::RebaseOp>(instruction.op);
  const std::vector<float> &reference = machine.operand(instruction, 0).floats;
  int64_t rows = reference.size();
  const std::vector<float> &sums = machine.operand(instruction, 1).floats;
  int64_t columns = rows == 0 ? 0 : sums.size() / rows;
  std::vector<Rebased> changes(rows);
  for (int64_t row = 0; row < rows; ++row)
    changes[row] =
        rebase(machine, op, sums.data() + row * columns, columns, row);
  std::vector<float> &moved = machine.floatResult(instruction);
  for (int64_t row = 0; row < rows; ++row)
    moved[row] = reference[row] + static_cast<float>(changes[row].exponent);
  for (unsigned i = 1; i < instruction.results.size(); ++i) {
    const std::vector<float> &input = machine.operand(instruction, i).floats;
    std::vector<float> &result = machine.floatResult(instruction, i);
    for (size_t at = 0; at < result.size(); ++at) {
      int64_t width = result.size() / rows;
      result[at] = input[at] * changes[at / width].factor;
    }
  }
  return success();
}

void ringlet::interpreter::registerTiles(HandlerTable &table) {
  table["rtile.dot"] = runDot;
  table["rtile.reduce"] = runReduce;
  table["rtile.broadcast"] = runBroadcast;
  table["rtile.fold"] = runFold;
  table["rtile.any"] = runAny;
  table["rtile.slice"] = runSlice;
  table["rtile.join"] = runJoin;
  table["rtile.rebase"] = runRebase;
}
