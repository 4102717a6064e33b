//===- RingletAttrs.cpp - Branches, grid windows and tilings -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Support/Window.h"

#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/SmallSet.h"

#include <limits>

using namespace mlir;
using namespace ringlet::attn;

//===----------------------------------------------------------------------===//
// BranchAttr
//===----------------------------------------------------------------------===//

BranchAttr BranchAttr::withSizes(int64_t w, int64_t r) const {
  return get(getContext(), w, r, getOffset(), getConstant(), getBy(),
             getHeadBegin(), getHeadEnd(), getPadding());
}

namespace {
/// The fields of a branch while it is being parsed.
struct BranchFields {
  llvm::SmallSet<StringRef, 8> seen;
  std::optional<int64_t> w, r;
  OffsetRule offset = OffsetRule::Modulo;
  int64_t constant = 0;
  HeadKind by = HeadKind::Key;
  int64_t headBegin = 0, headEnd = BranchAttr::kAllHeads;
  Padding padding = Padding::None;
};
} // namespace

/// Parses one of the words of an enumeration.
template <typename Enum>
static ParseResult parseInto(AsmParser &parser, Enum &field) {
  FailureOr<Enum> value = FieldParser<Enum>::parse(parser);
  if (failed(value))
    return failure();
  field = *value;
  return success();
}

/// Parses an integer, `?` (runtime) or, where allowed, `*` (unbounded). The
/// sentinels must not be reachable by writing their number.
static ParseResult parseExtent(AsmParser &parser, std::optional<int64_t> &value,
                               bool allowUnbounded) {
  if (succeeded(parser.parseOptionalQuestion())) {
    value = BranchAttr::kRuntime;
    return success();
  }
  if (allowUnbounded && succeeded(parser.parseOptionalStar())) {
    value = BranchAttr::kUnbounded;
    return success();
  }
  int64_t number = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(number))
    return failure();
  if (number < 1)
    return parser.emitError(loc)
           << "expected a length or rate of at least 1, found " << number
           << " (B1)";
  value = number;
  return success();
}

static ParseResult parseField(AsmParser &parser, StringRef key, SMLoc loc,
                              BranchFields &fields) {
  if (!fields.seen.insert(key).second)
    return parser.emitError(loc) << "expected '" << key << "' once";
  if (key == "w")
    return parseExtent(parser, fields.w, /*allowUnbounded=*/true);
  if (key == "r")
    return parseExtent(parser, fields.r, /*allowUnbounded=*/false);
  if (key == "offset") {
    if (failed(parseInto(parser, fields.offset)))
      return failure();
    if (fields.offset == OffsetRule::Constant)
      return failure(parser.parseLess() ||
                     parser.parseInteger(fields.constant) ||
                     parser.parseGreater());
    return success();
  }
  if (key == "by")
    return parseInto(parser, fields.by);
  if (key == "heads") {
    if (parser.parseLSquare() || parser.parseInteger(fields.headBegin) ||
        parser.parseComma() || parser.parseInteger(fields.headEnd) ||
        parser.parseRSquare())
      return failure();
    // All heads are written by leaving the range out, not as its sentinel.
    if (fields.headEnd < 0)
      return parser.emitError(loc)
             << "expected a non-empty range of heads, found ["
             << fields.headBegin << ", " << fields.headEnd << ") (section 2)";
    return success();
  }
  if (key == "padding")
    return parseInto(parser, fields.padding);
  return parser.emitError(loc)
         << "expected w, r, offset, by, heads or padding, found '" << key
         << "'";
}

Attribute BranchAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  BranchFields fields;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
        SMLoc keyLoc = parser.getCurrentLocation();
        StringRef key;
        if (parser.parseKeyword(&key) || parser.parseEqual())
          return failure();
        return failure(failed(parseField(parser, key, keyLoc, fields)));
      }))
    return {};
  if (!fields.w || !fields.r) {
    parser.emitError(loc) << "expected both w and r in a branch (B1)";
    return {};
  }
  return parser.getChecked<BranchAttr>(
      loc, parser.getContext(), *fields.w, *fields.r, fields.offset,
      fields.constant, fields.by, fields.headBegin, fields.headEnd,
      fields.padding);
}

void BranchAttr::print(AsmPrinter &printer) const {
  auto printExtent = [&](int64_t value) {
    if (value == kRuntime)
      printer << '?';
    else if (value == kUnbounded)
      printer << '*';
    else
      printer << value;
  };
  printer << "<w = ";
  printExtent(getW());
  printer << ", r = ";
  printExtent(getR());
  if (getOffset() != OffsetRule::Modulo)
    printer << ", offset = " << stringifyOffsetRule(getOffset());
  if (getOffset() == OffsetRule::Constant)
    printer << '<' << getConstant() << '>';
  if (getBy() != HeadKind::Key)
    printer << ", by = " << stringifyHeadKind(getBy());
  if (!hasAllHeads())
    printer << ", heads = [" << getHeadBegin() << ", " << getHeadEnd() << ']';
  if (countsPadding())
    printer << ", padding = " << stringifyPadding(getPadding());
  printer << '>';
}

