//===- RingletDialect.h - The ringlet dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_RINGLET_IR_RINGLETDIALECT_H
#define RINGLET_DIALECTS_RINGLET_IR_RINGLETDIALECT_H

#include "dialects/Layout/IR/LayoutDialect.h"
#include "dialects/Layout/IR/OrderInterface.h"
#include "dialects/Support/Precision.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#include "dialects/Ringlet/IR/RingletDialect.h.inc"
#include "dialects/Ringlet/IR/RingletEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Ringlet/IR/RingletAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Ringlet/IR/RingletOps.h.inc"

#endif // RINGLET_DIALECTS_RINGLET_IR_RINGLETDIALECT_H
