//===- Scalars.h - Elementwise operations on single numbers ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Floating-point numbers are doubles whatever their
// type is: the question here is which tokens meet, not how they are rounded.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_SCALARS_H
#define RINGLET_LIB_EVALUATOR_SCALARS_H

#include "mlir/IR/Operation.h"

namespace ringlet::evaluator {

/// One element: of a floating-point type, or an integer or index, which is
/// kept sign-extended.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// Computes the result of an operation for one element of each operand. False
/// where the operation leaves it undefined.
using ScalarFunction = bool (*)(mlir::Operation *op, const Scalar *operands,
                                Scalar &result);

/// Null for what is not an elementwise operation of arith or math, or not
/// known here.
ScalarFunction lookupScalarFunction(mlir::Operation *op);

} // namespace ringlet::evaluator

#endif // RINGLET_LIB_EVALUATOR_SCALARS_H
