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

def RTile_ReduceKind : RTile_Enum<"ReduceKind", "kind of reduction", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
  I32EnumAttrCase<"min", 2>]>;

/// Without an attribute of its own: a parameter of one.
class RTile_PlainEnum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::ringlet::rtile";
}

def RTile_Dispatch : RTile_PlainEnum<"Dispatch",
    "dispatch of the points of a grid to blocks", [
  I32EnumCase<"each", 0>, I32EnumCase<"strided", 1>,
  I32EnumCase<"dynamic", 2>]>;

def RTile_Place : RTile_PlainEnum<"Place",
    "place that a product reads a loaded operand from", [
  I32EnumCase<"shared", 0>, I32EnumCase<"registers", 1>]>;

def RTile_Residues : RTile_PlainEnum<"Residues",
    "residues whose rows a map describes", [
  I32EnumCase<"all", 0>, I32EnumCase<"shorter", 1>,
  I32EnumCase<"longer", 2>]>;

def RTile_Along : RTile_PlainEnum<"Along",
    "what the elements of a tile of one axis belong to", [
  I32EnumCase<"rows", 0>, I32EnumCase<"columns", 1>]>;

#endif // RINGLET_TILE_ENUMS
