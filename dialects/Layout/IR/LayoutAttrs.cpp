//===- LayoutAttrs.cpp - Curves, orders, rings and layouts -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Layout/IR/LayoutDialect.h"
#include "ringlet/abi/ring/Shards.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet::rlayout;
using ringlet::layout::OrderSpec;

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

void LinearCurveAttr::describe(OrderSpec &spec) const { spec.curve = "linear"; }
void HilbertCurveAttr::describe(OrderSpec &spec) const {
  spec.curve = "hilbert";
}
void MortonCurveAttr::describe(OrderSpec &spec) const { spec.curve = "morton"; }
void SnakeCurveAttr::describe(OrderSpec &spec) const { spec.curve = "snake"; }
void ResidueCurveAttr::describe(OrderSpec &spec) const {
  spec.curve = "residue";
  spec.rate = getRate();
}
LogicalResult
ResidueCurveAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t rate) {
  if (rate < 1)
    return emitError() << "expected a rate of at least 1, found " << rate
                       << " (O1)";
  return success();
}
void TableCurveAttr::describe(OrderSpec &spec) const {
  spec.curve = "table";
  spec.table.assign(getTokens().begin(), getTokens().end());
}

//===----------------------------------------------------------------------===//
// OrderAttr
//===----------------------------------------------------------------------===//

/// Parses a comma-separated list of integers in brackets.
static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

/// "linear, hilbert or table".
static std::string listCurves() {
  std::string list;
  const auto &rows = ringlet::layout::curveRows();
  for (size_t i = 0; i < rows.size(); ++i)
    list += std::string(i == 0                 ? ""
                        : i + 1 == rows.size() ? " or "
                                               : ", ") +
            rows[i].name;
  return list;
}

/// Parses a curve: its mnemonic, and its parameters if it has any. The
/// prefix `#rlayout.` is left out inside an order.
static FailureOr<CurveAttrInterface> parseCurve(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword == LinearCurveAttr::getMnemonic())
    return CurveAttrInterface(LinearCurveAttr::get(context));
  if (keyword == HilbertCurveAttr::getMnemonic())
    return CurveAttrInterface(HilbertCurveAttr::get(context));
  if (keyword == MortonCurveAttr::getMnemonic())
    return CurveAttrInterface(MortonCurveAttr::get(context));
  if (keyword == SnakeCurveAttr::getMnemonic())
    return CurveAttrInterface(SnakeCurveAttr::get(context));
  Attribute parsed;
  if (keyword == ResidueCurveAttr::getMnemonic())
    parsed = ResidueCurveAttr::parse(parser, {});
  else if (keyword == TableCurveAttr::getMnemonic())
    parsed = TableCurveAttr::parse(parser, {});
  else
    return parser.emitError(loc) << "expected a curve (" << listCurves()
                                 << "), found '" << keyword << "'";
  if (!parsed)
    return failure();
  return cast<CurveAttrInterface>(parsed);
}

Attribute OrderAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<CurveAttrInterface> curve = parseCurve(parser);
  if (failed(curve))
    return {};
  SmallVector<int64_t> grid;
  bool hasGrid = false;
  int64_t chunk = 0;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return {};
    if (key == "grid" && !hasGrid) {
      hasGrid = true;
      if (parseIntegers(parser, grid))
        return {};
    } else if (key == "chunk" && chunk == 0) {
      if (parser.parseInteger(chunk))
        return {};
      if (chunk <= 0) {
        parser.emitError(keyLoc)
            << "expected a positive chunk, found " << chunk << " (O1)";
        return {};
      }
    } else {
      parser.emitError(keyLoc)
          << "expected 'grid' or 'chunk' once each, found '" << key << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<OrderAttr>(loc, parser.getContext(), *curve,
                                      ArrayRef<int64_t>(grid), chunk);
}

void OrderAttr::print(AsmPrinter &printer) const {
  printer << '<' << getSpec().curve;
  TypeSwitch<Attribute>(getCurve())
      .Case<ResidueCurveAttr, TableCurveAttr>(
          [&](auto curve) { curve.print(printer); });
  if (!getGrid().empty()) {
    printer << ", grid = [";
    llvm::interleaveComma(getGrid(), printer);
    printer << ']';
  }
  if (getChunk() != 0)
    printer << ", chunk = " << getChunk();
  printer << '>';
}

static OrderSpec makeSpec(CurveAttrInterface curve, ArrayRef<int64_t> grid,
                          int64_t chunk) {
  OrderSpec spec;
  curve.describe(spec);
  spec.grid.assign(grid.begin(), grid.end());
  spec.chunk = chunk;
  return spec;
}

OrderSpec OrderAttr::getSpec() const {
  return makeSpec(getCurve(), getGrid(), getChunk());
}

std::shared_ptr<const ringlet::layout::Order> OrderAttr::getOrder() const {
  std::string error;
  return ringlet::layout::makeOrder(getSpec(), &error);
}

bool OrderAttr::isIdentity() const {
  // What most orders are costs nothing.
  return isa<LinearCurveAttr>(getCurve()) || getOrder()->isIdentity();
}

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                CurveAttrInterface curve,
                                ArrayRef<int64_t> grid, int64_t chunk) {
  if (!curve)
    return emitError() << "expected a curve";
  std::string error;
  if (!ringlet::layout::makeOrder(makeSpec(curve, grid, chunk), &error))
    return emitError() << error;
  return success();
}

//===----------------------------------------------------------------------===//
// RingAttr and LayoutAttr
//===----------------------------------------------------------------------===//

ParseResult ringlet::rlayout::parseRanks(AsmParser &parser, int64_t &ranks) {
  ranks = RingAttr::kAnyRanks;
  return succeeded(parser.parseOptionalQuestion()) ? success()
                                                   : parser.parseInteger(ranks);
}

void ringlet::rlayout::printRanks(AsmPrinter &printer, int64_t ranks) {
  if (ranks == RingAttr::kAnyRanks)
    printer << '?';
  else
    printer << ranks;
}

LogicalResult RingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t ranks, Balance balance, int64_t block) {
  if (ranks != kAnyRanks && (ranks < 1 || ranks > ring::kMaxRanks))
    return emitError() << "expected 1 to " << ring::kMaxRanks
                       << " ranks, or '?' for any number, found " << ranks
                       << " (G1)";
  bool striped = balance == Balance::striped;
  if (striped && block < 1)
    return emitError() << "expected a positive block for striped, found "
                       << block << " (G1)";
  if (!striped && block != 0)
    return emitError() << "expected no block for " << stringifyBalance(balance)
                       << ", found " << block << " (G1)";
  return success();
}

bool LayoutAttr::isLinear() const {
  return !getRing() && (!getOrder() || getOrder().isIdentity());
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  // A list has no axis 1, which nobody wrote.
  auto rank = static_cast<int64_t>(shape.size());
  if (isLinear() && getAxis() == kDefaultAxis && getAxis() >= rank)
    return success();
  if (getAxis() < 0 || getAxis() >= rank)
    return emitError() << "expected a sequence axis in [0, " << rank
                       << "), found " << getAxis() << " (O1)";
  int64_t length = shape[getAxis()];
  if (!getOrder() || ShapedType::isDynamic(length))
    return success();
  std::string error = getOrder().getOrder()->validate(length);
  if (!error.empty())
    return emitError() << error;
  return success();
}
