//===- PlanDialect.h - The rplan dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_PLAN_IR_PLANDIALECT_H
#define RINGLET_DIALECTS_PLAN_IR_PLANDIALECT_H

#include "dialects/Layout/IR/LayoutDialect.h"
#include "lib/Layout/TileIndex.h"
#include "ringlet/abi/ring/Attention.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/IR/PlanDialect.h.inc"
#include "dialects/Plan/IR/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/IR/PlanAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Plan/IR/PlanTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/IR/PlanOps.h.inc"

#endif // RINGLET_DIALECTS_PLAN_IR_PLANDIALECT_H
