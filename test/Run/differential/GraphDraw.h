//===- GraphDraw.h - How a random graph is drawn ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_GRAPHDRAW_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_GRAPHDRAW_H

#include "test/Run/differential/Generate.h"

#include "lib/Layout/Dilation.h"

#include <array>

namespace ringlet::differential {

/// Kinds of graphs, in turn.
constexpr int64_t kKinds = 16;

class GraphDraw {
public:
  GraphDraw(uint64_t seed, int64_t number, Aim aim)
      : dice(seed, static_cast<uint64_t>(number)),
        further(seed + 1, static_cast<uint64_t>(number)),
        lengthDice(seed + 2, static_cast<uint64_t>(number)),
        sizeDice(seed + 3, static_cast<uint64_t>(number)),
        packDice(seed + 4, static_cast<uint64_t>(number)),
        orderDice(seed + 5, static_cast<uint64_t>(number)),
        combineDice(seed + 6, static_cast<uint64_t>(number)),
        paddingDice(seed + 7, static_cast<uint64_t>(number)),
        pageDice(seed + 9, static_cast<uint64_t>(number)),
        beginDice(seed + 10, static_cast<uint64_t>(number)),
        narrowDice(seed + 11, static_cast<uint64_t>(number)),
        precisionDice(seed + 12, static_cast<uint64_t>(number)), number(number),
        forRoles(aim == Aim::Roles) {}

  DrawnGraph draw() {
    // In turn, so that every combination of the two occurs.
    dtype = std::array{DType::f32, DType::bf16, DType::f16}[number % 3];
    constexpr std::array<int64_t, 11> dims = {64, 8,  100, 16, 63, 128,
                                              46, 32, 20,  1,  256};
    depth = dims[(number / 3) % dims.size()];
    width =
        dice.oneIn(4) ? dice.pick<int64_t>({1, 8, 24, 48, 64, 80, 99}) : depth;
    if (forRoles) {
      dtype = std::array{DType::bf16, DType::f16}[number % 2];
      depth = layout::ceilDiv(depth, 8) * 8;
      width = layout::ceilDiv(width, 8) * 8;
    }
    keyHeads = dice.pick<int64_t>({1, 1, 2, 2, 3, 4});
    queryHeads =
        keyHeads *
        std::min<int64_t>(dice.pick<int64_t>({1, 1, 2, 3, 4}), 8 / keyHeads);
    switch (number % kKinds) {
    case 14:
    case 15:
      drawMaskedAttention();
      break;
    case 9:
    case 10:
      drawOrderedAttention();
      break;
    case 8:
      drawWindowedAttention();
      break;
    case 13:
      drawReorders();
      break;
    case 12:
      drawReorderedAttention();
      break;
    case 11:
      drawTwoAttentions();
      break;
    default:
      drawOneAttention();
    }
    return std::move(drawn);
  }

private:
  void drawOneAttention();
  void drawWindowedAttention();
  void drawTwoAttentions();
  void drawReorderedAttention();
  void drawOrderedAttention();
  void drawMaskedAttention();
  layout::OrderSpec drawPatternOrder() {
    return differential::drawPatternOrder(dice, drawn.volume);
  }
  void drawReorders();

  void maybeDrawPages(int64_t every);
  /// Lets keys and values have 8 bits (S6), which no reorder moves. Recipes
  /// have none.
  void maybeNarrow() {
    if (!forRoles && narrowDice.oneIn(3))
      narrow = narrowDice.pick<DType>({DType::f8E4M3FN, DType::i8});
  }
  std::optional<int> maybeDrawScale(const std::string &name);
  ValueType keyTensor(int64_t dim);
  void drawStaticSizes();
  void drawSizesOfTypes();
  layout::OrderSpec drawOrder(std::optional<int64_t> &length);
  std::optional<layout::OrderSpec> maybeDrawOrder();
  void setOrders(const std::optional<layout::OrderSpec> &ofQueries,
                 const std::optional<layout::OrderSpec> &ofKeys);
  void drawInputs();
  /// What only the device knows of where sequences begin and end.
  void drawSequences() {
    drawLengths();
    drawBegins();
    keyScale = maybeDrawScale("k_scale");
    valueScale = maybeDrawScale("v_scale");
  }
  void drawLengths();
  void drawBegins();
  void drawSizes();
  void maybeCountPadding(Operation &op, int query, int key);
  /// Adds an attention; numbers of output and lse.
  std::pair<int, int> addAttention(int q, int k, int v, std::string suffix);
  int addReorder(int value, std::optional<layout::OrderSpec> order, int axis,
                 std::string name);

  Graph &graph() { return drawn.graph; }
  int64_t sizeInType(Variable variable) {
    return isStatic[variable] ? *drawn.fixed[variable] : kDynamic;
  }
  ValueType tensor(Variable rows, int64_t heads, int64_t dim) {
    ValueType type;
    type.dtype = dtype;
    type.shape = {sizeInType(rows), heads, dim};
    type.variables = {rows, -1, -1};
    addBatch(type);
    return type;
  }
  /// The first axis, where sequences are not packed.
  void addBatch(ValueType &type) {
    if (isPacked)
      return;
    type.shape.insert(type.shape.begin(), sizeInType(kBatch));
    type.variables.insert(type.variables.begin(), kBatch);
  }

  /// One for what all graphs may have beside what their kind draws.
  Dice dice, further, lengthDice, sizeDice, packDice, orderDice, combineDice,
      paddingDice, pageDice, beginDice, narrowDice, precisionDice;
  int64_t number;
  bool forRoles;
  DrawnGraph drawn;
  /// Sizes that types know.
  bool isStatic[kVariables] = {};
  DType dtype;
  int64_t depth, width, queryHeads, keyHeads;
  std::optional<int> offset, sink, pages, begins, keyScale, valueScale;
  /// That of keys and values, if it is not `dtype`.
  std::optional<DType> narrow;
  bool isPacked = false;
  /// Padded sequences of full length with a q_offset each.
  bool hasOffsets = false;
  std::optional<std::pair<int, int>> lengths, starts;
  /// Of the first branch of each attention.
  SizeOperands sizes;
  /// What the next attentions have.
  std::optional<layout::OrderSpec> pattern;
  std::optional<oracle::GridWindow> near;
  std::optional<oracle::BlockSizes> blockSize;
  int mask = 0;
  /// A divisor of the dilation of their first branch, or 0.
  int64_t rateDivisor = 0;
  /// How far back they see at least, along the one branch that they have.
  std::optional<int64_t> lookBack;
  int q = 0, k = 0, v = 0;
};

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_GRAPHDRAW_H
