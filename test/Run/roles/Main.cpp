//===- Main.cpp - Scheduled kernels against their meaning -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that are no attention: random ones, which are computed in f64 beside
// it, and those of a file, which the interpreter computes before they have
// roles.
//
//===----------------------------------------------------------------------===//

#include "test/Run/roles/CheckStages.h"
#include "test/Run/roles/TileProgram.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "lib/Tensor/Dice.h"
#include "ringlet/InitAll.h"

#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace ringlet;
using namespace ringlet::roles_test;
namespace cl = llvm::cl;

static cl::opt<std::string> file(cl::Positional, cl::desc("[<file>]"));
static cl::opt<std::string> entry("entry", cl::init("main"),
                                  cl::desc("The rplan.func of the file"));
static cl::opt<std::string>
    shapes("shapes", cl::desc("Of the entry's tensors: 256x64,256x64,..."));
static cl::opt<int64_t> first("first", cl::init(0),
                              cl::desc("Seed of the first random kernel"));
static cl::opt<int64_t> count("count", cl::init(0),
                              cl::desc("How many random kernels"));
static cl::list<std::string>
    recipes("recipe",
            cl::desc("What random kernels name, one after the other"));
static cl::opt<std::string> passes("passes",
                                   cl::desc("In place of rtile-schedule"));
static cl::opt<std::string> level("level", cl::init("sm_90a"),
                                  cl::desc("Architecture"));
static cl::opt<int64_t> interleavings("interleavings", cl::init(2),
                                      cl::desc("Of each stage"));
static cl::opt<bool> verbose("verbose", cl::desc("Print random kernels"));

static StagesOptions makeOptions(uint64_t seed) {
  StagesOptions options;
  options.level = level;
  options.passes = passes;
  options.interleavings = interleavings;
  options.seed = seed;
  return options;
}

static int fail(const std::string &text) {
  llvm::errs() << text << "\n";
  return EXIT_FAILURE;
}

//===----------------------------------------------------------------------===//
// Random kernels
//===----------------------------------------------------------------------===//

static int runRandom(mlir::MLIRContext &context) {
  int64_t scheduled = 0, stages = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    TileProgram program = drawProgram(seed);
    std::string attributes;
    if (!recipes.empty())
      attributes = "recipe = \"" + recipes[seed % recipes.size()] + "\"";
    std::string text = program.toIR(attributes);
    if (verbose)
      llvm::outs() << "// seed " << seed << "\n" << text;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return fail("seed " + std::to_string(seed) + " does not parse:\n" + text);
    Invocation invocation{"kernel",
                          drawBuffers(program, seed),
                          {program.end},
                          {program.grid[0], program.grid[1]}};
    StagesReport report =
        checkStages(*module, invocation, program.evaluate(invocation.buffers),
                    makeOptions(seed));
    if (!report.failure.empty())
      return fail("seed " + std::to_string(seed) + ": " + report.failure +
                  "\n" + text);
    if (verbose)
      llvm::outs() << (report.scheduled.empty() ? "// stays plain\n"
                                                : "// scheduled\n");
    scheduled += static_cast<int64_t>(report.scheduled.size());
    stages += static_cast<int64_t>(report.stages.size());
  }
  llvm::outs() << count << " kernels, " << scheduled << " scheduled, " << stages
               << " stages run\n";
  return EXIT_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Tensors of the shapes of the command line for the parameters of a plan.
static std::string makeBuffers(rplan::FuncOp plan,
                               std::vector<Tensor> &buffers) {
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(shapes).split(list, ',', -1, /*KeepEmpty=*/false);
  auto parameters = plan.getBody().getArguments();
  if (list.size() != parameters.size())
    return "expected " + std::to_string(parameters.size()) + " shapes, found " +
           std::to_string(list.size());
  Dice dice(1, 2);
  for (auto [text, parameter] : llvm::zip(list, parameters)) {
    auto type = llvm::cast<mlir::MemRefType>(parameter.getType());
    std::string name;
    llvm::raw_string_ostream(name) << type.getElementType();
    std::optional<DType> dtype = parseDType(name);
    Shape shape;
    llvm::SmallVector<llvm::StringRef> sizes;
    text.split(sizes, 'x');
    for (llvm::StringRef size : sizes)
      if (size.getAsInteger(10, shape.emplace_back()))
        return "expected sizes, found '" + text.str() + "'";
    if (!dtype || static_cast<int64_t>(shape.size()) != type.getRank())
      return "expected a shape for " + name + " of rank " +
             std::to_string(type.getRank()) + ", found '" + text.str() + "'";
    Tensor tensor(*dtype, shape);
    forEachIndex(shape, [&](const int64_t *indices) {
      tensor.view().set(indices,
                        static_cast<double>(dice.between(-16, 16)) / 16);
    });
    buffers.push_back(std::move(tensor));
  }
  return "";
}

static int runFile(mlir::MLIRContext &context) {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(file, &context);
  if (!module)
    return fail(file + " does not parse");
  auto plan = module->lookupSymbol<rplan::FuncOp>(entry);
  if (!plan)
    return fail("expected an rplan.func named '" + entry + "', found none");
  Invocation invocation;
  invocation.entry = entry;
  std::string error = makeBuffers(plan, invocation.buffers);
  std::vector<Tensor> expected;
  if (error.empty())
    error = invoke(*module, invocation, std::nullopt, expected);
  if (!error.empty())
    return fail(error);
  StagesReport report =
      checkStages(*module, invocation, expected, makeOptions(0));
  if (!report.failure.empty())
    return fail(report.failure);
  llvm::outs() << "scheduled: " << llvm::join(report.scheduled, ", ") << "\n"
               << "plain: " << llvm::join(report.plain, ", ") << "\n"
               << report.stages.size() << " stages run\n";
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  registerAllPasses();
  cl::ParseCommandLineOptions(
      argc, argv,
      "Runs scheduled kernels after each pass and compares what they "
      "compute\n\n"
      "example: roles-test --count=50 --recipe=fa_fwd_lazy\n");
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return file.empty() ? runRandom(context) : runFile(context);
}
