//===- CollectOrders.h - The orders of a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ORDERS_COLLECTORDERS_H
#define RINGLET_PASSES_ORDERS_COLLECTORDERS_H

#include "dialects/Layout/IR/LayoutDialect.h"

#include "mlir/IR/Operation.h"

namespace ringlet {

/// An order, where it first appears, and the length that its own text leaves
/// open.
struct FoundOrder {
  rlayout::OrderAttr order;
  /// Size of the sequence axis; 0 if the order has a period of its own, or if
  /// the axis is dynamic or there is none.
  int64_t length;
  mlir::Location location;
};

/// The orders in the attributes and types of `root` and what is in it, each
/// once, as they appear from top to bottom.
llvm::SmallVector<FoundOrder> collectOrders(mlir::Operation *root);

} // namespace ringlet

#endif // RINGLET_PASSES_ORDERS_COLLECTORDERS_H
