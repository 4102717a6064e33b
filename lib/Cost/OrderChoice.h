//===- OrderChoice.h - Which order of tokens pays -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order of keys in memory brings the rows of a tile together; a dense branch
// that is walked along a curve visits fewer tiles of a grid window. Both cost
// something. The model counts tiles and lines, and weighs them.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_ORDERCHOICE_H
#define RINGLET_LIB_COST_ORDERCHOICE_H

#include "lib/Cost/MemoryTraffic.h"
#include "lib/Layout/OrderSpec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::cost {

/// The order along `curve` that suits a sequence of `length` tokens. A curve of
/// a grid takes `grid` or, where that is empty, a square chunk that grows with
/// the length; `residue` takes `rate`.
layout::OrderSpec orderAlong(const std::string &curve, int64_t length,
                             int64_t rate, const std::vector<int64_t> &grid);

/// That of each curve that needs neither a table nor more than a sequence has,
/// but the linear one: what linear order is compared with.
std::vector<layout::OrderSpec>
ordersToCompare(int64_t length, int64_t rate, const std::vector<int64_t> &grid);

/// What computes: the rows of the cost table.
enum class Machine { CPU, GPU };

/// What is to be ordered: one head of a branch, in tiles of `pattern`.
struct OrderedBranch {
  layout::TilePattern pattern;
  int64_t queries = 0, keys = 0, queryOffset = 0;
  int64_t heads = 1;                     ///< of keys
  int64_t residue = 0;                   ///< of the head
  int64_t headBytes = 0, valueBytes = 0; ///< of a row of K and of V
  /// That the model of tiles expects, of a core or multiprocessor.
  double cyclesPerScore = 0;
};

/// How an order is used.
enum class OrderUse {
  None,    ///< as it is
  Memory,  ///< K and V are brought into it
  Pattern, ///< segments and tiles are counted along it (O2)
};

struct OrderEstimate {
  OrderUse use = OrderUse::None;
  layout::OrderSpec order;
  int64_t keyTiles = 0; ///< loaded, with repeats
  int64_t lines = 0;    ///< that they touch, of K and V
  double cycles = 0;    ///< of a core or multiprocessor, reorders included
};

/// The estimate for one use of one order. Nothing, with the reason in `error`,
/// if the order does not fit or counting would take long.
std::optional<OrderEstimate> estimate(Machine machine,
                                      const OrderedBranch &branch, OrderUse use,
                                      const layout::OrderSpec &order,
                                      std::string &error);

/// Whether one estimate is better than another by more than the model's error.
bool isClearlyBetter(const OrderEstimate &one, const OrderEstimate &other);

/// One line for people.
std::string explain(const OrderEstimate &estimate);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_ORDERCHOICE_H
