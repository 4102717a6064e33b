//===- DrawInputs.h - Random inputs of a graph ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_DRAWINPUTS_H
#define RINGLET_LIB_EVALUATOR_DRAWINPUTS_H

#include "lib/Evaluator/Evaluator.h"

namespace ringlet::evaluator {

/// Arguments for `function` that follow from the seed alone, each in the order
/// of its tokens: numbers around 0; small sizes for dynamic axes, equal where
/// an operation says so and fitting the orders that they meet; lengths, starts,
/// sizes and offsets in the range that their attention takes. Whether they fit
/// together only a run can tell. Nothing, and `refusal` set, for arguments that
/// are not tensors of numbers.
std::optional<std::vector<Tensor>> drawInputs(mlir::func::FuncOp function,
                                              uint64_t seed, Refusal &refusal);

} // namespace ringlet::evaluator

#endif // RINGLET_LIB_EVALUATOR_DRAWINPUTS_H
