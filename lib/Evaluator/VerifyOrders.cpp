//===- VerifyOrders.cpp - Rewrites proved by execution --------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/VerifyOrders.h"

#include "dialects/Layout/IR/LayoutDialect.h"
#include "lib/Evaluator/DrawInputs.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

std::string ringlet::parseVerifyOrders(StringRef list,
                                       VerifyOrdersOptions &options) {
  SmallVector<StringRef> entries;
  list.split(entries, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, value] = entry.split('=');
    bool isBad = name == "seed"    ? value.getAsInteger(10, options.seed)
                 : name == "draws" ? value.getAsInteger(10, options.draws) ||
                                         options.draws < 1
                                   : true;
    if (isBad)
      return "expected a list of seed=<number> and draws=<number of at least "
             "1>, found '" +
             entry.str() + "'";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// What results may differ by where sums over tokens, as in attention, may be
/// in a new order; what an attention reads of another is rounded to f32. All
/// others are equal.
static constexpr double kSumTolerance = 0x1p-20;

namespace {

/// One function run on some inputs: its results by token.
struct Run {
  std::vector<Datum> results;
  Refusal refusal;

  /// Lays inputs out as the arguments say and runs. False: see `refusal`.
  bool execute(func::FuncOp function, const std::vector<Tensor> &inputs);
};

} // namespace

static RankedTensorType toTensorType(Type type) {
  return dyn_cast<RankedTensorType>(type);
}

bool Run::execute(func::FuncOp function, const std::vector<Tensor> &inputs) {
  auto refuse = [&] {
    refusal.op = function;
    refusal.isAboutInputs = true;
    return false;
  };
  std::vector<Datum> arguments;
  for (auto [type, input] :
       llvm::zip_equal(function.getArgumentTypes(), inputs)) {
    Datum &argument = arguments.emplace_back();
    argument.tensor = input;
    if (auto tensor = toTensorType(type))
      if (!tokensToSlots(argument.tensor, tensor, &refusal.message))
        return refuse();
  }
  std::optional<std::vector<Datum>> found =
      evaluate(function, std::move(arguments), refusal);
  if (!found)
    return false;
  results = std::move(*found);
  for (auto [type, result] :
       llvm::zip_equal(function.getResultTypes(), results))
    if (auto tensor = toTensorType(type))
      if (!slotsToTokens(result.tensor, tensor, &refusal.message))
        return refuse();
  return true;
}

static bool areEqual(double a, double b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return true;
  return std::abs(a - b) <=
         tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

/// " in slot 5", if a tensor of `type` has another order than its tokens.
static std::string placeOf(Type type, const int64_t *token,
                           const Shape &shape) {
  auto tensor = toTensorType(type);
  rlayout::OrderAttr order = tensor ? rlayout::getOrder(tensor) : nullptr;
  if (!order)
    return "";
  int64_t axis = rlayout::getLayout(tensor).getAxis();
  return llvm::formatv(", in slot {0} of axis {1}",
                       order.getOrder()->slot(token[axis], shape[axis]), axis)
      .str();
}

/// The first difference of a result, or the empty string.
static std::string compare(const Datum &before, const Datum &after,
                           Type typeBefore, Type typeAfter) {
  const Tensor &want = before.tensor, &got = after.tensor;
  if (want.shape() != got.shape())
    return "shape " + toString(want.shape()) + " became " +
           toString(got.shape());
  double tolerance = before.sumsTokens || after.sumsTokens ? kSumTolerance : 0;
  std::string text;
  TensorView wanted = want.view(), found = got.view();
  forEachIndex(want.shape(), [&](const int64_t *token) {
    if (!text.empty())
      return;
    double a = wanted.get(token), b = found.get(token);
    if (areEqual(a, b, tolerance))
      return;
    llvm::raw_string_ostream stream(text);
    stream << toString(Shape(token, token + want.rank())) << ": "
           << llvm::format("%.9g", a)
           << placeOf(typeBefore, token, want.shape()) << ", became "
           << llvm::format("%.9g", b)
           << placeOf(typeAfter, token, want.shape());
  });
  return text;
}

/// Results without finite numbers would be equal whatever happens.
static void countFinite(const Tensor &tensor, int64_t &numbers,
                        int64_t &finite) {
  numbers += tensor.elements();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    finite += std::isfinite(loadElement(tensor.data(), tensor.dtype(), i));
}

/// Inputs that `function` takes, and what it makes of them. A draw may miss
/// what only a run can judge.
static LogicalResult drawRun(func::FuncOp function, uint64_t seed,
                             std::vector<Tensor> &inputs, Run &run) {
  constexpr uint64_t kAttempts = 32;
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    run = {};
    std::optional<std::vector<Tensor>> drawn =
        drawInputs(function, seed + (attempt << 32), run.refusal);
    if (drawn && run.execute(function, *drawn)) {
      inputs = std::move(*drawn);
      return success();
    }
    if (!run.refusal.isAboutInputs)
      break;
  }
  return failure();
}

LogicalResult ringlet::verifyOrders(func::FuncOp before, func::FuncOp after,
                                    StringRef pass,
                                    const VerifyOrdersOptions &options) {
  auto report = [&](const Refusal &refusal, StringRef which) {
    return refusal.op->emitOpError(refusal.message)
           << " (to verify '" << after.getSymName() << "' " << which << ' '
           << pass << ")";
  };
  if (before.getNumArguments() != after.getNumArguments() ||
      before.getNumResults() != after.getNumResults())
    return after.emitError("expected ")
           << pass << " to keep the arguments and results of '"
           << after.getSymName() << "', found " << before.getFunctionType()
           << " before and " << after.getFunctionType() << " after it (O1)";
  int64_t numbers = 0, finite = 0;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    uint64_t seed = options.seed + static_cast<uint64_t>(draw);
    std::vector<Tensor> inputs;
    Run first, second;
    if (failed(drawRun(before, seed, inputs, first)))
      return report(first.refusal, "before");
    if (!second.execute(after, inputs))
      return report(second.refusal, "after");
    for (size_t i = 0; i < first.results.size(); ++i) {
      countFinite(first.results[i].tensor, numbers, finite);
      std::string difference =
          compare(first.results[i], second.results[i],
                  before.getResultTypes()[i], after.getResultTypes()[i]);
      if (!difference.empty())
        return after.emitError("expected ")
               << pass << " to keep what '" << after.getSymName()
               << "' computes (O1), found result " << i
               << " changed, first at token " << difference
               << "; to see it again: --verify-orders=seed=" << seed
               << ",draws=1";
    }
  }
  remark::analysis(
      after.getLoc(),
      remark::RemarkOpts::name("SameResults").category("verify-orders"))
      << ("'" + after.getSymName() + "' computes the same after " + pass +
          ", on " + Twine(options.draws) + " inputs: " + Twine(numbers) +
          " numbers, of which " + Twine(finite) + " are finite")
             .str();
  return success();
}

