//===- Check.h - Judge a result against the oracle --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_CHECK_H
#define RINGLET_LIB_ORACLE_CHECK_H

#include "lib/Oracle/Attention.h"
#include "lib/Oracle/Tolerance.h"

namespace ringlet::oracle {

struct Verdict {
  Comparison output;
  /// Empty when no lse was given.
  std::optional<Comparison> lse;
  bool ok() const { return output.ok && (!lse || lse->ok); }
  /// One line per quantity.
  std::string text() const;
};

/// Computes the exact and the unfused results and compares `output` and, if
/// given, `lse` with them. These are whole results; of `options.rows`, if set,
/// only those rows are computed and compared. Nothing, and `*error` set, for
/// what `validate` refuses and for results of another shape.
std::optional<Verdict>
checkAttention(const AttentionSpec &spec, const AttentionInputs &inputs,
               const TensorView &output, const std::optional<TensorView> &lse,
               std::string *error, const AttentionOptions &options = {});

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_CHECK_H
