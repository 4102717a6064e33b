//===- AttentionOp.cpp - Verification of ringlet.attention -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "dialects/Ringlet/IR/TilePattern.h"
#include "lib/Layout/Dilation.h"
#include "ringlet/abi/Limits.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::attn;

int64_t AttentionOp::getQueryHeads() {
  return getQuery().getType().getDimSize(getSequenceAxis() + 1);
}
int64_t AttentionOp::getKeyHeads() {
  return getKey().getType().getDimSize(getKeyAxis() + 1);
}
int64_t AttentionOp::getKeyRows() {
  int64_t rows = getKey().getType().getDimSize(getKeyAxis());
  if (!isPaged())
    return rows;
  int64_t pages = cast<ShapedType>(getPageTable().getType()).getDimSize(1);
  return ShapedType::isDynamic(pages) ? pages : pages * rows;
}
int64_t AttentionOp::getHeadDim() {
  return getQuery().getType().getShape().back();
}
int64_t AttentionOp::getValueDim() {
  return getValue().getType().getShape().back();
}
SmallVector<SplitKVAttr> AttentionOp::getSplits() {
  ArrayAttr splits = getSplitKvAttr();
  if (!splits)
    return {};
  return llvm::to_vector(splits.getAsRange<SplitKVAttr>());
}

TilingAttr AttentionOp::getTilingOf(unsigned branch) {
  return cast<TilingAttr>((*getTilings())[isUnion() ? 0 : branch]);
}
bool AttentionOp::mayCountPadding() {
  if (getCausal())
    return false;
  int64_t keys = getKeyRows();
  return llvm::any_of(getBranchRange(), [&](BranchAttr branch) {
    return branch.countsPadding() &&
           (ShapedType::isDynamic(keys) ||
            !layout::hasNoPadding(
                branch.isUnbounded() ? layout::unboundedSegment : branch.getW(),
                branch.getR(), keys));
  });
}
rlayout::OrderAttr AttentionOp::getOrdinalOrder() {
  rlayout::OrderAttr order = getPatternOrderAttr();
  return order && !order.isIdentity() ? order : nullptr;
}

double AttentionOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getHeadDim()));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// True unless both sizes are known and differ.
static bool compatible(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static LogicalResult checkShape(AttentionOp op, StringRef what,
                                ArrayRef<int64_t> found,
                                ArrayRef<int64_t> expected, int section) {
  bool matches = found.size() == expected.size();
  for (size_t i = 0; matches && i < found.size(); ++i)
    matches = compatible(found[i], expected[i]);
  if (matches)
    return success();
  auto print = [](InFlightDiagnostic &diagnostic, ArrayRef<int64_t> shape) {
    diagnostic << '[';
    llvm::interleaveComma(shape, diagnostic, [&](int64_t size) {
      if (ShapedType::isDynamic(size))
        diagnostic << '?';
      else
        diagnostic << size;
    });
    diagnostic << ']';
  };
  InFlightDiagnostic diagnostic = op.emitOpError("expected ") << what << " of ";
  print(diagnostic, expected);
  diagnostic << ", found ";
  print(diagnostic, found);
  return diagnostic << " (section " << section << ")";
}

/// Section 1: shapes, types and head counts of the inputs.
static LogicalResult verifyInputs(AttentionOp op) {
  RankedTensorType query = op.getQuery().getType();
  RankedTensorType key = op.getKey().getType();
  RankedTensorType value = op.getValue().getType();
  for (auto [type, name] :
       {std::pair(query, "query"), {key, "key"}, {value, "value"}}) {
    bool inPages = op.isPaged() && type != query;
    int64_t rank = op.isPacked() && !inPages ? 3 : 4;
    if (type.getRank() != rank)
      return op.emitOpError("expected ")
             << name << " of rank " << rank
             << (inPages         ? " ([page, row, head, dim])"
                 : op.isPacked() ? " ([total, head, dim])"
                                 : " ([batch, sequence, head, dim])")
             << ", found rank " << type.getRank()
             << (inPages ? " (S4)" : " (section 1)");
    if (type.getElementType() != query.getElementType() &&
        type.getElementTypeBitWidth() != 8)
      return op.emitOpError("expected ")
             << name << " of element type " << query.getElementType()
             << ", found " << type.getElementType() << " (section 1)";
  }
  if (value.getElementType() != key.getElementType())
    return op.emitOpError("expected value of the element type of key, ")
           << key.getElementType() << ", found " << value.getElementType()
           << " (S6)";
  if (ShapedType::isDynamic(op.getQueryHeads()) ||
      ShapedType::isDynamic(op.getKeyHeads()) ||
      ShapedType::isDynamic(op.getHeadDim()) ||
      ShapedType::isDynamic(op.getValueDim()))
    return op.emitOpError("expected static numbers of heads and head "
                          "dimensions, found a dynamic one (section 1)");
  if (op.getHeadDim() < 1 || op.getValueDim() < 1 || op.getKeyHeads() < 1)
    return op.emitOpError("expected at least one head and a head dimension of "
                          "at least 1 (section 1)");
  if (op.getQueryHeads() % op.getKeyHeads() != 0)
    return op.emitOpError("expected a number of query heads that ")
           << op.getKeyHeads() << " key heads divide, found "
           << op.getQueryHeads() << " (section 1)";

  // Pages belong to no sequence; else the batch is that of the queries.
  SmallVector<int64_t> expectedKey(key.getShape());
  expectedKey.back() = op.getHeadDim();
  if (!op.isPaged() && !op.isPacked())
    expectedKey[0] = query.getDimSize(0);
  if (failed(checkShape(op, "key", key.getShape(), expectedKey, 1)))
    return failure();
  SmallVector<int64_t> expectedValue(key.getShape());
  expectedValue.back() = op.getValueDim();
  return checkShape(op, "value", value.getShape(), expectedValue, 1);
}

/// O1: an encoding is a layout, and orders the axis of the sequence if it
/// orders anything.
static LogicalResult verifyLayouts(AttentionOp op) {
  int64_t axis = op.getSequenceAxis();
  int64_t lseAxis = op.getLse().getType().getRank() - 1;
  for (auto [value, name, expected] :
       {std::tuple(Value(op.getQuery()), "query", axis),
        {Value(op.getKey()), "key", op.getKeyAxis()},
        {Value(op.getValue()), "value", op.getKeyAxis()},
        {Value(op.getOutput()), "output", axis},
        {Value(op.getLse()), "lse", lseAxis}}) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.getEncoding())
      continue;
    rlayout::LayoutAttr layout = rlayout::getLayout(type);
    if (!layout)
      return op.emitOpError("expected an #rlayout.layout encoding of ")
             << name << ", found " << type.getEncoding() << " (O1)";
    if (!layout.isLinear() && layout.getAxis() != expected)
      return op.emitOpError("expected the layout of ")
             << name << " on its sequence axis, " << expected << ", found axis "
             << layout.getAxis() << " (O1)";
  }
  return success();
}

/// S4: a page table says where rows lie, which is what else an order does, and
/// each sequence has a row of it.
static LogicalResult verifyPages(AttentionOp op) {
  if (!op.isPaged())
    return success();
  RankedTensorType key = op.getKey().getType();
  int64_t rows = key.getDimSize(1);
  if (rows < 1 || rows > abi::kMaxPageRows)
    return op.emitOpError("expected pages of 1 to ")
           << abi::kMaxPageRows << " rows, which the type of key says, found "
           << key << " (S4)";
  auto table = cast<RankedTensorType>(op.getPageTable().getType());
  int64_t batch = op.getQuery().getType().getDimSize(0);
  if (!op.isPacked() && !compatible(table.getDimSize(0), batch))
    return op.emitOpError("expected pages of each of the ")
           << batch << " sequences, found those of " << table.getDimSize(0)
           << " (S4)";
  StringRef found, nearest;
  rlayout::OrderAttr order = rlayout::getOrder(key);
  if (order && !order.isIdentity()) {
    found = "a memory order of key and value";
    nearest = "an order of query and output alone";
  } else if (rlayout::getRing(op.getQuery().getType()) ||
             rlayout::getRing(key)) {
    found = "a ring";
    nearest = "pages of one rank";
  } else if (countsPadding(op)) {
    found = "padding = counted";
    nearest = "padding = none";
  } else if (op.getOrdinalOrder()) {
    found = "a pattern_order";
    nearest = "keys in linear order";
  }
  if (found.empty())
    return success();
  return op.emitOpError("expected keys in linear order beside pages, found ")
         << found << "; nearest legal choice: " << nearest << " (S4)";
}

