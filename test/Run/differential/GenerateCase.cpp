//===- GenerateCase.cpp - Random sizes, strides and data --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Dilation.h"
#include "test/Run/differential/Generate.h"

#include <algorithm>
#include <cmath>

namespace ringlet::differential {

namespace {

/// A case costs at most this, a few percent of them ten times as much.
constexpr double kUsualCost = 6e6;

class ConfigurationDraw {
public:
  ConfigurationDraw(uint64_t seed, int64_t number, const DrawnGraph &drawn)
      : dice(seed, static_cast<uint64_t>(number) + (uint64_t(1) << 32)),
        drawn(drawn), graph(drawn.graph) {}

  Configuration draw() {
    drawBranchSizes();
    drawSizes();
    drawOffset();
    place();
    result.data =
        dice.pick({Data::Normal, Data::Normal, Data::Sharp, Data::Equal,
                   Data::Rising, Data::Falling, Data::Jump, Data::Leap,
                   Data::Cliff, Data::Low, Data::Surge, Data::Far});
    result.dataSeed = dice.next();
    collectFeatures(drawn, graph, variables, result);
    return std::move(result);
  }

private:
  void drawBranchSizes();
  void drawSizes();
  void drawPages(int64_t rows);
  void drawOffset();
  void place();
  bool placeFused();
  Placement placeAlone(const ValueType &type, bool isOutput);

  bool isPacked() {
    const Operation &first = graph.operations.front();
    return first.attention && first.starts;
  }
  void note(const char *feature, bool when = true) {
    if (when)
      result.features.insert(feature);
  }
  Shape sizesOf(const ValueType &type) {
    Shape sizes = type.shape;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      if (type.variables[axis] >= 0)
        sizes[axis] = variables[type.variables[axis]];
    return sizes;
  }
  int addAllocation(int64_t elements, DType dtype) {
    result.allocations.emplace_back(elements, dtype);
    return static_cast<int>(result.allocations.size()) - 1;
  }

