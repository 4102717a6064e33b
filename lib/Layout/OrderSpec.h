//===- OrderSpec.h - An order as plain data ---------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an attribute, an artefact or a cache key says about an order (O1). Any
// value may stand here, sensible or not: makeOrder in Order.h is the judge.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_ORDERSPEC_H
#define RINGLET_LIB_LAYOUT_ORDERSPEC_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringlet::layout {

struct OrderSpec {
  /// The name of a row in Curves.def.
  std::string curve = "linear";
  /// The r of `residue<r>`; 0 = not given.
  int64_t rate = 0;
  /// Sides of the token grid, slowest axis first: token t of a grid [Y, X] is
  /// the cell (t / X, t % X). Empty = not given.
  std::vector<int64_t> grid = {};
  /// The curve restarts every `chunk` tokens; 0 = it never does.
  int64_t chunk = 0;
  /// The permutation of the curve `table`: slot m holds token table[m].
  std::vector<int64_t> table = {};

  bool operator==(const OrderSpec &other) const {
    return curve == other.curve && rate == other.rate && grid == other.grid &&
           chunk == other.chunk && table == other.table;
  }
  bool operator!=(const OrderSpec &other) const { return !(*this == other); }
};

/// The text of an order, as between the brackets of an order attribute:
/// `hilbert, grid = [4, 4], chunk = 16`, `residue<4>`. Long lists are cut and
/// control characters replaced, so that any spec can go into a message; it is
/// for people, not for parsing.
std::string describe(const OrderSpec &spec);

/// The list part of describe: `[4, 4]`, at most eight entries.
std::string describe(const std::vector<int64_t> &values);

/// `name` in quotes, cut after 40 characters, control characters replaced.
std::string quoted(const std::string &name);

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_ORDERSPEC_H
