//===- EmitObject.cpp - From llvm.func to machine code ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitObject.h"

#include "lib/Arch/CPU.h"
#include "lib/Compiler/Backend.h"
#include "lib/Compiler/Timing.h"
#include "lib/Compiler/TranslateKernels.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;
using namespace ringlet;

static constexpr StringLiteral kCPUTriple = "x86_64-unknown-linux-gnu";

KernelCode::KernelCode(const arch::CPULevel &level)
    : level(level), context(std::make_unique<LLVMContext>()) {}
KernelCode::~KernelCode() = default;

std::unique_ptr<KernelCode> KernelCode::translate(mlir::ModuleOp module,
                                                  const arch::CPULevel &level) {
  auto code = std::unique_ptr<KernelCode>(new KernelCode(level));
  code->module = translateKernels(module, *code->context);
  return code->module ? std::move(code) : nullptr;
}

static void initialiseX86() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

/// Everything that the optimiser must know of where the code will run.
static void prepare(Module &module, const TargetMachine &machine,
                    const arch::CPULevel &level) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", level.processor);
    if (level.features[0])
      function.addFnAttr("target-features", level.features);
    // LLVM prefers 256 bits on the first processors with 512; a row of the
    // table that says 512 means it.
    function.addFnAttr("prefer-vector-width", std::to_string(level.vectorBits));
    // There is no C library where this code runs: no loop may become memset.
    function.addFnAttr("no-builtins");
    function.setDoesNotThrow();
  }
}

Expected<std::string> KernelCode::emit(CodeKind kind, StringRef linker,
                                       mlir::TimingScope *timing) {
  mlir::TimingScope compiling = startTimer(timing, "LLVM");
  initialiseX86();
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(
      {"X86", kCPUTriple, level.processor, level.features, Reloc::PIC_});
  if (!machine)
    return machine.takeError();
  prepare(*module, **machine, level);
  TargetLibraryInfoImpl library((*machine)->getTargetTriple());
  library.disableAllFunctions();
  // Kernels arrive in vectors of the level's size. LLVM's own vectorizers find
  // nothing more in them, and its guesses at what to unroll cost half of the
  // compile time for a few percent of speed (measured), so only loops whose
  // annotation asks for it are unrolled.
  optimise(*module, **machine, OptimizationLevel::O2, &library);
  if (kind == CodeKind::LLVMText)
    return printModule(*module);

  Expected<std::string> code =
      emitCode(*module, **machine,
               kind == CodeKind::Assembly ? CodeGenFileType::AssemblyFile
                                          : CodeGenFileType::ObjectFile,
               level.name, &library);
  if (!code || kind != CodeKind::SharedObject)
    return code;
  compiling.stop();
  mlir::TimingScope linking = startTimer(timing, "Linker");
  return linkSharedObject(*code, linker);
}