LogicalResult BranchAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t w, int64_t r, OffsetRule offset,
                                 int64_t constant, HeadKind by,
                                 int64_t headBegin, int64_t headEnd,
                                 Padding padding) {
  if (w < 1 && w != kUnbounded && w != kRuntime)
    return emitError() << "expected a segment length of at least 1, found " << w
                       << " (B1)";
  if (r < 1 && r != kRuntime)
    return emitError() << "expected a dilation of at least 1, found " << r
                       << " (B1)";
  if (w >= 1 && r > w)
    return emitError() << "expected a dilation of at most the segment length "
                       << w << ", found " << r << " (B1)";
  if (padding == Padding::Counted && (w == kRuntime || r == kRuntime))
    return emitError() << "expected a known w and r beside padding = counted, "
                          "found '?' (B7)";
  bool allHeads = headBegin == 0 && headEnd == kAllHeads;
  if (!allHeads && (headBegin < 0 || headEnd <= headBegin))
    return emitError() << "expected a non-empty range of heads, found ["
                       << headBegin << ", " << headEnd << ") (section 2)";
  return success();
}

//===----------------------------------------------------------------------===//
// GridWindowAttr and TilingAttr
//===----------------------------------------------------------------------===//

LogicalResult
GridWindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayRef<int64_t> grid, ArrayRef<int64_t> reach) {
  return verifyGridWindow(emitError, grid, reach);
}

LogicalResult SplitKVAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t rows, int64_t key, int64_t heads,
                                  int64_t part, int64_t queries,
                                  int64_t manyParts, int64_t fewestKeys,
                                  int64_t mergeColumns, int64_t mergeStates,
                                  int64_t most, int64_t points,
                                  StringAttr recipe, int64_t fewestParts) {
  for (int64_t side : {rows, key})
    if (side < 1 || side > 1024)
      return emitError() << "expected tile sides in [1, 1024], found " << side;
  if (heads < 1)
    return emitError() << "expected at least one head in a tile, found "
                       << heads;
  if (part < 1 || queries < 1)
    return emitError() << "expected parts of at least one key and at least one "
                          "query, found "
                       << part << " and " << queries;
  if (manyParts < 0 || fewestKeys < 0)
    return emitError() << "expected manyParts and fewestKeys of at least 0, "
                          "found "
                       << manyParts << " and " << fewestKeys;
  if (mergeColumns < 0 || mergeColumns > 1024 || mergeStates < 1 ||
      mergeStates > 64)
    return emitError()
           << "expected mergeColumns in [0, 1024] and mergeStates in "
              "[1, 64], found "
           << mergeColumns << " and " << mergeStates;
  if (most != 0 && most < key)
    return emitError() << "expected most 0 or at least the " << key
                       << " keys of a tile, found " << most;
  if (points < 1 || points > 64)
    return emitError() << "expected points in [1, 64], found " << points;
  if (recipe && recipe.empty())
    return emitError() << "expected the name of a recipe, found an empty one";
  if (fewestParts < 1 || fewestParts > 64)
    return emitError() << "expected fewestParts in [1, 64], found "
                       << fewestParts;
  return success();
}

LogicalResult TilingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t query, int64_t key, StringAttr recipe,
                                 TilingAttr redo, int64_t part,
                                 TilingAttr manyKeys) {
  for (int64_t side : {query, key})
    if (side < 1 || side > 1024)
      return emitError() << "expected tile sides in [1, 1024], found " << side;
  if (recipe && recipe.empty())
    return emitError() << "expected the name of a recipe, found an empty one";
  if (static_cast<bool>(recipe) != static_cast<bool>(redo))
    return emitError() << "expected recipe and redo together, found "
                       << (recipe ? "recipe" : "redo") << " alone";
  if (redo && redo.getRecipe())
    return emitError() << "expected the tiles of redo to be plain, found "
                          "recipe "
                       << redo.getRecipe().getValue();
  if (part != 0 && part < key)
    return emitError() << "expected part 0 or at least the " << key
                       << " keys of a tile, found " << part;
  if (redo && redo.getPart() != part)
    return emitError() << "expected the part of redo to be that of the recipe, "
                       << part << ", found " << redo.getPart();
  if (manyKeys && (recipe || part != 0))
    return emitError() << "expected manyKeys beside tiles without recipe and "
                          "part, found "
                       << (recipe ? "a recipe" : "a part");
  if (manyKeys && (manyKeys.getPart() == 0 || manyKeys.getRecipe() ||
                   manyKeys.getManyKeys()))
    return emitError()
           << "expected the tiles of manyKeys to be plain ones with "
              "a part, found "
           << manyKeys;
  return success();
}
