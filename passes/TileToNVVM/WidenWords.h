//===- WidenWords.h - Words of 8-bit numbers become wider -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_WIDENWORDS_H
#define RINGLET_PASSES_TILETONVVM_WIDENWORDS_H

#include "passes/TileToNVVM/GPUBuilder.h"

namespace ringlet {
namespace gpu {

/// The four numbers of 8 bits, `stored`, in a word as words of `element`: two
/// of f16 or bf16 in one, in packed arithmetic, or four of f32 (S6).
llvm::SmallVector<mlir::Value> widenWord(GPUBuilder &b, mlir::Type stored,
                                         mlir::Type element, mlir::Value word);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_WIDENWORDS_H
