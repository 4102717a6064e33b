//===- PlanEnums.td - enumerations of the rplan dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PLAN_ENUMS
#define RINGLET_PLAN_ENUMS

include "mlir/IR/EnumAttr.td"

def RPlan_Comparison : I32EnumAttr<"Comparison", "relation of two integers", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>,
    I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>]> {
  let cppNamespace = "::ringlet::rplan";
}

def RPlan_MachineNumber
    : I32EnumAttr<"MachineNumber", "number of the machine that a call runs on", [
    I32EnumAttrCase<"multiprocessors", 0>, I32EnumAttrCase<"rank", 1>,
    I32EnumAttrCase<"ranks", 2>]> {
  let cppNamespace = "::ringlet::rplan";
}

def RPlan_Queue : I32EnumAttr<"Queue", "queue of steps", [
    I32EnumAttrCase<"compute", 0>, I32EnumAttrCase<"exchange", 1>]> {
  let cppNamespace = "::ringlet::rplan";
}

def RPlan_OffsetRule : I32Enum<"OffsetRule",
    "rule by which a head picks its residue (B2)", [
    I32EnumCase<"modulo", 0>, I32EnumCase<"block", 1>,
    I32EnumCase<"constant", 2>]> {
  let cppNamespace = "::ringlet::rplan";
}

#endif // RINGLET_PLAN_ENUMS
