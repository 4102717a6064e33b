//===- LoopRows.h - Loops that hand a state on -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT_LOOPROWS_H
#define RINGLET_PASSES_TILEOPT_LOOPROWS_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringlet {

/// Loops of one block, each of which starts from the results of the one before
/// and is their only user.
using LoopRow = llvm::SmallVector<mlir::scf::ForOp, 3>;

/// `first` and the loops that go on from it.
LoopRow getLoopRow(mlir::scf::ForOp first);

/// All rows of a kernel, those in regions of operations included.
llvm::SmallVector<LoopRow> getLoopRows(rtile::FuncOp func);

/// On the mask of a step in front of loops of which only the last one has
/// masks.
inline constexpr llvm::StringLiteral kPeeledAttr = "peeled";

/// Whether `op` or what is in it may write to memory.
bool mayWrite(mlir::Operation *op);

/// `loc` with a name for the printed value.
mlir::Location named(mlir::Location loc, llvm::StringRef name);

/// The name that a value has for printing, with `suffix`; `loc` if it has none.
mlir::Location nameLike(mlir::Value value, llvm::StringRef suffix,
                        mlir::Location loc);

/// `number` everywhere; `like` gives the shape.
mlir::Value createSplat(mlir::OpBuilder &builder, llvm::StringRef name,
                        double number, mlir::RankedTensorType like);

/// Erases operations of `block` without effects or uses.
void eraseDead(mlir::Block &block);

} // namespace ringlet

#endif // RINGLET_PASSES_TILEOPT_LOOPROWS_H
