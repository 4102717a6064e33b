//===- PlantedOrders.cpp - Every wrong rewrite must be caught ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads modules with a function @before, and what a right and a wrong pass make
// of it: @right and @wrong. Runs a pass that does just that, as ringlet-opt
// runs passes under --verify-orders. The right one must succeed on many inputs;
// the wrong one must fail, because of a difference, on the inputs of a default
// run.
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Evaluator/VerifyOrders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ringlet;

namespace {

/// Inputs that a right rewrite must survive, and on which the share of those
/// that show a wrong one is counted.
constexpr int64_t kDraws = 40;

/// Turns a function into another one.
struct Rewrite : PassWrapper<Rewrite, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Rewrite)

  explicit Rewrite(func::FuncOp becomes) : becomes(becomes) {}
  StringRef getArgument() const override { return "planted"; }
  void runOnOperation() override {
    IRMapping mapping;
    getOperation().getBody().getBlocks().clear();
    becomes.getBody().cloneInto(&getOperation().getBody(), mapping);
  }

  func::FuncOp becomes;
};

/// The errors of turning @before into the function `name`.
std::string errorsOf(ModuleOp mistake, StringRef name,
                     const VerifyOrdersOptions &options) {
  std::string errors;
  ScopedDiagnosticHandler handler(
      mistake.getContext(), [&](Diagnostic &diagnostic) {
        llvm::raw_string_ostream(errors) << diagnostic << '\n';
        return success();
      });
  OwningOpRef<func::FuncOp> function(
      mistake.lookupSymbol<func::FuncOp>("before").clone());
  auto pm = PassManager::on<func::FuncOp>(mistake.getContext());
  enableVerifyOrders(pm, options);
  pm.addPass(
      std::make_unique<Rewrite>(mistake.lookupSymbol<func::FuncOp>(name)));
  if (succeeded(pm.run(*function)) != errors.empty())
    errors += "the result of the pass and its errors disagree\n";
  return errors;
}

/// True if the verification tells right from wrong.
bool check(ModuleOp mistake) {
  VerifyOrdersOptions many;
  many.draws = kDraws;
  std::string control = errorsOf(mistake, "right", many);
  std::string caught = errorsOf(mistake, "wrong", {});
  int64_t showing = 0;
  for (int64_t seed = 0; seed < kDraws; ++seed) {
    VerifyOrdersOptions one{static_cast<uint64_t>(seed), 1};
    showing += !errorsOf(mistake, "wrong", one).empty();
  }
  bool isCaught = StringRef(caught).contains("first at token");
  llvm::outs() << (isCaught ? "caught: " : "MISSED: ") << *mistake.getSymName()
               << ", by " << showing << " of " << kDraws << " inputs\n  "
               << StringRef(caught).split('\n').first << '\n';
  if (!control.empty())
    llvm::outs() << "REFUSED: a right rewrite: " << control;
  return isCaught && control.empty();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: planted-orders-test FILE.mlir\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  tensor::TensorDialect, rlayout::RLayoutDialect,
                  attn::RingletDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(argv[1], ParserConfig(&context));
  if (!module)
    return 2;
  int passed = 0, failed = 0;
  for (auto mistake : module->getOps<ModuleOp>())
    ++(check(mistake) ? passed : failed);
  llvm::outs() << passed << " passed, " << failed << " failed\n";
  return failed != 0;
}
