//===- TileArithOps.cpp - Arithmetic on rows and columns -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rtile;

//===----------------------------------------------------------------------===//
// Encodings
//===----------------------------------------------------------------------===//

static Attribute encodingOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getEncoding() : Attribute();
}

int64_t ringlet::rtile::getWarpsOf(Type type) {
  auto fragment = dyn_cast_if_present<FragmentAttr>(encodingOf(type));
  return fragment ? fragment.getWarps() : 0;
}

bool ringlet::rtile::liesInSlot(Type type) {
  return isa_and_present<SwizzledAttr>(encodingOf(type));
}

LogicalResult ringlet::rtile::verifyInRegisters(Operation *op, Type type) {
  if (liesInSlot(type))
    return op->emitOpError("expected a tile in registers (#rtile.fragment), "
                           "found ")
           << type;
  return success();
}

LogicalResult ringlet::rtile::verifyOneEncoding(Operation *op) {
  RankedTensorType first;
  auto check = [&](Type type) -> LogicalResult {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      return success();
    if (failed(verifyInRegisters(op, tile)))
      return failure();
    if (!first)
      first = tile;
    if (tile.getEncoding() != first.getEncoding())
      return op->emitOpError("expected tiles of one encoding, found ")
             << first << " and " << tile;
    return success();
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult ringlet::rtile::verifyProduct(Operation *op, RankedTensorType lhs,
                                            RankedTensorType rhs,
                                            bool transposed,
                                            RankedTensorType result) {
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape() ||
      !result.hasStaticShape())
    return op->emitOpError("expected tiles of static shape");
  if (lhs.getElementType() != rhs.getElementType())
    return op->emitOpError("expected operands of one element type, found ")
           << lhs.getElementType() << " and " << rhs.getElementType();
  int64_t depth = rhs.getDimSize(transposed ? 1 : 0);
  int64_t columns = rhs.getDimSize(transposed ? 0 : 1);
  if (lhs.getDimSize(1) != depth)
    return op->emitOpError("expected operands of one depth, found ")
           << lhs.getDimSize(1) << " and " << depth;
  if (result.getDimSize(0) != lhs.getDimSize(0) ||
      result.getDimSize(1) != columns)
    return op->emitOpError("expected a result of ")
           << lhs.getDimSize(0) << "x" << columns << ", found " << result;
  if (rhs.getEncoding() && !liesInSlot(rhs))
    return op->emitOpError("expected a right operand in a slot "
                           "(#rtile.swizzled), found ")
           << rhs;
  if (getWarpsOf(lhs) != 0 && getWarpsOf(result) != 0 &&
      getWarpsOf(lhs) != getWarpsOf(result))
    return op->emitOpError("expected a left operand of ")
           << getWarpsOf(result) << " warps like the result, found " << lhs;
  return success();
}

LogicalResult DotOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyProduct(*this, cast<RankedTensorType>(getLhs().getType()),
                           cast<RankedTensorType>(getRhs().getType()),
                           getTransposed(), result)))
    return failure();
  if (getInit() && getInit().getType() != result)
    return emitOpError("expected init of ")
           << result << ", found " << getInit().getType();
  Type element = cast<RankedTensorType>(getLhs().getType()).getElementType();
  if (getPrecision() && !element.isF32())
    return emitOpError("expected operands of f32 beside precision = ")
           << StringRef(nameOf(getProductPrecision())) << ", found " << element
           << " (R7)";
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &inferred) {
  auto input = operands.empty()
                   ? RankedTensorType()
                   : dyn_cast<RankedTensorType>(operands[0].getType());
  if (!input || input.getRank() != 2)
    return failure();
  inferred.push_back(RankedTensorType::get(input.getShape().take_front(),
                                           input.getElementType(),
                                           input.getEncoding()));
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!input.hasStaticShape() || !result.hasStaticShape())
    return emitOpError("expected tiles of static shape");
  int64_t expected = result.getDimSize(getColumns() ? 1 : 0);
  if (input.getDimSize(0) != expected)
    return emitOpError("expected an operand of ")
           << expected << " elements, found " << input.getDimSize(0);
  if (input.getElementType() != result.getElementType())
    return emitOpError("expected operand and result of one element type, "
                       "found ")
           << input.getElementType() << " and " << result.getElementType();
  if (!getColumns())
    return verifyOneEncoding(*this);
  Attribute encoding = result.getEncoding();
  if (auto fragment = dyn_cast_if_present<FragmentAttr>(encoding))
    encoding =
        FragmentAttr::get(getContext(), fragment.getWarps(), Along::columns);
  if (input.getEncoding() != encoding)
    return emitOpError("expected values of columns in the registers of the "
                       "result's warps (#rtile.fragment<W, along = columns>), "
                       "found ")
           << input << " for " << result;
  return success();
}

LogicalResult FoldOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!input.hasStaticShape() || !result.hasStaticShape())
    return emitOpError("expected tiles of static shape");
  if (input.getDimSize(0) != result.getDimSize(0) ||
      result.getDimSize(1) == 0 || input.getDimSize(1) < result.getDimSize(1) ||
      input.getDimSize(1) % result.getDimSize(1) != 0)
    return emitOpError("expected a result of ")
           << input.getDimSize(0) << " rows whose width divides "
           << input.getDimSize(1) << ", found " << result;
  return verifyOneEncoding(*this);
}

