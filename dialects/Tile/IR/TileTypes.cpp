//===- TileTypes.cpp - Types of the rtile dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ringlet::rtile;

RankedTensorType ViewType::getTileType() const {
  return RankedTensorType::get(getShape(), getElementType());
}

Type ViewType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return {};
  int64_t w = 0, rate = 1;
  bool indexed = false;
  SmallVector<StringRef, 4> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key))
      return {};
    if (llvm::is_contained(seen, key)) {
      parser.emitError(keyLoc) << "expected '" << key << "' once";
      return {};
    }
    seen.push_back(key);
    if (key == "indexed") {
      indexed = true;
    } else if (key == "w" || key == "rate") {
      int64_t &value = key == "w" ? w : rate;
      if (parser.parseEqual())
        return {};
      // What stands for `?` must not be reachable by writing its number.
      if (succeeded(parser.parseOptionalQuestion())) {
        value = ShapedType::kDynamic;
        continue;
      }
      if (parser.parseInteger(value))
        return {};
      if (value < 1) {
        parser.emitError(keyLoc)
            << "expected " << key << " of at least 1, found " << value;
        return {};
      }
    } else {
      parser.emitError(keyLoc)
          << "expected w, rate or indexed, found '" << key << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(loc, parser.getContext(),
                                     ArrayRef<int64_t>(shape), elementType, w,
                                     rate, indexed);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType();
  auto printExtent = [&](StringRef key, int64_t value) {
    printer << ", " << key << " = ";
    if (ShapedType::isDynamic(value))
      printer << '?';
    else
      printer << value;
  };
  if (isSegmented())
    printExtent("w", getSegmentLength());
  if (isStrided())
    printExtent("rate", getRate());
  if (getIndexed())
    printer << ", indexed";
  printer << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType,
                               int64_t segmentLength, int64_t rate,
                               bool indexed) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "expected a tile of 1 or 2 axes, found "
                       << shape.size();
  for (int64_t size : shape)
    if (size < 1 || size > 1024)
      return emitError() << "expected tile sides in [1, 1024], found " << size;
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32())
    return emitError() << "expected elements of f16, bf16 or f32, found "
                       << elementType;
  bool isRuntimeW = ShapedType::isDynamic(segmentLength);
  bool isRuntimeRate = ShapedType::isDynamic(rate);
  if ((segmentLength < 0 && !isRuntimeW) || (rate < 1 && !isRuntimeRate))
    return emitError() << "expected w of at least 0 and rate of at least 1, "
                          "found "
                       << segmentLength << " and " << rate;
  if (segmentLength > 0 && rate > segmentLength)
    return emitError() << "expected a rate of at most w = " << segmentLength
                       << ", found " << rate << " (B1)";
  return success();
}

//===----------------------------------------------------------------------===//
// Channels and slots
//===----------------------------------------------------------------------===//

/// `<128x64xbf16>`
static RankedTensorType parseHeldTile(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return RankedTensorType::get(shape, element);
}

static void printHeldTile(AsmPrinter &printer, RankedTensorType tile) {
  printer << '<';
  for (int64_t size : tile.getShape())
    printer << size << 'x';
  printer << tile.getElementType() << '>';
}

static LogicalResult
verifyHeldTile(function_ref<InFlightDiagnostic()> emitError,
               RankedTensorType tile) {
  Type element = tile.getElementType();
  if (tile.getRank() < 1 || tile.getRank() > 2 || !tile.hasStaticShape() ||
      tile.getEncoding() ||
      (!element.isF16() && !element.isBF16() && !element.isF32()))
    return emitError() << "expected a tile of one or two axes of f16, bf16 or "
                          "f32, found "
                       << tile;
  return success();
}

Type ChannelType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  RankedTensorType tile = parseHeldTile(parser);
  return tile ? parser.getChecked<ChannelType>(loc, parser.getContext(), tile)
              : Type();
}

void ChannelType::print(AsmPrinter &printer) const {
  printHeldTile(printer, getTile());
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  RankedTensorType tile) {
  return verifyHeldTile(emitError, tile);
}

Type SlotType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  RankedTensorType tile = parseHeldTile(parser);
  return tile ? parser.getChecked<SlotType>(loc, parser.getContext(), tile)
              : Type();
}

void SlotType::print(AsmPrinter &printer) const {
  printHeldTile(printer, getTile());
}

LogicalResult SlotType::verify(function_ref<InFlightDiagnostic()> emitError,
                               RankedTensorType tile) {
  return verifyHeldTile(emitError, tile);
}

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  RankedTensorType tile) {
  if (tile.getRank() != 2 || !tile.hasStaticShape() ||
      !tile.getElementType().isF32())
    return emitError() << "expected a tile of two axes of f32, found " << tile;
  return success();
}
