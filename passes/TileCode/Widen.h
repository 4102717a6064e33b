//===- Widen.h - Elements of 8 bits become floats -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_WIDEN_H
#define RINGLET_PASSES_TILECODE_WIDEN_H

#include "passes/TileCode/CodeBuilder.h"

namespace ringlet {
namespace code {

/// The numbers that `bytes`, i8 or a vector of it, are as elements `stored`, as
/// `element`: exact (S6). Whatever a processor thinks of subnormal numbers of
/// f32, none is computed with.
mlir::Value widen(CodeBuilder &b, mlir::Type stored, mlir::Value bytes,
                  mlir::Type element);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_WIDEN_H
