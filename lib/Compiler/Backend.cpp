//===- Backend.cpp - What both kinds of code ask of LLVM ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Backend.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace ringlet;

Expected<std::unique_ptr<TargetMachine>>
ringlet::makeTargetMachine(const BackendTarget &target) {
  std::string error;
  Triple triple(target.triple);
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError("this LLVM has no " + target.family +
                             " target: " + error);
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, TargetOptions(), target.relocation,
      /*CM=*/std::nullopt, CodeGenOptLevel::Aggressive));
}

void ringlet::optimise(Module &module, TargetMachine &machine,
                       OptimizationLevel level,
                       const TargetLibraryInfoImpl *library) {
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
  if (library)
    functions.registerPass([&] { return TargetLibraryAnalysis(*library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

std::string ringlet::printModule(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}

Expected<std::string> ringlet::emitCode(Module &module, TargetMachine &machine,
                                        CodeGenFileType type, StringRef cpu,
                                        const TargetLibraryInfoImpl *library) {
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  if (library)
    passes.add(new TargetLibraryInfoWrapperPass(*library));
  if (machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, type))
    return createStringError("this LLVM cannot emit code for " + cpu);
  passes.run(module);
  return std::string(bytes);
}
