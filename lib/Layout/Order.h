//===- Order.h - Orders of the tokens of a sequence -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Section 4 of the specification: an order is a curve, its grid, and a chunk
// after which the curve restarts. A memory order (O1) says which token a slot
// holds; a pattern order (O2) gives each position an ordinal. Orders restart at
// each sequence, so all indices here are those within one sequence.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_ORDER_H
#define RINGLET_LIB_LAYOUT_ORDER_H

#include "lib/Layout/Curve.h"
#include "lib/Layout/OrderSpec.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::layout {

class Order;

/// Makes the order that `spec` describes, or returns null and sets `*error`
/// (if error is not null) to what is wrong, with the rule and the nearest legal
/// choice. Takes any values whatsoever; costs memory for a table only.
std::shared_ptr<const Order> makeOrder(const OrderSpec &spec,
                                       std::string *error = nullptr);

/// An order, immutable: share it between threads freely.
class Order {
public:
  /// The longest sequence that permutation() writes out, in tokens (32 GiB).
  static constexpr int64_t longestPermutation = int64_t(1) << 32;

  const OrderSpec &spec() const { return description; }

  /// Tokens after which the curve restarts: the chunk, else the volume of grid
  /// or table; 0 if the curve fits any length without restart.
  int64_t period() const { return restart; }

  /// Whether slot and token are equal at every length.
  bool isIdentity() const { return identity; }

  /// Whether a sequence of `length` tokens can have this memory order (O1):
  /// any length with a chunk, else the grid's volume exactly. Returns the
  /// empty string, or a message with the nearest legal choice.
  std::string validate(int64_t length) const;

  /// The token that `slot` of a sequence of `length` tokens holds: pi(slot).
  /// -1 unless 0 <= slot < length.
  int64_t token(int64_t slot, int64_t length) const;

  /// The slot that holds `token`, the exact inverse; -1 unless
  /// 0 <= token < length.
  int64_t slot(int64_t token, int64_t length) const;

  /// How many slots apart tokens of one period lie that are `step` apart, for
  /// step > 0, if that is the same for all of them. Else nothing.
  std::optional<int64_t> slotStep(int64_t step) const;

  /// How many slots apart neighbouring rows of one segment and residue (B3)
  /// lie, if that is the same in all segments: then a strided view needs no
  /// table. Else nothing. `atTokenZero`: position 0 is that of token 0.
  std::optional<int64_t> rowStep(int64_t segment, int64_t rate,
                                 bool atTokenZero) const;

  /// token() of any slot or, inverse, slot() of any token, for every sequence
  /// of whole periods; nothing where the order has no period or no such
  /// arithmetic.
  std::optional<IndexProgram> arithmetic(bool inverse) const;

  /// The tokens of all slots. Empty, with the reason in `*error` if given,
  /// where validate refuses the length or it exceeds longestPermutation.
  std::vector<int64_t> permutation(int64_t length,
                                   std::string *error = nullptr) const;

  /// Whether this can be the pattern order (O2) of positions up to
  /// `maxPosition` inclusive: its volume must exceed each. Returns the empty
  /// string, or a message with the nearest legal choice.
  std::string validatePattern(int64_t maxPosition) const;

  /// The place of `position` along the curve (O2), for 0 <= position up to
  /// what validatePattern allows. A position before the sequence, which a
  /// negative q_offset makes (S1), lies before the grid, too: it is its own
  /// ordinal. So is any position beyond the grid.
  int64_t ordinal(int64_t position) const;

private:
  friend std::shared_ptr<const Order> makeOrder(const OrderSpec &,
                                                std::string *);
  Order(OrderSpec spec, std::unique_ptr<const Curve> curve);

  OrderSpec description;
  std::unique_ptr<const Curve> curve;
  int64_t restart;
  bool identity;
};

/// Whether two orders, of which either may be null, are the same.
bool areEqual(const std::shared_ptr<const Order> &a,
              const std::shared_ptr<const Order> &b);

/// Turns a permutation round: the slots of all tokens.
std::vector<int64_t> invert(const std::vector<int64_t> &tokens);

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_ORDER_H
