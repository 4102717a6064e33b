//===- TileOps.cpp - Operations of the rtile dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Support/FunctionLists.h"
#include "dialects/Support/ValueAttr.h"
#include "dialects/Support/Window.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rtile;

//===----------------------------------------------------------------------===//
// Custom parts of the assembly formats
//===----------------------------------------------------------------------===//

/// `[%b, *, %h, *]`: `*` marks an axis of the view, an operand fixes an axis.
/// Rows are along the first `*`, or behind `transposed` along the second.
static ParseResult
parseAxes(OpAsmParser &parser,
          SmallVectorImpl<OpAsmParser::UnresolvedOperand> &fixed,
          DenseI64ArrayAttr &axes) {
  SmallVector<int64_t> list;
  int64_t axis = 0;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            if (succeeded(parser.parseOptionalStar())) {
              list.push_back(axis++);
              return success();
            }
            ++axis;
            return parser.parseOperand(fixed.emplace_back());
          }))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("transposed")))
    std::reverse(list.begin(), list.end());
  axes = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

static void printAxes(OpAsmPrinter &printer, Operation *, OperandRange fixed,
                      DenseI64ArrayAttr axes) {
  int64_t rank = fixed.size() + axes.size();
  auto next = fixed.begin();
  printer << '[';
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis > 0)
      printer << ", ";
    if (llvm::is_contained(axes.asArrayRef(), axis) || next == fixed.end())
      printer << '*';
    else
      printer << *next++;
  }
  printer << ']';
  if (!llvm::is_sorted(axes.asArrayRef()))
    printer << " transposed";
}

/// The type of the view, behind that of the tile where it is not the view's.
static ParseResult parseStoredTile(OpAsmParser &parser, Type &tile,
                                   Type &view) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(view))
    return failure();
  if (succeeded(parser.parseOptionalComma())) {
    tile = view;
    loc = parser.getCurrentLocation();
    if (parser.parseType(view))
      return failure();
  }
  auto type = dyn_cast<ViewType>(view);
  if (!type)
    return parser.emitError(loc) << "expected a view, found " << view;
  if (!tile)
    tile = type.getTileType();
  return success();
}

static ParseResult parseLoadedTile(OpAsmParser &parser, Type &view,
                                   Type &tile) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(view))
    return failure();
  auto type = dyn_cast<ViewType>(view);
  if (!type)
    return parser.emitError(loc) << "expected a view, found " << view;
  tile = type.getTileType();
  return succeeded(parser.parseOptionalArrow()) ? parser.parseType(tile)
                                                : success();
}

static void printLoadedTile(OpAsmPrinter &printer, Operation *, ViewType view,
                            Type tile) {
  printer << view;
  if (tile != view.getTileType())
    printer << " -> " << tile;
}

static void printStoredTile(OpAsmPrinter &printer, Operation *, Type tile,
                            ViewType view) {
  if (tile != view.getTileType())
    printer << tile << ", ";
  printer << view;
}

/// The type of a finished product.
static ParseResult parsePendingTile(OpAsmParser &parser, Type &pending) {
  RankedTensorType tile;
  if (parser.parseType(tile))
    return failure();
  pending = PendingType::get(tile);
  return success();
}

static void printPendingTile(OpAsmPrinter &printer, Operation *,
                             PendingType pending) {
  printer << pending.getTile();
}

static ParseResult parseFinishedTile(OpAsmParser &parser, Type &pending,
                                     Type &result) {
  if (parsePendingTile(parser, pending))
    return failure();
  result = cast<PendingType>(pending).getTile();
  return success();
}

static void printFinishedTile(OpAsmPrinter &printer, Operation *operation,
                              PendingType pending, Type) {
  printPendingTile(printer, operation, pending);
}

/// `[%place = %begin to %end] { ... }`.
static ParseResult parseEntries(OpAsmParser &parser,
                                OpAsmParser::UnresolvedOperand &begin,
                                OpAsmParser::UnresolvedOperand &end,
                                Region &body) {
  OpAsmParser::Argument place;
  place.type = parser.getBuilder().getIndexType();
  return failure(parser.parseLSquare() || parser.parseArgument(place) ||
                 parser.parseEqual() || parser.parseOperand(begin) ||
                 parser.parseKeyword("to") || parser.parseOperand(end) ||
                 parser.parseRSquare() || parser.parseRegion(body, place));
}

