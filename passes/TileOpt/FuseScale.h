//===- FuseScale.h - Scale scores in the subtraction ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT_FUSESCALE_H
#define RINGLET_PASSES_TILEOPT_FUSESCALE_H

#include "dialects/Tile/IR/TileDialect.h"

namespace ringlet {

/// Moves positive constants that tiles are multiplied by to where they cost
/// nothing:
///
///   * `select(c, x * s, -inf)` becomes `select(c, x, -inf) * s`, which is the
///     same;
///   * the maximum (minimum) of `x * s` becomes that of `x`, times `s`: the
///     same, as rounding keeps order;
///   * `x * s - y` becomes `math.fma`, which rounds once instead of twice.
///
/// Returns the number of differences that became one operation.
int64_t fuseScale(rtile::FuncOp func);

} // namespace ringlet

#endif // RINGLET_PASSES_TILEOPT_FUSESCALE_H
