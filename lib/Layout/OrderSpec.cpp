//===- OrderSpec.cpp - An order as plain data -------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/OrderSpec.h"

#include "ringlet/abi/Format.h"

using namespace ringlet::layout;

static std::string printable(const std::string &text, size_t limit) {
  std::string result = text.substr(0, limit);
  for (char &c : result)
    if (c < ' ' || c > '~')
      c = '?';
  return text.size() > limit ? result + "..." : result;
}

std::string ringlet::layout::quoted(const std::string &name) {
  return "'" + printable(name, 40) + "'";
}

std::string ringlet::layout::describe(const std::vector<int64_t> &values) {
  constexpr size_t limit = 8;
  std::string result = "[";
  for (size_t i = 0; i < values.size() && i < limit; ++i)
    result += (i ? ", " : "") + std::to_string(values[i]);
  if (values.size() > limit)
    result += formatText(", ... ({} entries)", values.size());
  return result + "]";
}

std::string ringlet::layout::describe(const OrderSpec &spec) {
  std::string result = printable(spec.curve, 40);
  if (spec.rate)
    result += formatText("<{}>", spec.rate);
  if (!spec.grid.empty())
    result += ", grid = " + describe(spec.grid);
  if (spec.chunk)
    result += formatText(", chunk = {}", spec.chunk);
  if (!spec.table.empty())
    result += ", table = " + describe(spec.table);
  return result;
}
