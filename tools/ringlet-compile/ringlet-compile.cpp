//===- ringlet-compile.cpp - From IR to an artefact -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Apart.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/SourceFile.h"
#include "lib/Compiler/TextGuard.h"
#include "lib/Compiler/ToolExit.h"
#include "lib/Compiler/Version.h"
#include "ringlet/Compile.h"
#include "ringlet/InitAll.h"

#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static const char *const kOverview =
    "ringlet-compile: compiles Ringlet IR to an artefact that ringlet-run and "
    "the\nruntime run\n\n"
    "The input holds attention graphs (func.func), or host plans and tile "
    "programs\n(rplan.func, rtile.func) written by hand.\n"
    "The input is a file of text, or - for standard input.\n";

static cl::extrahelp examples(
    "\nExit status: 0 compiled, 1 the input was refused, 2 a file could not be "
    "read or\nwritten, or an option is wrong.\n\n"
    "Example: read the kernels of a graph:\n"
    "  ringlet-compile test/Examples/longnet.mlir --emit=rtile\n"
    "Example: compile it, saying what was decided and why:\n"
    "  ringlet-compile test/Examples/longnet.mlir -o longnet.rla --explain\n"
    "Example: what its tiles of keys touch in memory:\n"
    "  ringlet-compile test/Examples/branches.mlir --emit=ringlet "
    "--explain=memory\n"
    "Example: compile a kernel written by hand, which has to be scheduled:\n"
    "  ringlet-compile kernel.mlir --target=sm_90a --require-recipe\n"
    "Example: compile it for CPUs and two GPUs:\n"
    "  ringlet-compile test/Examples/longnet.mlir --target=cpu,sm_80,sm_90a\n"
    "Example: see where the compiler's time goes:\n"
    "  ringlet-compile test/Examples/longnet.mlir --target=sm_90a "
    "--mlir-timing\n");

static cl::OptionCategory category("ringlet-compile options");
static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("INPUT.mlir"), cl::cat(category));
static cl::opt<std::string>
    output("o", cl::value_desc("file"),
           cl::desc("Output, or - for stdout (default: INPUT.rla or INPUT.o in "
                    "this folder; text goes to stdout)"),
           cl::cat(category));
static cl::opt<std::string> target(
    "target", cl::init("cpu"), cl::value_desc("cpu[:LEVEL],sm_XX,..."),
    cl::desc("What to compile for: CPU levels, GPU architectures or both "
             "(default: cpu, every level that the module has a use for: "
             "x86-64-v3, x86-64-v4 and, with bf16, x86-64-v4-bf16 and "
             "x86-64-v4-amx; the first where one is needed)"),
    cl::cat(category));
static cl::opt<std::string>
    emit("emit", cl::init("rla"), cl::value_desc("form"),
         cl::desc("ringlet, rtile, schedule, rplan, llvm, asm, obj, ptx, cubin "
                  "or rla (default: rla)"),
         cl::cat(category));
static const std::string recipeHelp =
    "How kernels of a GPU divide their work: one of " + ringlet::listRecipes() +
    " (default: auto, to choose)";
static cl::opt<std::string> recipe("recipe", cl::init("auto"),
                                   cl::value_desc("name"), cl::desc(recipeHelp),
                                   cl::cat(category));
static cl::opt<bool> requireRecipe(
    "require-recipe",
    cl::desc("Refuse what cannot take a recipe that is asked for by its name, "
             "here or in the input; without it, a warning says why the kernel "
             "stays plain"),
    cl::cat(category));
static cl::opt<std::string> order(
    "order", cl::init("auto"), cl::value_desc("curve"),
    cl::desc("A curve for keys to lie or to be walked along (hilbert, morton, "
             "snake, residue), linear for none, or auto to choose (default: "
             "auto)"),
    cl::cat(category));
static cl::opt<std::string> combine(
    "combine", cl::init("auto"), cl::value_desc("way"),
    cl::desc("How kernels compute several branches: chain (one after the "
             "other), union (one kernel for all), apart (each by itself, of "
             "different heads), or auto to choose (default: auto)"),
    cl::cat(category));
static cl::opt<std::string> plotFile(
    "plot", cl::value_desc("file"),
    cl::desc("Draw instead of compiling; the name of the file ends in what: "
             "order.svg (orders along their curves), pattern.svg (the keys "
             "that queries see) or tiles.svg (the tiles of kernels)"),
    cl::cat(category));
static cl::opt<std::string> explain(
    "explain", cl::ValueOptional, cl::value_desc("memory"),
    cl::desc("Print every automatic choice with its reason; with =memory also "
             "what tiles of K and V touch in memory, for several orders"),
    cl::cat(category));
static cl::opt<std::string> verifyOrders(
    "verify-orders", cl::ValueOptional, cl::value_desc("seed=N,draws=N"),
    cl::desc("Run every function that a pass rewrites beside what it was "
             "before, on random inputs, and refuse a difference"),
    cl::cat(category));
static cl::opt<std::string>
    linker("linker", cl::value_desc("lld"),
           cl::desc("The lld to use (default: beside this program, else on "
                    "PATH)"),
           cl::cat(category));
static cl::opt<std::string>
    ptxas("ptxas", cl::value_desc("program"),
          cl::desc("The ptxas to use for GPUs (default: that of CUDA_HOME or "
                   "CUDA_PATH, else on PATH, else /usr/local/cuda's)"),
          cl::cat(category));
