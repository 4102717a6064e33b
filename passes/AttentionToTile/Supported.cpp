//===- Supported.cpp - What has no lowering yet -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/Attention.h"

#include "ringlet/abi/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;

static LogicalResult checkAttention(attn::AttentionOp op) {
  Value offset = op.getQOffset();
  if (rlayout::OrderAttr pattern = op.getPatternOrderAttr())
    if (std::string error = pattern.getOrder()->validatePattern(0);
        !error.empty())
      return op.emitOpError() << error;
  for (Value value :
       {op.getQuery(), op.getKey(), op.getValue(), op.getOutput(), op.getLse()})
    if (rlayout::getRing(value.getType()))
      return op.emitOpError("expected no ring: run ringlet-partition-ring "
                            "first (G1)");
  for (attn::BranchAttr branch : op.getBranchRange())
    if (branch.getR() > kMaxDilation)
      return op.emitOpError("expected a dilation of at most 2^40, found ")
             << branch.getR() << " (B1)";
  DenseIntElementsAttr constant;
  if (offset && matchPattern(offset, m_Constant(&constant)))
    for (int64_t value : constant.getValues<int64_t>())
      if (value > kMaxOffset || value < -kMaxOffset)
        return op.emitOpError("expected q_offset within +-2^60, found ")
               << value << " (S1)";
  if (!op.getTilings())
    return op.emitOpError("expected tilings: run ringlet-choose-tiling first");
  bool addsUp = op.getMix() == attn::Mix::Sum && op.getBranches().size() != 1 &&
                !op.isUnion() && !op.isApart();
  for (auto tiling : op.getTilings()->getAsRange<attn::TilingAttr>())
    if (addsUp && tiling.getRecipe())
      return op.emitOpError("expected recipe ")
             << tiling.getRecipe().getValue()
             << " only where branches have one softmax or heads of their own, "
                "found a chain of "
             << op.getBranches().size() << " under mix = sum (R2)";
  if (op.getHeadDim() > 1024 || op.getValueDim() > 1024)
    return op.emitOpError(
               "expected head sizes of at most 1024, for which there "
               "are kernels, found ")
           << op.getHeadDim() << " of query and key and " << op.getValueDim()
           << " of value";
  return success();
}

static LogicalResult checkReorder(attn::ReorderOp op) {
  if (op.getInput().getType().getRank() > 4)
    return op.emitOpError("expected a tensor of at most 4 axes, found ")
           << op.getInput().getType().getRank();
  for (rlayout::LayoutAttr layout : {op.getInputLayout(), op.getOutputLayout()})
    if (layout && layout.getRing())
      return op.emitOpError("expected no ring: it has no lowering yet (G1)");
  return success();
}

/// Of one constant, which the artefact carries.
static constexpr uint64_t kMaxConstantBytes = uint64_t(1) << 26;

static LogicalResult checkConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type ||
      !(type.getElementType().isInteger(1) ||
        type.getElementType().isInteger(64) ||
        isa<Float16Type, BFloat16Type, Float32Type>(type.getElementType())))
    return op.emitOpError("expected a constant tensor of i64, i1, f16, bf16 or "
                          "f32, found ")
           << op.getType();
  if (!isa<DenseElementsAttr>(op.getValue()))
    return op.emitOpError("expected a constant written as dense<...>, found ")
           << op.getValue();
  uint64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (uint64_t size : type.getShape())
    bytes = llvm::SaturatingMultiply(bytes, size);
  if (bytes > kMaxConstantBytes)
    return op.emitOpError("expected a constant of at most ")
           << kMaxConstantBytes << " bytes, found one of " << bytes
           << "; larger tensors are arguments";
  return success();
}

LogicalResult ringlet::checkFunction(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("expected a function of one block");
  if (function.getNumResults() == 0)
    return function.emitOpError("expected at least one result");
  size_t tensors = function.getNumArguments() + function.getNumResults();
  if (tensors > abi::kMaxArguments)
    return function.emitOpError("expected at most ")
           << abi::kMaxArguments << " arguments and results, found " << tensors;
  for (auto types : {function.getArgumentTypes(), function.getResultTypes()})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return function.emitOpError("expected arguments and results of ranked "
                                    "tensor type, found ")
               << type;
      if (tensor.getRank() > 8)
        return function.emitOpError("expected tensors of at most 8 axes, "
                                    "found ")
               << type;
    }
  for (Type type : function.getResultTypes())
    if (!isa<Float16Type, BFloat16Type, Float32Type>(
            cast<RankedTensorType>(type).getElementType()))
      return function.emitOpError("expected results of f16, bf16 or f32, "
                                  "found ")
             << type;
  for (Operation &op : function.getBody().front()) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      if (failed(checkAttention(attention)))
        return failure();
    } else if (auto reorder = dyn_cast<attn::ReorderOp>(op)) {
      if (failed(checkReorder(reorder)))
        return failure();
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (failed(checkConstant(constant)))
        return failure();
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitOpError("expected an operation of ringlet, or "
                            "arith.constant, in a function to compile, found ")
             << op.getName();
    }
  }
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (Value value : terminator.getOperands())
    if (value.getDefiningOp<arith::ConstantOp>() ||
        cast<RankedTensorType>(value.getType()).getRank() == 0 ||
        (isa<BlockArgument>(value) &&
         cast<RankedTensorType>(value.getType()).getRank() > 4))
      return terminator.emitOpError("expected to return results of the "
                                    "graph, or arguments of 1 to 4 axes, "
                                    "found ")
             << value.getType();
  return success();
}
