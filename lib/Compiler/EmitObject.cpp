//===- EmitObject.cpp - From llvm.func to machine code ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitObject.h"

#include "lib/Arch/CPU.h"
#include "lib/Compiler/TranslateKernels.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;
using namespace ringlet;

static constexpr StringLiteral kTriple = "x86_64-unknown-linux-gnu";

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

KernelCode::KernelCode(const arch::CPULevel &level)
    : level(level), context(std::make_unique<LLVMContext>()) {}
KernelCode::~KernelCode() = default;

std::unique_ptr<KernelCode> KernelCode::translate(mlir::ModuleOp module,
                                                  const arch::CPULevel &level) {
  auto code = std::unique_ptr<KernelCode>(new KernelCode(level));
  code->module = translateKernels(module, *code->context);
  return code->module ? std::move(code) : nullptr;
}

static Expected<std::unique_ptr<TargetMachine>>
makeTargetMachine(const arch::CPULevel &level) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  Triple triple(kTriple);
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return makeError("this LLVM has no X86 target: " + error);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, level.name, level.features, TargetOptions(), Reloc::PIC_,
      /*CM=*/std::nullopt, CodeGenOptLevel::Aggressive));
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
    function.addFnAttr("target-cpu", level.name);
    // LLVM prefers 256 bits on the first processors with 512; a row of the
    // table that says 512 means it.
    function.addFnAttr("prefer-vector-width", std::to_string(level.vectorBits));
    // There is no C library where this code runs: no loop may become memset.
    function.addFnAttr("no-builtins");
    function.setDoesNotThrow();
  }
}

/// Kernels arrive in vectors of the level's size. LLVM's own vectorizers find
/// nothing more in them, and its guesses at what to unroll cost half of the
/// compile time for a few percent of speed (measured), so only loops whose
/// annotation asks for it are unrolled.
static void optimise(Module &module, TargetMachine &machine,
                     const TargetLibraryInfoImpl &library) {
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  functions.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
      .run(module, modules);
}

Expected<std::string> KernelCode::emit(CodeKind kind, StringRef linker) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(level);
  if (!machine)
    return machine.takeError();
  prepare(*module, **machine, level);
  TargetLibraryInfoImpl library((*machine)->getTargetTriple());
  library.disableAllFunctions();
  optimise(*module, **machine, library);

  if (kind == CodeKind::LLVMText) {
    std::string text;
    raw_string_ostream(text) << *module;
    return text;
  }

  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(library));
  if ((*machine)->addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                      kind == CodeKind::Assembly
                                          ? CodeGenFileType::AssemblyFile
                                          : CodeGenFileType::ObjectFile))
    return makeError("this LLVM cannot emit code for " + Twine(level.name));
  passes.run(*module);
  if (kind != CodeKind::SharedObject)
    return std::string(bytes);
  return linkSharedObject(bytes, linker);
}
