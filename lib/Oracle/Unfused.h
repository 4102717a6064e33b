//===- Unfused.h - The same-precision yardstick -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an implementation without any fusion would compute in the precision of
// the inputs (section 7): how far it is from the exact result says how far a
// fused kernel may be.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_UNFUSED_H
#define RINGLET_LIB_ORACLE_UNFUSED_H

#include "lib/Oracle/Attention.h"

namespace ringlet::oracle {

/// Ways, equally sound, in which such an implementation may go about it. Their
/// errors are of one size but not equal: on a small problem a single result can
/// be exact by luck, and then says nothing about what to expect.
struct Arithmetic {
  enum Form {
    /// Sums from the first term to the last, powers of e, probabilities
    /// normalised before they are rounded.
    Natural,
    /// Sums from the last term to the first, powers of 2 with log2(e) folded
    /// into the scale, the output normalised at the end.
    Binary,
    /// As Natural, with sums over the even and the odd terms added at the end,
    /// as vector units make them.
    Lanes,
  };
  Form form = Natural;
  /// 0: what is computed in f32 is rounded to nearest. Else it is rounded up
  /// or down at random, the nearer number being the likelier one, by this
  /// seed. Where few roundings decide (a key beside a sink, equal scores), all
  /// forms may happen to make the same small error; these do not.
  uint64_t seed = 0;
};

/// The ways that results of inputs of this type are measured against. In the
/// narrow types what R4 rounds to them decides, which every form does alike:
/// there is one of each. In f32 the order and the directions of roundings are
/// all that there is, and more of them are drawn.
const std::vector<Arithmetic> &arithmeticsFor(DType inputs);

/// Scores, softmax and all sums in f32, in an order that depends on the
/// arithmetic; the
/// probabilities rounded to the input type before they meet the values; one
/// rounding to the input type at the end. The output has the input type, lse
/// is f32. Needs memory for the scores of one row and head per thread.
std::optional<AttentionResult>
unfusedAttention(const AttentionSpec &spec, const AttentionInputs &inputs,
                 std::string *error, const AttentionOptions &options = {},
                 Arithmetic arithmetic = {});

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_UNFUSED_H
