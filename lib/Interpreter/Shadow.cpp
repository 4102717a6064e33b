//===- Shadow.cpp - Who touched which element in a launch -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Shadow.h"

#include <cstdlib>

using namespace ringlet::interpreter;

void Shadow::Free::operator()(Cell *cells) const { std::free(cells); }

int64_t Shadow::bytes() const {
  auto count = static_cast<int64_t>(end - begin) / granule + 1;
  return count * static_cast<int64_t>(sizeof(Cell));
}

bool Shadow::reserve() {
  // Zero is "never touched": launches are numbered from 1. The pages of what a
  // program never touches cost nothing.
  cells.reset(static_cast<Cell *>(
      std::calloc(static_cast<size_t>(bytes()) / sizeof(Cell), sizeof(Cell))));
  return cells != nullptr;
}

std::optional<int64_t> Shadow::read(uintptr_t address, int64_t size, Stamp by) {
  auto first = static_cast<int64_t>(address - begin) / granule;
  auto last = static_cast<int64_t>(address - begin + size - 1) / granule;
  std::optional<int64_t> conflict;
  for (int64_t i = first; i <= last; ++i) {
    Cell &cell = cells[i];
    if (cell.writer.sameLaunch(by) && !(cell.writer == by))
      conflict = cell.writer.point();
    if (!cell.reader.sameLaunch(by)) {
      cell.reader = by;
      cell.manyReaders = false;
    } else if (!(cell.reader == by)) {
      cell.manyReaders = true;
    }
  }
  return conflict;
}

std::optional<Shadow::WriteConflict> Shadow::write(uintptr_t address,
                                                   int64_t size, Stamp by) {
  auto first = static_cast<int64_t>(address - begin) / granule;
  auto last = static_cast<int64_t>(address - begin + size - 1) / granule;
  std::optional<WriteConflict> conflict;
  for (int64_t i = first; i <= last; ++i) {
    Cell &cell = cells[i];
    if (cell.writer.sameLaunch(by) && !(cell.writer == by))
      conflict = {cell.writer.point(), true};
    else if (cell.reader.sameLaunch(by) &&
             (cell.manyReaders || !(cell.reader == by)))
      conflict = {cell.manyReaders ? -1 : cell.reader.point(), false};
    cell.writer = by;
  }
  return conflict;
}