//===----------------------------------------------------------------------===//
// Around passes
//===----------------------------------------------------------------------===//

namespace {

class VerifyOrders : public PassInstrumentation {
public:
  explicit VerifyOrders(const VerifyOrdersOptions &options)
      : options(options) {}

  void runBeforePass(Pass *pass, Operation *op) override;
  void runAfterPass(Pass *pass, Operation *op) override;
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    running.erase({pass, op});
  }

private:
  struct Snapshot {
    OperationFingerPrint print;
    OwningOpRef<func::FuncOp> copy;
  };
  using Snapshots = llvm::StringMap<Snapshot>;

  VerifyOrdersOptions options;
  /// What each pass that runs has begun with. The instrumentor holds a lock
  /// while it calls us.
  std::map<std::pair<Pass *, Operation *>, Snapshots> running;
};

} // namespace

/// Calls `visit` for the function that a pass runs on, or those of the module
/// that it runs on.
template <typename Visit>
static void forEachFunction(Operation *op, Visit visit) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return visit(function);
  if (auto module = dyn_cast<ModuleOp>(op))
    for (auto function : module.getOps<func::FuncOp>())
      visit(function);
}

void VerifyOrders::runBeforePass(Pass *pass, Operation *op) {
  // A nested pipeline is a pass without an argument; its own passes come here
  // one by one.
  if (pass->getArgument().empty())
    return;
  Snapshots &snapshots = running[{pass, op}];
  forEachFunction(op, [&](func::FuncOp function) {
    if (!function.isDeclaration())
      snapshots.try_emplace(function.getSymName(),
                            Snapshot{OperationFingerPrint(function),
                                     OwningOpRef(function.clone())});
  });
}

void VerifyOrders::runAfterPass(Pass *pass, Operation *op) {
  auto found = running.find({pass, op});
  if (found == running.end())
    return;
  Snapshots snapshots = std::move(found->second);
  running.erase(found);
  bool isRight = true;
  forEachFunction(op, [&](func::FuncOp function) {
    auto before = snapshots.find(function.getSymName());
    if (before == snapshots.end() ||
        before->second.print == OperationFingerPrint(function))
      return;
    isRight &= succeeded(verifyOrders(*before->second.copy, function,
                                      pass->getArgument(), options));
  });
  if (!isRight)
    signalPassFailure(pass);
}

void ringlet::enableVerifyOrders(PassManager &pm,
                                 const VerifyOrdersOptions &options) {
  pm.addInstrumentation(std::make_unique<VerifyOrders>(options));
}
