//===- Evaluator.h - What a graph computes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function of tensor operations (attention, reorders, elementwise and
// structured operations) on given inputs, operation by operation and as the
// types say where each token lies. Two functions that are to compute the same
// are compared by what they do here.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_EVALUATOR_H
#define RINGLET_LIB_EVALUATOR_EVALUATOR_H

#include "lib/Tensor/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet::evaluator {

/// A tensor in memory, or a scalar as a tensor without axes. Elements are f64
/// for any floating-point type, i64 for integers (sign-extended) and indices.
struct Datum {
  Tensor tensor;
  /// Some sum went over tokens, so that its last bits depend on their order.
  bool sumsTokens = false;
};

/// Why a function cannot be run.
struct Refusal {
  mlir::Operation *op = nullptr;
  std::string message;
  /// Other inputs or sizes might do.
  bool isAboutInputs = false;
};

/// What one run may cost: multiply-adds of scores and points of iteration
/// spaces, and elements of all its values together.
inline constexpr int64_t kMaxSteps = int64_t(1) << 28;
inline constexpr int64_t kMaxElements = int64_t(1) << 24;

/// The results of `function` for `arguments`, all as they lie in memory;
/// nothing, and `refusal` set, if it cannot be run.
std::optional<std::vector<Datum>> evaluate(mlir::func::FuncOp function,
                                           std::vector<Datum> arguments,
                                           Refusal &refusal);

/// The element type that holds values of `type` here; nothing if none does.
std::optional<DType> storageOf(mlir::Type type);

/// Slots along the sequence axis of a tensor of `type` put in the order of
/// their tokens, and back. False, and `*error` set, if the length does not fit
/// the order (O1).
bool slotsToTokens(Tensor &tensor, mlir::RankedTensorType type,
                   std::string *error);
bool tokensToSlots(Tensor &tensor, mlir::RankedTensorType type,
                   std::string *error);

} // namespace ringlet::evaluator

#endif // RINGLET_LIB_EVALUATOR_EVALUATOR_H
