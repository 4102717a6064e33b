//===- Skeleton.h - A program reduced to what roots need -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_SKELETON_H
#define RINGLET_PASSES_TILESCHEDULE_SKELETON_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <string>

namespace ringlet::schedule {

/// A copy of a block of straight operations, scf.for and scf.if that has some
/// root operations, the loops and conditions around them, and what these
/// compute with; loops carry and conditions yield no more than that.
class Skeleton {
public:
  /// `isShared` tells operations that the copy refers to and does not repeat.
  Skeleton(mlir::Block &body,
           llvm::function_ref<bool(mlir::Operation *)> isShared);

  /// Keeps `op`, with the values `operands` and no others of its operands.
  /// Roots have to be added before others that use their results.
  void addRoot(mlir::Operation *op, mlir::ValueRange operands);

  bool keeps(mlir::Operation *op) const { return kept.contains(op); }
  bool needs(mlir::Value value) const { return needed.contains(value); }
  const llvm::DenseSet<mlir::Value> &getNeeded() const { return needed; }

  /// Appends the copy at `builder`. `emit` writes an operation of the source
  /// itself and returns true, or returns false to have it copied.
  using Emit = llvm::function_ref<bool(mlir::OpBuilder &, mlir::Operation *,
                                       mlir::IRMapping &)>;
  void copyTo(mlir::OpBuilder &builder, Emit emit) const;

private:
  void keep(mlir::Operation *op, mlir::ValueRange operands);
  void need(mlir::Value value);
  void needResult(mlir::Operation *op, unsigned number);
  void copyBlock(mlir::OpBuilder &builder, mlir::Block &block,
                 mlir::IRMapping &mapping, Emit emit) const;
  void copyFor(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
               mlir::IRMapping &mapping, Emit emit) const;
  void copyIf(mlir::OpBuilder &builder, mlir::scf::IfOp choice,
              mlir::IRMapping &mapping, Emit emit) const;

  mlir::Block &body;
  llvm::DenseSet<mlir::Operation *> shared, roots, kept;
  llvm::DenseSet<mlir::Value> needed;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace ringlet::schedule

#endif // RINGLET_PASSES_TILESCHEDULE_SKELETON_H
