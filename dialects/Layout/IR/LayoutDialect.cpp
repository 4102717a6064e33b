//===- LayoutDialect.cpp - The rlayout dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Layout/IR/LayoutDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet::rlayout;

#include "dialects/Layout/IR/LayoutAttrInterfaces.cpp.inc"
#include "dialects/Layout/IR/LayoutDialect.cpp.inc"
#include "dialects/Layout/IR/LayoutEnums.cpp.inc"

// Registration needs the storage classes to be complete.
#define GET_ATTRDEF_CLASSES
#include "dialects/Layout/IR/LayoutAttrs.cpp.inc"

void RLayoutDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Layout/IR/LayoutAttrs.cpp.inc"
      >();
}

LayoutAttr ringlet::rlayout::getLayout(RankedTensorType type) {
  return dyn_cast_or_null<LayoutAttr>(type.getEncoding());
}

OrderAttr ringlet::rlayout::getOrder(RankedTensorType type) {
  LayoutAttr layout = getLayout(type);
  OrderAttr order = layout ? layout.getOrder() : OrderAttr();
  // Linear order has several spellings.
  return order && !order.isIdentity() ? order : OrderAttr();
}

RingAttr ringlet::rlayout::getRing(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  LayoutAttr layout = tensor ? getLayout(tensor) : LayoutAttr();
  return layout ? layout.getRing() : RingAttr();
}
