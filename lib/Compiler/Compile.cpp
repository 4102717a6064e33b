//===- Compile.cpp - IR in, artefact out ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/Compile.h"

#include "lib/Arch/CPU.h"
#include "lib/Compiler/ArtifactWriter.h"
#include "lib/Compiler/EmitObject.h"
#include "lib/Compiler/Messages.h"
#include "lib/Compiler/Parse.h"
#include "lib/Compiler/Pipelines.h"
#include "lib/Compiler/TextGuard.h"
#include "ringlet/InitAll.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/Support/Path.h"

#include <thread>

using namespace mlir;
using namespace ringlet;

namespace {

/// One compilation of one module.
class Compilation {
public:
  Compilation(ModuleOp source, const CompileOptions &options,
              CompileResult &result)
      : source(source), options(options), result(result) {}

  LogicalResult run();

private:
  using Level = const arch::CPULevel *;

  LogicalResult chooseLevels();
  /// Runs one of the pipelines, with a reproducer if it fails.
  LogicalResult runPipeline(ModuleOp module, Level level, DecisionLog &log,
                            void (*build)(OpPassManager &,
                                          const LevelOptions &));
  LogicalResult emitText(Level level);
  LogicalResult emitCode(Level level);
  LogicalResult emitArtifact();
  void explain(Level level, const Decisions &decisions);
  LogicalResult fail(const Twine &message) {
    return emitError(source.getLoc()) << message;
  }

  ModuleOp source;
  const CompileOptions &options;
  CompileResult &result;
  SmallVector<Level> levels;
};

} // namespace

LogicalResult Compilation::chooseLevels() {
  std::string error;
  for (const std::string &name : options.levels) {
    Level level = arch::lookupCPULevel(name, &error);
    if (!level)
      return fail(error);
    if (llvm::is_contained(levels, level))
      return fail("expected different levels, found '" + name + "' twice");
    levels.push_back(level);
  }
  bool single = options.emit != Emit::Artifact;
  if (levels.empty())
    for (const arch::CPULevel &level : arch::getCPULevels())
      if (!single || levels.empty())
        levels.push_back(&level);
  if (single && levels.size() > 1)
    return fail("expected one level for anything but an artefact, found " +
                Twine(levels.size()));
  return success();
}

LogicalResult
Compilation::runPipeline(ModuleOp module, Level level, DecisionLog &log,
                         void (*build)(OpPassManager &, const LevelOptions &)) {
  PassManager pm(module.getContext());
  log.watch(pm);
  LevelOptions levelOptions;
  levelOptions.level = level->name;
  build(pm, levelOptions);
  if (!options.reproducer.empty())
    pm.enableCrashReproducerGeneration(options.reproducer);
  if (succeeded(pm.run(module)))
    return success();
  if (!options.reproducer.empty())
    result.diagnostics +=
        "note: to see it again: ringlet-opt --run-reproducer " +
        options.reproducer + "\n";
  return failure();
}

void Compilation::explain(Level level, const Decisions &decisions) {
  result.explanation += "for " + std::string(level->name) + ":\n";
  result.explanation += formatDecisions(decisions);
}

LogicalResult Compilation::emitText(Level level) {
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, level, log,
                         options.emit == Emit::Ringlet
                             ? buildRingletOptPipeline
                             : buildRingletToRTilePipeline)))
    return failure();
  explain(level, log.get());
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  llvm::raw_string_ostream stream(result.output);
  if (options.emit == Emit::RPlan) {
    for (auto plan : module->getOps<rplan::FuncOp>()) {
      plan.print(stream, flags);
      stream << "\n";
    }
    return success();
  }
  module->print(stream, flags);
  stream << "\n";
  return success();
}

LogicalResult Compilation::emitCode(Level level) {
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, level, log, buildRingletToCPUPipeline)))
    return failure();
  explain(level, log.get());
  std::unique_ptr<KernelCode> code = KernelCode::translate(*module, *level);
  if (!code)
    return failure();
  CodeKind kind = options.emit == Emit::LLVM       ? CodeKind::LLVMText
                  : options.emit == Emit::Assembly ? CodeKind::Assembly
                                                   : CodeKind::Object;
  llvm::Expected<std::string> output = code->emit(kind, options.linker);
  if (!output)
    return fail(llvm::toString(output.takeError()));
  result.output = std::move(*output);
  return success();
}

