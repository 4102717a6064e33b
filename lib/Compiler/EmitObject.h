//===- EmitObject.h - From llvm.func to machine code ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_EMITOBJECT_H
#define RINGLET_LIB_COMPILER_EMITOBJECT_H

#include "llvm/ADT/ArrayRef.h"
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
class TimingScope;
} // namespace mlir

namespace ringlet {

namespace arch {
struct CPULevel;
} // namespace arch

enum class CodeKind { LLVMText, Assembly, Object, SharedObject };

/// The kernels of a module for one level, as LLVM IR. Independent of any
/// MLIRContext, so that levels can be compiled on threads of their own.
class KernelCode {
public:
  /// Copies every operation of the llvm dialect out of `module` and translates
  /// it. Errors go to the module's diagnostics.
  static std::unique_ptr<KernelCode> translate(mlir::ModuleOp module,
                                               const arch::CPULevel &level);
  ~KernelCode();

  /// Optimises for the level and emits. Call it once. A shared object has no
  /// needs from outside; it is linked by the lld that `linker` names or, if
  /// that is empty, by the built-in one, or where there is none by the one that
  /// findLinker finds.
  llvm::Expected<std::string> emit(CodeKind kind, llvm::StringRef linker,
                                   mlir::TimingScope *timing = nullptr);

private:
  KernelCode(const arch::CPULevel &level);

  const arch::CPULevel &level;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

/// lld as a program: `option` if it is not empty, else beside this program,
/// else on PATH as ld.lld-22 or ld.lld.
llvm::Expected<std::string> findLinker(llvm::StringRef option);

/// Links one object into a shared object. Undefined symbols are
/// refused by name.
llvm::Expected<std::string> linkSharedObject(llvm::StringRef object,
                                             llvm::StringRef linker);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_EMITOBJECT_H
