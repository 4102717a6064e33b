//===- CollectOrders.cpp - The orders of a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Orders/CollectOrders.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringlet;

SmallVector<FoundOrder> ringlet::collectOrders(Operation *root) {
  SmallVector<FoundOrder> uses;
  llvm::DenseSet<std::pair<Attribute, int64_t>> seen;
  Location location = root->getLoc();
  auto add = [&](rlayout::OrderAttr order, int64_t length) {
    if (ShapedType::isDynamic(length) || order.getOrder()->period())
      length = 0;
    if (seen.insert({order, length}).second)
      uses.push_back({order, length, location});
  };
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    // What is written, linear order included.
    rlayout::LayoutAttr layout = rlayout::getLayout(type);
    if (!layout || !layout.getOrder())
      return WalkResult::advance();
    add(layout.getOrder(), type.getDimSize(layout.getAxis()));
    return WalkResult::skip();
  });
  walker.addWalk([&](rlayout::OrderAttr order) { add(order, 0); });

  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    location = op->getLoc();
    walker.walk<WalkOrder::PreOrder>(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk<WalkOrder::PreOrder>(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          walker.walk<WalkOrder::PreOrder>(type);
  });
  return uses;
}
