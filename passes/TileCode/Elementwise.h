//===- Elementwise.h - Elementwise operations on vectors -*- C++ -*--===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_ELEMENTWISE_H
#define RINGLET_PASSES_TILECODE_ELEMENTWISE_H

#include "passes/TileCode/CodeBuilder.h"

namespace ringlet {
namespace code {

/// Code for one elementwise operation. Operands and result are vectors: of f32
/// for tiles of f32, f16 and bf16, whose values are rounded here.
mlir::Value emitElementwise(CodeBuilder &b, mlir::Operation *op,
                            mlir::ValueRange operands);

/// Rounds a vector of f32 to values of `element`, ties to even.
mlir::Value emitRounding(CodeBuilder &b, mlir::Type element,
                         mlir::Value vector);

/// tanh of f32 by a target's own 2 / (e^2x + 1) for x that is not negative.
mlir::Value emitTanh(CodeBuilder &b, mlir::Value x,
                     llvm::function_ref<mlir::Value(mlir::Value)> getRest);

/// ln, or log2 with `isBinary`, of f32 by a target's own quotient of two
/// numbers in [-0.42, 2.42].
mlir::Value
emitLog(CodeBuilder &b, mlir::Value x, bool isBinary,
        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> divide);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_ELEMENTWISE_H
