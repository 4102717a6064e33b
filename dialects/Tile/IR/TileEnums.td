//===- TileEnums.td - enumerations of the rtile dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_ENUMS
#define RINGLET_TILE_ENUMS

include "mlir/IR/EnumAttr.td"

class RTile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ringlet::rtile";
}

def RTile_ReduceKind : RTile_Enum<"ReduceKind", "How a tile is reduced", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
  I32EnumAttrCase<"min", 2>]>;


#endif // RINGLET_TILE_ENUMS
