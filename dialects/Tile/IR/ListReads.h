//===- ListReads.h - Numbers that a kernel reads from lists -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_TILE_IR_LISTREADS_H
#define RINGLET_DIALECTS_TILE_IR_LISTREADS_H

#include "mlir/IR/Operation.h"

namespace ringlet::rtile {

/// Whether lists have numbers of this type: i32 or i64.
bool isListElement(mlir::Type type);

/// Whether `op` reads a number of a list that is a parameter of its kernel:
/// lengths or first rows of sequences, say. A scheduled kernel changes none,
/// since it stores floats, so all roles may read it for themselves.
bool readsList(mlir::Operation *op);

} // namespace ringlet::rtile

#endif // RINGLET_DIALECTS_TILE_IR_LISTREADS_H
