//===- EmitPTX.h - From llvm.func to PTX ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_EMITPTX_H
#define RINGLET_LIB_COMPILER_EMITPTX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace ringlet {

namespace arch {
struct GPUArch;
} // namespace arch

enum class GPUCodeKind { LLVMText, PTX };

/// The kernels of a module for one GPU architecture, as LLVM IR. Independent of
/// any MLIRContext, so that architectures can be compiled on threads of their
/// own.
class GPUKernelCode {
public:
  /// Copies every operation of the llvm dialect out of `module` and translates
  /// it. Errors go to the module's diagnostics.
  static std::unique_ptr<GPUKernelCode> translate(mlir::ModuleOp module,
                                                  const arch::GPUArch &arch);
  ~GPUKernelCode();

  /// Optimises for the architecture and emits. Call it once.
  llvm::Expected<std::string> emit(GPUCodeKind kind);

private:
  GPUKernelCode(const arch::GPUArch &arch);

  const arch::GPUArch &arch;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_EMITPTX_H
