//===- Scalars.h - Values that are no tiles -*- C++ -*--===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_SCALARS_H
#define RINGLET_PASSES_TILECODE_SCALARS_H

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileCode/CodeBuilder.h"

namespace ringlet {
namespace code {

/// The type of a value if it is a tile, or null.
inline mlir::RankedTensorType getTile(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// What stands for a scalar of `type`: an i64 for an index.
mlir::Type getCodeType(mlir::Type type);

/// Code for an operation on scalars alone: a constant, a cast of an index, or
/// the same operation on `operands`.
llvm::SmallVector<mlir::Value> emitScalar(CodeBuilder &b, mlir::Operation *op,
                                          mlir::ValueRange operands);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_SCALARS_H