static cl::opt<std::string> reproducer(
    "reproducer", cl::value_desc("file"),
    cl::desc("If a pass fails or crashes, write input and pipeline here"),
    cl::cat(category));
static cl::opt<bool> allowBytecode(
    "allow-bytecode",
    cl::desc("Accept MLIR bytecode, which a process of its own reads"),
    cl::cat(category));

static cl::opt<bool> bytecodeToText(
    "bytecode-to-text", cl::Hidden,
    cl::desc("Write what MLIR bytecode says as text, and compile nothing"),
    cl::cat(category));

static int fail(const Twine &message) {
  errs() << "error: " << message << "\n";
  return ringlet::kUsageError;
}

/// What would end the parser; what the compiler refuses itself is none of it.
static std::optional<ringlet::TextError> tryParsing(StringRef source) {
  if (ringlet::guardText(source))
    return std::nullopt;
  mlir::DialectRegistry registry;
  ringlet::registerCompiledDialects(registry);
  return ringlet::tryParsing(source, registry);
}

int main(int argc, char **argv) {
  setBugReportMsg(ringlet::kBugReportMessage);
  InitLLVM init(argc, argv);
  mlir::registerDefaultTimingManagerCLOptions();
  for (const char *name : {"mlir-timing", "mlir-timing-display"})
    cl::getRegisteredOptions()[name]->addCategory(category);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(ringlet::printVersion);
  {
    ringlet::ParsingOptions parsing;
    cl::ParseCommandLineOptions(argc, argv, kOverview);
  }

  // Prints its report when it goes, after everything else.
  mlir::DefaultTimingManager timingManager;
  mlir::applyDefaultTimingManagerCLOptions(timingManager);
  mlir::TimingScope timing = timingManager.getRootScope();

  ringlet::CompileOptions options;
  if (timing)
    options.timing = &timing;
  options.linker = linker;
  options.ptxas = ptxas;
  options.reproducer = reproducer;
  options.allowBytecode = allowBytecode;
  options.requireRecipe = requireRecipe;
  std::string error = ringlet::parseTarget(target, options);
  if (!error.empty())
    return fail("--target: " + error);
  error = ringlet::parseEmit(emit, options);
  if (!error.empty())
    return fail("--emit: " + error);
  error = ringlet::parseRecipe(recipe, options);
  if (!error.empty())
    return fail("--recipe: " + error);
  error = ringlet::parseOrder(order, options);
  if (!error.empty())
    return fail("--order: " + error);
  error = ringlet::parseCombine(combine, options);
  if (!error.empty())
    return fail("--combine: " + error);
  error = ringlet::parseExplain(explain, options);
  if (!error.empty())
    return fail("--explain: " + error);
  if (verifyOrders.getNumOccurrences()) {
    error = ringlet::parseVerifyOrders(verifyOrders, options);
    if (!error.empty())
      return fail("--verify-orders: " + error);
  }
  if (plotFile.getNumOccurrences()) {
    error = ringlet::parsePlot(plotFile, options);
    if (error.empty() && (output.getNumOccurrences() || emit != "rla"))
      error = "expected neither -o nor --emit beside it: a picture is drawn "
              "instead";
    if (!error.empty())
      return fail("--plot: " + error);
    output = plotFile;
  }
  std::unique_ptr<MemoryBuffer> source = ringlet::readSource(input, error);
  if (!source) {
    errs() << error << "\n";
    return ringlet::kUsageError;
  }
  if (bytecodeToText) {
    source =
        ringlet::acceptSource(std::move(source), /*allowBytecode=*/true, error);
    if (!source) {
      errs() << error << "\n";
      return ringlet::kRefused;
    }
    error = ringlet::writeOutput(output.empty() ? "-" : output.getValue(),
                                 source->getBuffer().str());
    return error.empty() ? 0 : fail(error);
  }
  if (auto refused = tryParsing(source->getBuffer())) {
    errs() << refused->format(source->getBufferIdentifier().str()) << "\n";
    return ringlet::kRefused;
  }
  options.inputName = source->getBufferIdentifier().str();
  if (output.empty()) {
    bool isBinary = options.emit == ringlet::Emit::Artifact ||
                    options.emit == ringlet::Emit::Object ||
                    options.emit == ringlet::Emit::Cubin;
    output = input == "-" || !isBinary ? "-"
             : options.emit == ringlet::Emit::Object
                 ? (sys::path::stem(input) + ".o").str()
             : options.emit == ringlet::Emit::Cubin
                 ? (sys::path::stem(input) + ".cubin").str()
                 : (sys::path::stem(input) + ".rla").str();
  }

  // A linker inside this program sets all options back (BuiltinLinker.h).
  const std::string file = output;
  const bool explains = explain.getNumOccurrences() != 0;
  ringlet::CompileResult result =
      ringlet::compile(source->getBuffer(), options);
  errs() << result.diagnostics;
  if (Regex("\\((section [0-9]|[A-Z][0-9])").match(result.diagnostics))
    errs() << "note: rules in parentheses are those of "
              "docs/Specification.md\n";
  if (explains)
    (file == "-" ? errs() : outs()) << result.explanation;
  if (!result.ok)
    return ringlet::kRefused;
  error = ringlet::writeOutput(file, result.output);
  return error.empty() ? 0 : fail(error);
}
