//===- LayoutEnums.td - enumerations of the rlayout dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LAYOUT_ENUMS
#define RINGLET_LAYOUT_ENUMS

include "mlir/IR/EnumAttr.td"

def RLayout_BalanceAttr : I32EnumAttr<"Balance",
    "balance of a ring (G1)", [
      I32EnumAttrCase<"contiguous", 0>, I32EnumAttrCase<"zigzag", 1>,
      I32EnumAttrCase<"striped", 2>]> {
  let cppNamespace = "::ringlet::rlayout";
}

#endif // RINGLET_LAYOUT_ENUMS