/// O1: an order restarts with each sequence. Without a chunk it would fit those
/// of one length only, which the device alone knows if they are packed (S2).
static LogicalResult verifyPackedOrders(AttentionOp op) {
  if (!op.isPacked())
    return success();
  for (auto [value, name] :
       {std::pair(op.getQuery(), "query"), {op.getKey(), "key and value"}}) {
    rlayout::OrderAttr order = rlayout::getOrder(value.getType());
    if (!order || order.isIdentity() || order.getChunk() != 0)
      continue;
    InFlightDiagnostic error =
        op.emitOpError("expected an order with a chunk of packed ")
        << name << ", found " << order << " (O1, S2)";
    if (int64_t volume = order.getOrder()->period())
      error << "; nearest legal choice: chunk = " << volume;
    else
      error << "; nearest legal choice: a chunk of the longest sequence";
    return error;
  }
  return success();
}

/// Section 3: shapes of the results; O1: their orders.
static LogicalResult verifyResults(AttentionOp op) {
  RankedTensorType query = op.getQuery().getType();
  RankedTensorType output = op.getOutput().getType();
  if (output.getElementType() != query.getElementType())
    return op.emitOpError("expected output of element type ")
           << query.getElementType() << ", found " << output.getElementType()
           << " (R4)";
  SmallVector<int64_t> expected(query.getShape());
  expected.back() = op.getValueDim();
  if (failed(checkShape(op, "output", output.getShape(), expected, 3)))
    return failure();

  SmallVector<int64_t> lse;
  if (op.getMix() == Mix::Sum)
    lse.push_back(op.getBranches().size());
  if (!op.isPacked())
    lse.push_back(query.getDimSize(0));
  lse.push_back(op.getQueryHeads());
  lse.push_back(query.getDimSize(op.getSequenceAxis()));
  if (failed(checkShape(op, "lse", op.getLse().getType().getShape(), lse, 3)))
    return failure();

  if (failed(verifyLayouts(op)))
    return failure();
  using rlayout::getOrder;
  if (getOrder(op.getKey().getType()) != getOrder(op.getValue().getType()))
    return op.emitOpError("expected key and value in the same order (O1)");
  if (getOrder(output) != getOrder(query) ||
      getOrder(op.getLse().getType()) != getOrder(query))
    return op.emitOpError("expected output and lse in the order of query (O1)");
  return verifyPackedOrders(op);
}

/// O2: the volume of a pattern order exceeds every position.
static LogicalResult verifyPatternOrder(AttentionOp op) {
  int64_t length = op.getKeyRows();
  rlayout::OrderAttr order = op.getPatternOrderAttr();
  if (!order || op.isPacked() || ShapedType::isDynamic(length) || length == 0)
    return success();
  std::string error = order.getOrder()->validatePattern(length - 1);
  if (!error.empty())
    return op.emitOpError() << error;
  return success();
}

