//===- Table.cpp - A permutation given by the user --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"
#include "lib/Layout/PrefixOrdinal.h"
#include "ringlet/abi/Format.h"

#include <mutex>
#include <utility>

namespace ringlet::layout {
namespace {

/// Slot m of a whole period holds token table[m]. In a short one, the slot of
/// an existing token is the number of existing tokens before it in the table,
/// for which an index is made when first asked: most tables have no tails.
class TableCurve final : public Curve {
public:
  TableCurve(std::vector<int64_t> tokens, std::vector<int64_t> slots)
      : tokens(std::move(tokens)), slots(std::move(slots)) {}

  int64_t volume() const override {
    return static_cast<int64_t>(tokens.size());
  }

  int64_t token(int64_t slot, int64_t count) const override {
    if (count == volume())
      return tokens[slot];
    // The shortest prefix of the table with slot + 1 existing tokens ends on
    // the wanted one.
    int64_t low = slot + 1, high = volume();
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (existing().countBelow(middle, count) > slot)
        high = middle;
      else
        low = middle + 1;
    }
    return tokens[low - 1];
  }

  int64_t slot(int64_t token, int64_t count) const override {
    return count == volume() ? slots[token]
                             : existing().countBelow(slots[token], count);
  }

  void fill(int64_t *out, int64_t count, int64_t base) const override {
    for (int64_t token : tokens)
      if (token < count)
        *out++ = base + token;
  }

private:
  const PrefixOrdinal &existing() const {
    std::call_once(indexed,
                   [this] { index = std::make_unique<PrefixOrdinal>(tokens); });
    return *index;
  }

  std::vector<int64_t> tokens;
  std::vector<int64_t> slots;
  mutable std::once_flag indexed;
  mutable std::unique_ptr<const PrefixOrdinal> index;
};

} // namespace

std::unique_ptr<Curve> createTable(const OrderSpec &spec, std::string &error) {
  auto size = static_cast<int64_t>(spec.table.size());
  if (!spec.grid.empty() && *gridVolume(spec.grid) != size) {
    error = formatText(
        "expected a table as long as the grid's volume (O1), found {} entries "
        "for grid {} of volume {}; nearest legal choice: no grid",
        size, describe(spec.grid), *gridVolume(spec.grid));
    return nullptr;
  }
  auto entry = [&](int64_t m) {
    return formatText("table[{}] = {}", m, spec.table[m]);
  };
  std::vector<int64_t> slots(spec.table.size(), -1);
  for (int64_t m = 0; m < size; ++m) {
    int64_t token = spec.table[m];
    if (token < 0 || token >= size) {
      error =
          formatText("expected a permutation (O4), found {} outside of [0, "
                     "{}); nearest legal choice: {} if no other entry has it",
                     entry(m), size, token < 0 ? 0 : size - 1);
      return nullptr;
    }
    if (slots[token] != -1) {
      error =
          formatText("expected a permutation (O4), found {} like table[{}]; "
                     "every token of [0, {}) must stand in the table once",
                     entry(m), slots[token], size);
      return nullptr;
    }
    slots[token] = m;
  }
  return std::make_unique<TableCurve>(spec.table, std::move(slots));
}

} // namespace ringlet::layout
