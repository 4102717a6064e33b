//===- Backend.h - What both kinds of code ask of LLVM ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_BACKEND_H
#define RINGLET_LIB_COMPILER_BACKEND_H

#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace llvm {
class Module;
class TargetLibraryInfoImpl;
class TargetMachine;
} // namespace llvm

namespace ringlet {

/// A processor in LLVM's terms. `family` is what messages call its target,
/// which must have been initialised.
struct BackendTarget {
  llvm::StringRef family, triple, cpu, features;
  std::optional<llvm::Reloc::Model> relocation;
};

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(const BackendTarget &target);

/// Runs LLVM's pipeline of that level without its guesses at what to unroll and
/// to vectorise: kernels arrive as they are meant to be. `library` says which
/// functions of C there are; null for what the triple says.
void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level,
              const llvm::TargetLibraryInfoImpl *library = nullptr);

/// The module as LLVM assembly.
std::string printModule(const llvm::Module &module);

/// The code of an optimised module; `cpu` is for the message.
llvm::Expected<std::string>
emitCode(llvm::Module &module, llvm::TargetMachine &machine,
         llvm::CodeGenFileType type, llvm::StringRef cpu,
         const llvm::TargetLibraryInfoImpl *library = nullptr);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_BACKEND_H
