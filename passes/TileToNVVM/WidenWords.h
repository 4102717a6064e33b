//===- WidenWords.h - Words of 8-bit numbers become wider -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_WIDENWORDS_H
#define RINGLET_PASSES_TILETONVVM_WIDENWORDS_H

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/GPUBuilder.h"

namespace ringlet {
namespace gpu {

/// Which numbers of a word of four come together in one of two.
enum class Halves {
  /// Numbers 0 and 1, then 2 and 3.
  neighbours,
  /// Numbers 0 and 2, then 1 and 3.
  everySecond
};

/// The four numbers of 8 bits, `stored`, in a word as words of `element`: two
/// of f16 or bf16 in one, in packed arithmetic, or four of f32 (S6).
llvm::SmallVector<mlir::Value> widenWord(GPUBuilder &b,
                                         const arch::GPUArch &arch,
                                         mlir::Type stored, mlir::Type element,
                                         mlir::Value word,
                                         Halves halves = Halves::neighbours);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_WIDENWORDS_H