/// Section 2: branches, windows and masks.
static LogicalResult verifyPattern(AttentionOp op) {
  if (op.getBranches().empty())
    return op.emitOpError("expected at least one branch (section 2)");
  if (op.getBranches().size() > abi::kMaxBranches)
    return op.emitOpError("expected at most ")
           << abi::kMaxBranches << " branches, found "
           << op.getBranches().size() << " (section 2)";
  size_t runtimeSizes = 0;
  for (BranchAttr branch : op.getBranchRange()) {
    runtimeSizes += branch.isRuntimeW();
    runtimeSizes += branch.isRuntimeR();
    if (branch.getHeadEnd(op.getQueryHeads()) > op.getQueryHeads())
      return op.emitOpError("expected heads below ")
             << op.getQueryHeads() << ", found [" << branch.getHeadBegin()
             << ", " << branch.getHeadEnd() << ") (section 2)";
  }
  if (runtimeSizes != op.getSizes().size())
    return op.emitOpError("expected one size for each of the ")
           << runtimeSizes << " '?' in branches, found " << op.getSizes().size()
           << " (B1)";
  if (std::optional<ArrayRef<int64_t>> window = op.getWindow())
    for (int64_t side : *window)
      if (side < -1)
        return op.emitOpError("expected window sides of at least 0, or -1 for "
                              "no limit, found ")
               << side << " (B4)";
  if (std::optional<ArrayRef<int64_t>> blockSize = op.getBlockSize())
    for (int64_t side : *blockSize)
      if (side < 1)
        return op.emitOpError("expected positive sides of mask blocks, found ")
               << side << " (B6)";
  if (static_cast<bool>(op.getBlockMask()) !=
      static_cast<bool>(op.getBlockSize()))
    return op.emitOpError("expected block_mask and its block size together "
                          "(B6)");
  return verifyPatternOrder(op);
}

/// B7: padding is that of sequences of one length, whose keys follow each other
/// and are seen as branches say.
static LogicalResult verifyPadding(AttentionOp op) {
  if (!countsPadding(op))
    return success();
  auto isOrdered = [](TypedValue<RankedTensorType> value) {
    rlayout::OrderAttr order = rlayout::getOrder(value.getType());
    return order && !order.isIdentity();
  };
  Value offset = op.getQOffset();
  StringRef found;
  if (op.getWindow())
    found = "a window";
  else if (op.getGridWindow())
    found = "a grid_window";
  else if (op.getOrdinalOrder())
    found = "a pattern_order";
  else if (op.getBlockMask())
    found = "a block_mask";
  else if (op.getQueryLengths())
    found = "lengths";
  else if (op.isPacked())
    found = "packed sequences";
  else if (op.getKeyBegins())
    found = "key_begins";
  else if (offset && cast<ShapedType>(offset.getType()).getRank() != 0)
    found = "a q_offset for each sequence";
  else if (isOrdered(op.getQuery()) || isOrdered(op.getKey()))
    found = "a memory order";
  else if (rlayout::getRing(op.getQuery().getType()))
    found = "a ring";
  if (found.empty())
    return success();
  return op.emitOpError(
             "expected whole sequences of one length in linear order "
             "beside padding = counted, found ")
         << found << " (B7)";
}

/// S2: lengths of queries and keys come together, one for each sequence.
static LogicalResult verifyLengths(AttentionOp op) {
  auto size = [](Value value) {
    return cast<ShapedType>(value.getType()).getDimSize(0);
  };
  if (static_cast<bool>(op.getQueryLengths()) !=
          static_cast<bool>(op.getKeyLengths()) ||
      static_cast<bool>(op.getQueryStarts()) !=
          static_cast<bool>(op.getKeyStarts()))
    return op.emitOpError("expected lengths of queries and keys together (S2)");
  int64_t batch = op.getQuery().getType().getDimSize(0);
  for (Value lengths : {op.getQueryLengths(), op.getKeyLengths()})
    if (lengths && !compatible(size(lengths), batch))
      return op.emitOpError("expected one length for each of the ")
             << batch << " sequences, found " << size(lengths) << " (S2)";
  if (!op.isPacked())
    return success();
  if (!compatible(size(op.getQueryStarts()), size(op.getKeyStarts())))
    return op.emitOpError("expected as many starts of queries as of keys, "
                          "found ")
           << size(op.getQueryStarts()) << " and " << size(op.getKeyStarts())
           << " (S2)";
  for (Value starts : {op.getQueryStarts(), op.getKeyStarts()})
    if (size(starts) == 0)
      return op.emitOpError("expected one start more than there are "
                            "sequences, found none (S2)");
  return success();
}

