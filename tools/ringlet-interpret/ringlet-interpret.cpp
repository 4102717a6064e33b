//===- ringlet-interpret.cpp - Kernels run as they are written -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an entry of a module of plans and kernels by the reference interpreter:
// what `ringlet-run --check` compares results of kernels by hand with.
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"
#include "lib/Compiler/Apart.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/SourceFile.h"
#include "lib/Compiler/ToolExit.h"
#include "lib/Compiler/Version.h"
#include "lib/Interpreter/Interpreter.h"
#include "lib/Tensor/Safetensors.h"
#include "ringlet/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir;
using namespace ringlet;
namespace cl = llvm::cl;

static const char *const kOverview =
    "ringlet-interpret: runs host plans and tile programs (rplan.func, "
    "rtile.func)\noperation by operation, as their descriptions say\n\n"
    "Slow, and exact about what compiled code does in silence: two points of a "
    "grid\nthat write one element, accesses outside of a buffer, loops without "
    "end are errors.\n";

static cl::extrahelp examples(
    "\nExit status: 0 ran, 1 the input or what it does was refused, 2 a file "
    "could not be\nread or written, or an option is wrong.\n\n"
    "Example: an entry, on tensors with the names of its arguments:\n"
    "  ringlet-interpret test/Examples/rms_norm_matmul.rtile.mlir \\\n"
    "    --entry=rms_norm_matmul --in=arguments.safetensors "
    "--out=y.safetensors\n");

static cl::OptionCategory category("ringlet-interpret options");
static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("INPUT.mlir"), cl::cat(category));
static cl::opt<std::string> entry("entry", cl::Required, cl::value_desc("name"),
                                  cl::desc("The rplan.func to run"),
                                  cl::cat(category));
static cl::opt<std::string> in(
    "in", cl::Required, cl::value_desc("file"),
    cl::desc("All arguments, a .safetensors file; of outputs types and sizes "
             "matter"),
    cl::cat(category));
static cl::opt<std::string>
    out("out", cl::Required, cl::value_desc("file"),
        cl::desc("Write the outputs here, as .safetensors"), cl::cat(category));
static cl::opt<double> seconds(
    "seconds", cl::init(10), cl::value_desc("S"),
    cl::desc(
        "After that time points of the grid are left out, where a plan has "
        "one launch and no other step: floats that they would have written "
        "are NaN, and the metadata of the outputs say points and "
        "points_run (default: 10)"),
    cl::cat(category));

/// Grids and loops end for themselves here: whoever waits has a time.
static constexpr int64_t kMostSteps = int64_t(1) << 50;
static constexpr int64_t kMostBytes = int64_t(16) << 30;

static int fail(const Twine &message, int status) {
  llvm::errs() << "error: " << message << "\n";
  return status;
}

static int interpretModule(ModuleOp module) {
  auto plan = module.lookupSymbol<rplan::FuncOp>(entry);
  if (!plan)
    return fail("expected an rplan.func named '" + entry.getValue() +
                    "', found none",
                kUsageError);

  std::string error;
  std::optional<Safetensors> file = readSafetensors(in, &error);
  if (!file)
    return fail(error, kUsageError);
  // Views of them stay where they are.
  Safetensors results;
  results.tensors.reserve(plan.getNames().size());
  std::vector<MutableTensorView> arguments;
  for (auto [number, attribute] : llvm::enumerate(plan.getNames())) {
    StringRef each = cast<StringAttr>(attribute).getValue();
    auto found = llvm::find_if(file->tensors, [&](const NamedTensor &tensor) {
      return tensor.name == each;
    });
    if (found == file->tensors.end())
      return fail(in.getValue() + ": expected a tensor '" + each +
                      "', found none",
                  kUsageError);
    if (number >= plan.getNumInputs())
      results.tensors.push_back(
          {found->name, Tensor(found->tensor.dtype(), found->tensor.shape())});
    Tensor &tensor = number < plan.getNumInputs()
                         ? found->tensor
                         : results.tensors.back().tensor;
    arguments.emplace_back(tensor.data(), tensor.dtype(), tensor.shape());
  }

  interpreter::Sampling sampling;
  sampling.seconds = seconds;
  interpreter::Options options;
  options.seed = 1;
  options.sampling = &sampling;
  options.maxSteps = kMostSteps;
  options.maxBytes = kMostBytes;
  if (failed(interpreter::interpret(module, entry, arguments, &error, options)))
    return fail(error, kRefused);
  if (sampling.run < sampling.points) {
    results.metadata["points"] = std::to_string(sampling.points);
    results.metadata["points_run"] = std::to_string(sampling.run);
  }
  return writeSafetensors(out, results, &error) ? 0 : fail(error, kUsageError);
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg(kBugReportMessage);
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  {
    ParsingOptions parsing;
    cl::ParseCommandLineOptions(argc, argv, kOverview);
  }
  DialectRegistry registry;
  registerCompiledDialects(registry);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> source = readSource(input, error);
  int status = source ? kRefused : kUsageError;
  if (source)
    source = acceptSource(std::move(source), /*allowBytecode=*/false, error);
  if (source)
    if (auto refused = tryParsing(source->getBuffer(), registry)) {
      error = refused->format(source->getBufferIdentifier().str());
      source = nullptr;
    }
  if (!source) {
    llvm::errs() << error << "\n";
    return status;
  }
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(source), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context, llvm::errs());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  return module ? interpretModule(*module) : kRefused;
}
