//===- TargetCode.cpp - Code of a module's kernels for one target ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/TargetCode.h"

#include "lib/Compiler/Timing.h"

#include "mlir/IR/BuiltinOps.h"

using namespace llvm;
using namespace ringlet;

std::unique_ptr<TargetCode>
TargetCode::translate(mlir::ModuleOp lowered, const arch::Target &target,
                      const CompileOptions &options) {
  mlir::TimingScope timing = startTimer(options.timing, "Translation");
  auto code = std::unique_ptr<TargetCode>(new TargetCode(target));
  if (target.cpu)
    code->cpu = KernelCode::translate(lowered, *target.cpu);
  else
    code->gpu = GPUKernelCode::translate(
        lowered, *target.gpu,
        options.emit == Emit::LLVM ? GPUCodeKind::LLVMText : GPUCodeKind::PTX);
  return code->cpu || code->gpu ? std::move(code) : nullptr;
}

bool ringlet::hasForm(const arch::Target &target, Emit form) {
  switch (form) {
  case Emit::Assembly:
  case Emit::Object:
    return target.cpu;
  case Emit::PTX:
  case Emit::Cubin:
    return target.gpu;
  default:
    return true;
  }
}

Expected<std::pair<std::string, std::optional<Assembled>>>
TargetCode::assemble(const CompileOptions &options) {
  Expected<std::optional<std::string>> ptxas = findPtxas(options.ptxas);
  if (!ptxas)
    return ptxas.takeError();
  Expected<std::string> ptx = gpu->emit(options.timing);
  if (!ptx)
    return ptx.takeError();
  if (!*ptxas)
    return std::make_pair(std::move(*ptx), std::optional<Assembled>());
  mlir::TimingScope timing = startTimer(options.timing, "ptxas");
  Expected<Assembled> assembled =
      runPtxas(**ptxas, *ptx, target.gpu->ptxasName);
  if (!assembled)
    return assembled.takeError();
  return std::make_pair(std::move(*ptx),
                        std::optional<Assembled>(std::move(*assembled)));
}

Expected<std::string> TargetCode::emit(const CompileOptions &options) {
  if (cpu)
    return cpu->emit(options.emit == Emit::LLVM       ? CodeKind::LLVMText
                     : options.emit == Emit::Assembly ? CodeKind::Assembly
                                                      : CodeKind::Object,
                     options.linker, options.timing);
  if (options.emit == Emit::LLVM || options.emit == Emit::PTX)
    return gpu->emit(options.timing);
  if (!target.gpu->hasCubin())
    return createStringError(
        inconvertibleErrorCode(),
        Twine("expected an architecture that ptxas makes code for, found ") +
            target.gpu->name + ": emit ptx, which a driver compiles");
  auto code = assemble(options);
  if (!code)
    return code.takeError();
  if (!code->second)
    return createStringError(inconvertibleErrorCode(),
                             "expected ptxas of CUDA 13 in CUDA_HOME, on PATH "
                             "or in /usr/local/cuda, found none: name it with "
                             "--ptxas, or emit ptx");
  if (Error error = checkPtxasReport(code->second->report, target.gpu->name))
    return std::move(error);
  return std::move(code->second->cubin);
}

Expected<TargetCode::Objects>
TargetCode::emitObjects(const CompileOptions &options) {
  Objects objects;
  if (cpu) {
    Expected<std::string> bytes =
        cpu->emit(CodeKind::SharedObject, options.linker, options.timing);
    if (!bytes)
      return bytes.takeError();
    objects.list.push_back({abi::CodeFormat::SharedObject, std::move(*bytes)});
    return objects;
  }
  auto code = assemble(options);
  if (!code)
    return code.takeError();
  auto &[ptx, assembled] = *code;
  if (assembled) {
    objects.report = std::move(assembled->report);
    if (target.gpu->hasCubin())
      objects.list.push_back(
          {abi::CodeFormat::Cubin, std::move(assembled->cubin)});
  }
  // For devices that came after the architecture.
  objects.list.push_back({abi::CodeFormat::Ptx, std::move(ptx)});
  return objects;
}
