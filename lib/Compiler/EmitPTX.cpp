//===- EmitPTX.cpp - From llvm.func to PTX ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitPTX.h"

#include "lib/Arch/GPU.h"
#include "lib/Compiler/Backend.h"
#include "lib/Compiler/Timing.h"
#include "lib/Compiler/TranslateKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
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

struct GPUKernelCode::Unit {
  LLVMContext context;
  std::unique_ptr<Module> module;
};

GPUKernelCode::GPUKernelCode(const arch::GPUArch &arch, GPUCodeKind kind)
    : arch(arch), kind(kind) {}
GPUKernelCode::~GPUKernelCode() = default;

std::unique_ptr<GPUKernelCode>
GPUKernelCode::translate(mlir::ModuleOp module, const arch::GPUArch &arch,
                         GPUCodeKind kind) {
  static WithoutStrengthReduction gate;
  auto code = std::unique_ptr<GPUKernelCode>(new GPUKernelCode(arch, kind));
  SmallVector<mlir::Operation *> kernels;
  if (kind == GPUCodeKind::PTX)
    for (auto kernel : module.getOps<mlir::LLVM::LLVMFuncOp>())
      if (!kernel.isExternal())
        kernels.push_back(kernel);
  if (kernels.empty())
    kernels.push_back(nullptr);
  for (mlir::Operation *kernel : kernels) {
    Unit &unit = *code->units.emplace_back(std::make_unique<Unit>());
    unit.context.setOptPassGate(gate);
    unit.module = translateKernels(module, unit.context, kernel);
    if (!unit.module)
      return nullptr;
  }
  return code;
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

Expected<std::string> GPUKernelCode::emit(Unit &unit) const {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(
      {"NVPTX", kGPUTriple, arch.name, arch.ptxFeature, std::nullopt});
  if (!machine)
    return machine.takeError();
  Module &module = *unit.module;
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  // Kernels arrive unrolled as far as registers allow, in scalars on purpose:
  // more of either only spills.
  optimise(module, **machine, OptimizationLevel::O3);
  if (kind == GPUCodeKind::LLVMText)
    return printModule(module);
  return emitCode(module, **machine, CodeGenFileType::AssemblyFile, arch.name);
}

Expected<std::string> GPUKernelCode::emit(mlir::TimingScope *timing) {
  initialiseNVPTX();
  // Each on its own, however many processors there are, so that what comes out
  // does not depend on their number.
  std::vector<std::string> texts(units.size()), errors(units.size());
  DefaultThreadPool threads(optimal_concurrency(units.size()));
  for (size_t i = 0; i < units.size(); ++i)
    threads.async([&, i] {
      mlir::TimingScope compiling = startTimer(timing, "LLVM");
      Expected<std::string> output = emit(*units[i]);
      units[i].reset();
      if (output)
        texts[i] = std::move(*output);
      else
        errors[i] = toString(output.takeError());
    });
  threads.wait();
  for (const std::string &error : errors)
    if (!error.empty())
      return createStringError(error);
  return kind == GPUCodeKind::PTX ? joinPTX(texts) : texts.front();
}

std::string ringlet::joinPTX(ArrayRef<std::string> texts) {
  std::string head, kernels;
  StringSet<> known;
  for (StringRef text : texts) {
    size_t begin = std::min(text.find("\n.visible .entry"), text.size());
    SmallVector<StringRef> lines;
    text.take_front(begin).split(lines, '\n');
    for (StringRef line : lines) {
      bool isComment = line.ltrim().starts_with("//") || line.empty();
      if (isComment ? kernels.empty() && !line.contains(".globl")
                    : known.insert(line).second)
        (head += line) += "\n";
    }
    kernels += text.drop_front(begin);
  }
  return head + kernels;
}
