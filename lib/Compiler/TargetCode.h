//===- TargetCode.h - Code of a module's kernels for one target ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TARGETCODE_H
#define RINGLET_LIB_COMPILER_TARGETCODE_H

#include "lib/Arch/Target.h"
#include "lib/Compiler/EmitObject.h"
#include "lib/Compiler/EmitPTX.h"
#include "lib/Compiler/Ptxas.h"
#include "ringlet/Compile.h"
#include "ringlet/abi/ArtifactGenerated.h"

namespace ringlet {

/// The kernels of a module for a CPU level or a GPU architecture. Independent
/// of any MLIRContext: targets can be compiled on threads of their own.
class TargetCode {
public:
  /// One form of the code in an artefact.
  struct Object {
    abi::CodeFormat format;
    std::string bytes;
  };
  /// All forms; for a GPU also what ptxas said.
  struct Objects {
    std::vector<Object> list;
    PtxasReport report;
  };

  /// Translates the kernels of `lowered`, llvm.funcs, for what `options.emit`
  /// names. Null on failure; errors go to the module's diagnostics.
  static std::unique_ptr<TargetCode> translate(mlir::ModuleOp lowered,
                                               const arch::Target &target,
                                               const CompileOptions &options);

  /// The form that `options.emit` names, of the same options. Call one of these
  /// once.
  llvm::Expected<std::string> emit(const CompileOptions &options);
  llvm::Expected<Objects> emitObjects(const CompileOptions &options);

private:
  explicit TargetCode(const arch::Target &target) : target(target) {}

  /// PTX, and what ptxas makes of it if there is one, whether it fits in
  /// registers or not.
  llvm::Expected<std::pair<std::string, std::optional<Assembled>>>
  assemble(const CompileOptions &options);

  arch::Target target;
  std::unique_ptr<KernelCode> cpu;
  std::unique_ptr<GPUKernelCode> gpu;
};

/// True if code for the target exists in that form.
bool hasForm(const arch::Target &target, Emit form);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TARGETCODE_H
