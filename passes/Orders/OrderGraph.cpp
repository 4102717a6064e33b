//===- OrderGraph.cpp - Who wants which order in a block -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Orders/OrderGraph.h"

using namespace mlir;
using namespace ringlet;
using rlayout::GroupAxis;
using rlayout::LayoutAttr;
using rlayout::OrderGroup;
using rlayout::OrderInterface;

static constexpr unsigned kNoSite = ~0u;

LayoutAttr ringlet::getLayoutOf(RankedTensorType type, int64_t axis) {
  LayoutAttr layout = rlayout::getLayout(type);
  if (!layout || layout.getAxis() != axis)
    return {};
  rlayout::OrderAttr order = rlayout::getOrder(type);
  if (!order && !layout.getRing())
    return {};
  return LayoutAttr::get(type.getContext(), order, layout.getRing(), 0);
}

std::string ringlet::describe(LayoutAttr layout) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (layout && layout.getOrder())
    out << layout.getOrder();
  else
    out << "linear order";
  if (layout && layout.getRing())
    out << " of " << layout.getRing();
  return text;
}

bool ringlet::isAlikeForAllTokens(Value value) {
  auto op = value.getDefiningOp<OrderInterface>();
  return op && op.isAlikeForAllTokens();
}

/// Null for what has no layout and cannot have one: an encoding of another
/// dialect says how the tensor lies.
static RankedTensorType getTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || (type.getEncoding() && !rlayout::getLayout(type)))
    return {};
  return type;
}

/// The one layout of all axes of `group`, or nothing where they differ.
static std::optional<LayoutAttr> getCommonLayout(Operation *op,
                                                 const OrderGroup &group) {
  std::optional<LayoutAttr> common;
  for (auto [value, axis] : group.getAxes(op)) {
    RankedTensorType type = getTensor(value);
    if (!type)
      return std::nullopt;
    LayoutAttr layout = getLayoutOf(type, axis);
    if (common && *common != layout)
      return std::nullopt;
    common = layout;
  }
  return common;
}

OrderGraph::OrderGraph(Block &block) : block(block) {
  for (Operation &op : block) {
    auto reorder = dyn_cast<attn::ReorderOp>(op);
    if (reorder && isBetweenSites(reorder))
      reorders.push_back(reorder);
    else
      addOperation(&op);
  }
  for (Operation &op : block)
    for (Value result : op.getResults())
      addOutsideUses(result);
}

void OrderGraph::addOutsideUses(Value value) {
  RankedTensorType type = getTensor(value);
  if (!type)
    return;
  for (OpOperand &use : value.getUses()) {
    if (use.getOwner()->getBlock() == &block)
      continue;
    SitesOfAxes places(type.getRank(), kNoSite);
    addEnds(use.getOwner(), type, places);
    addReader(use, std::move(places));
  }
}

bool OrderGraph::isBetweenSites(attn::ReorderOp reorder) const {
  // Two sequence axes take two permutations; a change of shape is a promise.
  auto hasAxisOf = [](attn::ReorderOp reorder, Operation *other) {
    auto neighbour = dyn_cast_or_null<attn::ReorderOp>(other);
    return !neighbour ||
           neighbour.getSequenceAxis() == reorder.getSequenceAxis();
  };
  if (reorder->getBlock() != &block ||
      reorder.getInput().getType().getShape() !=
          reorder.getOutput().getType().getShape() ||
      !hasAxisOf(reorder, reorder.getInput().getDefiningOp()))
    return false;
  return llvm::all_of(reorder->getUsers(), [&](Operation *user) {
    return hasAxisOf(reorder, user);
  });
}

Value OrderGraph::getSource(Value value) const {
  // In a block that nothing reaches values may go in circles.
  while (auto reorder = value.getDefiningOp<attn::ReorderOp>()) {
    if (!isBetweenSites(reorder))
      break;
    value = reorder.getInput();
    if (Operation *before = value.getDefiningOp();
        before && before->getBlock() == &block &&
        !before->isBeforeInBlock(reorder))
      break;
  }
  return value;
}

void OrderGraph::addOperation(Operation *op) {
  auto makePlaces = [](auto values) {
    return llvm::map_to_vector(values, [](Value value) {
      RankedTensorType type = getTensor(value);
      return SitesOfAxes(type ? type.getRank() : 0, kNoSite);
    });
  };
  SmallVector<SitesOfAxes> operands = makePlaces(op->getOperands());
  SmallVector<SitesOfAxes> results = makePlaces(op->getResults());
  if (auto interface = dyn_cast<OrderInterface>(op))
    for (OrderGroup &group : interface.getOrderGroups()) {
      std::optional<LayoutAttr> layout = getCommonLayout(op, group);
      if (!layout)
        continue;
      for (GroupAxis member : group.operands)
        operands[member.number][member.axis] = sites.size();
      for (GroupAxis member : group.results)
        results[member.number][member.axis] = sites.size();
      bool movable = !group.fixed && !interface.isAlikeForAllTokens();
      sites.push_back({op, std::move(group), *layout, movable});
    }
  for (auto [operand, places] :
       llvm::zip_equal(op->getOpOperands(), operands)) {
    addEnds(op, operand.get().getType(), places);
    addReader(operand, std::move(places));
  }
  for (auto [result, places] : llvm::zip_equal(op->getResults(), results)) {
    addEnds(op, result.getType(), places);
    addDriver(result, places);
  }
}

void OrderGraph::addEnds(Operation *op, Type type, SitesOfAxes &places) {
  for (auto [axis, place] : llvm::enumerate(places))
    if (place == kNoSite) {
      place = sites.size();
      sites.push_back(
          {op, {}, getLayoutOf(cast<RankedTensorType>(type), axis), false});
    }
}

void OrderGraph::addDriver(Value value, const SitesOfAxes &places) {
  for (auto [axis, place] : llvm::enumerate(places))
    nets[{value, axis}].driver = place;
}

void OrderGraph::addReader(OpOperand &use, SitesOfAxes places) {
  if (places.empty())
    return;
  Value source = getSource(use.get());
  if (!nets.contains({source, 0})) {
    SitesOfAxes drivers(places.size(), kNoSite);
    addEnds(source.getDefiningOp(), source.getType(), drivers);
    addDriver(source, drivers);
  }
  for (auto [axis, place] : llvm::enumerate(places))
    nets[{source, axis}].readers.push_back(place);
  uses.push_back({&use, source, std::move(places)});
}
