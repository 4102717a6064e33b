//===- RingletOps.cpp - ringlet.reorder and shared parsing -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Support/ValueAttr.h"
#include "dialects/Support/Window.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::attn;

//===----------------------------------------------------------------------===//
// Custom parts of the assembly formats
//===----------------------------------------------------------------------===//

/// `[<w = 2048, r = 1>, <w = 4096, r = 2>]`: branches without their prefix.
static ParseResult parseBranches(OpAsmParser &parser, ArrayAttr &branches) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        Attribute branch = BranchAttr::parse(parser, {});
        list.push_back(branch);
        return success(static_cast<bool>(branch));
      }))
    return failure();
  branches = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printBranches(OpAsmPrinter &printer, Operation *,
                          ArrayAttr branches) {
  printer << '[';
  llvm::interleaveComma(branches.getAsRange<BranchAttr>(), printer,
                        [&](BranchAttr branch) { branch.print(printer); });
  printer << ']';
}

/// `<grid = [64, 64], reach = [3, 3]>` and `<hilbert, grid = [64, 64]>`:
/// without their prefix, whose parser would take a following colon for that of
/// the attribute's type.
static ParseResult parseGridWindow(OpAsmParser &parser,
                                   GridWindowAttr &gridWindow) {
  gridWindow =
      dyn_cast_or_null<GridWindowAttr>(GridWindowAttr::parse(parser, {}));
  return success(static_cast<bool>(gridWindow));
}

static void printGridWindow(OpAsmPrinter &printer, Operation *,
                            GridWindowAttr gridWindow) {
  if (gridWindow)
    gridWindow.print(printer);
}

static ParseResult parsePatternOrder(OpAsmParser &parser,
                                     rlayout::OrderAttr &order) {
  order = dyn_cast_or_null<rlayout::OrderAttr>(
      rlayout::OrderAttr::parse(parser, {}));
  return success(static_cast<bool>(order));
}

static void printPatternOrder(OpAsmPrinter &printer, Operation *,
                              rlayout::OrderAttr order) {
  if (order)
    order.print(printer);
}

/// Without the names of the attributes.
static ParseResult parseSplitKV(OpAsmParser &parser, ArrayAttr &splits) {
  SmallVector<Attribute> parsed;
  auto parseOne = [&]() -> ParseResult {
    parsed.push_back(SplitKVAttr::parse(parser, {}));
    return success(static_cast<bool>(parsed.back()));
  };
  if (failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                            parseOne)))
    return failure();
  splits = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

static void printSplitKV(OpAsmPrinter &printer, Operation *, ArrayAttr splits) {
  if (!splits)
    return;
  printer << '[';
  llvm::interleaveComma(splits.getAsRange<SplitKVAttr>(), printer,
                        [&](SplitKVAttr split) { split.print(printer); });
  printer << ']';
}

static ParseResult parseMix(OpAsmParser &parser, MixAttr &mix) {
  return parseValueAttr(parser, mix);
}

static void printMix(OpAsmPrinter &printer, Operation *, MixAttr mix) {
  printer << stringifyMix(mix.getValue());
}

static ParseResult parsePrecision(OpAsmParser &parser,
                                  PrecisionAttr &precision) {
  return parseValueAttr(parser, precision);
}

static void printPrecision(OpAsmPrinter &printer, Operation *,
                           PrecisionAttr precision) {
  if (precision)
    printer << nameOf(precision.getValue());
}

/// The clauses of the operation's `oilist`, in its order.
static constexpr StringLiteral kClauses[] = {
    "causal",  "window",    "grid_window", "pattern_order", "q_offset",
    "lengths", "packed",    "pages",       "key_begins",    "k_scale",
    "v_scale", "sizes",     "sink",        "block_mask",    "scale",
    "softcap", "precision", "mix",         "output_scale",  "combine",
    "tilings", "split_kv"};

/// A word where clauses end is one that is none, or one that was there.
static ParseResult parseEndOfClauses(OpAsmParser &parser, ArrayAttr) {
  SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  InFlightDiagnostic error = parser.emitError(place);
  error << "expected one of the clauses ";
  llvm::interleaveComma(kClauses, error);
  error << " or the types behind a colon, found '" << word << "'";
  const StringLiteral *nearest =
      llvm::min_element(kClauses, [&](StringRef a, StringRef b) {
        return word.edit_distance(a) < word.edit_distance(b);
      });
  if (word.edit_distance(*nearest) <= 1 + word.size() / 4)
    error << "; did you mean " << *nearest << "?";
  return error;
}

static void printEndOfClauses(OpAsmPrinter &, Operation *, ArrayAttr) {}

static ParseResult parseCombine(OpAsmParser &parser, CombineAttr &combine) {
  return parseValueAttr(parser, combine);
}

static void printCombine(OpAsmPrinter &printer, Operation *,
                         CombineAttr combine) {
  if (combine)
    printer << stringifyCombine(combine.getValue());
}

#define GET_OP_CLASSES
#include "dialects/Ringlet/IR/RingletOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Canonicalization of attention
//===----------------------------------------------------------------------===//

