//===- TranslateKernels.h - From the llvm dialect to LLVM IR ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H
#define RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace ringlet {

/// Translates every operation of the llvm dialect at the top of `module`, which
/// stays as it is. Null on failure; errors go to the module's diagnostics.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module,
                                               llvm::LLVMContext &context);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H
