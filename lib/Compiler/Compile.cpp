//===- Compile.cpp - IR in, artefact out ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/Compile.h"

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/ArtifactWriter.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/MemoryReport.h"
#include "lib/Compiler/Messages.h"
#include "lib/Compiler/Parse.h"
#include "lib/Compiler/Pipelines.h"
#include "lib/Compiler/Plot.h"
#include "lib/Compiler/TargetCode.h"
#include "lib/Evaluator/VerifyOrders.h"
#include "lib/Layout/Curve.h"
#include "passes/Recipes/Recipe.h"
#include "ringlet/InitAll.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/Support/Path.h"

#include <thread>

using namespace mlir;
using namespace ringlet;

namespace {

/// Of a thread, for kernels that would not fit otherwise: the first multiple
/// that does.
constexpr int64_t spareRegisters = 16, mostSpareRegisters = 96;
/// The same for kernels of a recipe, before plain ones.
constexpr int64_t mostSpareOfRecipe = 32;

/// One compilation of one module.
class Compilation {
public:
  Compilation(ModuleOp source, const CompileOptions &options,
              CompileResult &result)
      : source(source), options(options), result(result) {}

  LogicalResult run();

private:
  using Target = arch::Target;
  /// What kernels of a GPU are to look like.
  struct KernelForm {
    std::string recipe;
    int64_t spareRegisters = 0;
  };

  LogicalResult chooseTargets();
  /// Runs one of the pipelines, with a reproducer if it fails.
  LogicalResult
  runPipeline(ModuleOp module, const Target &target, DecisionLog &log,
              void (*build)(OpPassManager &, const LevelOptions &),
              const KernelForm &form);
  /// A copy of the source with every choice written into it.
  OwningOpRef<ModuleOp> decide(const Target &target, DecisionLog &log);
  LogicalResult explainMemory();
  LogicalResult emitPlot(const Target &target);
  LogicalResult emitText(const Target &target);
  LogicalResult emitCode(const Target &target);
  LogicalResult emitArtifact();
  /// What an artefact gets for one target.
  struct Work {
    Target target;
    OwningOpRef<ModuleOp> tiles, lowered;
    Decisions decisions;
    std::unique_ptr<TargetCode> code;
    TargetCode::Objects objects;
    std::string error;
  };
  LogicalResult lower(Work &work, const KernelForm &form);
  void emitObjects(Work &work);
  LogicalResult giveWay(Work &work);
  void explain(const Target &target, const Decisions &decisions);
  LogicalResult fail(const Twine &message) {
    return emitError(source.getLoc()) << message;
  }

  ModuleOp source;
  const CompileOptions &options;
  CompileResult &result;
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

LogicalResult Compilation::runPipeline(ModuleOp module, const Target &target,
                                       DecisionLog &log,
                                       void (*build)(OpPassManager &,
                                                     const LevelOptions &),
                                       const KernelForm &form) {
  PassManager pm(module.getContext());
  log.watch(pm);
  LevelOptions levelOptions;
  levelOptions.level = std::string(target.name());
  levelOptions.order = options.order;
  // A CPU has one kind of kernel: the choice is about the GPUs beside it.
  if (target.gpu) {
    levelOptions.recipe = form.recipe;
    levelOptions.spareRegisters = form.spareRegisters;
  }
  build(pm, levelOptions);
  if (options.verifyDraws)
    enableVerifyOrders(pm, {options.verifySeed, options.verifyDraws});
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

void Compilation::explain(const Target &target, const Decisions &decisions) {
  result.explanation += "for " + std::string(target.name()) + ":\n";
  result.explanation += formatDecisions(decisions);
}

OwningOpRef<ModuleOp> Compilation::decide(const Target &target,
                                          DecisionLog &log) {
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, target, log, buildRingletOptPipeline,
                         {options.recipe})))
    return nullptr;
  return module;
}

