//===- Precision.h - The precision of products as text -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs and tile programs spell it alike (R7).
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_SUPPORT_PRECISION_H
#define RINGLET_DIALECTS_SUPPORT_PRECISION_H

#include "lib/Tensor/Precision.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace ringlet {

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &stream,
                                     Precision precision) {
  return stream << nameOf(precision);
}

} // namespace ringlet

template <>
struct mlir::FieldParser<ringlet::Precision> {
  static FailureOr<ringlet::Precision> parse(AsmParser &parser) {
    SMLoc place = parser.getCurrentLocation();
    StringRef word;
    if (failed(parser.parseKeyword(&word)))
      return failure();
    for (ringlet::Precision precision : ringlet::kPrecisions)
      if (word == StringRef(ringlet::nameOf(precision)))
        return precision;
    InFlightDiagnostic error = parser.emitError(place);
    error << "expected one of the precisions ";
    llvm::interleaveComma(ringlet::kPrecisions, error,
                          [&](ringlet::Precision precision) {
                            error << StringRef(ringlet::nameOf(precision));
                          });
    error << ", found '" << word << "' (R7)";
    return error;
  }
};

#endif // RINGLET_DIALECTS_SUPPORT_PRECISION_H
