//===- Pipeline.h - Kernels to the llvm dialect -*- C++ -*--===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_PIPELINE_H
#define RINGLET_PASSES_TILECODE_PIPELINE_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ringlet {
namespace code {

/// Adds what turns the arith and scf operations of emitted kernels into those
/// of the llvm dialect.
void addKernelsToLLVM(mlir::OpPassManager &pm);

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_PIPELINE_H
