//===- OrderChoice.cpp - Which order of tokens pays -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/OrderChoice.h"

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"
#include "ringlet/abi/Format.h"

using namespace ringlet;
using namespace ringlet::cost;

namespace {

/// Cycles of a core or multiprocessor. The only place with such numbers.
struct CostRow {
  /// To bring a line from the cache that tiles come from, as far as nothing
  /// hides it.
  double line;
  /// To look up a row of a tile in a table (measured: 8% of a plain kernel on
  /// an H200, less than can be told from noise on a CPU).
  double lookup;
};

constexpr CostRow costRows[] = {{0.5, 4.0}, {0.25, 8.0}};

/// Share of the cycles by which an order has to win: the model's error.
constexpr double leastGain = 0.05;

/// What a table of ordinals may have more than there are keys.
constexpr int64_t mostOrdinals = int64_t(1) << 20, mostOrdinalsPerKey = 4;

/// Side of the square that a chunk is, for sequences below a length.
struct ChunkRow {
  int64_t below, side;
};

constexpr ChunkRow chunkRows[] = {{100'000, 64}, {1'000'000, 128}};
constexpr int64_t longestSide = 256;

int64_t sideOfChunk(int64_t length) {
  for (const ChunkRow &row : chunkRows)
    if (length < row.below)
      return row.side;
  return longestSide;
}

} // namespace

layout::OrderSpec ringlet::cost::orderAlong(const std::string &curve,
                                            int64_t length, int64_t rate,
                                            const std::vector<int64_t> &grid) {
  layout::OrderSpec spec;
  spec.curve = curve;
  const layout::CurveRow *row = layout::findCurve(curve);
  if (row && row->rate == layout::Use::Required)
    spec.rate = rate;
  if (!row || row->grid != layout::Use::Required)
    return spec;
  spec.grid = grid;
  if (grid.empty())
    spec.grid = {sideOfChunk(length), sideOfChunk(length)};
  int64_t volume = layout::gridVolume(spec.grid).value_or(0);
  if (volume != length)
    spec.chunk = volume;
  return spec;
}

std::vector<layout::OrderSpec>
ringlet::cost::ordersToCompare(int64_t length, int64_t rate,
                               const std::vector<int64_t> &grid) {
  std::vector<layout::OrderSpec> orders;
  for (const layout::CurveRow &row : layout::curveRows()) {
    bool isTrivial = row.grid != layout::Use::Required &&
                     (row.rate != layout::Use::Required || rate == 1);
    if (row.table != layout::Use::Required && !isTrivial)
      orders.push_back(orderAlong(row.name, length, rate, grid));
  }
  return orders;
}

std::optional<OrderEstimate>
ringlet::cost::estimate(Machine machine, const OrderedBranch &branch,
                        OrderUse use, const layout::OrderSpec &spec,
                        std::string &error) {
  std::shared_ptr<const layout::Order> order;
  BranchWalk walk;
  walk.pattern = branch.pattern;
  walk.queries = branch.queries;
  walk.keys = branch.keys;
  walk.queryOffset = branch.queryOffset;
  walk.readers = {{0, branch.residue, 1}};
  if (use != OrderUse::None) {
    order = layout::makeOrder(spec, &error);
    if (!order)
      return std::nullopt;
    int64_t last = std::max(branch.keys, branch.queryOffset + branch.queries);
    error = use == OrderUse::Memory ? order->validate(branch.keys)
                                    : order->validatePattern(last - 1);
    // The ordinals of all of the volume are written down, for a kernel as well.
    if (use == OrderUse::Pattern && order->period() > mostOrdinals &&
        order->period() / mostOrdinalsPerKey > branch.keys)
      error = formatText("expected an order of at most {} ordinals, or {} for "
                         "each key, found {}",
                         mostOrdinals, mostOrdinalsPerKey, order->period());
    if (!error.empty())
      return std::nullopt;
  }
  if (use == OrderUse::Pattern)
    walk.pattern.order = order;

  auto memory = use == OrderUse::Memory ? order : nullptr;
  std::optional<Traffic> table = countTable(walk, memory, error);
  if (!table)
    return std::nullopt;

  OrderEstimate result;
  result.use = use;
  result.order = spec;
  int64_t moved = 0;
  for (int64_t bytes : {branch.headBytes, branch.valueBytes}) {
    std::optional<Traffic> traffic =
        countTraffic(walk, {branch.heads, bytes, memory}, error);
    if (!traffic)
      return std::nullopt;
    result.keyTiles = traffic->keyTiles;
    result.lines += traffic->requested.lines;
    // Read once and written once, of this head alone.
    moved += 2 * layout::ceilDiv(branch.keys * bytes, Touched::lineBytes);
  }
  const CostRow &row = costRows[static_cast<int>(machine)];
  double tiles = static_cast<double>(result.keyTiles);
  double keyRows = static_cast<double>(branch.pattern.keyRows);
  double scores = static_cast<double>(branch.pattern.queryRows) * keyRows;
  result.cycles = tiles * scores * branch.cyclesPerScore +
                  static_cast<double>(result.lines) * row.line;
  if (use == OrderUse::Memory)
    result.cycles += static_cast<double>(moved) * row.line;
  if (table->keyTiles > 0)
    result.cycles += static_cast<double>(table->requested.lines) * row.line +
                     tiles * 2.0 * keyRows * row.lookup;
  return result;
}

bool ringlet::cost::isClearlyBetter(const OrderEstimate &one,
                                    const OrderEstimate &other) {
  return one.cycles < other.cycles * (1.0 - leastGain);
}

std::string ringlet::cost::explain(const OrderEstimate &estimate) {
  const char *use = estimate.use == OrderUse::None     ? "no order"
                    : estimate.use == OrderUse::Memory ? "K and V in "
                                                       : "tiles along ";
  std::string order =
      estimate.use == OrderUse::None ? "" : layout::describe(estimate.order);
  return formatText("{}{}: {} tiles of keys, {} lines, {:.3g} cycles a head",
                    use, order, estimate.keyTiles, estimate.lines,
                    estimate.cycles);
}
