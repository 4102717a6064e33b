//===- OrderInterface.h - What an operation does to orders -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_LAYOUT_IR_ORDERINTERFACE_H
#define RINGLET_DIALECTS_LAYOUT_IR_ORDERINTERFACE_H

#include "dialects/Layout/IR/LayoutDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace ringlet::rlayout {

/// An axis of the operand or of the result with this number.
struct GroupAxis {
  unsigned number;
  int64_t axis;
};

/// Axes of one operation that count the same tokens.
struct OrderGroup {
  llvm::SmallVector<GroupAxis> operands;
  llvm::SmallVector<GroupAxis> results;
  /// The order is part of a contract (a signature, a choice of the user) and
  /// stays as it is.
  bool fixed = false;

  /// The tensors of `op` whose axes these are: operands, then results.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>>
  getAxes(mlir::Operation *op) const;
};

/// One group for each axis of the tensors among operands and results, which
/// all have one shape.
llvm::SmallVector<OrderGroup> getElementwiseOrderGroups(mlir::Operation *op);

/// One fixed group for each axis of each tensor: what `op` hands on as it is.
llvm::SmallVector<OrderGroup> getFixedOrderGroups(mlir::Operation *op);

} // namespace ringlet::rlayout

#include "dialects/Layout/IR/OrderInterface.h.inc"

#endif // RINGLET_DIALECTS_LAYOUT_IR_ORDERINTERFACE_H
