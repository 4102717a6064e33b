//===- Pages.cpp - Keys and values that lie in pages ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Pages.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <utility>

namespace ringlet::oracle {

/// Entry `index` of axis 0, whose axis goes.
static TensorView dropFirst(const TensorView &view, int64_t index) {
  TensorView one = view.slice(0, index, 1);
  Shape sizes(one.sizes().begin() + 1, one.sizes().end());
  Shape strides(one.strides().begin() + 1, one.strides().end());
  return TensorView(one.data(), one.dtype(), sizes, strides);
}

std::optional<Tensor> gatherPages(const TensorView &pool,
                                  const TensorView &table, std::string *error) {
  if (pool.rank() != 4 || table.rank() != 2 || pool.size(1) < 1) {
    *error = formatText("expected a pool [pages, rows, heads, dim] and a table "
                        "[sequences, pages] (S4), found shapes {} and {}",
                        toString(pool.sizes()), toString(table.sizes()));
    return std::nullopt;
  }
  int64_t pages = pool.size(0), rows = pool.size(1);
  int64_t sequences = table.size(0), pagesOfEach = table.size(1);
  if (pages == 0 && sequences * pagesOfEach != 0) {
    *error = "expected at least one page where sequences have some (S4), found "
             "none";
    return std::nullopt;
  }
  std::optional<Tensor> result = Tensor::create(
      pool.dtype(), {sequences, pagesOfEach * rows, pool.size(2), pool.size(3)},
      error);
  if (!result)
    return std::nullopt;
  for (int64_t i = 0; i < sequences; ++i)
    for (int64_t j = 0; j < pagesOfEach; ++j) {
      int64_t page = std::clamp<int64_t>(table.getInt({i, j}), 0, pages - 1);
      TensorView to =
          dropFirst(std::as_const(*result).view(), i).slice(0, j * rows, rows);
      copyElements(dropFirst(pool, page),
                   MutableTensorView(const_cast<void *>(to.data()), to.dtype(),
                                     to.sizes(), to.strides()));
    }
  return result;
}

Tensor countKeysInPages(const TensorView &starts, int64_t rows) {
  int64_t count = std::max<int64_t>(starts.size(0) - 1, 0);
  Tensor lengths(DType::i64, {count});
  int64_t before =
      starts.size(0) ? std::max<int64_t>(starts.getInt({0}), 0) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t end = std::max(starts.getInt({i + 1}), before);
    lengths.as<int64_t>()[i] = std::min(end - before, rows);
    before = end;
  }
  return lengths;
}

} // namespace ringlet::oracle
