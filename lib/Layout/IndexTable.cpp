//===- IndexTable.cpp - Tables of indices that kernels read -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/IndexTable.h"

#include "ringlet/abi/Format.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::layout;

//===----------------------------------------------------------------------===//
// Memory orders
//===----------------------------------------------------------------------===//

bool layout::operator==(const OrderTable &a, const OrderTable &b) {
  return a.length == b.length && a.inverse == b.inverse &&
         areEqual(a.order, b.order);
}

std::string layout::validate(const OrderTable &key) {
  std::string error = key.order->validate(key.length);
  if (error.empty() && key.length > Order::longestPermutation)
    error = formatText("expected an order table of at most {} tokens, found {}",
                       Order::longestPermutation, key.length);
  return error;
}

int64_t layout::sizeOf(const OrderTable &key) { return key.length; }

std::vector<int64_t> layout::build(const OrderTable &key) {
  std::vector<int64_t> tokens = key.order->permutation(key.length);
  return key.inverse ? invert(tokens) : tokens;
}

//===----------------------------------------------------------------------===//
// Pattern orders
//===----------------------------------------------------------------------===//

bool layout::operator==(const OrdinalTable &a, const OrdinalTable &b) {
  if (a.first != b.first || !areEqual(a.order, b.order) ||
      a.rows.has_value() != b.rows.has_value())
    return false;
  return !a.rows || (a.rows->length == b.rows->length &&
                     a.rows->offset == b.rows->offset &&
                     areEqual(a.rows->memory, b.rows->memory));
}

std::string layout::validate(const OrdinalTable &key) {
  int64_t volume = key.order->period(), least = volume - OrdinalTable::longest;
  if (least > 0)
    return formatText(
        "expected a pattern order of at most {} positions (O2), found {}",
        OrdinalTable::longest, volume);
  if (key.first > 0 || key.first < least)
    return formatText("expected a first position from {} to 0 under a pattern "
                      "order of {} positions (O2), found {}",
                      least, volume, key.first);
  if (!key.rows)
    return {};
  if (key.rows->memory)
    return validate(OrderTable{key.rows->memory, key.rows->length, true});
  return key.rows->length < 0
             ? formatText("expected a length of at least 0 tokens, found {}",
                          key.rows->length)
             : "";
}

int64_t layout::sizeOf(const OrdinalTable &key) {
  return key.order->period() - key.first;
}

std::vector<int64_t> layout::build(const OrdinalTable &key) {
  std::vector<int64_t> entries(size_t(sizeOf(key)));
  for (int64_t ordinal = key.first; ordinal < 0; ++ordinal)
    entries[size_t(ordinal - key.first)] = ordinal;
  std::vector<int64_t> positions = key.order->permutation(key.order->period());
  std::copy(positions.begin(), positions.end(), entries.begin() - key.first);
  if (!key.rows)
    return entries;
  const OrdinalTable::Sequence &rows = *key.rows;
  std::vector<int64_t> slots;
  if (rows.memory)
    slots = invert(rows.memory->permutation(rows.length));
  // Differences of any two numbers fit in 64 bits without sign.
  for (int64_t &entry : entries) {
    bool exists =
        entry >= rows.offset &&
        uint64_t(entry) - uint64_t(rows.offset) < uint64_t(rows.length);
    int64_t token = exists ? entry - rows.offset : -1;
    entry = exists && rows.memory ? slots[size_t(token)] : token;
  }
  return entries;
}

//===----------------------------------------------------------------------===//
// Tile indices
//===----------------------------------------------------------------------===//

bool layout::operator==(const TileTable &a, const TileTable &b) {
  return a.pattern == b.pattern && a.sizes == b.sizes;
}

std::string layout::validate(const TileTable &key) {
  return TileIndex::validate(key.pattern, key.sizes);
}

void TileTable::measure() {
  TileIndex index(pattern, sizes);
  if (std::optional<std::vector<int64_t>> table = index.table(mostCarried)) {
    length = int64_t(table->size());
    draft = std::make_shared<Draft>(*std::move(table));
  } else {
    length = index.tableLength();
  }
}

int64_t layout::sizeOf(const TileTable &key) { return key.length; }

std::vector<int64_t> layout::build(const TileTable &key) {
  std::vector<int64_t> table;
  if (key.draft)
    table = key.draft->take();
  // No table is empty: another one has been built from this key.
  return table.empty() ? *TileIndex(key.pattern, key.sizes).table() : table;
}
