//===- RingletEnums.td - enumerations of the ringlet dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RINGLET_ENUMS
#define RINGLET_RINGLET_ENUMS

include "mlir/IR/EnumAttr.td"

/// Summaries are noun phrases: parsers quote them in errors.
class Ringlet_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ringlet::attn";
  let genSpecializedAttr = 0;
}

def Ringlet_OffsetRule : Ringlet_Enum<"OffsetRule",
    "offset rule of a branch (B2)", [
      I32EnumAttrCase<"Modulo", 0, "modulo">,
      I32EnumAttrCase<"Block", 1, "block">,
      I32EnumAttrCase<"Constant", 2, "constant">]>;

def Ringlet_HeadKind : Ringlet_Enum<"HeadKind",
    "kind of head that an offset rule counts (B2)", [
      I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Query", 1, "query">]>;

def Ringlet_Padding : Ringlet_Enum<"Padding",
    "padding of a branch (B7)", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Counted", 1, "counted">]>;

def Ringlet_Mix : Ringlet_Enum<"Mix", "mix of branches (R1, R2)", [
      I32EnumAttrCase<"Softmax", 0, "softmax">,
      I32EnumAttrCase<"Sum", 1, "sum">]>;

def Ringlet_Combine : Ringlet_Enum<"Combine",
    "way to combine branches", [
      I32EnumAttrCase<"Chain", 0, "chain">,
      I32EnumAttrCase<"Union", 1, "union">,
      I32EnumAttrCase<"Apart", 2, "apart">]>;

#endif // RINGLET_RINGLET_ENUMS
