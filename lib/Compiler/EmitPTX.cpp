//===- EmitPTX.cpp - From llvm.func to PTX ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitPTX.h"

#include "lib/Arch/GPU.h"
#include "lib/Compiler/Backend.h"
#include "lib/Compiler/TranslateKernels.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;
using namespace ringlet;

static constexpr StringLiteral kGPUTriple = "nvptx64-nvidia-cuda";

namespace {

/// Leaves out "slsr", straight-line strength reduction. It takes most of the
/// time that LLVM spends on a large kernel, to find no addition that addresses
/// of attention could share, and a handful in a product written by hand.
class WithoutStrengthReduction : public OptPassGate {
public:
  bool shouldRunPass(StringRef name, StringRef) const override {
    return name != "slsr";
  }
  bool isEnabled() const override { return true; }
};

} // namespace

GPUKernelCode::GPUKernelCode(const arch::GPUArch &arch)
    : arch(arch), context(std::make_unique<LLVMContext>()) {
  static WithoutStrengthReduction gate;
  context->setOptPassGate(gate);
}
GPUKernelCode::~GPUKernelCode() = default;

std::unique_ptr<GPUKernelCode>
GPUKernelCode::translate(mlir::ModuleOp module, const arch::GPUArch &arch) {
  auto code = std::unique_ptr<GPUKernelCode>(new GPUKernelCode(arch));
  code->module = translateKernels(module, *code->context);
  return code->module ? std::move(code) : nullptr;
}

static void initialiseNVPTX() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Expected<std::string> GPUKernelCode::emit(GPUCodeKind kind) {
  initialiseNVPTX();
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(
      {"NVPTX", kGPUTriple, arch.name, arch.ptxFeature, std::nullopt});
  if (!machine)
    return machine.takeError();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  // Kernels arrive unrolled as far as registers allow, in scalars on purpose:
  // more of either only spills.
  optimise(*module, **machine, OptimizationLevel::O3);
  if (kind == GPUCodeKind::LLVMText)
    return printModule(*module);
  return emitCode(*module, **machine, CodeGenFileType::AssemblyFile, arch.name);
}
