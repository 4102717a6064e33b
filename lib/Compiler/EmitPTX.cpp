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

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace llvm;
using namespace ringlet;

static constexpr StringLiteral kGPUTriple = "nvptx64-nvidia-cuda";
/// Kernels that are made side by side, as many as ptxas works on.
static constexpr size_t mostThreads = 4;

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

GPUKernelCode::GPUKernelCode(const arch::GPUArch &arch, GPUCodeKind kind)
    : arch(arch), kind(kind) {}
GPUKernelCode::~GPUKernelCode() = default;

bool GPUKernelCode::add(mlir::ModuleOp module, mlir::Operation *only) {
  static WithoutStrengthReduction gate;
  Part &part = parts.emplace_back();
  part.context = std::make_unique<LLVMContext>();
  part.context->setOptPassGate(gate);
  part.module = translateKernels(module, *part.context, only);
  return part.module != nullptr;
}

std::unique_ptr<GPUKernelCode>
GPUKernelCode::translate(mlir::ModuleOp module, const arch::GPUArch &arch,
                         GPUCodeKind kind) {
  auto code = std::unique_ptr<GPUKernelCode>(new GPUKernelCode(arch, kind));
  if (kind == GPUCodeKind::PTX)
    for (auto kernel : module.getOps<mlir::LLVM::LLVMFuncOp>())
      if (!kernel.isExternal() && !code->add(module, kernel))
        return nullptr;
  if (code->parts.empty() && !code->add(module, nullptr))
    return nullptr;
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

void GPUKernelCode::emit(Part &part) const {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTargetMachine(
      {"NVPTX", kGPUTriple, arch.name, arch.ptxFeature, std::nullopt});
  if (!machine) {
    part.error = toString(machine.takeError());
    return;
  }
  Module &module = *part.module;
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  // Kernels arrive unrolled as far as registers allow, in scalars on purpose:
  // more of either only spills.
  optimise(module, **machine, OptimizationLevel::O3);
  if (kind == GPUCodeKind::LLVMText) {
    part.code = printModule(module);
    return;
  }
  Expected<std::string> code =
      emitCode(module, **machine, CodeGenFileType::AssemblyFile, arch.name);
  if (code)
    part.code = std::move(*code);
  else
    part.error = toString(code.takeError());
}

/// One text of those of several kernels: what each begins with, and what they
/// have in common, stands there once.
static std::string joinPTX(ArrayRef<StringRef> texts) {
  constexpr StringLiteral lastOfHead = ".address_size 64\n";
  std::string joined;
  StringSet<> declared;
  for (StringRef text : texts) {
    auto [head, rest] = text.split(lastOfHead);
    if (joined.empty())
      joined = (head + lastOfHead).str();
    while (!rest.empty()) {
      auto [line, next] = rest.split('\n');
      bool isDeclaration = line.starts_with(".extern ");
      if (line.contains(".entry "))
        break;
      if (!isDeclaration || declared.insert(line).second)
        joined += (line + "\n").str();
      rest = next;
    }
    joined += rest;
  }
  return joined;
}

Expected<std::string> GPUKernelCode::emit() {
  initialiseNVPTX();
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++)
      emit(parts[i]);
  };
  std::vector<std::thread> threads;
  unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 1,
              n = std::min<size_t>({parts.size(), mostThreads, processors});
       i < n; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  SmallVector<StringRef> texts;
  for (const Part &part : parts) {
    if (!part.error.empty())
      return createStringError(part.error);
    texts.push_back(part.code);
  }
  return kind == GPUCodeKind::PTX ? joinPTX(texts) : parts.front().code;
}
