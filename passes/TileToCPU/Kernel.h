//===- Kernel.h - What a CPU kernel is called with -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU_KERNEL_H
#define RINGLET_PASSES_TILETOCPU_KERNEL_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace ringlet {

namespace arch {
struct CPULevel;
} // namespace arch

namespace cpu {

/// Arguments of a CPU kernel.
enum Argument { Parameters, Begin, End, Scratch };

/// The function without a body. LLVM must not make calls of loops: there is no
/// library where kernels run.
mlir::LLVM::LLVMFuncOp createKernel(mlir::OpBuilder &builder,
                                    mlir::Location loc, llvm::StringRef name,
                                    mlir::TypeRange parameters,
                                    int64_t gridRank, int64_t scratchBytes,
                                    const arch::CPULevel &level);

} // namespace cpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETOCPU_KERNEL_H
