//===- RandomProblem.cpp - Random attention problems ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/RandomProblem.h"

#include <algorithm>
#include <cmath>

namespace ringlet::oracle {

namespace {

/// Draws; every decision of a problem goes through here.
class Dice {
public:
  explicit Dice(std::mt19937_64 &random) : random(random) {}
  int64_t between(int64_t least, int64_t greatest) {
    return std::uniform_int_distribution<int64_t>(least, greatest)(random);
  }
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  double normal(double deviation) {
    return std::normal_distribution<>(0, deviation)(random);
  }
  std::mt19937_64 &random;
};

/// How the sequences of one side lie in its tensor.
struct Side {
  bool packed = false;
  std::vector<int64_t> lengths;
  /// S, or total when packed.
  int64_t rows = 0;
};

/// `isWhole`: sequences of one length.
Side randomSide(Dice &dice, int64_t sequences, int64_t maxLength, bool isWhole,
                std::optional<Tensor> &cuSeqlens,
                std::optional<Tensor> &lengths) {
  Side side;
  side.packed = !isWhole && dice.oneIn(4);
  bool given = side.packed || (!isWhole && dice.oneIn(3));
  int64_t common = dice.between(1, maxLength);
  for (int64_t i = 0; i < sequences; ++i)
    side.lengths.push_back(given ? dice.between(0, maxLength) : common);
  std::vector<double> values;
  if (side.packed) {
    values = {0};
    for (int64_t length : side.lengths)
      values.push_back(values.back() + static_cast<double>(length));
    side.rows = static_cast<int64_t>(values.back()) + dice.between(0, 2);
    cuSeqlens = vectorOf(dice.oneIn(2) ? DType::i32 : DType::i64, values);
    return side;
  }
  side.rows = *std::max_element(side.lengths.begin(), side.lengths.end());
  if (given) {
    side.rows += dice.between(0, 2);
    values.assign(side.lengths.begin(), side.lengths.end());
    lengths = vectorOf(dice.oneIn(2) ? DType::i32 : DType::i64, values);
  }
  return side;
}

/// Normal numbers, and NaN in the rows of no sequence.
Tensor randomOperand(Dice &dice, const Side &side, DType dtype, int64_t heads,
                     int64_t dim, double deviation) {
  auto batches = static_cast<int64_t>(side.lengths.size());
  Shape shape = {side.packed ? 1 : batches, side.rows, heads, dim};
  Tensor result(dtype, shape);
  fillRandom(result, dice.random, deviation);
  int64_t total = 0;
  for (int64_t length : side.lengths)
    total += length;
  MutableTensorView view = result.view();
  forEachIndex(shape, [&](const int64_t *indices) {
    if (indices[1] >= (side.packed ? total : side.lengths[indices[0]]))
      view.set(indices, std::nan(""));
  });
  if (side.packed)
    result.reshape({side.rows, heads, dim});
  return result;
}

/// Where keys begin, and NaN before. Some numbers are of no row.
Tensor randomBegins(Dice &dice, const Side &keys, Problem &problem) {
  std::vector<double> begins;
  for (size_t i = 0; i < keys.lengths.size(); ++i) {
    int64_t begin = dice.between(-1, keys.lengths[i] + 1);
    begins.push_back(static_cast<double>(begin));
    for (Tensor *tensor : {&problem.key, &problem.value}) {
      MutableTensorView view = tensor->view();
      forEachIndex(tensor->shape(), [&](const int64_t *indices) {
        if (indices[0] == static_cast<int64_t>(i) && indices[1] < begin)
          view.set(indices, std::nan(""));
      });
    }
  }
  return vectorOf(dice.oneIn(2) ? DType::i32 : DType::i64, begins);
}

/// None, one for each head, or one for each of each sequence.
std::optional<Tensor> randomScales(Dice &dice, int64_t sequences,
                                   int64_t keyHeads) {
  if (dice.oneIn(4))
    return std::nullopt;
  Tensor scales(DType::f32,
                dice.oneIn(2) ? Shape{keyHeads} : Shape{sequences, keyHeads});
  fillRandom(scales, dice.random);
  return scales;
}

Branch randomBranch(Dice &dice, int64_t maxLength, int64_t heads) {
  Branch branch;
  if (!dice.oneIn(5))
    branch.segment = dice.between(1, maxLength + 4);
  branch.dilation =
      dice.between(1, std::min<int64_t>(5, branch.segment.value_or(maxLength)));
  branch.offset = static_cast<layout::OffsetRule>(dice.between(0, 2));
  branch.constant = dice.between(-7, 7);
  branch.offsetByQuery = dice.oneIn(3);
  if (dice.oneIn(3)) {
    int64_t begin = dice.between(0, heads);
    branch.heads = HeadRange{begin, dice.between(begin, heads)};
  }
  return branch;
}

/// Sides whose product exceeds `greatest`.
std::vector<int64_t> randomGrid(Dice &dice, int64_t greatest) {
  std::vector<int64_t> grid = {1, dice.between(1, 5)};
  if (dice.oneIn(3))
    grid.push_back(dice.between(1, 3));
  int64_t rest = 1;
  for (int64_t side : grid)
    rest *= side;
  grid[0] = greatest / rest + dice.between(1, 2);
  return grid;
}

} // namespace

Problem randomProblem(std::mt19937_64 &random, int64_t maxLength) {
  Dice dice(random);
  Problem problem;
  AttentionSpec &spec = problem.spec;
  int64_t sequences = dice.between(1, 3);
  // Keys of zeros count beside nothing that hides keys (B7).
  bool isPadded = dice.oneIn(6);
  Side queries = randomSide(dice, sequences, maxLength, isPadded,
                            problem.cuSeqlensQ, problem.lengthsQ);
  Side keys = randomSide(dice, sequences, maxLength, isPadded,
                         problem.cuSeqlensK, problem.lengthsK);
  int64_t keyHeads = dice.between(1, 3);
  int64_t heads = keyHeads * dice.between(1, 3);
  int64_t dim = dice.between(1, 9);
  int64_t valueDim = dice.between(1, 9);
  auto dtype = static_cast<DType>(dice.between(0, 2)); // f16, bf16 or f32
  double deviation = dice.oneIn(3) ? 3 : 1;
  problem.query = randomOperand(dice, queries, dtype, heads, dim, deviation);
  DType narrow = dtype;
  if (dice.oneIn(4))
    narrow = dice.oneIn(2) ? DType::f8E4M3FN : DType::i8;
  problem.key = randomOperand(dice, keys, narrow, keyHeads, dim, deviation);
  problem.value = randomOperand(dice, keys, narrow, keyHeads, valueDim, 1);
  if (narrow != dtype) {
    problem.keyScale = randomScales(dice, sequences, keyHeads);
    problem.valueScale = randomScales(dice, sequences, keyHeads);
  }

  int64_t branches = dice.between(1, 4);
  for (int64_t i = 0; i < branches; ++i)
    spec.branches.push_back(randomBranch(dice, maxLength, heads));
  spec.causal = dice.oneIn(2);
  if (!isPadded && dice.oneIn(4))
    spec.windowLeft = dice.between(0, maxLength);
  if (!isPadded && dice.oneIn(4))
    spec.windowRight = dice.between(0, maxLength);
  if (dice.oneIn(3)) {
    spec.mix = Mix::Sum;
    if (dice.oneIn(2))
      spec.outputScale = dice.normal(1);
  }
  if (dice.oneIn(4))
    spec.scale = dice.normal(1);
  if (dice.oneIn(4))
    spec.softcap = 0.5 + std::fabs(dice.normal(2));
  if (dice.oneIn(3)) {
    std::vector<double> logits;
    for (int64_t head = 0; head < heads; ++head)
      logits.push_back(dice.normal(2));
    problem.sink = vectorOf(dice.oneIn(2) ? DType::f32 : dtype, logits);
  }

  // A grid and a mask have no place for negative positions.
  bool needsGrid = !isPadded && dice.oneIn(5);
  bool needsMask = !isPadded && dice.oneIn(5);
  std::vector<double> offsets;
  int64_t greatest = maxLength + 1;
  if (needsGrid || needsMask || dice.oneIn(2)) {
    int64_t least = needsGrid || needsMask ? 0 : -3;
    int64_t count = !isPadded && dice.oneIn(2) ? sequences : 1;
    for (int64_t i = 0; i < count; ++i)
      offsets.push_back(static_cast<double>(dice.between(least, maxLength)));
    problem.qOffset = vectorOf(DType::i64, offsets);
    greatest = 2 * maxLength;
  }
  if (needsGrid) {
    GridWindow window;
    window.grid = randomGrid(dice, greatest);
    for (size_t axis = 0; axis < window.grid.size(); ++axis)
      window.radius.push_back(dice.between(0, 3));
    spec.gridWindow = window;
  }
  int64_t ordinals = greatest + 1;
  if (!isPadded && dice.oneIn(4)) {
    layout::OrderSpec order;
    order.curve = dice.oneIn(2) ? "hilbert" : "snake";
    order.grid = randomGrid(dice, greatest);
    spec.patternOrder = order;
    ordinals = 1;
    for (int64_t side : order.grid)
      ordinals *= side;
  }
  if (needsMask) {
    BlockSizes blocks = {dice.between(1, 6), dice.between(1, 6)};
    Tensor mask(DType::i1, {(ordinals + blocks.query - 1) / blocks.query,
                            (ordinals + blocks.key - 1) / blocks.key});
    MutableTensorView view = mask.view();
    forEachIndex(mask.shape(), [&](const int64_t *indices) {
      view.set(indices, static_cast<double>(!dice.oneIn(3)));
    });
    spec.blockMask = blocks;
    problem.blockMask = std::move(mask);
  }
  bool mayBegin = !isPadded && !keys.packed &&
                  (problem.qOffset || !(needsGrid || needsMask));
  if (mayBegin && dice.oneIn(3))
    problem.keyBegins = randomBegins(dice, keys, problem);
  if (isPadded)
    for (Branch &branch : spec.branches)
      branch.countsPadding = !dice.oneIn(3);
  return problem;
}

std::string describe(const Problem &problem) {
  const AttentionSpec &spec = problem.spec;
  std::string text = std::string(nameOf(problem.query.dtype())) + " q" +
                     toString(problem.query.shape()) + " k" +
                     toString(problem.key.shape()) + " v" +
                     toString(problem.value.shape());
  for (const Branch &branch : spec.branches) {
    text += " (" + (branch.segment ? std::to_string(*branch.segment) : "*") +
            "," + std::to_string(branch.dilation) + ",rule " +
            std::to_string(static_cast<int>(branch.offset));
    if (branch.heads)
      text += ",heads " + std::to_string(branch.heads->begin) + ".." +
              std::to_string(branch.heads->end);
    text += branch.countsPadding ? ",padding)" : ")";
  }
  auto flag = [&](const char *name, bool set) {
    if (set)
      text += std::string(" ") + name;
  };
  flag("causal", spec.causal);
  flag("left", spec.windowLeft.has_value());
  flag("right", spec.windowRight.has_value());
  flag("grid-window", spec.gridWindow.has_value());
  flag("mask", spec.blockMask.has_value());
  flag("order", spec.patternOrder.has_value());
  flag("sum", spec.mix == Mix::Sum);
  flag("softcap", spec.softcap.has_value());
  flag("sink", problem.sink.has_value());
  flag("offset", problem.qOffset.has_value());
  flag("lengths-q", problem.lengthsQ.has_value());
  flag("lengths-k", problem.lengthsK.has_value());
  flag("begins", problem.keyBegins.has_value());
  flag("scales", problem.keyScale || problem.valueScale);
  return text;
}

} // namespace ringlet::oracle
