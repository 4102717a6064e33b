//===- VerifyEncodings.cpp - Who may touch an order -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Layout/IR/OrderInterface.h"
#include "passes/Orders/Passes.h"

#include "mlir/IR/BuiltinTypes.h"

namespace ringlet {
#define GEN_PASS_DEF_RLAYOUTVERIFYENCODINGS
#include "passes/Orders/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using rlayout::GroupAxis;
using rlayout::LayoutAttr;
using rlayout::OrderGroup;
using rlayout::OrderInterface;

namespace {

/// An operand or a result, as messages name it.
struct Place {
  StringRef kind;
  unsigned number;
  Type type;

  LayoutAttr getLayout() const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? rlayout::getLayout(tensor) : LayoutAttr();
  }
};

SmallVector<Place> getPlaces(Operation *op) {
  SmallVector<Place> places;
  for (auto [number, type] : llvm::enumerate(op->getOperandTypes()))
    places.push_back({"operand", static_cast<unsigned>(number), type});
  for (auto [number, type] : llvm::enumerate(op->getResultTypes()))
    places.push_back({"result", static_cast<unsigned>(number), type});
  return places;
}

/// The places of `group` with their axes, operands first.
SmallVector<std::pair<Place, int64_t>> getPlaces(Operation *op,
                                                 const OrderGroup &group) {
  SmallVector<std::pair<Place, int64_t>> places;
  for (GroupAxis member : group.operands)
    places.push_back(
        {{"operand", member.number, op->getOperand(member.number).getType()},
         member.axis});
  for (GroupAxis member : group.results)
    places.push_back(
        {{"result", member.number, op->getResult(member.number).getType()},
         member.axis});
  return places;
}

/// What the layout of `place` says about `axis`; null for linear order.
LayoutAttr getLayoutOf(const Place &place, int64_t axis) {
  LayoutAttr layout = place.getLayout();
  return layout && layout.getAxis() == axis ? layout : LayoutAttr();
}

bool sameTokens(LayoutAttr a, LayoutAttr b) {
  return (a ? a.getOrder() : nullptr) == (b ? b.getOrder() : nullptr) &&
         (a ? a.getRing() : nullptr) == (b ? b.getRing() : nullptr);
}

InFlightDiagnostic &printLayout(InFlightDiagnostic &diagnostic,
                                LayoutAttr layout) {
  return layout ? diagnostic << layout : diagnostic << "linear order";
}

/// All axes of one group have one order.
LogicalResult checkGroup(Operation *op, const OrderGroup &group) {
  auto places = getPlaces(op, group);
  if (places.empty())
    return success();
  auto [first, firstAxis] = places.front();
  LayoutAttr expected = getLayoutOf(first, firstAxis);
  for (auto [place, axis] : ArrayRef(places).drop_front()) {
    LayoutAttr found = getLayoutOf(place, axis);
    if (sameTokens(expected, found))
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError("expected axis ")
        << axis << " of " << place.kind << " #" << place.number
        << " in the order of " << first.kind << " #" << first.number << ", ";
    printLayout(diagnostic, expected) << ", found ";
    printLayout(diagnostic, found) << " (O1)";
    return failure();
  }
  return success();
}

LogicalResult checkOperation(Operation *op) {
  SmallVector<Place> ordered = llvm::filter_to_vector(
      getPlaces(op), [](const Place &place) { return place.getLayout(); });
  if (ordered.empty())
    return success();
  auto interface = dyn_cast<OrderInterface>(op);
  if (!interface)
    return op->emitOpError("expected tensors in linear order, found ")
           << ordered.front().kind << " #" << ordered.front().number << " in "
           << ordered.front().getLayout()
           << ": the operation may take slots for tokens; ringlet.reorder it "
              "before (O1)";
  SmallVector<OrderGroup> groups = interface.getOrderGroups();
  for (const Place &place : ordered) {
    int64_t axis = place.getLayout().getAxis();
    auto holds = [&](const OrderGroup &group) {
      return llvm::any_of(getPlaces(op, group), [&](const auto &member) {
        return member.first.kind == place.kind &&
               member.first.number == place.number && member.second == axis;
      });
    };
    if (llvm::none_of(groups, holds))
      return op->emitOpError("expected axis ")
             << axis << " of " << place.kind << " #" << place.number
             << " in linear order, since the operation does not treat its "
                "tokens alike, found "
             << place.getLayout() << "; ringlet.reorder it before (O1)";
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