/// Tiles differ between targets, so this does.
LogicalResult Compilation::explainMemory() {
  for (const Target &target : targets) {
    DecisionLog log(*source.getContext());
    OwningOpRef<ModuleOp> module = decide(target, log);
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
  OwningOpRef<ModuleOp> module = decide(target, log);
  if (!module)
    return failure();
  explain(target, log.get());
  return plotModule(*module, options.plot, result.output);
}

LogicalResult Compilation::emitText(const Target &target) {
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, target, log,
                         options.emit == Emit::Ringlet ? buildRingletOptPipeline
                         : options.emit == Emit::Schedule
                             ? buildRingletToSchedulePipeline
                             : buildRingletToRTilePipeline,
                         {options.recipe})))
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
  DecisionLog log(*source.getContext());
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, target, log,
                         target.cpu ? buildRingletToCPUPipeline
                                    : buildRingletToNVVMPipeline,
                         {options.recipe})))
    return failure();
  explain(target, log.get());
  std::unique_ptr<TargetCode> code = TargetCode::translate(*module, target);
  if (!code)
    return failure();
  llvm::Expected<std::string> output = code->emit(options);
  if (!output)
    return fail(llvm::toString(output.takeError()));
  result.output = std::move(*output);
  return success();
}

static bool hasRecipe(ModuleOp tiles) {
  return llvm::any_of(tiles.getOps<rtile::FuncOp>(), [](rtile::FuncOp kernel) {
    return kernel.getRecipe().has_value();
  });
}

LogicalResult Compilation::lower(Work &work, const KernelForm &form) {
  DecisionLog log(*source.getContext());
  work.error.clear();
  work.lowered = source.clone();
  if (failed(runPipeline(*work.lowered, work.target, log,
                         buildRingletToRTilePipeline, form)))
    return failure();
  work.tiles = work.lowered->clone();
  if (failed(runPipeline(*work.lowered, work.target, log,
                         work.target.cpu ? buildRTileToCPUPipeline
                                         : buildRTileToNVVMPipeline,
                         form)))
    return failure();
  work.decisions = log.get();
  work.code = TargetCode::translate(*work.lowered, work.target);
  return success(work.code != nullptr);
}

void Compilation::emitObjects(Work &work) {
  llvm::Expected<TargetCode::Objects> objects = work.code->emitObjects(options);
  if (objects)
    work.objects = std::move(*objects);
  else
    work.error = llvm::toString(objects.takeError());
  work.code.reset();
}

