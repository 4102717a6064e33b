//===- Window.h - How dialects write a window -------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `custom<Window>` of assembly formats: `[left, right]`, rule B4. Include it
// before the generated operations of a dialect.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_SUPPORT_WINDOW_H
#define RINGLET_DIALECTS_SUPPORT_WINDOW_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace ringlet {

inline mlir::ParseResult parseWindow(mlir::OpAsmParser &parser,
                                     mlir::DenseI64ArrayAttr &window) {
  llvm::SmallVector<int64_t> sides;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(sides.emplace_back());
      }))
    return mlir::failure();
  if (sides.size() != 2)
    return parser.emitError(loc)
           << "expected two window sides, left and right, found "
           << sides.size() << " (B4)";
  window = parser.getBuilder().getDenseI64ArrayAttr(sides);
  return mlir::success();
}

inline void printWindow(mlir::OpAsmPrinter &printer, mlir::Operation *,
                        mlir::DenseI64ArrayAttr window) {
  if (!window)
    return;
  printer << '[';
  llvm::interleaveComma(window.asArrayRef(), printer);
  printer << ']';
}

} // namespace ringlet

#endif // RINGLET_DIALECTS_SUPPORT_WINDOW_H
