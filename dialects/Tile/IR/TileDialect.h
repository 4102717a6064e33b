//===- TileDialect.h - The rtile dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H
#define RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H

#include "dialects/Layout/IR/LayoutDialect.h"
#include "dialects/Support/Precision.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
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

/// Attributes of operations of any dialect (see the dialect's description).
inline constexpr llvm::StringLiteral kStageAttr = "rtile.stage";
inline constexpr llvm::StringLiteral kUnorderedAttr = "rtile.unordered";
inline constexpr llvm::StringLiteral kBesideAttr = "rtile.beside";
/// Most rows of a view for one row of its buffer.
inline constexpr int64_t kLongestGroup = 1 << 16;

/// Warps of all roles of a block together, and slots of a channel.
inline constexpr int64_t mostWarps = 32, mostWarpsOfAll = 64, mostSlots = 16;

/// Checks that a role of so many warps can have so many registers a thread; 0
/// if it takes what there is.
llvm::LogicalResult
verifyWarpsOfRole(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                  int64_t warps, int64_t registers);

/// The warps whose registers hold tiles of `type`; 0 if it says nothing of it.
int64_t getWarpsOf(mlir::Type type);

/// True if tiles of `type` lie in slots of shared memory.
bool liesInSlot(mlir::Type type);

/// True for elements of 8 bits, f8E4M3FN or i8, which views widen (S6).
bool isWidenedElement(mlir::Type element);

/// The view that made `view` if its buffer has such elements; else null.
ViewOp getWidening(mlir::Value view);

/// Checks that nothing says of tiles of `type` that they lie elsewhere than in
/// registers.
llvm::LogicalResult verifyInRegisters(mlir::Operation *op, mlir::Type type);

/// Checks that all tiles among operands and results of `op` have one encoding,
/// that of registers, or none.
llvm::LogicalResult verifyOneEncoding(mlir::Operation *op);

/// Checks shapes, element types and encodings of a product (see `rtile.dot`).
llvm::LogicalResult verifyProduct(mlir::Operation *op,
                                  mlir::RankedTensorType lhs,
                                  mlir::RankedTensorType rhs, bool transposed,
                                  mlir::RankedTensorType result);

} // namespace ringlet::rtile

#endif // RINGLET_DIALECTS_TILE_IR_TILEDIALECT_H
