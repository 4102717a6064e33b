//===- RowRange.h - Which rows of a view exist -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT_ROWRANGE_H
#define RINGLET_PASSES_TILEOPT_ROWRANGE_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ringlet {

/// Row i of a view has the ordinal `base + i / group * rate`. Rows outside of
/// [begin, end) do not exist; the others have an entry in each table of the
/// view and, without a table of rows, exist.
struct RowRange {
  mlir::Value base, begin, end;
  mlir::OpFoldResult rate;
  /// Rows for each row of the row axis.
  int64_t group = 1;
};

/// Integer arithmetic on values of one type, index or i64, as `arith`
/// operations. Rounds quotients down or up, also of negative numbers.
class PositionBuilder {
public:
  PositionBuilder(mlir::ImplicitLocOpBuilder &builder, mlir::Type type)
      : builder(builder), type(type) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value add(mlir::Value a, mlir::OpFoldResult b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value floorDiv(mlir::Value a, int64_t b);
  mlir::Value ceilDiv(mlir::Value a, int64_t b);
  /// By a segment length or a rate, which is positive.
  mlir::Value mul(mlir::Value a, mlir::OpFoldResult b);
  mlir::Value floorDiv(mlir::Value a, mlir::OpFoldResult b);
  mlir::Value ceilDiv(mlir::Value a, mlir::OpFoldResult b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// `a < b ? x : y`.
  mlir::Value selectLess(mlir::Value a, mlir::Value b, mlir::Value x,
                         mlir::Value y);

private:
  mlir::ImplicitLocOpBuilder &builder;
  mlir::Type type;
};

/// What the rows of a view follow from. Null where rtile.view has none.
struct RowOperands {
  mlir::Value origin, segment, residue;
  /// The sizes of the row axis and of the tables.
  mlir::Value axis, rows, positions;
  /// The numbers that rows have: both or none.
  mlir::Value first, end;
  /// As of ViewOp::getMixedW and getMixedRate.
  mlir::OpFoldResult w, rate;
  /// As of ViewOp::getGroupSize.
  int64_t group = 1;
};

RowRange getRowRange(PositionBuilder &builder, rtile::ViewType view,
                     const RowOperands &operands);

/// The ordinal of `row`.
mlir::Value getOrdinal(PositionBuilder &builder, const RowRange &rows,
                       mlir::Value row);

/// `row` without its group: what ordinals and tables count.
mlir::Value getLine(PositionBuilder &builder, const RowRange &rows,
                    mlir::Value row);

/// How far apart neighbouring rows of a view lie on the row axis, in elements;
/// 1 in an indexed view, whose table says where they are. Dynamic if the view's
/// operand says it.
int64_t getRowStep(rtile::ViewOp view);

/// The number of row 0, of the ordinal `base`, in the tables of its view; that
/// of row i is `getLine` times the view's rate higher.
mlir::Value getFirstEntry(PositionBuilder &builder, const RowOperands &operands,
                          mlir::Value base);

/// Where row 0 of a view that is not indexed would lie on the row axis; `base`
/// is its ordinal.
mlir::Value getFirstIndex(PositionBuilder &builder, rtile::ViewOp view,
                          const RowOperands &operands, mlir::Value base);

/// The coordinates of `position`, an i64, on a grid that it lies on (B5), as
/// i32 where those of all cells and twice as much fit in it.
llvm::SmallVector<mlir::Value> getGridCell(mlir::ImplicitLocOpBuilder &builder,
                                           mlir::Value position,
                                           llvm::ArrayRef<int64_t> grid);

/// How far keys may be away on an axis of `grid` (B5): never more than cells or
/// positions are, so that a coordinate and twice as much add up.
int64_t getGridReach(llvm::ArrayRef<int64_t> grid,
                     llvm::ArrayRef<int64_t> reach, size_t axis);

/// How far keys may lie to the right of a query, or nothing: `causal` and
/// `window` taken together (B4).
std::optional<int64_t>
getRightLimit(bool causal, std::optional<mlir::ArrayRef<int64_t>> window);

/// How far keys may lie to the left of a query, or nothing.
std::optional<int64_t>
getLeftLimit(std::optional<mlir::ArrayRef<int64_t>> window);

} // namespace ringlet

#endif // RINGLET_PASSES_TILEOPT_ROWRANGE_H
