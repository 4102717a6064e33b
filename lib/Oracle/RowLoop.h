//===- RowLoop.h - Rows in and out of the oracle ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the frame that the exact and the unfused computation
// share. It holds no arithmetic of theirs.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_ROWLOOP_H
#define RINGLET_LIB_ORACLE_ROWLOOP_H

#include "lib/Oracle/Attention.h"
#include "lib/Oracle/Pattern.h"

#include <functional>

namespace ringlet::oracle {

/// Reads rows of a `[batch, row, head, dim]` view, the last axis contiguous,
/// as numbers of type T (float or double, both exact). Small tensors that are
/// read often are widened once, all others row by row.
template <typename T>
class RowReader {
public:
  RowReader(TensorView view, bool readOften);
  /// `scratch` has room for one row; the result points into it or not.
  const T *row(int64_t batch, int64_t row, int64_t head, T *scratch) const;

private:
  TensorView view;
  std::vector<T> wide;
};

/// What is computed for one (row, head).
struct RowResult {
  explicit RowResult(int64_t dim, int64_t lses)
      : output(static_cast<size_t>(dim)), lse(static_cast<size_t>(lses)) {}
  std::vector<double> output;
  /// One entry, or one per branch under Mix::Sum.
  std::vector<double> lse;
};

/// Computes one (row, head); the result comes with stale contents. Called from
/// several threads at once.
using RowFunction =
    std::function<void(const QueryRow &query, int64_t head, RowResult &result)>;

/// Makes tensors of the given types and fills them by calling what
/// `makeFunction` returns; it is called once in each thread, so that functions
/// may own scratch memory.
std::optional<AttentionResult>
runRows(const AttentionSpec &spec, const AttentionInputs &inputs,
        const Pattern &pattern, const AttentionOptions &options,
        DType outputType, DType lseType,
        const std::function<RowFunction()> &makeFunction, std::string *error);

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_ROWLOOP_H
