//===- OrderModels.h - What upstream operations do to orders -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ORDERS_ORDERMODELS_H
#define RINGLET_PASSES_ORDERS_ORDERMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace ringlet {

/// Gives OrderInterface to the operations of arith, math, linalg, tensor and
/// func that treat tokens alike or only hand them on.
void registerOrderModels(mlir::DialectRegistry &registry);

} // namespace ringlet

#endif // RINGLET_PASSES_ORDERS_ORDERMODELS_H