static void printEntries(OpAsmPrinter &printer, Operation *, Value begin,
                         Value end, Region &body) {
  printer << '[' << body.getArgument(0) << " = " << begin << " to " << end
          << "] ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

static ParseResult parsePrecision(OpAsmParser &parser,
                                  PrecisionAttr &precision) {
  return parseValueAttr(parser, precision);
}

static void printPrecision(OpAsmPrinter &printer, Operation *,
                           PrecisionAttr precision) {
  printer << nameOf(precision.getValue());
}

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   TypeRange parameters, int64_t gridRank) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getGridRankAttrName(state.name),
                     builder.getI64IntegerAttr(gridRank));
  Block &body = state.addRegion()->emplaceBlock();
  for (Type type : parameters)
    body.addArgument(type, state.location);
  for (int64_t axis = 0; axis < gridRank; ++axis)
    body.addArgument(builder.getIndexType(), state.location);
}

Block::BlockArgListType FuncOp::getParameters() {
  return getBody().getArguments().drop_back(getGridRank());
}

Block::BlockArgListType FuncOp::getGridPoint() {
  return getBody().getArguments().take_back(getGridRank());
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  size_t parameters;
  auto &properties = result.getOrAddProperties<Properties>();
  if (parseFunctionLists(parser, "grid", name, arguments, parameters))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("scheduled")))
    properties.scheduled = parser.getBuilder().getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("recipe")) &&
      (parser.parseEqual() || parser.parseAttribute(properties.recipe)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("schedule")) &&
      (parser.parseEqual() ||
       parser.parseCustomAttributeWithFallback(properties.schedule)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("walk")) &&
      (parser.parseEqual() ||
       parser.parseCustomAttributeWithFallback(properties.walk)))
    return failure();
  int64_t blocks = 0;
  if (succeeded(parser.parseOptionalKeyword("blocks"))) {
    if (parser.parseEqual() || parser.parseInteger(blocks))
      return failure();
    properties.blocks = parser.getBuilder().getI64IntegerAttr(blocks);
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  properties.sym_name = name;
  properties.grid_rank =
      parser.getBuilder().getI64IntegerAttr(arguments.size() - parameters);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printFunctionLists(printer, getSymName(), getParameters(), "grid",
                     getGridPoint());
  if (getScheduled())
    printer << " scheduled";
  if (StringAttr recipe = getRecipeAttr())
    printer << " recipe = " << recipe;
  if (ScheduleAttr schedule = getScheduleAttr()) {
    printer << " schedule = ";
    printer.printStrippedAttrOrType(schedule);
  }
  if (WalkAttr walk = getWalkAttr()) {
    printer << " walk = ";
    printer.printStrippedAttrOrType(walk);
  }
  if (std::optional<uint64_t> blocks = getBlocks())
    printer << " blocks = " << *blocks;
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getGridRankAttrName(), getScheduledAttrName(),
       getRecipeAttrName(), getScheduleAttrName(), getWalkAttrName(),
       getBlocksAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult FuncOp::verify() {
  if (getBlocks() && !getScheduled())
    return emitOpError(
        "expected blocks of a scheduled kernel, found those of a "
        "plain one; its schedule says how many it is to have");
  if (getRecipe() && getRecipe()->empty())
    return emitOpError("expected the name of a recipe, found an empty one");
  Block &body = getBody().front();
  if (body.getNumArguments() < getGridRank())
    return emitOpError("expected ")
           << getGridRank() << " index arguments for the grid, found "
           << body.getNumArguments() << " arguments";
  for (BlockArgument argument : getGridPoint())
    if (!argument.getType().isIndex())
      return emitOpError("expected grid arguments of type index, found ")
             << argument.getType();
  for (BlockArgument argument : getParameters()) {
    Type type = argument.getType();
    if (type.isIndex())
      continue;
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer)
      return emitOpError("expected parameters of type memref or index, found ")
             << type;
    if (!buffer.getElementType().isIntOrFloat() || buffer.getMemorySpace())
      return emitOpError("expected a buffer of numbers in the default memory "
                         "space, found ")
             << type;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(buffer.getStridesAndOffset(strides, offset)) || offset != 0)
      return emitOpError("expected a strided buffer with offset 0, found ")
             << type;
    if (!strides.empty() && strides.back() != 1)
      return emitOpError("expected a buffer whose last axis has stride 1, "
                         "found ")
             << type << " (section 1)";
  }
  if (body.empty() || !isa<ReturnOp>(body.back()))
    return emitOpError("expected a body that ends in rtile.return");
  return success();
}

//===----------------------------------------------------------------------===//
// Visibility
//===----------------------------------------------------------------------===//

static bool hasPositions(Value view) {
  auto op = view.getDefiningOp<ViewOp>();
  return op && op.getPositions();
}

/// Whether the views that `op` is given have the same values for `?`, as far as
/// can be seen.
static bool haveSameSizes(Operation *op) {
  SmallVector<std::pair<Value, Value>> found;
  for (Value operand : op->getOperands())
    if (auto view = operand.getDefiningOp<ViewOp>())
      found.emplace_back(view.getW(), view.getRate());
  return llvm::all_equal(found);
}

