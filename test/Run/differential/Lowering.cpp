//===- Lowering.cpp - Every stage of a graph on its way down ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Lowering.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/Pipelines.h"
#include "ringlet/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

namespace ringlet::differential {

using namespace mlir;

namespace {

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// What can execute the module.
std::optional<Stage::Kind> classify(ModuleOp module) {
  bool isGraph = false, isTile = true;
  for (mlir::Operation &op : module.getOps()) {
    isGraph |= isa<func::FuncOp>(op);
    if (!isa<rtile::FuncOp, rplan::FuncOp>(op))
      isTile = false;
  }
  if (isGraph)
    return Stage::Kind::Graph;
  if (!isTile)
    return std::nullopt;
  // Forms for one target mix in other dialects, or operations that the
  // interpreter does not know.
  WalkResult walk = module.walk([&](mlir::Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool known = llvm::is_contained(
        {"rtile", "rplan", "arith", "math", "scf", "builtin"}, dialect);
    return known ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return std::nullopt;
  return Stage::Kind::Tile;
}

} // namespace

/// Keeps the module after each pass.
class Lowering::Snapshots : public PassInstrumentation {
public:
  explicit Snapshots(Lowering &lowering) : lowering(lowering) {}

  void runAfterPass(Pass *pass, mlir::Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module || pass->getArgument().empty())
      return;
    auto occurrences = llvm::count(lowering.passes, pass->getArgument());
    lowering.passes.push_back(pass->getArgument().str());
    std::string name = pass->getArgument().str();
    if (occurrences)
      name += "#" + std::to_string(occurrences + 1);
    take(std::move(name), module);
  }

  void take(std::string name, ModuleOp module) {
    std::optional<Stage::Kind> kind = classify(module);
    if (!kind)
      return;
    std::string text = print(module);
    if (!lowering.stages.empty() && lowering.stages.back().text == text)
      return;
    lowering.stages.push_back(
        {std::move(name), *kind, module.clone(), std::move(text)});
  }

private:
  Lowering &lowering;
};

Lowering::Lowering() : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

bool Lowering::run(const std::string &text, bool toMachine,
                   std::string *error) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      *error += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    *error = "the graph does not parse: " + *error;
    return false;
  }
  Snapshots(*this).take("graph", *module);

  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<Snapshots>(*this));
  LevelOptions options;
  buildRingletToRTilePipeline(pm, options);
  if (toMachine)
    buildRTileToCPUPipeline(pm, options);
  if (failed(pm.run(*module))) {
    *error = "lowering failed after " +
             (passes.empty() ? std::string("nothing") : passes.back()) + ": " +
             *error;
    return false;
  }
  return true;
}

Stage *Lowering::last(Stage::Kind kind) {
  for (Stage &stage : llvm::reverse(stages))
    if (stage.kind == kind)
      return &stage;
  return nullptr;
}

} // namespace ringlet::differential