LogicalResult Compilation::emitArtifact() {
  struct Work {
    Level level;
    OwningOpRef<ModuleOp> tiles, lowered;
    Decisions decisions;
    std::unique_ptr<KernelCode> code;
    std::string object, error;
  };
  std::vector<Work> all;
  for (Level level : levels) {
    Work &work = all.emplace_back();
    work.level = level;
    DecisionLog log(*source.getContext());
    work.lowered = source.clone();
    if (failed(runPipeline(*work.lowered, level, log,
                           buildRingletToRTilePipeline)))
      return failure();
    work.tiles = work.lowered->clone();
    if (failed(runPipeline(*work.lowered, level, log, buildRTileToCPUPipeline)))
      return failure();
    work.decisions = log.get();
    explain(level, work.decisions);
    work.code = KernelCode::translate(*work.lowered, *level);
    if (!work.code)
      return failure();
  }

  // Most of the time goes into LLVM, which has no state in common between
  // levels.
  auto emit = [&](Work &work) {
    llvm::Expected<std::string> object =
        work.code->emit(CodeKind::SharedObject, options.linker);
    if (object)
      work.object = std::move(*object);
    else
      work.error = llvm::toString(object.takeError());
    work.code.reset();
  };
  std::vector<std::thread> threads;
  for (Work &work : llvm::drop_begin(all))
    threads.emplace_back(emit, std::ref(work));
  emit(all.front());
  for (std::thread &thread : threads)
    thread.join();

  ArtifactWriter writer(llvm::sys::path::filename(options.inputName));
  writer.addGraphs(source);
  for (Work &work : all) {
    if (!work.error.empty())
      return fail("code for " + Twine(work.level->name) + ": " + work.error);
    if (failed(writer.addLevel(*work.tiles, *work.lowered, work.level->name,
                               std::move(work.object), work.decisions)))
      return failure();
  }
  FailureOr<std::vector<uint8_t>> bytes = writer.finish(source.getLoc());
  if (failed(bytes))
    return failure();
  result.output.assign(bytes->begin(), bytes->end());
  return success();
}

LogicalResult Compilation::run() {
  if (failed(chooseLevels()) || failed(verifyVocabulary(source)))
    return failure();
  switch (options.emit) {
  case Emit::Ringlet:
  case Emit::RTile:
  case Emit::RPlan:
    return emitText(levels.front());
  case Emit::LLVM:
  case Emit::Assembly:
  case Emit::Object:
    return emitCode(levels.front());
  case Emit::Artifact:
    break;
  }
  if (source.getOps<func::FuncOp>().empty() &&
      source.getOps<rplan::FuncOp>().empty())
    return fail("expected an entry, a func.func or an rplan.func, found none");
  return emitArtifact();
}

/// Compiles a module whose diagnostics are being collected.
static void compileModule(ModuleOp module, const CompileOptions &options,
                          CompileResult &result) {
  result.ok = succeeded(Compilation(module, options, result).run());
  if (!result.ok) {
    result.output.clear();
    if (result.diagnostics.empty())
      result.diagnostics = "error: compilation failed without a message; "
                           "please report this\n";
  }
}

CompileResult ringlet::compile(std::string_view text,
                               const CompileOptions &options) {
  CompileResult result;
  if (auto error = guardText(text, options.allowBytecode)) {
    result.diagnostics = error->format(options.inputName) + "\n";
    return result;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  // One compilation is one thread's: the passes are short, and a library must
  // not start threads for each call.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(text.data(), text.size()),
                                           options.inputName),
      llvm::SMLoc());
  MessageCollector messages(&context, sources, result.diagnostics);
  OwningOpRef<ModuleOp> module = parseModule(sources, &context);
  if (module)
    compileModule(*module, options, result);
  return result;
}

CompileResult ringlet::compile(ModuleOp module, const CompileOptions &options) {
  CompileResult result;
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerAllDialects(registry);
  context->appendDialectRegistry(registry);
  bool threaded = context->isMultithreadingEnabled();
  context->disableMultithreading();
  llvm::SourceMgr sources;
  {
    MessageCollector messages(context, sources, result.diagnostics);
    OwningOpRef<ModuleOp> copy = module.clone();
    if (succeeded(nameArguments(*copy)))
      compileModule(*copy, options, result);
  }
  context->enableMultithreading(threaded);
  return result;
}

std::string ringlet::parseTarget(std::string_view target,
                                 CompileOptions &options) {
  StringRef rest(target.data(), target.size());
  if (!rest.consume_front("cpu") || !(rest.empty() || rest.starts_with(":")))
    return "expected the target cpu or cpu:LEVEL,..., found '" +
           std::string(target) + "'";
  if (rest.empty())
    return "";
  SmallVector<StringRef> names;
  rest.drop_front().split(names, ',');
  for (StringRef name : names) {
    std::string error;
    if (!arch::lookupCPULevel(name.str(), &error))
      return error;
    options.levels.push_back(name.str());
  }
  return "";
}

std::string ringlet::parseEmit(std::string_view name, CompileOptions &options) {
  static const std::pair<std::string_view, Emit> kinds[] = {
      {"ringlet", Emit::Ringlet}, {"rtile", Emit::RTile},
      {"rplan", Emit::RPlan},     {"llvm", Emit::LLVM},
      {"asm", Emit::Assembly},    {"obj", Emit::Object},
      {"rla", Emit::Artifact}};
  std::string list;
  for (auto [known, kind] : kinds) {
    if (known == name) {
      options.emit = kind;
      return "";
    }
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  return "expected one of " + list + ", found '" + std::string(name) + "'";
}