/// S5: padded sequences have one begin of keys each; packed ones say by their
/// starts where they begin.
static LogicalResult verifyKeyBegins(AttentionOp op) {
  Value begins = op.getKeyBegins();
  if (!begins)
    return success();
  StringRef found, nearest;
  if (op.isPacked()) {
    found = "packed ones";
    nearest = "starts of keys that leave out what comes before them";
  } else if (rlayout::getRing(op.getQuery().getType()) ||
             rlayout::getRing(op.getKey().getType())) {
    found = "a ring";
    nearest = "packed sequences";
  }
  if (!found.empty())
    return op.emitOpError("expected padded sequences of one rank beside "
                          "key_begins, found ")
           << found << "; nearest legal choice: " << nearest << " (S5)";
  int64_t count = cast<ShapedType>(begins.getType()).getDimSize(0);
  int64_t batch = op.getQuery().getType().getDimSize(0);
  if (!compatible(count, batch))
    return op.emitOpError("expected one begin of keys for each of the ")
           << batch << " sequences, found " << count << " (S5)";
  return success();
}

/// S6: scales are those of heads of keys, and of elements of 8 bits alone.
static LogicalResult verifyScales(AttentionOp op) {
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType();
  if (op.isWidened() && (rlayout::getRing(query) || rlayout::getRing(key)))
    return op.emitOpError("expected key and value of element type ")
           << query.getElementType() << " on a ring, found "
           << key.getElementType() << " (S6)";
  Value starts = op.getQueryStarts();
  Value ofEach = starts ? starts : Value(op.getQuery());
  int64_t batch = cast<ShapedType>(ofEach.getType()).getDimSize(0);
  batch -= starts && !ShapedType::isDynamic(batch) ? 1 : 0;
  for (auto [scale, name] :
       {std::pair(op.getKScale(), "k_scale"), {op.getVScale(), "v_scale"}}) {
    if (!scale)
      continue;
    if (!op.isWidened())
      return op.emitOpError("expected key and value of 8 bits beside ")
             << name << ", found " << key.getElementType() << " (S6)";
    ArrayRef<int64_t> shape = cast<ShapedType>(scale.getType()).getShape();
    int64_t expected[] = {batch, op.getKeyHeads()};
    if (ShapedType::isDynamic(shape.back()) ||
        !llvm::equal(shape, ArrayRef(expected).take_back(shape.size()),
                     compatible))
      return op.emitOpError("expected a ")
             << name << " for each of the " << op.getKeyHeads()
             << " heads of keys, of all sequences or of each, found "
             << scale.getType() << " (S6)";
  }
  return success();
}

/// Least softcap: scores are divided by it, in f32.
static constexpr double kMinSoftcap = 1e-38;

/// Greatest magnitude of a factor: finite in f32, in which scores and merges
/// are (R4), with room for a change of the exponential's base.
static constexpr double kMaxFactor = 1e38;

/// Kernels for few queries.
static LogicalResult verifySplits(AttentionOp op) {
  int64_t group = op.getQueryHeads() / op.getKeyHeads(), before = 0;
  for (SplitKVAttr split : op.getSplits()) {
    if (group % split.getHeads() != 0)
      return op.emitOpError("expected split_kv with a number of heads that "
                            "divides the ")
             << group << " query heads of a key head, found "
             << split.getHeads();
    if (split.getQueries() <= before)
      return op.emitOpError("expected split_kv for more queries than the ")
             << before << " of the one before, found " << split.getQueries();
    before = split.getQueries();
  }
  return success();
}

