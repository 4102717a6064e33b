//===- ringlet-opt.cpp - Run passes on Ringlet IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Apart.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/SourceFile.h"
#include "lib/Compiler/ToolExit.h"
#include "lib/Compiler/Version.h"
#include "lib/Evaluator/VerifyOrders.h"
#include "ringlet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

static const char *const kOverview =
    "ringlet-opt: runs passes on Ringlet IR\n\n"
    "Reads IR as text, runs the passes and pipelines in the order in which "
    "they are\ngiven, prints the result. The way from graph to machine code:\n"
    "  --ringlet-decide          every choice about a graph, into the IR\n"
    "  --ringlet-lower-to-rtile  the above, then host plans and tile programs\n"
    "  --rtile-lower-to-cpu      tile programs to the llvm dialect\n"
    "  --ringlet-lower-to-cpu    the last two\n"
    "each with =\"level=x86-64-v4\" for another row of the architecture "
    "table.\n"
    "\nExample: the kernels of a graph, and what was decided on the way:\n"
    "  ringlet-opt test/Examples/longnet.mlir --ringlet-lower-to-rtile \\\n"
    "    --mlir-use-nameloc-as-prefix \\\n"
    "    --remarks-filter='.*' --remark-format=emitRemark\n\n"
    "Exit status: 0 done, 1 the input was refused or a pass failed, 2 a file "
    "could not be\nread or written, or an option is wrong.\n\n";

static llvm::cl::opt<bool> allowBytecode(
    "allow-bytecode",
    llvm::cl::desc("Accept MLIR bytecode, which a process of its own reads"));

static llvm::cl::opt<std::string> verifyOrders(
    "verify-orders", llvm::cl::ValueOptional,
    llvm::cl::value_desc("seed=N,draws=N"),
    llvm::cl::desc("Run every function that a pass rewrites beside what it was "
                   "before, on random inputs, and refuse a difference"));

/// Hides what LLVM's libraries registered for their own tools.
static void hideForeignOptions() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (!name.starts_with("help") && name != "version" &&
        option != &allowBytecode && option != &verifyOrders)
      option->setHiddenFlag(llvm::cl::ReallyHidden);
}

/// Whether the passes and their options can be had; what is wrong is reported.
static bool hasPipeline(const mlir::MlirOptMainConfig &config,
                        const mlir::DialectRegistry &registry) {
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::PassManager passes(&context);
  return succeeded(config.setupPassPipeline(passes));
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg(ringlet::kBugReportMessage);
  llvm::InitLLVM init(argc, argv);
  llvm::cl::SetVersionPrinter(ringlet::printVersion);
  hideForeignOptions();
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  ringlet::registerAllPasses();
  std::string input, output;
  {
    ringlet::ParsingOptions parsing;
    std::tie(input, output) =
        mlir::registerAndParseCLIOptions(argc, argv, kOverview, registry);
  }
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));

  std::string error;
  if (verifyOrders.getNumOccurrences()) {
    ringlet::VerifyOrdersOptions options;
    error = ringlet::parseVerifyOrders(verifyOrders, options);
    if (!error.empty()) {
      llvm::errs() << "--verify-orders: " << error << "\n";
      return ringlet::kUsageError;
    }
    config.setPassPipelineSetupFn(
        [options, passes = config](mlir::PassManager &pm) {
          ringlet::enableVerifyOrders(pm, options);
          return passes.setupPassPipeline(pm);
        });
  }
  // To make a pipeline that is to be shown shows it.
  if (!config.shouldDumpPassPipeline() && !hasPipeline(config, registry))
    return ringlet::kUsageError;
  std::unique_ptr<llvm::MemoryBuffer> source =
      ringlet::readSource(input, error);
  if (!source) {
    llvm::errs() << error << "\n";
    return ringlet::kUsageError;
  }
  source = ringlet::acceptSource(std::move(source), allowBytecode, error);
  ringlet::ParseApartOptions parse{config.shouldAllowUnregisteredDialects(),
                                   config.inputSplitMarker().str()};
  if (source)
    if (auto refused =
            ringlet::tryParsing(source->getBuffer(), registry, parse)) {
      error = refused->format(source->getBufferIdentifier().str());
      source = nullptr;
    }
  if (!source) {
    llvm::errs() << error << "\n";
    return ringlet::kRefused;
  }
  // A file is written when there is nothing left that may fail.
  std::string result;
  llvm::raw_string_ostream whole(result);
  bool isFile = output != "-";
  llvm::raw_ostream &stream =
      isFile ? static_cast<llvm::raw_ostream &>(whole) : llvm::outs();
  if (failed(mlir::MlirOptMain(stream, std::move(source), registry, config)))
    return ringlet::kRefused;
  error = ringlet::writeOutput(output, result);
  if (error.empty())
    return 0;
  llvm::errs() << "error: " << error << "\n";
  return ringlet::kUsageError;
}
