//===- Structured.cpp - linalg operations ---------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structured ones: walks the iteration space, first loop outermost, and
// computes the body at each point. Every indexing map must be linear: a place
// in memory is then a sum of loop variables times strides.
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/Evaluation.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

namespace {

/// Where an operand is read or written as the loops go.
struct Access {
  int64_t origin = 0;
  SmallVector<int64_t> strides;

  int64_t at(ArrayRef<int64_t> loops) const {
    int64_t offset = origin;
    for (auto [loop, stride] : llvm::zip_equal(loops, strides))
      offset += loop * stride;
    return offset;
  }
};

/// A body with a number for each of its values.
class Body {
public:
  /// Null if the body can be run, else what cannot.
  Operation *compile(Block &block);
  /// Values of the surrounding function that the body reads.
  ArrayRef<std::pair<Value, unsigned>> getCaptures() const { return captures; }
  Scalar &operator[](unsigned slot) { return slots[slot]; }
  /// Runs the body for block arguments in the first slots; null, or the
  /// operation that is undefined there.
  Operation *run(ArrayRef<int64_t> loops);
  Scalar yielded(unsigned i) const { return slots[yields[i]]; }

private:
  struct Step {
    Operation *op;
    ScalarFunction function;
    SmallVector<unsigned, 3> operands;
    unsigned result;
  };
  unsigned slotOf(Value value);

  SmallVector<Scalar> slots;
  SmallVector<Step> code;
  SmallVector<unsigned> yields;
  SmallVector<std::pair<Value, unsigned>> captures;
  llvm::DenseMap<Value, unsigned> numbers;
};

} // namespace

unsigned Body::slotOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, slots.size());
  if (isNew) {
    slots.emplace_back();
    captures.emplace_back(value, entry->second);
  }
  return entry->second;
}

Operation *Body::compile(Block &block) {
  for (Value value : block.getArguments()) {
    numbers[value] = slots.size();
    slots.emplace_back();
  }
  for (Operation &op : block.without_terminator()) {
    Step step;
    step.op = &op;
    step.function = lookupScalarFunction(&op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      // As a value of the function: the evaluation knows how to read it.
      slotOf(constant.getResult());
      continue;
    }
    if ((!step.function && !isa<linalg::IndexOp>(op)) ||
        isa<ShapedType>(op.getResult(0).getType()))
      return &op;
    for (Value operand : op.getOperands())
      step.operands.push_back(slotOf(operand));
    step.result = numbers[op.getResult(0)] = slots.size();
    slots.emplace_back();
    code.push_back(step);
  }
  for (Value value : block.getTerminator()->getOperands())
    yields.push_back(slotOf(value));
  return nullptr;
}

Operation *Body::run(ArrayRef<int64_t> loops) {
  for (const Step &step : code) {
    if (auto index = dyn_cast<linalg::IndexOp>(step.op)) {
      slots[step.result] = {0, loops[index.getDim()]};
      continue;
    }
    Scalar operands[3];
    for (auto [operand, slot] : llvm::zip(operands, step.operands))
      operand = slots[slot];
    if (!step.function(step.op, operands, slots[step.result]))
      return step.op;
  }
  return nullptr;
}

/// The access of a tensor of `shape` under `map` in loops of these extents;
/// nothing if it is not linear or leaves the tensor.
static std::optional<Access> accessOf(AffineMap map, const Shape &shape,
                                      const Shape &extents) {
  for (AffineExpr expr : map.getResults())
    if (expr.walk([](AffineExpr part) {
              switch (part.getKind()) {
              case AffineExprKind::Mod:
              case AffineExprKind::FloorDiv:
              case AffineExprKind::CeilDiv:
                return WalkResult::interrupt();
              default:
                return WalkResult::advance();
              }
            })
            .wasInterrupted())
      return std::nullopt;
  Shape steps = contiguousStrides(shape);
  SmallVector<int64_t> point(extents.size(), 0);
  SmallVector<int64_t> first = map.compose(point);
  SmallVector<int64_t> least = first, greatest = first;
  Access access;
  for (auto [index, step] : llvm::zip_equal(first, steps))
    access.origin += index * step;
  for (size_t loop = 0; loop < extents.size(); ++loop) {
    point[loop] = 1;
    SmallVector<int64_t> second = map.compose(point);
    point[loop] = 0;
    int64_t &stride = access.strides.emplace_back(0);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t slope = second[axis] - first[axis];
      stride += slope * steps[axis];
      (slope < 0 ? least : greatest)[axis] += slope * (extents[loop] - 1);
    }
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (least[axis] < 0 || greatest[axis] >= shape[axis])
      return std::nullopt;
  return access;
}

/// Whether `axis` of a tensor of `type` has an order.
static bool isTokenAxis(Type type, int64_t axis) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && rlayout::getOrder(tensor) &&
         rlayout::getLayout(tensor).getAxis() == axis;
}

