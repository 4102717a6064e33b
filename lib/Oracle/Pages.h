//===- Pages.h - Keys and values that lie in pages --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages say where rows lie and nothing else (S4). The oracle knows rows that
// lie side by side, so they are brought there first.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_PAGES_H
#define RINGLET_LIB_ORACLE_PAGES_H

#include "lib/Tensor/Tensor.h"

#include <optional>
#include <string>

namespace ringlet::oracle {

/// The rows of all sequences, `[sequences, rows, heads, dim]`: those of a pool
/// `[pages, rows of a page, heads, dim]` that a table of integers,
/// `[sequences, pages of each]`, names. Numbers of no page count as the
/// nearest.
std::optional<Tensor> gatherPages(const TensorView &pool,
                                  const TensorView &table, std::string *error);

/// How many keys each of packed sequences has whose rows lie in pages:
/// differences of starts, as far as there are `rows`.
Tensor countKeysInPages(const TensorView &starts, int64_t rows);

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_PAGES_H