/// `size` if it is a constant, else the runtime `extent` that it stands for.
static int64_t getKnown(Value size, int64_t extent) {
  DenseIntElementsAttr constant;
  return matchPattern(size, m_Constant(&constant))
             ? constant.getSplatValue<int64_t>()
             : extent;
}

/// Sizes that are constants become part of their branch, where B1 allows them:
/// of others the call is refused.
LogicalResult AttentionOp::canonicalize(AttentionOp op,
                                        PatternRewriter &rewriter) {
  SmallVector<Attribute> branches;
  SmallVector<Value> left;
  auto next = op.getSizes().begin();
  for (BranchAttr branch : op.getBranchRange()) {
    Value w = branch.isRuntimeW() ? *next++ : Value();
    Value r = branch.isRuntimeR() ? *next++ : Value();
    int64_t knownW = w ? getKnown(w, branch.getW()) : branch.getW();
    int64_t knownR = r ? getKnown(r, branch.getR()) : branch.getR();
    bool isLegal = (!w || knownW >= 1 || knownW == branch.getW()) &&
                   (!r || knownR >= 1 || knownR == branch.getR()) &&
                   (knownW < 1 || knownR <= knownW);
    if (isLegal)
      branch = branch.withSizes(knownW, knownR);
    if (branch.isRuntimeW())
      left.push_back(w);
    if (branch.isRuntimeR())
      left.push_back(r);
    branches.push_back(branch);
  }
  if (left.size() == op.getSizes().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.getSizesMutable().assign(left);
    op.setBranchesAttr(rewriter.getArrayAttr(branches));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// ReorderOp
//===----------------------------------------------------------------------===//

rlayout::LayoutAttr ReorderOp::getInputLayout() {
  return rlayout::getLayout(getInput().getType());
}

rlayout::LayoutAttr ReorderOp::getOutputLayout() {
  return rlayout::getLayout(getOutput().getType());
}

int64_t ReorderOp::getSequenceAxis() {
  for (rlayout::LayoutAttr layout : {getInputLayout(), getOutputLayout()})
    if (layout && !layout.isLinear())
      return layout.getAxis();
  // Nothing moves: any axis will do, but that of a list is 0.
  for (rlayout::LayoutAttr layout : {getInputLayout(), getOutputLayout()})
    if (layout && layout.getAxis() < getInput().getType().getRank())
      return layout.getAxis();
  return rlayout::LayoutAttr::kDefaultAxis;
}

LogicalResult ReorderOp::verify() {
  RankedTensorType input = getInput().getType();
  RankedTensorType output = getOutput().getType();
  if (input.getElementType() != output.getElementType())
    return emitOpError("expected a result of element type ")
           << input.getElementType() << ", found " << output.getElementType();
  if (failed(verifyCompatibleShape(input, output)))
    return emitOpError("expected a result of the operand's shape, found ")
           << input << " and " << output;
  for (RankedTensorType type : {input, output}) {
    if (type.getEncoding() && !rlayout::getLayout(type))
      return emitOpError("expected an #rlayout.layout encoding, found ")
             << type.getEncoding() << " (O1)";
    rlayout::LayoutAttr layout = rlayout::getLayout(type);
    if (layout && !layout.isLinear() && layout.getAxis() != getSequenceAxis())
      return emitOpError("expected one sequence axis, found ")
             << getSequenceAxis() << " and " << layout.getAxis() << " (O1)";
  }
  auto ring = [](rlayout::LayoutAttr layout) {
    return layout ? layout.getRing() : rlayout::RingAttr();
  };
  if (ring(getInputLayout()) != ring(getOutputLayout()))
    return emitOpError("expected the same ring on both sides: a reorder moves "
                       "no token to another rank (G1)");
  if (getSequenceAxis() >= input.getRank())
    return emitOpError("expected rank of at least ")
           << getSequenceAxis() + 1 << ", found " << input.getRank() << " (O1)";
  return success();
}

OpFoldResult ReorderOp::fold(FoldAdaptor) {
  // The same order on both sides moves nothing.
  if (getInput().getType() == getOutput().getType() &&
      getInput() != getOutput())
    return getInput();
  // A chain goes straight to its end; back to where it began, it is nothing.
  // In a block that nothing reaches, or in a module, values may go in circles:
  // only a step back in one block is sure to come to an end.
  auto previous = getInput().getDefiningOp<ReorderOp>();
  if (!previous || previous->getBlock() != getOperation()->getBlock() ||
      !previous->isBeforeInBlock(getOperation()))
    return {};
  // Not over a change of the sequence axis, which takes two permutations, nor
  // over a dynamic size in the middle that hides two different static ones.
  rlayout::LayoutAttr from = previous.getInputLayout();
  rlayout::LayoutAttr to = getOutputLayout();
  bool arePermuted = from && to && !from.isLinear() && !to.isLinear();
  if ((arePermuted && from.getAxis() != to.getAxis()) ||
      failed(verifyCompatibleShape(previous.getInput().getType(),
                                   getOutput().getType())))
    return {};
  getInputMutable().assign(previous.getInput());
  return getOutput();
}