/// Whether a sum of `op` goes over the axis of `operand` that has an order.
static bool sumsOverTokens(linalg::LinalgOp op, OpOperand &operand) {
  SmallVector<unsigned> sums;
  op.getReductionDims(sums);
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [axis, index] : llvm::enumerate(map.getResults()))
    if (isTokenAxis(operand.get().getType(), axis))
      return llvm::any_of(sums, [&, index = index](unsigned loop) {
        return index.isFunctionOfDim(loop);
      });
  return false;
}

LogicalResult Evaluation::evaluateStructured(linalg::LinalgOp op) {
  Shape sizes;
  for (OpOperand &operand : op->getOpOperands())
    if (op.getMatchingBlockArgument(&operand))
      llvm::append_range(sizes, (*this)[operand.get()].tensor.shape());
  AffineMap toLoops = op.getShapesToLoopsMap();
  if (!toLoops)
    return refuse(op, "expected indexing maps that give each loop an extent");
  SmallVector<int64_t> composed = toLoops.compose(sizes);
  Shape extents(composed.begin(), composed.end());
  std::optional<int64_t> points = numElements(extents);
  if (failed(spend(op, points)))
    return failure();

  Body body;
  if (Operation *unknown = body.compile(*op.getBlock()))
    return refuse(unknown, "is not an operation that can be evaluated in a "
                           "structured one");
  for (auto [value, slot] : body.getCaptures()) {
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (!values.contains(value) && failed(evaluateConstant(constant)))
        return failure();
    if (isa<ShapedType>(value.getType()))
      return refuse(op, "expected a body that reads numbers, found a tensor");
    body[slot] = load((*this)[value].tensor, 0);
  }

  bool sumsTokens = anySumsTokens(op);
  SmallVector<const Tensor *> inputs;
  SmallVector<Access> reads, writes;
  std::vector<Tensor> outputs;
  for (OpOperand &operand : op->getOpOperands()) {
    const Tensor &tensor = (*this)[operand.get()].tensor;
    // Without a point nothing is accessed, wherever the maps lead.
    std::optional<Access> access = Access();
    if (*points > 0)
      access = accessOf(op.getMatchingIndexingMap(&operand), tensor.shape(),
                        extents);
    if (!access)
      return refuseInputs(op, "expected linear indexing maps into operands, "
                              "found another one for operand " +
                                  Twine(operand.getOperandNumber()) +
                                  " of shape " + toString(tensor.shape()));
    sumsTokens |= sumsOverTokens(op, operand);
    if (op.isDpsInput(&operand)) {
      inputs.push_back(&tensor);
      reads.push_back(std::move(*access));
    } else {
      writes.push_back(std::move(*access));
      outputs.push_back(tensor);
    }
  }

  Operation *undefined = nullptr;
  forEachIndex(extents, [&](const int64_t *indices) {
    if (undefined)
      return;
    ArrayRef<int64_t> loops(indices, extents.size());
    unsigned slot = 0;
    for (auto [input, read] : llvm::zip_equal(inputs, reads))
      body[slot++] = load(*input, read.at(loops));
    for (auto [output, write] : llvm::zip_equal(outputs, writes))
      body[slot++] = load(output, write.at(loops));
    undefined = body.run(loops);
    for (auto [i, write] : llvm::enumerate(writes))
      store(outputs[i], write.at(loops), body.yielded(i));
  });
  if (undefined)
    return refuseInputs(undefined, "is undefined for these operands");
  for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
    if (failed(define(op, result, std::move(output), sumsTokens)))
      return failure();
  return success();
}

LogicalResult Evaluation::evaluateSoftmax(linalg::SoftmaxOp op) {
  auto axis = static_cast<int64_t>(op.getDimension());
  const Datum &input = (*this)[op.getInput()];
  const Shape &shape = input.tensor.shape();
  if ((*this)[op.getOutput()].tensor.shape() != shape)
    return refuseInputs(op, "expected an output of the input's shape");
  FailureOr<Tensor> result = allocate(op, op.getOutput().getType(), shape);
  if (failed(result))
    return failure();
  Shape rows = shape, steps = contiguousStrides(shape);
  rows[axis] = std::min<int64_t>(shape[axis], 1);
  const double *from = input.tensor.as<double>();
  auto *to = result->as<double>();
  forEachIndex(rows, [&](const int64_t *row) {
    int64_t first = input.tensor.view().offsetOf(row);
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    auto forEachElement = [&](auto visit) {
      for (int64_t i = 0; i < shape[axis]; ++i)
        visit(first + i * steps[axis]);
    };
    forEachElement([&](int64_t i) { maximum = std::max(maximum, from[i]); });
    forEachElement(
        [&](int64_t i) { sum += to[i] = std::exp(from[i] - maximum); });
    forEachElement([&](int64_t i) { to[i] /= sum; });
  });
  return define(op, op->getResult(0), std::move(*result),
                input.sumsTokens || isTokenAxis(op.getInput().getType(), axis));
}
