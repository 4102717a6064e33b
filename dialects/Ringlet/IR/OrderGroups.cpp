//===- OrderGroups.cpp - Orders of attention and reorder -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/TilePattern.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::attn;

/// Rule O1: output and lse have the order of the query; key and value share
/// one. No order changes the result, since positions follow the tokens.
SmallVector<rlayout::OrderGroup> AttentionOp::getOrderGroups() {
  // An order that is written on the types is a choice, its absence is none;
  // tilings were chosen for it. Packed sequences restart an order each, which a
  // reorder of the whole axis does not (O1). Padding that counts stands behind
  // keys in linear order (B7), and a page table says where rows lie (S4).
  bool hasPadding = countsPadding(*this);
  auto isFixed = [&](TypedValue<RankedTensorType> value, bool inPages) {
    rlayout::LayoutAttr layout = rlayout::getLayout(value.getType());
    return (layout && layout.getOrder()) || getTilings() || isPacked() ||
           hasPadding || inPages;
  };
  auto number = [](Value result) {
    return cast<OpResult>(result).getResultNumber();
  };
  int64_t axis = getSequenceAxis();
  int64_t lseAxis = getLse().getType().getRank() - 1;
  rlayout::OrderGroup queries{
      {{getQueryMutable().getOperandNumber(), axis}},
      {{number(getOutput()), axis}, {number(getLse()), lseAxis}},
      isFixed(getQuery(), /*inPages=*/false)};
  int64_t keyAxis = getKeyAxis();
  rlayout::OrderGroup keys{{{getKeyMutable().getOperandNumber(), keyAxis},
                            {getValueMutable().getOperandNumber(), keyAxis}},
                           {},
                           isFixed(getKey(), isPaged())};
  return {queries, keys};
}

/// Operand and result may each have any order, which their types say.
SmallVector<rlayout::OrderGroup> ReorderOp::getOrderGroups() {
  return rlayout::getFixedOrderGroups(*this);
}
