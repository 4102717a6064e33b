//===- ValueAttr.h - Attributes that stand as one word -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_SUPPORT_VALUEATTR_H
#define RINGLET_DIALECTS_SUPPORT_VALUEATTR_H

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

namespace ringlet {

/// Parses the word that an attribute with one parameter, `value`, has in an
/// operation's format.
template <class AttrT>
mlir::ParseResult parseValueAttr(mlir::OpAsmParser &parser, AttrT &attr) {
  using Value = decltype(attr.getValue());
  mlir::FailureOr<Value> value = mlir::FieldParser<Value>::parse(parser);
  if (failed(value))
    return mlir::failure();
  attr = AttrT::get(parser.getContext(), *value);
  return mlir::success();
}

} // namespace ringlet

#endif // RINGLET_DIALECTS_SUPPORT_VALUEATTR_H
