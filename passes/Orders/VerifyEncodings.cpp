//===- VerifyEncodings.cpp - Who may touch an order -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Orders/OrderGraph.h"
#include "passes/Orders/Passes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RLAYOUTVERIFYENCODINGS
#include "passes/Orders/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using rlayout::LayoutAttr;
using rlayout::OrderGroup;
using rlayout::OrderInterface;

namespace {

/// "operand #1" for what `op` reads, "result #0" for what it gives.
std::string getName(Operation *op, Value value) {
  if (value.getDefiningOp() == op)
    return llvm::formatv("result #{0}", cast<OpResult>(value).getResultNumber())
        .str();
  return llvm::formatv("operand #{0}", llvm::find(op->getOperands(), value) -
                                           op->operand_begin())
      .str();
}

/// The operands and results of `op` that have a layout other than linear
/// order.
SmallVector<std::pair<Value, LayoutAttr>> getOrdered(Operation *op) {
  SmallVector<std::pair<Value, LayoutAttr>> ordered;
  for (auto values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        if (LayoutAttr layout = rlayout::getLayout(type);
            layout && (rlayout::getOrder(type) || layout.getRing()))
          ordered.push_back({value, layout});
  return ordered;
}

/// All axes of one group have one order.
LogicalResult checkGroup(Operation *op, const OrderGroup &group) {
  auto axes = group.getAxes(op);
  auto getLayout = [](auto member) {
    return getLayoutOf(cast<RankedTensorType>(member.first.getType()),
                       member.second);
  };
  for (auto member : axes)
    if (getLayout(member) != getLayout(axes.front()))
      return op->emitOpError("expected axis ")
             << member.second << " of " << getName(op, member.first)
             << " in the order of " << getName(op, axes.front().first) << ", "
             << describe(getLayout(axes.front())) << ", found "
             << describe(getLayout(member)) << " (O1)";
  return success();
}

LogicalResult checkOperation(Operation *op) {
  auto ordered = getOrdered(op);
  if (ordered.empty())
    return success();
  auto interface = dyn_cast<OrderInterface>(op);
  if (!interface)
    return op->emitOpError("expected tensors in linear order, found ")
           << getName(op, ordered.front().first) << " in "
           << describe(ordered.front().second)
           << ": the operation may take slots for tokens; ringlet.reorder it "
              "before (O1)";
  SmallVector<OrderGroup> groups = interface.getOrderGroups();
  for (auto [value, layout] : ordered) {
    std::pair<Value, int64_t> place(value, layout.getAxis());
    if (llvm::none_of(groups, [&](const OrderGroup &group) {
          return llvm::is_contained(group.getAxes(op), place);
        }))
      return op->emitOpError("expected axis ")
             << layout.getAxis() << " of " << getName(op, value)
             << " in linear order, since the operation does not treat its "
                "tokens alike, found "
             << describe(layout) << "; ringlet.reorder it before (O1)";
  }
  for (const OrderGroup &group : groups)
    if (failed(checkGroup(op, group)))
      return failure();
  return success();
}

struct VerifyEncodings
    : ringlet::impl::RLayoutVerifyEncodingsBase<VerifyEncodings> {
  void runOnOperation() override {
    WalkResult result =
        getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
          return failed(checkOperation(op)) ? WalkResult::interrupt()
                                            : WalkResult::advance();
        });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
