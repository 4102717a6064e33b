//===- EmitPTX.h - From llvm.func to PTX ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_EMITPTX_H
#define RINGLET_LIB_COMPILER_EMITPTX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
class TimingScope;
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
  /// it, for one kind of code. Errors go to the module's diagnostics.
  static std::unique_ptr<GPUKernelCode>
  translate(mlir::ModuleOp module, const arch::GPUArch &arch, GPUCodeKind kind);
  ~GPUKernelCode();

  /// Optimises for the architecture and emits, several kernels at once. Call it
  /// once.
  llvm::Expected<std::string> emit(mlir::TimingScope *timing = nullptr);

private:
  /// Kernels that are compiled together: for PTX, one.
  struct Unit;

  GPUKernelCode(const arch::GPUArch &arch, GPUCodeKind kind);
  llvm::Expected<std::string> emit(Unit &unit) const;

  const arch::GPUArch &arch;
  GPUCodeKind kind;
  std::vector<std::unique_ptr<Unit>> units;
};

/// One text of several that LLVM made for an architecture: what stands in front
/// of their kernels once, then the kernels in their order.
std::string joinPTX(llvm::ArrayRef<std::string> texts);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_EMITPTX_H