/// Whether the graph leaves tiles of some attention to the compiler.
static bool leavesTiles(ModuleOp source) {
  return source
      .walk([](attn::AttentionOp op) {
        return op.getTilings() ? WalkResult::advance()
                               : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Kernels live at the edge of what registers hold, and only ptxas knows on
/// which side. They give way to ones that leave registers free and, where a few
/// do not do, those of a recipe that nobody asked for by name to plain ones.
LogicalResult Compilation::giveWay(Work &work) {
  bool isByName = options.recipe != "auto" && options.recipe != "plain";
  if (!work.target.gpu || isByName || !leavesTiles(source))
    return success();
  KernelForm form{options.recipe};
  std::string first = work.error;
  while (!work.error.empty() && form.spareRegisters < mostSpareRegisters) {
    if (form.spareRegisters >= mostSpareOfRecipe && hasRecipe(*work.tiles)) {
      emitWarning(source.getLoc())
          << "plain kernels for " << work.target.name() << ": " << work.error;
      form = {"plain"};
    } else {
      form.spareRegisters += spareRegisters;
    }
    if (failed(lower(work, form)))
      return failure();
    emitObjects(work);
  }
  if (form.spareRegisters && work.error.empty())
    result.explanation += "for " + std::string(work.target.name()) +
                          ": tiles leave " +
                          std::to_string(form.spareRegisters) +
                          " registers free: " + first + "\n";
  return success();
}

LogicalResult Compilation::emitArtifact() {
  std::vector<Work> all;
  for (const Target &target : targets) {
    Work &work = all.emplace_back();
    work.target = target;
    if (failed(lower(work, {options.recipe})))
      return failure();
  }

  // Most of the time goes into LLVM, which has no state in common between
  // targets.
  std::vector<std::thread> threads;
  for (Work &work : llvm::drop_begin(all))
    threads.emplace_back(&Compilation::emitObjects, this, std::ref(work));
  emitObjects(all.front());
  for (std::thread &thread : threads)
    thread.join();
  for (Work &work : all) {
    if (failed(giveWay(work)))
      return failure();
    explain(work.target, work.decisions);
  }

  ArtifactWriter writer(llvm::sys::path::filename(options.inputName));
  writer.addGraphs(source);
  for (Work &work : all) {
    if (!work.error.empty())
      return fail("code for " + Twine(work.target.name()) + ": " + work.error);
    if (work.target.gpu && work.objects.report.kernels.empty())
      emitWarning(source.getLoc())
          << "no ptxas found: code for " << work.target.name()
          << " is PTX alone, which a driver compiles when it is loaded";
    for (const KernelReport &kernel : work.objects.report.kernels)
      result.explanation += "for " + std::string(work.target.name()) +
                            ": ptxas gives " + kernel.name + " " +
                            std::to_string(kernel.registers) +
                            " registers a thread\n";
    for (const TargetCode::Object &object : work.objects.list)
      if (failed(writer.addLevel(*work.tiles, *work.lowered,
                                 {work.target.name(), object.format,
                                  object.bytes, &work.objects.report},
                                 work.decisions)))
        return failure();
  }
  FailureOr<std::vector<uint8_t>> bytes = writer.finish(source.getLoc());
  if (failed(bytes))
    return failure();
  result.output.assign(bytes->begin(), bytes->end());
  return success();
}

LogicalResult Compilation::run() {
  if (failed(chooseTargets()) || failed(verifyVocabulary(source)))
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
      result.diagnostics = "error: compilation failed without a message; "
                           "please report this\n";
  }
}

CompileResult ringlet::compile(std::string_view text,
                               const CompileOptions &options) {
  CompileResult result;
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> source =
      acceptSource(llvm::MemoryBuffer::getMemBufferCopy(
                       StringRef(text.data(), text.size()), options.inputName),
                   options.allowBytecode, error);
  if (!source) {
    result.diagnostics = error + "\n";
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
  SmallVector<StringRef> names;
  StringRef(target.data(), target.size()).split(names, ',');
  // "cpu" alone leaves the choice to the compiler.
  if (target == "cpu")
    return "";
  for (StringRef name : names) {
    // What "cpu" stands for depends on the module.
    if (name == "cpu") {
      options.levels.push_back("cpu");
      continue;
    }
    std::string error;
    bool isLevel = name.consume_front("cpu:");
    if (isLevel ? !arch::lookupCPULevel(name.str(), &error)
                : !arch::lookupTarget(name.str(), &error))
      return error;
    options.levels.push_back(name.str());
  }
  return "";
}

std::string ringlet::parseRecipe(std::string_view name,
                                 CompileOptions &options) {
  std::string error;
  if (parseRecipeRequest(name, error))
    options.recipe = name;
  return error;
}

std::string ringlet::listRecipes() { return listRecipeRequests(); }

std::string ringlet::parseOrder(std::string_view name,
                                CompileOptions &options) {
  std::string list = "auto";
  bool isKnown = name == "auto";
  for (const layout::CurveRow &row : layout::curveRows()) {
    if (row.table == layout::Use::Required)
      continue;
    isKnown |= name == row.name;
    list += ", " + std::string(row.name);
  }
  if (!isKnown)
    return "expected one of " + list + ", found '" + std::string(name) + "'";
  options.order = name;
  return "";
}

std::string ringlet::parseExplain(std::string_view topic,
                                  CompileOptions &options) {
  options.explainMemory = topic == "memory";
  if (options.explainMemory || topic.empty())
    return "";
  return "expected memory or nothing, found '" + std::string(topic) + "'";
}

std::string ringlet::parseVerifyOrders(std::string_view list,
                                       CompileOptions &options) {
  VerifyOrdersOptions verify;
  std::string error =
      parseVerifyOrders(StringRef(list.data(), list.size()), verify);
  options.verifySeed = verify.seed;
  options.verifyDraws = verify.draws;
  return error;
}

std::string ringlet::parsePlot(std::string_view file, CompileOptions &options) {
  for (StringRef kind : {"order", "pattern", "tiles"})
    if (StringRef(file.data(), file.size()).ends_with((kind + ".svg").str())) {
      options.plot = kind.str();
      return "";
    }
  return "expected a file name that ends in order.svg, pattern.svg or "
         "tiles.svg, found '" +
         std::string(file) + "'";
}

std::string ringlet::parseEmit(std::string_view name, CompileOptions &options) {
  static const std::pair<std::string_view, Emit> kinds[] = {
      {"ringlet", Emit::Ringlet},   {"rtile", Emit::RTile},
      {"schedule", Emit::Schedule}, {"rplan", Emit::RPlan},
      {"llvm", Emit::LLVM},         {"asm", Emit::Assembly},
      {"obj", Emit::Object},        {"ptx", Emit::PTX},
      {"cubin", Emit::Cubin},       {"rla", Emit::Artifact}};
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
