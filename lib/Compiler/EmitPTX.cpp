//===- EmitPTX.cpp - From llvm.func to PTX ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitPTX.h"

#include "lib/Arch/GPU.h"
#include "lib/Compiler/TranslateKernels.h"

#include "mlir/IR/BuiltinOps.h"

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

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

GPUKernelCode::GPUKernelCode(const arch::GPUArch &arch)
    : arch(arch), context(std::make_unique<LLVMContext>()) {}
GPUKernelCode::~GPUKernelCode() = default;

std::unique_ptr<GPUKernelCode>
GPUKernelCode::translate(mlir::ModuleOp module, const arch::GPUArch &arch) {
  auto code = std::unique_ptr<GPUKernelCode>(new GPUKernelCode(arch));
  code->module = translateKernels(module, *code->context);
  return code->module ? std::move(code) : nullptr;
}

static Expected<std::unique_ptr<TargetMachine>>
makeTargetMachine(const arch::GPUArch &arch) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  Triple triple(kTriple);
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return makeError("this LLVM has no NVPTX target: " + error);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, arch.name, arch.ptxFeature, TargetOptions(),
      /*RM=*/std::nullopt, /*CM=*/std::nullopt, CodeGenOptLevel::Aggressive));
}

/// Kernels arrive unrolled as far as registers allow, in scalars on purpose:
/// more of either only spills.
static void optimise(Module &module, TargetMachine &machine) {
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
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

Expected<std::string> GPUKernelCode::emit(GPUCodeKind kind) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(arch);
  if (!machine)
    return machine.takeError();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  optimise(*module, **machine);
  if (kind == GPUCodeKind::LLVMText) {
    std::string text;
    raw_string_ostream(text) << *module;
    return text;
  }
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                      CodeGenFileType::AssemblyFile))
    return makeError("this LLVM cannot emit code for " + Twine(arch.name));
  passes.run(*module);
  return std::string(bytes);
}