  Dice dice;
  const DrawnGraph &drawn;
  /// With the sizes of this call.
  Graph graph;
  int64_t variables[kVariables] = {};
  Configuration result;
};

/// w and r as B1 allows them beside those that branches have.
void ConfigurationDraw::drawBranchSizes() {
  int64_t least = 1, most = int64_t(1) << 40;
  std::optional<int> w, r;
  for (const Operation &op : graph.operations)
    for (size_t i = 0; i < op.sizes.size(); ++i) {
      const oracle::Branch &branch = op.attention->branches[i];
      const SizeOperands &sizes = op.sizes[i];
      if (sizes.w && !sizes.r)
        least = std::max(least, branch.dilation);
      if (sizes.r && !sizes.w && branch.segment)
        most = std::min(most, *branch.segment);
      w = sizes.w ? sizes.w : w;
      r = sizes.r ? sizes.r : r;
    }
  if (w) {
    int64_t drawnW =
        dice.pick<int64_t>({1, 2, 7, 16, 50, 64, 100, 128, 256, 4096,
                            std::numeric_limits<int64_t>::max()});
    most = std::min(most, result.sizes[*w] = std::max(least, drawnW));
  }
  if (r)
    result.sizes[*r] =
        std::min(most, dice.pick<int64_t>({1, 1, 1, 2, 2, 3, 4, 5, 8, 16, 61,
                                           int64_t(1) << 40}));
  for (Operation &op : graph.operations)
    if (op.attention)
      op.attention =
          withSizes(op, [&](int size) { return result.sizes.at(size); });
}

void ConfigurationDraw::drawSizes() {
  auto length = [&] {
    int64_t kind = dice.between(0, 99);
    if (kind < 5)
      return int64_t(0);
    if (kind < 12)
      return int64_t(1);
    if (kind < 35)
      return dice.pick<int64_t>({15, 16, 17, 31, 32, 33, 63, 64, 65, 129});
    return dice.between(2, kind < 65 ? 50 : kind < 85 ? 140 : 300);
  };
  variables[kBatch] = dice.oneIn(60) ? 0 : dice.pick<int64_t>({1, 1, 2, 3});
  if (isPacked() && !dice.oneIn(20))
    variables[kBatch] = dice.between(1, 9);
  variables[kOther] = dice.pick<int64_t>({1, 3, 70});
  variables[kQueries] = length();
  variables[kKeys] = dice.oneIn(2)   ? variables[kQueries]
                     : dice.oneIn(3) ? variables[kQueries] + dice.between(1, 90)
                                     : length();
  if (dice.oneIn(12))
    variables[kQueries] = dice.between(1, 4);
  // Offsets that the type of an operand fixes are 0 or less.
  if (drawn.volume && isPacked())
    result.longest = dice.between(1, *drawn.volume);
  else if (drawn.volume)
    for (Variable side : {kQueries, kKeys})
      variables[side] = std::min(variables[side], *drawn.volume);
  // So that the default offset is not negative.
  if (drawn.isNeverNegative)
    variables[kQueries] = std::min(variables[kQueries], variables[kKeys]);
  double limit = kUsualCost * (dice.percent(4) ? 10 : 1);
  for (int i = 0; i < kVariables; ++i)
    if (drawn.fixed[i])
      variables[i] = *drawn.fixed[i];
  while (costOf(graph, variables) > limit) {
    std::vector<int64_t> before(variables, variables + kVariables);
    if (!drawn.fixed[kBatch] && variables[kBatch] > 1)
      --variables[kBatch];
    for (Variable side : {kQueries, kKeys, kOther})
      if (!drawn.fixed[side])
        variables[side] -= variables[side] / 4;
    if (std::equal(before.begin(), before.end(), variables))
      break;
  }
  variables[kStarts] = variables[kBatch] + 1;
  if (drawn.pageRows)
    drawPages(*drawn.pageRows);
}

/// As many pages as sequences have, more, or fewer: some are then shared.
void ConfigurationDraw::drawPages(int64_t rows) {
  int64_t ofSequence = variables[kKeys] / rows;
  variables[kPagesOfSequence] = ofSequence;
  variables[kKeys] = ofSequence * rows;
  if (drawn.isNeverNegative && !drawn.fixed[kQueries])
    variables[kQueries] = std::min(variables[kQueries], variables[kKeys]);
  int64_t all = variables[kBatch] * ofSequence;
  variables[kPages] = std::max<int64_t>(
      dice.pick<int64_t>({all, all + 1, all + 7, all / 2}), 1);
  note("pages that sequences share", variables[kPages] < all);
}

void ConfigurationDraw::drawOffset() {
  int64_t usual = variables[kKeys] - variables[kQueries];
  result.offset =
      dice.pick<int64_t>({0, usual, usual, -1, dice.between(-200, -1),
                          dice.between(0, 300), usual + dice.between(-8, 8),
                          100000, int64_t(1) << 60, -(int64_t(1) << 60)});
  for (const Operation &op : graph.operations)
    result.hasKeyForQuery |= drawn.isNeverNegative && op.attention &&
                             !op.offsetOperand && !op.offsetConstant;
  if (!drawn.volume)
    return;
  result.leastOffset = drawn.isNeverNegative ? 0 : -200;
  result.greatestOffset =
      *drawn.volume - std::min(variables[kQueries], result.longest);
  result.offset =
      std::clamp(result.offset, result.leastOffset, result.greatestOffset);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Placement ConfigurationDraw::placeAlone(const ValueType &type, bool isOutput) {
  Placement placement;
  placement.sizes = sizesOf(type);
  int rank = static_cast<int>(placement.sizes.size());
  placement.strides.assign(static_cast<size_t>(rank), 1);
  // Axes from the innermost on; the last one stays innermost.
  std::vector<int> axes;
  for (int axis = rank - 2; axis >= 0; --axis)
    axes.push_back(axis);
  bool plain = dice.percent(35);
  if (!plain && rank == 4 && dice.oneIn(2)) {
    // [B, H, S, D].
    std::swap(axes[0], axes[1]);
    note(isOutput ? "permuted output" : "permuted input");
  } else if (!plain && rank >= 3 && dice.oneIn(4)) {
    std::reverse(axes.begin(), axes.end());
    note(isOutput ? "permuted output" : "permuted input");
  }
  bool pad = !plain && dice.oneIn(2);
  note(isOutput ? "padded output" : "padded input", pad);
  auto padding = [&] { return pad && dice.oneIn(2) ? dice.between(1, 9) : 0; };
  int64_t extent = rank ? placement.sizes[rank - 1] + padding() : 1;
  int64_t begin = 0;
  int repeated = -1;
  if (!plain && !isOutput && (rank == 4 || (rank == 3 && isPacked())) &&
      dice.oneIn(5)) {
    repeated = rank == 4 && dice.oneIn(3) ? 1 : 0;
    note(repeated == rank - 3 ? "stride-0 sequence" : "stride-0 batch");
  }
  int reversed = !plain && rank >= 2 && dice.oneIn(10)
                     ? static_cast<int>(dice.between(0, rank - 2))
                     : -1;
  for (int axis : axes) {
    if (axis == repeated) {
      placement.strides[axis] = 0;
      continue;
    }
    placement.strides[axis] = extent;
    if (axis == reversed && placement.sizes[axis] > 0) {
      begin += extent * (placement.sizes[axis] - 1);
      placement.strides[axis] = -extent;
      note("negative stride");
    }
    extent = extent * std::max<int64_t>(placement.sizes[axis], 1) + padding();
  }
  constexpr int64_t guard = 64;
  placement.offset = guard + dice.between(0, 3) + begin;
  placement.allocation = addAllocation(extent + 2 * guard + 4, type.dtype);
  return placement;
}

/// Query, key and value (or key and value) as slices of one tensor.
bool ConfigurationDraw::placeFused() {
  const std::vector<ValueType> &types = graph.values;
  if (graph.arguments < 3 || graph.names[0] != "q" || !dice.oneIn(5) ||
      drawn.pageRows)
    return false;
  Shape q = sizesOf(types[0]), k = sizesOf(types[1]), v = sizesOf(types[2]);
  if (k.back() != v.back())
    return false;
  int axis = isPacked() ? 0 : 1;
  bool isOne = q[axis] == k[axis] && types[0].dtype == types[1].dtype;
  int first = isOne ? 0 : 1;
  int64_t heads = 0;
  for (int i = first; i < 3; ++i)
    heads += types[i].shape[axis + 1];
  int64_t dim = k.back(), rows = k[axis], batches = axis ? k[0] : 1;
  constexpr int64_t guard = 64;
  int allocation =
      addAllocation(batches * rows * heads * dim + 2 * guard, types[1].dtype);
  if (first == 1)
    result.arguments.push_back(placeAlone(types[0], /*isOutput=*/false));
  int64_t begin = guard;
  for (int i = first; i < 3; ++i) {
    Placement placement;
    placement.allocation = allocation;
    placement.offset = begin;
    placement.sizes = sizesOf(types[i]);
    placement.strides = {heads * dim, dim, 1};
    if (axis)
      placement.strides.insert(placement.strides.begin(), rows * heads * dim);
    result.arguments.push_back(placement);
    begin += types[i].shape[axis + 1] * dim;
  }
  note(first == 0 ? "fused qkv" : "fused kv");
  return true;
}

void ConfigurationDraw::place() {
  placeFused();
  while (static_cast<int>(result.arguments.size()) < graph.arguments)
    result.arguments.push_back(
        placeAlone(graph.values[result.arguments.size()], /*isOutput=*/false));
  for (int value : graph.results)
    result.results.push_back(
        placeAlone(graph.values[value], /*isOutput=*/true));
}

} // namespace

Configuration drawConfiguration(uint64_t seed, int64_t number,
                                const DrawnGraph &drawn) {
  return ConfigurationDraw(seed, number, drawn).draw();
}

std::string describe(const Configuration &configuration) {
  std::string text;
  auto add = [&](const Placement &placement) {
    text += " " + toString(placement.sizes) + " strides " +
            toString(placement.strides) + ",";
  };
  for (const Placement &placement : configuration.arguments)
    add(placement);
  text += " results";
  for (const Placement &placement : configuration.results)
    add(placement);
  static const char *const data[] = {
      "normal",  "sharp",    "equal", "rising",  "falling", "jump",
      "leaping", "plunging", "low",   "surging", "far"};
  for (auto [argument, size] : configuration.sizes)
    text += " " + std::to_string(size) + " for argument " +
            std::to_string(argument) + ",";
  return text + " offset " + std::to_string(configuration.offset) + ", " +
         data[static_cast<int>(configuration.data)] + " scores";
}

/// Of one head: every tile of an atom of queries looks at every atom of keys.
static double costOfUnion(const Operation &op, double queries, double keys,
                          double dims) {
  layout::UnionShape shape = unionOf(*op.attention);
  Tiling tiling = op.tilings.empty() ? Tiling{32, 64} : op.tilings[0];
  auto rate = static_cast<double>(shape.rate);
  double width = shape.width == layout::unboundedSegment
                     ? std::max(queries, keys)
                     : static_cast<double>(shape.width);
  auto tiles = [&](double length, int64_t rows) {
    double seen = std::ceil(std::min(length, width) / rate);
    return std::ceil(seen / static_cast<double>(rows));
  };
  double points = std::ceil(std::max(queries, 1.0) / width) * rate *
                  tiles(queries, tiling.query);
  double atoms = std::ceil(std::max(keys, 1.0) / width) * rate;
  double tile = static_cast<double>(tiling.query * tiling.key) * dims + 4e3;
  return points * atoms * tiles(keys, tiling.key) * tile;
}

double costOf(const Graph &graph, const int64_t *variables) {
  double total = 0;
  auto queries = static_cast<double>(variables[kQueries]);
  auto keys = static_cast<double>(variables[kKeys]);
  for (const Operation &op : graph.operations) {
    if (!op.attention) {
      const ValueType &moved = graph.values[op.operands[0]];
      double elements = 1;
      for (size_t axis = 0; axis < moved.shape.size(); ++axis)
        elements *= static_cast<double>(moved.variables[axis] < 0
                                            ? moved.shape[axis]
                                            : variables[moved.variables[axis]]);
      total += elements;
      continue;
    }
    const Shape &q = graph.values[op.operands[0]].shape;
    auto dims = static_cast<double>(q.back() +
                                    graph.values[op.operands[2]].shape.back());
    if (op.isUnion) {
      total += static_cast<double>(variables[kBatch] * q[q.size() - 2]) *
               costOfUnion(op, queries, keys, dims);
      continue;
    }
    for (size_t i = 0; i < op.attention->branches.size(); ++i) {
      const oracle::Branch &branch = op.attention->branches[i];
      Tiling tiling = op.tilings.empty() ? Tiling{32, 64} : op.tilings[i];
      auto rate = static_cast<double>(branch.dilation);
      double segment =
          branch.segment ? static_cast<double>(*branch.segment) : 1e300;
      double segments = std::ceil(std::max(queries, 1.0) / segment);
      auto tiles = [&](double length, int64_t rows) {
        double seen = std::ceil(std::min(length, segment) / rate);
        return std::ceil(seen / static_cast<double>(rows));
      };
      // Operations on a tile have a price of their own.
      double tile = static_cast<double>(tiling.query * tiling.key) * dims + 4e3;
      total += static_cast<double>(variables[kBatch] * q[q.size() - 2]) *
               segments * tiles(queries, tiling.query) *
               (tiles(keys, tiling.key) + 1) * tile;
    }
  }
  return total;
}

} // namespace ringlet::differential
