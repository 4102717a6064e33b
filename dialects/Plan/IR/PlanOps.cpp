//===- PlanOps.cpp - Operations of the rplan dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Support/FunctionLists.h"
#include "dialects/Support/Window.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rplan;

#define GET_OP_CLASSES
#include "dialects/Plan/IR/PlanOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   TypeRange inputs, TypeRange outputs,
                   ArrayRef<StringRef> names) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getNumInputsAttrName(state.name),
                     builder.getI64IntegerAttr(inputs.size()));
  state.addAttribute(getNamesAttrName(state.name),
                     builder.getStrArrayAttr(names));
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : inputs)
    body.addArgument(type, state.location);
  for (Type type : outputs)
    body.addArgument(type, state.location);
}

Block::BlockArgListType FuncOp::getInputs() {
  return getBody().getArguments().take_front(getNumInputs());
}

Block::BlockArgListType FuncOp::getOutputs() {
  return getBody().getArguments().drop_front(getNumInputs());
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  size_t inputs;
  ArrayAttr names;
  auto &properties = result.getOrAddProperties<Properties>();
  if (parseFunctionLists(parser, "outputs", name, arguments, inputs) ||
      parser.parseKeyword("names") || parser.parseAttribute(names) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  properties.sym_name = name;
  properties.num_inputs = parser.getBuilder().getI64IntegerAttr(inputs);
  properties.names = names;
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printFunctionLists(printer, getSymName(), getInputs(), "outputs",
                     getOutputs());
  printer << " names " << getNames();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getNumInputsAttrName(), getNamesAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() < getNumInputs())
    return emitOpError("expected ") << getNumInputs() << " inputs, found "
                                    << body.getNumArguments() << " arguments";
  if (getNames().size() != body.getNumArguments())
    return emitOpError("expected one name for each of the ")
           << body.getNumArguments() << " arguments, found "
           << getNames().size();
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute name : getNames()) {
    if (cast<StringAttr>(name).empty())
      return emitOpError("expected names that are not empty");
    if (!seen.insert(name).second)
      return emitOpError("expected different names, found ")
             << name << " twice";
  }
  for (BlockArgument argument : body.getArguments())
    if (!isa<MemRefType>(argument.getType()))
      return emitOpError("expected arguments of type memref, found ")
             << argument.getType();
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError("expected a body that ends in rplan.return");
  return success();
}

//===----------------------------------------------------------------------===//
// SizeOp
//===----------------------------------------------------------------------===//

LogicalResult SizeOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (static_cast<int64_t>(getAxis()) >= type.getRank())
    return emitOpError("expected an axis below ")
           << type.getRank() << ", found " << getAxis();
  return success();
}

OpFoldResult SizeOp::fold(FoldAdaptor) {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (type.isDynamicDim(getAxis()))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()),
                          type.getDimSize(getAxis()));
}

//===----------------------------------------------------------------------===//
// RequireOp
//===----------------------------------------------------------------------===//

void RequireOp::build(OpBuilder &builder, OperationState &state,
                      Comparison comparison, Value lhs, Value rhs,
                      StringRef message, StringRef rule) {
  build(builder, state, comparison, lhs, rhs, builder.getStringAttr(message),
        rule.empty() ? StringAttr() : builder.getStringAttr(rule));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  ShapedType value = getValue().getShapedType();
  bool fits =
      type.getLayout().isIdentity() &&
      type.getElementType() == value.getElementType() &&
      succeeded(verifyCompatibleShape(type.getShape(), value.getShape()));
  if (!fits)
    return emitOpError("expected a contiguous buffer with the elements and "
                       "sizes of ")
           << value << ", found " << type;
  return success();
}

LogicalResult WorkspaceOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (!type.getLayout().isIdentity())
    return emitOpError("expected a contiguous buffer, found ") << type;
  if (getSizes().size() != static_cast<size_t>(type.getNumDynamicDims()))
    return emitOpError("expected one size for each of the ")
           << type.getNumDynamicDims() << " '?' of " << type << ", found "
           << getSizes().size();
  return success();
}

static LogicalResult verifyTable(Operation *op) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (!type.isDynamicDim(0) || !type.getLayout().isIdentity())
    return op->emitOpError("expected a table of memref<?xi64>, found ") << type;
  return success();
}

LogicalResult OrderTableOp::verify() { return verifyTable(*this); }

LogicalResult OrdinalTableOp::verify() {
  std::shared_ptr<const layout::Order> order = getOrder().getOrder();
  if (!order || order->period() == 0)
    return emitOpError("expected an order with a volume, found ")
           << getOrder() << " (O2)";
  if (static_cast<bool>(getLength()) != static_cast<bool>(getOffset()))
    return emitOpError("expected length and offset together");
  if (getMemory() && !getLength())
    return emitOpError("expected a memory order with rows only (O1)");
  return verifyTable(*this);
}

LogicalResult TileIndexOp::verify() {
  for (int64_t rows : getTile())
    if (rows < 1 || rows > 1024)
      return emitOpError("expected tile sides in [1, 1024], found ") << rows;
  if (getW() && *getW() < getRate())
    return emitOpError("expected a rate of at most the segment length ")
           << *getW() << ", found " << getRate() << " (B1)";
  if (std::optional<ArrayRef<int64_t>> residues = getResidues()) {
    int64_t first = (*residues)[0], count = (*residues)[1], rate = getRate();
    if (first < 0 || first >= rate || count < 1 || count > rate)
      return emitOpError("expected residues from 0 to ")
             << rate - 1 << ", each once, found " << count << " from " << first
             << " on (B2)";
  }
  if (std::optional<ArrayRef<int64_t>> window = getWindow())
    for (int64_t side : *window)
      if (side < -1)
        return emitOpError("expected window sides of at least 0, or -1 for no "
                           "limit, found ")
               << side << " (B4)";
  if (static_cast<bool>(getGrid()) != static_cast<bool>(getReach()))
    return emitOpError("expected grid and reach together (B5)");
  auto emitError = [&] { return emitOpError(); };
  if (getGrid() && failed(verifyGridWindow(emitError, *getGrid(), *getReach())))
    return failure();
  return verifyTable(*this);
}

layout::TilePattern TileIndexOp::getPattern() {
  layout::TilePattern pattern;
  pattern.segment = getW().value_or(layout::unboundedSegment);
  pattern.rate = getRate();
  pattern.residues = {0, pattern.rate};
  if (std::optional<ArrayRef<int64_t>> residues = getResidues())
    pattern.residues = {(*residues)[0], (*residues)[1]};
  if (rlayout::OrderAttr order = getOrderAttr())
    pattern.order = order.getOrder();
  pattern.causal = getCausal();
  if (std::optional<ArrayRef<int64_t>> window = getWindow())
    pattern.setWindow((*window)[0], (*window)[1]);
  if (getGrid()) {
    pattern.grid = getGrid()->vec();
    pattern.reach = getReach()->vec();
  }
  pattern.queryRows = getTile()[0];
  pattern.keyRows = getTile()[1];
  return pattern;
}
