//===- CheckStages.cpp - A module on its way to roles ---------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/roles/CheckStages.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Interpreter/Interpreter.h"
#include "passes/TileSchedule/Passes.h"
#include "test/Run/differential/Schedulable.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace ringlet;
using namespace ringlet::roles_test;

std::string roles_test::invoke(mlir::ModuleOp module,
                               const Invocation &invocation,
                               std::optional<uint64_t> interleaving,
                               std::vector<Tensor> &buffers) {
  buffers = invocation.buffers;
  interpreter::Options options;
  options.interleaving = interleaving;
  std::vector<MutableTensorView> views;
  for (Tensor &buffer : buffers)
    views.push_back(buffer.view());
  std::string error;
  if (invocation.grid.empty()) {
    (void)interpreter::interpret(module, invocation.entry, views, &error,
                                 options);
    return error;
  }
  std::vector<interpreter::KernelArgument> arguments(views.begin(),
                                                     views.end());
  arguments.insert(arguments.end(), invocation.scalars.begin(),
                   invocation.scalars.end());
  (void)interpreter::interpretKernel(module, invocation.entry, arguments,
                                     invocation.grid, &error, options);
  return error;
}

/// Empty, or where `found` is too far from `expected`: rounding weights to 16
/// bits, on either side of a tie, moves what depends on them.
static std::string compare(const std::vector<Tensor> &expected,
                           const std::vector<Tensor> &found) {
  constexpr double tolerance = 1e-2;
  std::string text;
  for (auto [number, want, got] : llvm::enumerate(expected, found))
    forEachIndex(want.shape(), [&, &want = want, &got = got,
                                number = number](const int64_t *indices) {
      double x = want.view().get(indices), y = got.view().get(indices);
      bool isNear = std::abs(x - y) <= tolerance * (1 + std::abs(x)) ||
                    (std::isnan(x) && std::isnan(y));
      if (!isNear && text.empty())
        text = "buffer " + std::to_string(number) + ", element " +
               toString(Shape(indices, indices + want.rank())) + ": expected " +
               std::to_string(x) + ", found " + std::to_string(y);
    });
  return text;
}

static bool areSameBits(const std::vector<Tensor> &a,
                        const std::vector<Tensor> &b) {
  return llvm::all_of(llvm::zip(a, b), [](const auto &pair) {
    const auto &[x, y] = pair;
    return std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
  });
}

namespace {

/// Runs the module after each pass.
class StageRunner : public mlir::PassInstrumentation {
public:
  StageRunner(const Invocation &invocation, const std::vector<Tensor> &expected,
              const StagesOptions &options, StagesReport &report)
      : invocation(invocation), expected(expected), options(options),
        report(report) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
    if (!module || pass->getArgument().empty() || !report.failure.empty() ||
        !differential::hasSchedule(module))
      return;
    std::string text;
    llvm::raw_string_ostream(text) << module;
    if (text == last)
      return;
    last = std::move(text);
    report.stages.push_back(pass->getArgument().str());
    std::string failure = check(module);
    if (!failure.empty())
      report.failure =
          "after " + report.stages.back() + ": " + failure + "\n" + last;
  }

private:
  std::string check(mlir::ModuleOp module) {
    std::vector<Tensor> first, next;
    std::string error = invoke(module, invocation, std::nullopt, first);
    if (error.empty())
      error = compare(expected, first);
    for (int64_t i = 0; i < options.interleavings && error.empty(); ++i) {
      error = invoke(module, invocation, options.seed * 1000 + i, next);
      if (error.empty() && !areSameBits(first, next))
        error = "results depend on the order of steps of the roles";
    }
    return error;
  }

  const Invocation &invocation;
  const std::vector<Tensor> &expected;
  const StagesOptions &options;
  StagesReport &report;
  std::string last;
};

} // namespace

StagesReport roles_test::checkStages(mlir::ModuleOp module,
                                     const Invocation &invocation,
                                     const std::vector<Tensor> &expected,
                                     const StagesOptions &options) {
  StagesReport report;
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          errors += diagnostic.str() + "\n";
        return mlir::success();
      });
  mlir::PassManager pm(module.getContext());
  pm.addInstrumentation(
      std::make_unique<StageRunner>(invocation, expected, options, report));
  if (options.passes.empty()) {
    addSchedulePasses(pm, options.level);
  } else if (mlir::failed(mlir::parsePassPipeline(options.passes, pm))) {
    report.failure = "expected passes, found '" + options.passes + "'";
    return report;
  }
  if (!differential::keepSchedulable(module, options.level)) {
    report.failure = "expected passes that succeed, found: " + errors;
    return report;
  }
  if (mlir::failed(pm.run(module)) && report.failure.empty())
    report.failure = "expected passes that succeed, found: " + errors;
  for (auto func : module.getOps<rtile::FuncOp>())
    (func.getScheduled() ? report.scheduled : report.plain)
        .push_back(func.getSymName().str());
  return report;
}
