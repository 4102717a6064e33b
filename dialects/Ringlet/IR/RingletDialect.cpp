//===- RingletDialect.cpp - The ringlet dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet::attn;

#include "dialects/Ringlet/IR/RingletDialect.cpp.inc"
#include "dialects/Ringlet/IR/RingletEnums.cpp.inc"

// Registration needs the storage classes to be complete.
#define GET_ATTRDEF_CLASSES
#include "dialects/Ringlet/IR/RingletAttrs.cpp.inc"

void RingletDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Ringlet/IR/RingletAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Ringlet/IR/RingletOps.cpp.inc"
      >();
}
