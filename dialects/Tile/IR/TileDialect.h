//===- TileDialect.h - The rtile dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H
#define RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/IR/TileDialect.h.inc"
#include "dialects/Tile/IR/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/IR/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.h.inc"

namespace ringlet::rtile {

/// Checks shapes and element types of a product (see `rtile.dot`).
llvm::LogicalResult verifyProduct(mlir::Operation *op,
                                  mlir::RankedTensorType lhs,
                                  mlir::RankedTensorType rhs, bool transposed,
                                  mlir::RankedTensorType result);

} // namespace ringlet::rtile

#endif // RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H