OpFoldResult FoldOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return {};
}

OpFoldResult AnyOp::fold(FoldAdaptor adaptor) {
  auto mask = dyn_cast_if_present<DenseIntElementsAttr>(adaptor.getInput());
  if (!mask)
    return {};
  return BoolAttr::get(getContext(),
                       llvm::is_contained(mask.getValues<bool>(), true));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!input.hasStaticShape() || !result.hasStaticShape())
    return emitOpError("expected tiles of static shape");
  if (input.getElementType() != result.getElementType() ||
      input.getDimSize(0) != result.getDimSize(0))
    return emitOpError("expected a result of ")
           << input.getDimSize(0) << " rows of " << input.getElementType()
           << ", found " << result;
  int64_t begin = getBegin(), width = result.getDimSize(1);
  if (begin > input.getDimSize(1) || width > input.getDimSize(1) - begin)
    return emitOpError("expected columns of a tile with ")
           << input.getDimSize(1) << " of them, found " << begin << " to "
           << begin + width - 1;
  return verifyOneEncoding(*this);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getResult().getType()));
  int64_t begin = getBegin();
  // A slice of a slice takes its columns from the whole tile.
  if (auto slice = getInput().getDefiningOp<SliceOp>()) {
    setBegin(slice.getBegin() + begin);
    getInputMutable().assign(slice.getInput());
    return getResult();
  }
  auto join = getInput().getDefiningOp<JoinOp>();
  if (!join)
    return {};
  // Columns of one operand of a join are that operand, or a slice of it.
  int64_t width = cast<RankedTensorType>(getResult().getType()).getDimSize(1);
  for (Value part : join.getInputs()) {
    int64_t columns = cast<RankedTensorType>(part.getType()).getDimSize(1);
    if (begin < columns) {
      if (width > columns - begin)
        return {};
      if (part.getType() == getResult().getType())
        return part;
      setBegin(begin);
      getInputMutable().assign(part);
      return getResult();
    }
    begin -= columns;
  }
  return {};
}

LogicalResult JoinOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t columns = 0;
  for (Value value : getInputs()) {
    auto input = cast<RankedTensorType>(value.getType());
    if (!input.hasStaticShape() || !result.hasStaticShape())
      return emitOpError("expected tiles of static shape");
    if (input.getElementType() != result.getElementType() ||
        input.getDimSize(0) != result.getDimSize(0))
      return emitOpError("expected operands of ")
             << result.getDimSize(0) << " rows of " << result.getElementType()
             << ", found " << input;
    columns += input.getDimSize(1);
  }
  if (columns != result.getDimSize(1))
    return emitOpError("expected a result of ")
           << columns << " columns, found " << result;
  return verifyOneEncoding(*this);
}

/// The tile that `inputs` are all columns of, one after the other.
static Value findCut(ValueRange inputs, Type whole) {
  Value source;
  int64_t column = 0;
  for (Value input : inputs) {
    auto slice = input.getDefiningOp<SliceOp>();
    if (!slice || static_cast<int64_t>(slice.getBegin()) != column ||
        (source && slice.getInput() != source))
      return {};
    source = slice.getInput();
    column += cast<RankedTensorType>(input.getType()).getDimSize(1);
  }
  return source && source.getType() == whole ? source : Value();
}

OpFoldResult JoinOp::fold(FoldAdaptor adaptor) {
  Type whole = getResult().getType();
  if (getInputs().size() == 1 && getInputs()[0].getType() == whole)
    return getInputs()[0];
  if (Value source = findCut(getInputs(), whole))
    return source;
  SplatElementsAttr first;
  for (Attribute input : adaptor.getInputs()) {
    auto splat = dyn_cast_if_present<SplatElementsAttr>(input);
    if (!splat || (first && splat.getSplatValue<Attribute>() !=
                                first.getSplatValue<Attribute>()))
      return {};
    first = splat;
  }
  return first ? OpFoldResult(first.resizeSplat(cast<ShapedType>(whole)))
               : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

LogicalResult RebaseOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &inferred) {
  llvm::append_range(inferred, operands.getTypes());
  return success();
}

LogicalResult RebaseOp::verify() {
  auto reference = cast<RankedTensorType>(getReference().getType());
  auto sums = cast<RankedTensorType>(getSums().getType());
  if (!reference.hasStaticShape() ||
      sums.getDimSize(0) != reference.getDimSize(0))
    return emitOpError("expected sums of ")
           << reference.getDimSize(0) << " rows, found " << sums;
  for (Type type : getTiles().getTypes())
    if (cast<RankedTensorType>(type).getDimSize(0) != reference.getDimSize(0))
      return emitOpError("expected tiles of ")
             << reference.getDimSize(0) << " rows, found " << type;
  if (getLimit() && *getLimit() < getBound())
    return emitOpError("expected a limit of at least the bound ")
           << getBound() << ", found " << *getLimit();
  return verifyOneEncoding(*this);
}
