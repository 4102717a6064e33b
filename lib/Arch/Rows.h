//===- Rows.h - Finding a row of a table by its name ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ARCH_ROWS_H
#define RINGLET_LIB_ARCH_ROWS_H

#include <string>
#include <vector>

namespace ringlet {
namespace arch {

/// The row of that name, or null.
template <typename Row>
const Row *findRow(const std::vector<Row> &rows, const std::string &name) {
  for (const Row &row : rows)
    if (name == row.name)
      return &row;
  return nullptr;
}

/// "a, b, c".
template <typename Row>
std::string listNames(const std::vector<Row> &rows) {
  std::string names;
  for (const Row &row : rows)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

} // namespace arch
} // namespace ringlet

#endif // RINGLET_LIB_ARCH_ROWS_H
