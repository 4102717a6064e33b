//===- ViewAddress.h - Where the rows of a view lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers and views as addresses. Every target computes them in the same way;
// how memory is then read and written is its own.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_VIEWADDRESS_H
#define RINGLET_PASSES_TILECODE_VIEWADDRESS_H

#include "passes/TileCode/CodeBuilder.h"
#include "passes/TileOpt/RowRange.h"

namespace ringlet {
namespace code {

/// A parameter of the kernel: sizes and strides count elements.
struct Buffer {
  mlir::Value base;
  mlir::SmallVector<mlir::Value> sizes, strides;
};

struct View {
  rtile::ViewType type;
  /// The elements of the buffer: of 8 bits if the view widens (S6), else those
  /// of the view.
  mlir::Type stored;
  /// Row 0 (of the buffer, for an indexed view), bytes to the next row and to
  /// the next column.
  mlir::Value rowZero, rowStride, columnStride;
  RowRange rows;
  /// Elements of a row (or of the rows, for a view of one axis) are
  /// neighbours in memory.
  bool contiguous;
  mlir::Value columns;
  int64_t staticColumns;
  /// Bytes to the next row of a group; null without groups.
  mlir::Value memberStride;
  /// The entries of row 0 in the tables of rows and of positions, null where
  /// there is none, and the size of the row axis.
  mlir::Value indices, positions, size;
  /// Where row 0 would lie on the row axis; not of an indexed view.
  mlir::Value firstIndex;
  /// Of rows in pages (S4): the entries of the view's sequence and the bytes
  /// from one to the next, the last page and the bytes from page to page, and
  /// the rows of a page. `rowZero` is then row 0 of page 0.
  mlir::Value pageEntries, entryStride, lastPage, pageStride;
  int64_t pageRows = 0;

  bool widens() const { return stored != type.getElementType(); }
  /// Whether rows lie at one distance from each other.
  bool hasEqualSteps() const {
    return !indices && !memberStride && !pageEntries;
  }
  /// Whether the rows of a column are neighbours in memory.
  bool hasAdjacentRows = false;
};

/// `scalars` and `buffers` say what stands for the operands of `op`.
View addressView(CodeBuilder &b, rtile::ViewOp op,
                 const llvm::DenseMap<mlir::Value, mlir::Value> &scalars,
                 const llvm::DenseMap<mlir::Value, Buffer> &buffers);

/// Bytes of an entry of a table.
inline constexpr int64_t entryBytes = 8;
/// The same of a table of pages.
inline constexpr int64_t pageEntryBytes = 4;

/// Where on its axis a row lies of which the table of rows has `index`, or an
/// existing row of a view without one.
struct RowPlace {
  mlir::Value row, index;
  /// Of rows in pages: the place on the page, and the page as the table has it.
  mlir::Value inPage, page;
};

/// A place without its page, and where the table has that.
RowPlace getPlace(CodeBuilder &b, const View &view, mlir::Value row,
                  mlir::Value index = {});
mlir::Value getPageEntry(CodeBuilder &b, const View &view, RowPlace &place);

/// The address of a place: of a column of it if that is what lies at `rowZero`.
mlir::Value getRowAddress(CodeBuilder &b, const View &view, mlir::Value rowZero,
                          const RowPlace &place);

/// The entry of `row` in a table that has that of row 0 at `entries`.
mlir::Value getEntry(CodeBuilder &b, const View &view, mlir::Value entries,
                     mlir::Value row);

/// Whether a row exists for which the table of rows has `index`.
mlir::Value isIndex(CodeBuilder &b, const View &view, mlir::Value index);

/// Where an element of a buffer lies. A boolean has a byte.
mlir::Value getElementAddress(CodeBuilder &b, const Buffer &buffer,
                              mlir::Type element, mlir::ValueRange indices);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_VIEWADDRESS_H
