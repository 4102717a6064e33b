//===- Attention.h - The f64 oracle -----------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sections 1 to 3 of the specification, computed row by row in double, with
// nothing clever in it: what every faster implementation is compared with.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_ATTENTION_H
#define RINGLET_LIB_ORACLE_ATTENTION_H

#include "lib/Oracle/AttentionSpec.h"

namespace ringlet::oracle {

struct AttentionOptions {
  /// Compute these rows only: indices along the query's sequence axis (S, or
  /// total when packed), the same for every batch item. Results then have as
  /// many rows, in this order; nothing stands for all rows.
  std::optional<std::vector<int64_t>> rows;
  /// 0 stands for one thread per processor.
  unsigned threads = 0;
};

struct AttentionResult {
  /// The query's shape with Dv in place of D.
  Tensor output;
  /// `[B, Hq, Sq]`, or `[Hq, total]` when packed; under Mix::Sum with one more,
  /// leading axis, one entry per branch (R2).
  Tensor lse;
};

/// The exact result, output and lse both f64. Nothing, and `*error` set, for
/// what `validate` refuses.
std::optional<AttentionResult> attention(const AttentionSpec &spec,
                                         const AttentionInputs &inputs,
                                         std::string *error,
                                         const AttentionOptions &options = {});

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_ATTENTION_H
