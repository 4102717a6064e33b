//===- OrderGraph.h - Who wants which order in a block ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors of a block as a hypergraph. A site is an order group of an
// operation: it works in one order, which the types of its axes say. A net is
// an axis of a tensor, from the site that computes it to those that read it.
// The reorders between them are not part of the graph: where the orders of
// driver and reader differ there is one.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ORDERS_ORDERGRAPH_H
#define RINGLET_PASSES_ORDERS_ORDERGRAPH_H

#include "dialects/Layout/IR/OrderInterface.h"
#include "dialects/Ringlet/IR/RingletDialect.h"

#include "llvm/ADT/MapVector.h"

namespace ringlet {

struct OrderSite {
  mlir::Operation *op;
  rlayout::OrderGroup group;
  /// The layout of each axis of the group, as if on axis 0; null for linear
  /// order.
  rlayout::LayoutAttr layout;
  /// Whether another order is as good as this one.
  bool movable;
};

struct OrderNet {
  unsigned driver;
  llvm::SmallVector<unsigned> readers;
};

/// A use of a tensor by an operation that is no reorder between sites.
struct OrderedOperand {
  mlir::OpOperand *operand;
  /// What is read, before any reorder: where the net starts.
  mlir::Value source;
  /// The reader of each axis.
  llvm::SmallVector<unsigned> sites;
};

class OrderGraph {
public:
  explicit OrderGraph(mlir::Block &block);

  std::vector<OrderSite> sites;
  /// Of each axis of each tensor that the block computes or reads.
  llvm::MapVector<std::pair<mlir::Value, int64_t>, OrderNet> nets;
  std::vector<OrderedOperand> uses;
  /// What the block has where driver and reader differ.
  std::vector<attn::ReorderOp> reorders;

private:
  /// The site of each axis of an operand or result.
  using SitesOfAxes = llvm::SmallVector<unsigned>;

  mlir::Value getSource(mlir::Value value) const;
  bool isBetweenSites(attn::ReorderOp reorder) const;
  void addOperation(mlir::Operation *op);
  /// What other blocks read has to stay as it is.
  void addOutsideUses(mlir::Value value);
  /// Adds a site that stays as it is for each axis that has none yet.
  void addEnds(mlir::Operation *op, mlir::Type type, SitesOfAxes &places);
  void addDriver(mlir::Value value, const SitesOfAxes &places);
  void addReader(mlir::OpOperand &use, SitesOfAxes places);

  mlir::Block &block;
};

/// The layout of `axis`, as if it were axis 0; null for linear order.
rlayout::LayoutAttr getLayoutOf(mlir::RankedTensorType type, int64_t axis);

/// `#rlayout.order<...>`, with its ring if it has one, or "linear order".
std::string describe(rlayout::LayoutAttr layout);

/// Whether the value is alike for all tokens, so that no reorder of it is ever
/// needed.
bool isAlikeForAllTokens(mlir::Value value);

} // namespace ringlet

#endif // RINGLET_PASSES_ORDERS_ORDERGRAPH_H
