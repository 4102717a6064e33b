//===- Compile.cpp - IR in, artefact out ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/Compile.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/ArtifactWriter.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/CheckPlans.h"
#include "lib/Compiler/Lowering.h"
#include "lib/Compiler/MemoryReport.h"
#include "lib/Compiler/Messages.h"
#include "lib/Compiler/Parse.h"
#include "lib/Compiler/Plot.h"
#include "lib/Compiler/RegisterFit.h"
#include "lib/Compiler/RunTool.h"
#include "lib/Compiler/Timing.h"
#include "ringlet/InitAll.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/FormatVariadic.h"
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
      : source(source), options(options), result(result),
        lowering(source, options, result) {}

  LogicalResult run();

private:
  using Target = arch::Target;
  LogicalResult chooseTargets();
  LogicalResult explainMemory();
  LogicalResult emitPlot(const Target &target);
  LogicalResult emitText(const Target &target);
  LogicalResult emitCode(const Target &target);
  LogicalResult emitArtifact();
  void warnWithoutPtxas(const TargetWork &work);
  void explain(const Target &target, const Decisions &decisions);
  LogicalResult fail(const Twine &message) {
    return emitError(source.getLoc()) << message;
  }

  ModuleOp source;
  const CompileOptions &options;
  CompileResult &result;
  Lowering lowering;
  SmallVector<Target> targets;
};

} // namespace

