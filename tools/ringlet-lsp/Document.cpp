//===- Document.cpp - The text of an editor's document ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-lsp/Document.h"

#include <algorithm>

using namespace llvm;
using namespace ringlet::lsp;

/// Bytes of the character that begins with `first`, and its units in UTF-16.
static std::pair<int64_t, int64_t> sizesOf(unsigned char first) {
  if (first < 0xc0)
    return {1, 1};
  if (first < 0xe0)
    return {2, 1};
  return first < 0xf0 ? std::pair<int64_t, int64_t>{3, 1}
                      : std::pair<int64_t, int64_t>{4, 2};
}

/// Walks over the characters of a line as long as `isBefore(bytes, units)` is
/// true behind the next one, and returns both counts.
template <typename Predicate>
static std::pair<int64_t, int64_t> walk(StringRef line, Predicate isBefore) {
  int64_t bytes = 0, units = 0;
  while (bytes < static_cast<int64_t>(line.size())) {
    auto [moreBytes, moreUnits] =
        sizesOf(static_cast<unsigned char>(line[static_cast<size_t>(bytes)]));
    if (!isBefore(bytes + moreBytes, units + moreUnits))
      break;
    bytes += moreBytes;
    units += moreUnits;
  }
  return {std::min<int64_t>(bytes, static_cast<int64_t>(line.size())), units};
}

StringRef Document::getLine(int64_t line) const {
  StringRef rest = text;
  for (; line > 0 && !rest.empty(); --line)
    rest = rest.split('\n').second;
  return rest.split('\n').first;
}

int64_t Document::toBytes(int64_t line, int64_t units) const {
  StringRef characters = getLine(line);
  auto [bytes, found] = walk(
      characters, [&](int64_t, int64_t behind) { return behind <= units; });
  bool isBeyond = bytes == static_cast<int64_t>(characters.size());
  return bytes + (isBeyond ? std::max<int64_t>(units - found, 0) : 0);
}

int64_t Document::toUnits(int64_t line, int64_t bytes) const {
  StringRef characters = getLine(line);
  auto [found, units] = walk(
      characters, [&](int64_t behind, int64_t) { return behind <= bytes; });
  bool isBeyond = found == static_cast<int64_t>(characters.size());
  return units + (isBeyond ? std::max<int64_t>(bytes - found, 0) : 0);
}

size_t Document::offsetOf(const json::Object &position) const {
  int64_t line = position.getInteger("line").value_or(0);
  int64_t units = position.getInteger("character").value_or(0);
  StringRef rest = text;
  for (int64_t i = 0; i < line; ++i) {
    if (!rest.contains('\n'))
      return text.size();
    rest = rest.split('\n').second;
  }
  size_t begin = text.size() - rest.size();
  auto bytes = static_cast<size_t>(std::max<int64_t>(toBytes(line, units), 0));
  return begin + std::min(bytes, getLine(line).size());
}

void Document::apply(const json::Object &change) {
  StringRef replacement = change.getString("text").value_or("");
  const json::Object *range = change.getObject("range");
  if (!range)
    return setText(replacement);
  const json::Object *first = range->getObject("start");
  const json::Object *last = range->getObject("end");
  if (!first || !last)
    return;
  size_t begin = offsetOf(*first);
  size_t end = std::max(begin, offsetOf(*last));
  text.replace(begin, end - begin, replacement.str());
}
