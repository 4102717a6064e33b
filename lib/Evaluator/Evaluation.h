//===- Evaluation.h - State of a run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_EVALUATION_H
#define RINGLET_LIB_EVALUATOR_EVALUATION_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Evaluator/Evaluator.h"
#include "lib/Evaluator/Scalars.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace ringlet::evaluator {

class Evaluation {
public:
  explicit Evaluation(Refusal &refusal) : refusal(refusal) {}

  std::optional<std::vector<Datum>> run(mlir::func::FuncOp function,
                                        std::vector<Datum> arguments);

private:
  mlir::LogicalResult evaluate(mlir::Operation *op);
  mlir::LogicalResult evaluateConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult evaluateEmpty(mlir::tensor::EmptyOp op);
  mlir::LogicalResult evaluateDim(mlir::tensor::DimOp op);
  /// Another shape for the same elements.
  mlir::LogicalResult evaluateReshape(mlir::Operation *op, Shape shape);
  mlir::LogicalResult evaluateElementwise(mlir::Operation *op,
                                          ScalarFunction function);
  mlir::LogicalResult evaluateStructured(mlir::linalg::LinalgOp op);
  mlir::LogicalResult evaluateSoftmax(mlir::linalg::SoftmaxOp op);
  mlir::LogicalResult evaluateReorder(attn::ReorderOp op);
  mlir::LogicalResult evaluateAttention(attn::AttentionOp op);

  /// Defines `value`, whose type must agree with the shape of the tensor.
  mlir::LogicalResult define(mlir::Operation *op, mlir::Value value,
                             Tensor tensor, bool sumsTokens);
  /// Room for a value of `type` and `shape`.
  mlir::FailureOr<Tensor> allocate(mlir::Operation *op, mlir::Type type,
                                   Shape shape);
  const Datum &operator[](mlir::Value value) const {
    return values.find(value)->second;
  }
  int64_t integer(mlir::Value value) const {
    return *(*this)[value].tensor.as<int64_t>();
  }
  bool anySumsTokens(mlir::Operation *op) const;
  /// Counts work before it is done.
  mlir::LogicalResult spend(mlir::Operation *op, std::optional<int64_t> count);
  /// Whether there is room for so many elements more.
  mlir::LogicalResult reserve(mlir::Operation *op,
                              std::optional<int64_t> count);
  /// The operation is not one that can be evaluated.
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &message);
  /// The operation cannot be evaluated on these operands.
  mlir::LogicalResult refuseInputs(mlir::Operation *op,
                                   const llvm::Twine &message);

  Refusal &refusal;
  int64_t steps = 0, elements = 0;
  llvm::DenseMap<mlir::Value, Datum> values;
};

/// An element of a tensor, in memory order.
Scalar load(const Tensor &tensor, int64_t index);
void store(Tensor &tensor, int64_t index, const Scalar &value);

} // namespace ringlet::evaluator

#endif // RINGLET_LIB_EVALUATOR_EVALUATION_H
