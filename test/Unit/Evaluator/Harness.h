//===- Harness.h - Functions from text --------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_EVALUATOR_HARNESS_H
#define RINGLET_TEST_UNIT_EVALUATOR_HARNESS_H

#include "lib/Evaluator/Evaluator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace ringlet::evaluator {

/// The function of a module that is given as text.
class Program {
public:
  explicit Program(const std::string &text);
  mlir::func::FuncOp function();

  /// The elements of its results for these arguments, as lists; a refusal is
  /// the one element NaN, its message in `refusal`.
  std::vector<std::vector<double>> run(std::vector<Tensor> arguments = {});
  Refusal refusal;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A tensor of floating-point numbers as the evaluator keeps them.
Tensor makeTensor(Shape shape, const std::vector<double> &elements);
Tensor makeIntegers(Shape shape, const std::vector<int64_t> &elements);

} // namespace ringlet::evaluator

#endif // RINGLET_TEST_UNIT_EVALUATOR_HARNESS_H
