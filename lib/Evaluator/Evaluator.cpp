//===- Evaluator.cpp - What a graph computes ------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/Evaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<DType> evaluator::storageOf(Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 64)
    return DType::f64;
  auto integer = dyn_cast<IntegerType>(type);
  if (type.isIndex() || (integer && integer.isSignless() &&
                         integer.getWidth() >= 1 && integer.getWidth() <= 64))
    return DType::i64;
  return std::nullopt;
}

Scalar evaluator::load(const Tensor &tensor, int64_t index) {
  Scalar scalar;
  if (tensor.dtype() == DType::f64)
    scalar.real = tensor.as<double>()[index];
  else
    scalar.integer = tensor.as<int64_t>()[index];
  return scalar;
}

void evaluator::store(Tensor &tensor, int64_t index, const Scalar &value) {
  if (tensor.dtype() == DType::f64)
    tensor.as<double>()[index] = value.real;
  else
    tensor.as<int64_t>()[index] = value.integer;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

LogicalResult Evaluation::refuse(Operation *op, const Twine &message) {
  refusal.op = op;
  refusal.message = message.str();
  refusal.isAboutInputs = false;
  return failure();
}

LogicalResult Evaluation::refuseInputs(Operation *op, const Twine &message) {
  (void)refuse(op, message);
  refusal.isAboutInputs = true;
  return failure();
}

/// "found 7" for `count` more than `before`, which may be more than 64 bits
/// hold, and what to do about it.
static std::string foundTooMany(int64_t before, std::optional<int64_t> count) {
  bool fits = count && *count <= std::numeric_limits<int64_t>::max() - before;
  return llvm::formatv(
             "found {0}; take shorter sequences, or dynamic ones, which get "
             "short lengths",
             fits ? std::to_string(before + *count) : "over 2^63")
      .str();
}

LogicalResult Evaluation::spend(Operation *op, std::optional<int64_t> count) {
  if (count && *count <= kMaxSteps - steps) {
    steps += *count;
    return success();
  }
  return refuseInputs(op,
                      "expected at most 2^28 steps of a graph to evaluate, " +
                          foundTooMany(steps, count));
}

LogicalResult Evaluation::reserve(Operation *op, std::optional<int64_t> count) {
  if (count && *count <= kMaxElements - elements)
    return success();
  return refuseInputs(op, "expected at most 2^24 elements in the tensors of a "
                          "graph to evaluate, " +
                              foundTooMany(elements, count));
}

FailureOr<Tensor> Evaluation::allocate(Operation *op, Type type, Shape shape) {
  std::optional<DType> dtype = storageOf(type);
  if (!dtype) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return refuse(op, "expected elements of a floating-point type or of "
                      "integers of at most 64 bits, found " +
                          text);
  }
  if (failed(reserve(op, numElements(shape))))
    return failure();
  std::string error;
  std::optional<Tensor> tensor = Tensor::create(*dtype, shape, &error);
  if (!tensor)
    return refuseInputs(op, error);
  return std::move(*tensor);
}

LogicalResult Evaluation::define(Operation *op, Value value, Tensor tensor,
                                 bool sumsTokens) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> expected = type ? type.getShape() : ArrayRef<int64_t>();
  if (failed(verifyCompatibleShape(expected, tensor.shape())))
    return refuseInputs(op,
                        "expected a result of the shape of its type, found " +
                            toString(tensor.shape()));
  if (failed(reserve(op, tensor.elements())))
    return failure();
  elements += tensor.elements();
  values[value] = {std::move(tensor), sumsTokens};
  return success();
}

bool Evaluation::anySumsTokens(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return (*this)[operand].sumsTokens;
  });
}

std::optional<std::vector<Datum>>
Evaluation::run(func::FuncOp function, std::vector<Datum> arguments) {
  if (!function.getBody().hasOneBlock()) {
    (void)refuse(function, "expected a body of one block to evaluate");
    return std::nullopt;
  }
  for (auto [value, argument] :
       llvm::zip_equal(function.getArguments(), arguments))
    if (failed(define(function, value, std::move(argument.tensor),
                      argument.sumsTokens)))
      return std::nullopt;
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(evaluate(&op)))
      return std::nullopt;
  std::vector<Datum> results;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.push_back((*this)[value]);
  return results;
}

std::optional<std::vector<Datum>>
evaluator::evaluate(func::FuncOp function, std::vector<Datum> arguments,
                    Refusal &refusal) {
  return Evaluation(refusal).run(function, std::move(arguments));
}

LogicalResult Evaluation::evaluate(Operation *op) {
  if (ScalarFunction function = lookupScalarFunction(op))
    return evaluateElementwise(op, function);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp op) { return evaluateConstant(op); })
      .Case([&](tensor::EmptyOp op) { return evaluateEmpty(op); })
      .Case([&](tensor::DimOp op) { return evaluateDim(op); })
      .Case([&](tensor::CastOp op) {
        return evaluateReshape(op, (*this)[op.getSource()].tensor.shape());
      })
      .Case([&](tensor::CollapseShapeOp op) {
        const Shape &source = (*this)[op.getSrc()].tensor.shape();
        Shape shape;
        for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
          int64_t &size = shape.emplace_back(1);
          for (int64_t axis : group)
            size *= source[axis];
        }
        return evaluateReshape(op, std::move(shape));
      })
      .Case([&](tensor::ExpandShapeOp op) {
        Shape shape;
        for (OpFoldResult size : op.getMixedOutputShape()) {
          std::optional<int64_t> constant = getConstantIntValue(size);
          shape.push_back(constant ? *constant : integer(cast<Value>(size)));
        }
        return evaluateReshape(op, std::move(shape));
      })
      .Case([&](linalg::LinalgOp op) { return evaluateStructured(op); })
      .Case([&](linalg::SoftmaxOp op) { return evaluateSoftmax(op); })
      .Case([&](attn::ReorderOp op) { return evaluateReorder(op); })
      .Case([&](attn::AttentionOp op) { return evaluateAttention(op); })
      .Default([&](Operation *op) {
        return refuse(op, "is not an operation that can be evaluated");
      });
}

