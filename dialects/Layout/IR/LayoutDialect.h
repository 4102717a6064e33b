//===- LayoutDialect.h - The rlayout dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_LAYOUT_IR_LAYOUTDIALECT_H
#define RINGLET_DIALECTS_LAYOUT_IR_LAYOUTDIALECT_H

#include "lib/Layout/Order.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"

#include "dialects/Layout/IR/LayoutDialect.h.inc"
#include "dialects/Layout/IR/LayoutEnums.h.inc"

#include "dialects/Layout/IR/LayoutAttrInterfaces.h.inc"

namespace ringlet::rlayout {
/// A number of ranks, or `?`.
mlir::ParseResult parseRanks(mlir::AsmParser &parser, int64_t &ranks);
void printRanks(mlir::AsmPrinter &printer, int64_t ranks);
} // namespace ringlet::rlayout

#define GET_ATTRDEF_CLASSES
#include "dialects/Layout/IR/LayoutAttrs.h.inc"

namespace ringlet::rlayout {
/// The layout in the encoding of `type`, or null for linear order.
LayoutAttr getLayout(mlir::RankedTensorType type);
/// The order in the encoding of `type`, or null for linear order.
OrderAttr getOrder(mlir::RankedTensorType type);
/// The ring in the encoding of a tensor, or null.
RingAttr getRing(mlir::Type type);
} // namespace ringlet::rlayout

#endif // RINGLET_DIALECTS_LAYOUT_IR_LAYOUTDIALECT_H
