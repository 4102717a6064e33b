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

/// Scores, softmax and all sums in f32, one term after the other; the
/// probabilities rounded to the input type before they meet the values; one
/// rounding to the input type at the end. The output has the input type, lse
/// is f32. Needs memory for the scores of one row and head per thread.
std::optional<AttentionResult>
unfusedAttention(const AttentionSpec &spec, const AttentionInputs &inputs,
                 std::string *error, const AttentionOptions &options = {});

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_UNFUSED_H
