//===- OrderModels.cpp - What upstream operations do to orders -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Orders/OrderModels.h"

#include "dialects/Layout/IR/OrderInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace ringlet;
using rlayout::OrderGroup;
using rlayout::OrderInterface;

namespace {

template <typename Op>
struct ElementwiseModel
    : OrderInterface::ExternalModel<ElementwiseModel<Op>, Op> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    return rlayout::getElementwiseOrderGroups(op);
  }
};

/// What is read or handed on under a type that a signature gives.
template <typename Op>
struct FixedModel : OrderInterface::ExternalModel<FixedModel<Op>, Op> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    return rlayout::getFixedOrderGroups(op);
  }
};

/// A splat is alike for all tokens; what other constants hold lies as their
/// type says.
struct ConstantModel
    : OrderInterface::ExternalModel<ConstantModel, arith::ConstantOp> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    return isAlikeForAllTokens(op) ? rlayout::getElementwiseOrderGroups(op)
                                   : rlayout::getFixedOrderGroups(op);
  }
  bool isAlikeForAllTokens(Operation *op) const {
    return isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  }
  Value makeWithType(Operation *op, OpBuilder &builder,
                     RankedTensorType type) const {
    auto value =
        cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    return arith::ConstantOp::create(builder, op->getLoc(),
                                     value.resizeSplat(type));
  }
};

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

struct EmptyModel : OrderInterface::ExternalModel<EmptyModel, tensor::EmptyOp> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    return rlayout::getElementwiseOrderGroups(op);
  }
  bool isAlikeForAllTokens(Operation *) const { return true; }
  Value makeWithType(Operation *op, OpBuilder &builder,
                     RankedTensorType type) const {
    return tensor::EmptyOp::create(builder, op->getLoc(), type,
                                   cast<tensor::EmptyOp>(op).getDynamicSizes());
  }
};

/// Only the shape is read, which is that of any order.
struct DimModel : OrderInterface::ExternalModel<DimModel, tensor::DimOp> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    SmallVector<OrderGroup> groups = rlayout::getFixedOrderGroups(op);
    for (OrderGroup &group : groups)
      group.fixed = false;
    return groups;
  }
};

/// An axis of tokens that a reshape neither splits nor joins, but with axes of
/// size 1.
template <typename Op>
struct ReshapeModel : OrderInterface::ExternalModel<ReshapeModel<Op>, Op> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    auto reshape = cast<Op>(op);
    bool expands = isa<tensor::ExpandShapeOp>(op);
    RankedTensorType expanded =
        expands ? reshape.getResultType() : reshape.getSrcType();
    SmallVector<OrderGroup> groups;
    for (auto [joined, parts] :
         llvm::enumerate(reshape.getReassociationIndices())) {
      SmallVector<int64_t> longer = llvm::filter_to_vector(
          parts, [&](int64_t axis) { return expanded.getDimSize(axis) != 1; });
      if (longer.size() > 1 || parts.empty())
        continue;
      int64_t part = longer.empty() ? parts.front() : longer.front();
      int64_t whole = joined;
      groups.push_back(
          {{{0, expands ? whole : part}}, {{0, expands ? part : whole}}});
    }
    return groups;
  }
};

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// The axis of an operand that loop `loop` walks, step by step; -1 if the
/// operand does not depend on the loop, nothing if it does in another way.
std::optional<int64_t> getWalkedAxis(AffineMap map, unsigned loop) {
  int64_t walked = -1;
  for (auto [axis, position] : llvm::enumerate(map.getResults())) {
    if (!position.isFunctionOfDim(loop))
      continue;
    if (!isa<AffineDimExpr>(position) || walked >= 0)
      return std::nullopt;
    walked = axis;
  }
  return walked;
}