/// Whether a value of the module is or has elements of bf16.
static bool usesBF16(ModuleOp module) {
  auto isBF16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  return module
      ->walk([&](Operation *op) {
        return llvm::any_of(op->getOperandTypes(), isBF16) ||
                       llvm::any_of(op->getResultTypes(), isBF16)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The levels that "cpu" stands for: each that would have code of its own.
static SmallVector<arch::Target> getCPUTargets(ModuleOp module) {
  SmallVector<arch::Target> targets;
  bool hasBF16 = usesBF16(module);
  for (const arch::CPULevel &level : arch::getCPULevels())
    if (hasBF16 || !level.hasBF16)
      targets.push_back({&level, nullptr});
  return targets;
}

LogicalResult Compilation::chooseTargets() {
  std::string error;
  for (const std::string &name : options.levels) {
    SmallVector<Target> named;
    if (name == "cpu")
      named = getCPUTargets(source);
    else
      named.push_back(arch::lookupTarget(name, &error));
    for (const Target &target : named) {
      if (!target)
        return fail(error);
      if (llvm::is_contained(targets, target))
        return fail(Twine("expected different levels, found '") +
                    target.name() + "' twice");
      targets.push_back(target);
    }
  }
  bool single = options.emit != Emit::Artifact;
  if (targets.empty()) {
    targets = getCPUTargets(source);
    if (single)
      targets.truncate(1);
  }
  if (single && targets.size() > 1)
    return fail("expected one level for anything but an artefact, found " +
                Twine(targets.size()));
  for (const Target &target : targets)
    if (!hasForm(target, options.emit))
      return fail(Twine("expected a form of code that ") + target.name() +
                  " has: " +
                  (target.cpu ? "llvm, asm or obj, or a GPU target"
                              : "llvm, ptx or cubin"));
  return success();
}

void Compilation::explain(const Target &target, const Decisions &decisions) {
  result.explanation += "for " + std::string(target.name()) + ":\n";
  result.explanation += formatDecisions(decisions);
}

/// Tiles differ between targets, so this does.
LogicalResult Compilation::explainMemory() {
  for (const Target &target : targets) {
    DecisionLog log(*source.getContext());
    OwningOpRef<ModuleOp> module = lowering.decide(target, log);
    if (!module)
      return failure();
    result.explanation += "for " + std::string(target.name()) + ":\n";
    result.explanation += reportMemory(*module);
  }
  return success();
}

LogicalResult Compilation::emitPlot(const Target &target) {
  if (options.plot != "tiles")
    return plotModule(source, options.plot, result.output);
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = lowering.decide(target, log);
  if (!module)
    return failure();
  explain(target, log.get());
  return plotModule(*module, options.plot, result.output);
}

LogicalResult Compilation::emitText(const Target &target) {
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = lowering.run(
      target, log,
      options.emit == Emit::Ringlet    ? buildRingletOptPipeline
      : options.emit == Emit::Schedule ? buildRingletToSchedulePipeline
                                       : buildRingletToRTilePipeline);
  if (!module)
    return failure();
  explain(target, log.get());
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

LogicalResult Compilation::emitCode(const Target &target) {
  std::optional<Lowered> lowered = lowering.lower(target);
  if (!lowered)
    return failure();
  explain(target, lowered->decisions);
  std::unique_ptr<TargetCode> code =
      TargetCode::translate(*lowered->code, target, options);
  if (!code)
    return failure();
  llvm::Expected<std::string> output = code->emit(options);
  if (!output)
    return fail(llvm::toString(output.takeError()));
  result.output = std::move(*output);
  return success();
}

void Compilation::warnWithoutPtxas(const TargetWork &work) {
  emitWarning(source.getLoc())
      << "no ptxas found: code for " << work.target.name()
      << " is PTX alone, which a driver compiles when it is loaded; that "
         "kernels fit in registers is an estimate";
}

LogicalResult Compilation::emitArtifact() {
  std::vector<TargetWork> all;
  for (const Target &target : targets) {
    TargetWork &work = all.emplace_back();
    work.target = target;
    std::optional<Lowered> lowered = lowering.lower(target);
    if (!lowered)
      return failure();
    work.lowered = std::move(*lowered);
    if (failed(work.translate(options)))
      return failure();
  }

  // Most of the time goes into LLVM, which has no state in common between
  // targets.
  std::vector<std::thread> threads;
  for (TargetWork &work : llvm::drop_begin(all))
    threads.emplace_back([&] { work.emitObjects(options); });
  all.front().emitObjects(options);
  for (std::thread &thread : threads)
    thread.join();
  for (TargetWork &work : all) {
    RegisterFit fit(lowering, options, work);
    if (failed(fit.run()))
      return failure();
    result.explanation += fit.getExplanation();
    explain(work.target, work.lowered.decisions);
  }

  ArtifactWriter writer(llvm::sys::path::filename(options.inputName));
  writer.addGraphs(source);
  for (TargetWork &work : all) {
    if (!work.error.empty())
      return fail("code for " + Twine(work.target.name()) + ": " + work.error);
    if (work.target.gpu && work.objects.report.kernels.empty())
      warnWithoutPtxas(work);
    for (const KernelReport &kernel : work.objects.report.kernels)
      result.explanation +=
          llvm::formatv("for {0}: ptxas gives {1} {2} registers a thread\n",
                        std::string(work.target.name()), kernel.name,
                        kernel.registers)
              .str();
    for (const TargetCode::Object &object : work.objects.list)
      if (failed(writer.addLevel(*work.lowered.tiles, *work.lowered.code,
                                 {work.target.name(), object.format,
                                  object.bytes, &work.objects.report},
                                 work.lowered.decisions)))
        return failure();
  }
  FailureOr<std::vector<uint8_t>> bytes = writer.finish(source.getLoc());
  if (failed(bytes))
    return failure();
  result.output.assign(bytes->begin(), bytes->end());
  return success();
}

LogicalResult Compilation::run() {
  if (failed(chooseTargets()) || failed(verifyVocabulary(source)) ||
      failed(checkPlans(source)))
    return failure();
  if (options.explainMemory && failed(explainMemory()))
    return failure();
  if (!options.plot.empty())
    return emitPlot(targets.front());
  switch (options.emit) {
  case Emit::Ringlet:
  case Emit::RTile:
  case Emit::Schedule:
  case Emit::RPlan:
    return emitText(targets.front());
  case Emit::LLVM:
  case Emit::Assembly:
  case Emit::Object:
  case Emit::PTX:
  case Emit::Cubin:
    return emitCode(targets.front());
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
      emitError(module.getLoc()) << "compilation failed without a message; "
                                    "please report this";
  }
}

/// What may take the time of a run of the reader, which has a limit of its own.
static constexpr unsigned kReaderSeconds = 60;

/// The text of bytecode, from a process that is started for it.
static llvm::Expected<std::string> readApart(StringRef bytecode,
                                             const CompileOptions &options) {
  llvm::Expected<std::string> program = findNamedTool(
      "the reader of bytecode (rlc_options.reader)", options.bytecodeReader);
  if (!program)
    return program.takeError();
  llvm::Expected<ToolResult> text = runTool({*program,
                                             {"--bytecode-to-text"},
                                             "input.mlirbc",
                                             "input.mlir",
                                             kReaderSeconds},
                                            bytecode);
  if (!text)
    return text.takeError();
  return std::move(text->content);
}

/// The text that is to be compiled, or null, and why not.
static std::unique_ptr<llvm::MemoryBuffer>
takeSource(StringRef text, const CompileOptions &options, TextError &error) {
  std::string read;
  if (options.allowBytecode && !options.bytecodeReader.empty() &&
      isBytecode(text)) {
    if (auto refused = guardText(text, /*allowBytecode=*/true)) {
      error = *refused;
      return nullptr;
    }
    llvm::Expected<std::string> said = readApart(text, options);
    if (!said) {
      error = {0, 0, llvm::toString(said.takeError())};
      return nullptr;
    }
    read = std::move(*said);
    text = read;
  }
  return acceptSource(
      llvm::MemoryBuffer::getMemBufferCopy(text, options.inputName),
      options.allowBytecode && options.bytecodeReader.empty(), error);
}

CompileResult ringlet::compile(std::string_view text,
                               const CompileOptions &options) {
  CompileResult result;
  TextError error;
  std::unique_ptr<llvm::MemoryBuffer> source =
      takeSource(StringRef(text.data(), text.size()), options, error);
  if (!source) {
    result.diagnostics = error.format(options.inputName) + "\n";
    if (options.listener)
      options.listener({CompileMessage::Error, error.message, options.inputName,
                        unsigned(error.line), unsigned(error.column)});
    return result;
  }
  DialectRegistry registry;
  registerCompiledDialects(registry);
  // One compilation is one thread's: the passes are short, and a library must
  // not start threads for each call.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(source), llvm::SMLoc());
  MessageCollector messages(&context, sources, result.diagnostics,
                            options.listener);
  TimingScope reading = startTimer(options.timing, "Reading");
  OwningOpRef<ModuleOp> module = parseModule(sources, &context);
  reading.stop();
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
    MessageCollector messages(context, sources, result.diagnostics,
                              options.listener);
    OwningOpRef<ModuleOp> copy = module.clone();
    if (succeeded(nameArguments(*copy)))
      compileModule(*copy, options, result);
  }
  context->enableMultithreading(threaded);
  return result;
}