static LogicalResult verifyPair(Operation *op, ViewType query, ViewType key,
                                std::optional<ArrayRef<int64_t>> window) {
  if (query.getSegmentLength() != key.getSegmentLength() ||
      query.getRate() != key.getRate() || !haveSameSizes(op))
    return op->emitOpError("expected views of one segment length and rate, "
                           "found ")
           << query << " and " << key << " (B4)";
  // The second one is that of keys.
  auto views = llvm::make_filter_range(op->getOperands(), [](Value operand) {
    return isa<ViewType>(operand.getType());
  });
  if (auto keys = (*std::next(views.begin())).getDefiningOp<ViewOp>();
      keys && keys.getGroup())
    return op->emitOpError("expected keys without a group, found one of ")
           << keys.getGroupSize();
  int64_t positioned = llvm::count_if(op->getOperands(), hasPositions);
  if (positioned == 1)
    return op->emitOpError("expected positions of both views or of none (O2)");
  if (window)
    for (int64_t side : *window)
      if (side < -1)
        return op->emitOpError("expected window sides of at least 0, or -1 "
                               "for no limit, found ")
               << side << " (B4)";
  return success();
}

static LogicalResult verifyBlockSize(Operation *op, ArrayRef<int64_t> size) {
  for (int64_t side : size)
    if (side < 1)
      return op->emitOpError("expected positive sides of mask blocks, found ")
             << side << " (B6)";
  return success();
}

template <typename OpTy>
static LogicalResult verifyGrid(OpTy op) {
  if (op.getGrid().has_value() != op.getReach().has_value())
    return op.emitOpError("expected grid and reach together (B5)");
  auto emitError = [&] { return op.emitOpError(); };
  return success(
      !op.getGrid() ||
      succeeded(verifyGridWindow(emitError, *op.getGrid(), *op.getReach())));
}

void RunOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBegin(), "begin");
  setName(getWholeBegin(), "whole_begin");
  setName(getWholeEnd(), "whole_end");
  setName(getEnd(), "end");
}

void RunOp::build(OpBuilder &builder, OperationState &state, Value query,
                  Value row, Value key, bool causal, DenseI64ArrayAttr window,
                  ValueRange part) {
  Type index = builder.getIndexType();
  build(builder, state, index, index, index, index, query, row, key, part,
        causal ? builder.getUnitAttr() : UnitAttr(), window);
}

LogicalResult RunOp::verify() {
  if (!getPart().empty() && getPart().size() != 2)
    return emitOpError("expected the number of a part and that of all parts, "
                       "found ")
           << getPart().size() << " numbers";
  return verifyPair(*this, getQuery().getType(), getKey().getType(),
                    getWindow());
}

LogicalResult TotalsOp::verify() {
  ViewType wide = getAccumulator().getType(), rows = getReference().getType();
  bool areF32 = wide.getElementType().isF32() && rows.getElementType().isF32();
  if (!areF32 || wide.getShape().size() != 2 || rows.getShape().size() != 1 ||
      wide.getShape()[0] != rows.getShape()[0])
    return emitOpError("expected views of f32 with tiles of rows x columns and "
                       "of as many rows, found ")
           << wide << " and " << rows;
  return success();
}

LogicalResult VisibleOp::verify() {
  SmallVector<int64_t, 2> shape{getQuery().getType().getShape()[0],
                                getKey().getType().getShape()[0]};
  auto found = cast<RankedTensorType>(getResult().getType());
  auto expected = RankedTensorType::get(
      shape, IntegerType::get(getContext(), 1), found.getEncoding());
  if (getResult().getType() != expected)
    return emitOpError("expected a mask of ")
           << expected << ", found " << getResult().getType();
  if (failed(verifyGrid(*this)))
    return failure();
  if (static_cast<bool>(getBlocks()) != static_cast<bool>(getBlockSize()))
    return emitOpError("expected blocks and their size together (B6)");
  if (getBlockSize() && failed(verifyBlockSize(*this, *getBlockSize())))
    return failure();
  return verifyPair(*this, getQuery().getType(), getKey().getType(),
                    getWindow());
}

void ListOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBegin(), "begin");
  setName(getWholeEnd(), "whole_end");
  setName(getEnd(), "end");
}

LogicalResult ListOp::verify() {
  if (failed(verifyGrid(*this)))
    return failure();
  return verifyPair(*this, getQuery().getType(), getKey().getType(),
                    getWindow());
}

LogicalResult AnyBlockOp::verify() {
  if (failed(verifyBlockSize(*this, getBlockSize())))
    return failure();
  return verifyPair(*this, getQuery().getType(), getKey().getType(),
                    std::nullopt);
}
