//===- Window.h - Windows in attributes and operations ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `custom<Window>` of assembly formats: `[left, right]`, rule B4, and
// `custom<Sides>`: a number for each axis of a grid, rule B5. Include it before
// the generated operations of a dialect.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_SUPPORT_WINDOW_H
#define RINGLET_DIALECTS_SUPPORT_WINDOW_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#include <limits>

namespace ringlet {

inline mlir::ParseResult parseSides(mlir::OpAsmParser &parser,
                                    mlir::DenseI64ArrayAttr &sides) {
  llvm::SmallVector<int64_t> list;
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(list.emplace_back());
      }))
    return mlir::failure();
  sides = parser.getBuilder().getDenseI64ArrayAttr(list);
  return mlir::success();
}

inline void printSides(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::DenseI64ArrayAttr sides) {
  if (!sides)
    return;
  printer << '[';
  llvm::interleaveComma(sides.asArrayRef(), printer);
  printer << ']';
}

inline mlir::ParseResult parseWindow(mlir::OpAsmParser &parser,
                                     mlir::DenseI64ArrayAttr &window) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseSides(parser, window))
    return mlir::failure();
  if (window.size() != 2)
    return parser.emitError(loc)
           << "expected two window sides, left and right, found "
           << window.size() << " (B4)";
  return mlir::success();
}

inline void printWindow(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        mlir::DenseI64ArrayAttr window) {
  printSides(printer, op, window);
}

/// Checks a neighbourhood on a grid: a reach for each axis (B5).
inline llvm::LogicalResult
verifyGridWindow(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                 llvm::ArrayRef<int64_t> grid, llvm::ArrayRef<int64_t> reach) {
  if (grid.empty() || grid.size() > 8)
    return emitError() << "expected a grid of 1 to 8 axes, found "
                       << grid.size() << " (B5)";
  if (grid.size() != reach.size())
    return emitError() << "expected one reach for each of the " << grid.size()
                       << " axes, found " << reach.size() << " (B5)";
  int64_t volume = 1;
  for (auto [side, distance] : llvm::zip_equal(grid, reach)) {
    if (side < 1 || distance < 0)
      return emitError() << "expected positive sides and reaches of at least "
                            "0, found side "
                         << side << " with reach " << distance << " (B5)";
    if (volume > std::numeric_limits<int64_t>::max() / side)
      return emitError() << "expected a grid of less than 2^63 cells (B5)";
    volume *= side;
  }
  return mlir::success();
}

} // namespace ringlet

#endif // RINGLET_DIALECTS_SUPPORT_WINDOW_H