/// Whether the body of `op` asks where in `loop` it is.
bool readsIndex(linalg::LinalgOp op, unsigned loop) {
  return op.getBlock()
      ->walk([&](linalg::IndexOp index) {
        return index.getDim() == loop ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Parallel loops that walk along an axis of each operand that they touch. A
/// reduction would add in another order, and round differently.
template <typename Op>
struct StructuredModel
    : OrderInterface::ExternalModel<StructuredModel<Op>, Op> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    auto structured = cast<linalg::LinalgOp>(op);
    SmallVector<OrderGroup> groups;
    if (!structured.hasPureTensorSemantics())
      return groups;
    for (auto [loop, kind] :
         llvm::enumerate(structured.getIteratorTypesArray())) {
      if (kind != utils::IteratorType::parallel || readsIndex(structured, loop))
        continue;
      if (std::optional<OrderGroup> group = getGroup(structured, loop))
        groups.push_back(*group);
    }
    return groups;
  }

  /// A filled tensor that is not filled over another.
  bool isAlikeForAllTokens(Operation *op) const {
    auto fill = dyn_cast<linalg::FillOp>(op);
    auto init = fill
                    ? fill.getDpsInits().front().getDefiningOp<OrderInterface>()
                    : OrderInterface();
    return init && init.isAlikeForAllTokens();
  }
  Value makeWithType(Operation *op, OpBuilder &builder,
                     RankedTensorType type) const {
    auto fill = cast<linalg::FillOp>(op);
    auto init = fill.getDpsInits().front().getDefiningOp<OrderInterface>();
    return linalg::FillOp::create(builder, op->getLoc(),
                                  fill.getDpsInputs().front(),
                                  init.makeWithType(builder, type))
        .getResult(0);
  }

private:
  static std::optional<OrderGroup> getGroup(linalg::LinalgOp op,
                                            unsigned loop) {
    OrderGroup group;
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<int64_t> axis =
          getWalkedAxis(op.getMatchingIndexingMap(&operand), loop);
      if (!axis)
        return std::nullopt;
      if (*axis < 0)
        continue;
      group.operands.push_back({operand.getOperandNumber(), *axis});
      if (op.isDpsInit(&operand))
        group.results.push_back(
            {op.getTiedOpResult(&operand).getResultNumber(), *axis});
    }
    return group;
  }
};

/// Every axis but the one that sums to 1.
struct SoftmaxModel
    : OrderInterface::ExternalModel<SoftmaxModel, linalg::SoftmaxOp> {
  SmallVector<OrderGroup> getOrderGroups(Operation *op) const {
    SmallVector<OrderGroup> groups = rlayout::getElementwiseOrderGroups(op);
    if (!groups.empty())
      groups.erase(groups.begin() + cast<linalg::SoftmaxOp>(op).getDimension());
    return groups;
  }
};

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Attaches a model to those of `Ops` that work element by element.
template <typename... Ops>
void attachElementwise(MLIRContext &context) {
  auto attach = [&](auto *op) {
    using Op = std::remove_pointer_t<decltype(op)>;
    if constexpr (Op::template hasTrait<OpTrait::Elementwise>())
      Op::template attachInterface<ElementwiseModel<Op>>(context);
  };
  (attach(static_cast<Ops *>(nullptr)), ...);
}

template <typename... Ops>
void attachStructured(MLIRContext &context) {
  (Ops::template attachInterface<StructuredModel<Ops>>(context), ...);
}

} // namespace

void ringlet::registerOrderModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachElementwise<
#define GET_OP_LIST
#include "mlir/Dialect/Arith/IR/ArithOps.cpp.inc"
        >(*context);
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachElementwise<
#define GET_OP_LIST
#include "mlir/Dialect/Math/IR/MathOps.cpp.inc"
        >(*context);
  });
  registry.addExtension(+[](MLIRContext *context, func::FuncDialect *) {
    func::ReturnOp::attachInterface<FixedModel<func::ReturnOp>>(*context);
    func::CallOp::attachInterface<FixedModel<func::CallOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::EmptyOp::attachInterface<EmptyModel>(*context);
    tensor::DimOp::attachInterface<DimModel>(*context);
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachStructured<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(*context);
    linalg::SoftmaxOp::attachInterface<SoftmaxModel>(*context);
  });
}
