//===- Walk.h - In which order a launch hands out its points ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: #rtile.walk, as its description says.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_WALK_H
#define RINGLET_LIB_INTERPRETER_WALK_H

#include "lib/Interpreter/Program.h"

#include "dialects/Tile/IR/TileDialect.h"

namespace ringlet::interpreter {

class Walk {
public:
  /// The points of `grid` for so many blocks. `arguments` are those of
  /// `function`.
  Walk(rtile::FuncOp function, llvm::ArrayRef<int64_t> grid, int64_t blocks,
       llvm::ArrayRef<const Datum *> arguments);

  int64_t size() const { return points; }
  /// Indices of the point that comes `item` points after the first one.
  llvm::SmallVector<int64_t, 4> at(int64_t item) const;

private:
  /// Points of the axes but the slowest one in a section.
  int64_t findSection(int64_t blocks,
                      llvm::ArrayRef<const Datum *> arguments) const;

  rtile::WalkAttr walk;
  llvm::SmallVector<int64_t, 4> grid;
  /// Axes, the fastest first.
  llvm::SmallVector<int64_t, 4> order;
  int64_t points = 1;
  /// 0: no sections.
  int64_t section = 0;
};

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_WALK_H