/// The clauses that only kernels heed.
static LogicalResult verifyKernels(AttentionOp op) {
  if (op.isUnion())
    if (std::string problem = whyNotUnion(op); !problem.empty())
      return op.emitOpError("combine = union is not possible: ") << problem;
  if (op.isApart())
    if (std::string problem = whyNotApart(op); !problem.empty())
      return op.emitOpError("combine = apart is not possible: ") << problem;
  if (failed(verifySplits(op)))
    return failure();
  ArrayAttr tilings = op.getTilingsAttr();
  if (!tilings)
    return success();
  if (op.isUnion() && tilings.size() != 1)
    return op.emitOpError("expected one tiling for the union of branches, "
                          "found ")
           << tilings.size();
  if (!op.isUnion() && tilings.size() != op.getBranches().size())
    return op.emitOpError("expected one tiling for each of the ")
           << op.getBranches().size() << " branches, found " << tilings.size();
  return success();
}

/// R7: other types have a precision of their own.
static LogicalResult verifyPrecision(AttentionOp op) {
  Type element = op.getQuery().getType().getElementType();
  if (!op.getPrecision() || element.isF32())
    return success();
  return op.emitOpError("expected a query of f32 beside precision = ")
         << StringRef(nameOf(op.getProductPrecision())) << ", found " << element
         << " (R7)";
}

static LogicalResult verifyOptions(AttentionOp op) {
  auto finitePositive = [&](std::optional<APFloat> value, StringRef name,
                            StringRef rule) -> LogicalResult {
    if (!value ||
        (value->isFinite() && !value->isNegative() && !value->isZero()))
      return success();
    return op.emitOpError("expected a positive finite ")
           << name << ", found " << value->convertToDouble() << " (" << rule
           << ")";
  };
  if (failed(finitePositive(op.getSoftcap(), "softcap", "section 3")))
    return failure();
  if (std::optional<APFloat> softcap = op.getSoftcap())
    if (double value = softcap->convertToDouble();
        value < kMinSoftcap || value > kMaxFactor)
      return op.emitOpError("expected softcap from 1e-38 to 1e38, found ")
             << value << " (R4)";
  // Factors of f32 values: one that is infinite there makes NaN of a zero.
  auto factor = [&](std::optional<APFloat> value, StringRef name,
                    StringRef rule) -> LogicalResult {
    if (!value || std::abs(value->convertToDouble()) <= kMaxFactor)
      return success();
    return op.emitOpError("expected ")
           << name << " within +-1e38, found " << value->convertToDouble()
           << " (" << rule << ")";
  };
  if (failed(factor(op.getScale(), "scale", "R4")))
    return failure();
  if (op.getOutputScale() && op.getMix() != Mix::Sum)
    return op.emitOpError("expected output_scale only with mix = sum (R2)");
  if (failed(factor(op.getOutputScale(), "output_scale", "R2, R4")))
    return failure();
  if (Value sink = op.getSink()) {
    int64_t count = cast<ShapedType>(sink.getType()).getDimSize(0);
    if (!compatible(count, op.getQueryHeads()))
      return op.emitOpError("expected one sink for each of the ")
             << op.getQueryHeads() << " query heads, found " << count
             << " (R3)";
  }
  if (op.isPacked() && op.getQueryLengths())
    return op.emitOpError("expected packed or lengths, not both (S2)");
  if (failed(verifyLengths(op)))
    return failure();
  if (Value offset = op.getQOffset()) {
    auto type = dyn_cast<RankedTensorType>(offset.getType());
    if (!type || type.getRank() > 1)
      return op.emitOpError("expected q_offset of type tensor<i64> or "
                            "tensor<Bxi64>, found ")
             << offset.getType() << " (S1)";
    if (type.getRank() == 1 && !op.isPacked() &&
        !compatible(type.getDimSize(0), op.getQuery().getType().getDimSize(0)))
      return op.emitOpError("expected one q_offset for each of the ")
             << op.getQuery().getType().getDimSize(0) << " sequences, found "
             << type.getDimSize(0) << " (S1)";
  }
  return verifyKernels(op);
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyInputs(*this)) || failed(verifyPattern(*this)) ||
      failed(verifyOptions(*this)) || failed(verifyResults(*this)))
    return failure();
  if (failed(verifyPages(*this)) || failed(verifyKeyBegins(*this)) ||
      failed(verifyScales(*this)) || failed(verifyPrecision(*this)))
    return failure();
  return verifyPadding(*this);
}