//===----------------------------------------------------------------------===//
// Constants and shapes
//===----------------------------------------------------------------------===//

/// An attribute's number; a true i1 is -1, as every integer is sign-extended.
static Scalar toScalar(const APInt &value) { return {0, value.getSExtValue()}; }

static Scalar toScalar(APFloat value) {
  bool inexact;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return {value.convertToDouble(), 0};
}

LogicalResult Evaluation::evaluateConstant(arith::ConstantOp op) {
  Attribute attribute = op.getValue();
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense && !isa<IntegerAttr, FloatAttr>(attribute))
    return refuse(op, "expected a number or dense elements to evaluate");
  FailureOr<Tensor> tensor = allocate(
      op, op.getType(), dense ? Shape(dense.getType().getShape()) : Shape());
  if (failed(tensor))
    return failure();
  int64_t index = 0;
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    store(*tensor, 0, toScalar(integer.getValue()));
  else if (auto real = dyn_cast<FloatAttr>(attribute))
    store(*tensor, 0, toScalar(real.getValue()));
  else if (tensor->dtype() == DType::f64)
    for (APFloat value : dense.getValues<APFloat>())
      store(*tensor, index++, toScalar(value));
  else
    for (APInt value : dense.getValues<APInt>())
      store(*tensor, index++, toScalar(value));
  return define(op, op.getResult(), std::move(*tensor), false);
}

LogicalResult Evaluation::evaluateEmpty(tensor::EmptyOp op) {
  Shape shape;
  auto dynamic = op.getDynamicSizes().begin();
  for (int64_t size : op.getType().getShape())
    shape.push_back(ShapedType::isDynamic(size) ? integer(*dynamic++) : size);
  FailureOr<Tensor> tensor = allocate(op, op.getType(), std::move(shape));
  if (failed(tensor))
    return failure();
  // Whoever reads what nobody wrote gets something that shows.
  for (int64_t i = 0; i < tensor->elements(); ++i)
    store(*tensor, i, {std::numeric_limits<double>::quiet_NaN(), -1});
  return define(op, op.getResult(), std::move(*tensor), false);
}

LogicalResult Evaluation::evaluateDim(tensor::DimOp op) {
  const Shape &shape = (*this)[op.getSource()].tensor.shape();
  int64_t axis = integer(op.getIndex());
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
    return refuseInputs(op, "expected an axis below " + Twine(shape.size()) +
                                ", found " + Twine(axis));
  Tensor size(DType::i64, {});
  *size.as<int64_t>() = shape[axis];
  return define(op, op.getResult(), std::move(size), false);
}

LogicalResult Evaluation::evaluateReshape(Operation *op, Shape shape) {
  const Datum &source = (*this)[op->getOperand(0)];
  if (numElements(shape) != source.tensor.elements())
    return refuseInputs(op, "expected a result of as many elements as the "
                            "operand of shape " +
                                toString(source.tensor.shape()) + ", found " +
                                toString(shape));
  Tensor tensor = source.tensor;
  tensor.reshape(std::move(shape));
  return define(op, op->getResult(0), std::move(tensor), source.sumsTokens);
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

LogicalResult Evaluation::evaluateElementwise(Operation *op,
                                              ScalarFunction function) {
  // A select may have one condition for all elements.
  SmallVector<std::pair<const Tensor *, int64_t>, 3> operands;
  Shape shape;
  for (Value operand : op->getOperands()) {
    const Tensor &tensor = (*this)[operand].tensor;
    bool isShaped = isa<ShapedType>(operand.getType());
    if (isShaped && !shape.empty() && tensor.shape() != shape)
      return refuseInputs(op, "expected operands of one shape, found " +
                                  toString(shape) + " and " +
                                  toString(tensor.shape()));
    if (isShaped)
      shape = tensor.shape();
    operands.emplace_back(&tensor, isShaped ? 1 : 0);
  }
  FailureOr<Tensor> tensor = allocate(op, op->getResult(0).getType(), shape);
  if (failed(tensor) || failed(spend(op, tensor->elements())))
    return failure();
  for (int64_t i = 0; i < tensor->elements(); ++i) {
    Scalar scalars[3], result;
    for (auto [n, operand] : llvm::enumerate(operands))
      scalars[n] = load(*operand.first, i * operand.second);
    if (!function(op, scalars, result))
      return refuseInputs(op, "is undefined for these operands");
    store(*tensor, i, result);
  }
  return define(op, op->getResult(0), std::move(*tensor), anySumsTokens(op));
}
