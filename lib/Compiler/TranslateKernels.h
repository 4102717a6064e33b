//===- TranslateKernels.h - From the llvm dialect to LLVM IR ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H
#define RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class StringRef;
} // namespace llvm
namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace ringlet {

/// The symbol that the code of a kernel has: its name in characters that every
/// assembler takes, with a prefix that keeps it apart from names of LLVM, the
/// linker and the loader (llvm.sqrt, _init).
std::string getCodeSymbol(llvm::StringRef kernel);

/// Translates every operation of the llvm dialect at the top of `module`, which
/// stays as it is; kernels get their code symbols. With `only`, without the
/// other kernels. Null on failure; errors go to the module's diagnostics.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module,
                                               llvm::LLVMContext &context,
                                               mlir::Operation *only = nullptr);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TRANSLATEKERNELS_H
