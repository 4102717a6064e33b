//===- Decisions.cpp - What the passes decided, and why ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Decisions.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

std::string ringlet::placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    place = llvm::formatv("{0}:{1}", file.getLine(), file.getColumn()).str();
    return WalkResult::interrupt();
  });
  return place;
}

/// Outlives the log: the context and the pass manager hold on to it.
struct DecisionLog::State {
  Decisions decisions;
  /// Names of what the running passes run on, "" for a module.
  std::vector<std::string> running;
};

namespace {

class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  Collector(Decisions &decisions, const std::vector<std::string> &running,
            std::shared_ptr<void> owner)
      : decisions(decisions), running(running), owner(std::move(owner)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Decision decision;
    decision.pass = remark.getCombinedCategoryName().str();
    decision.name = remark.getRemarkName().str();
    if (remark.getFunction() != "<unknown function>")
      decision.function = remark.getFunction().str();
    else if (!running.empty()) {
      decision.function = running.back();
      decision.isOfPass = true;
    }
    decision.location = remark.getLocation();
    decision.place = placeOf(remark.getLocation());
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      unsigned branch;
      if (arg.key == "branch" && llvm::to_integer(arg.val, branch, 10)) {
        decision.branch = branch;
        continue;
      }
      if (arg.key != "Remark")
        decision.text += arg.key + "=";
      decision.text += arg.val;
      // Keys make words of their own; plain text brings its own spaces.
      if (arg.key != "Remark")
        decision.text += " ";
    }
    while (!decision.text.empty() && decision.text.back() == ' ')
      decision.text.pop_back();
    decisions.push_back(std::move(decision));
  }

private:
  Decisions &decisions;
  const std::vector<std::string> &running;
  std::shared_ptr<void> owner;
};

class Watcher : public PassInstrumentation {
public:
  Watcher(std::vector<std::string> &running, std::shared_ptr<void> owner)
      : running(running), owner(std::move(owner)) {}

  void runBeforePass(Pass *, Operation *op) override {
    auto name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    running.push_back(name && !isa<ModuleOp>(op) ? name.str() : "");
  }
  void runAfterPass(Pass *, Operation *) override { running.pop_back(); }
  void runAfterPassFailed(Pass *, Operation *) override { running.pop_back(); }

private:
  std::vector<std::string> &running;
  std::shared_ptr<void> owner;
};

} // namespace

DecisionLog::DecisionLog(MLIRContext &context)
    : context(context), state(std::make_shared<State>()) {
  remark::RemarkCategories everything;
  everything.passed = everything.missed = everything.analysis =
      everything.failed = ".*";
  if (failed(remark::enableOptimizationRemarks(
          context,
          std::make_unique<Collector>(state->decisions, state->running, state),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), everything)))
    emitWarning(UnknownLoc::get(&context), "remarks are not available");
}

DecisionLog::~DecisionLog() { context.setRemarkEngine(nullptr); }

void DecisionLog::watch(PassManager &pm) {
  pm.addInstrumentation(std::make_unique<Watcher>(state->running, state));
}

const Decisions &DecisionLog::get() const { return state->decisions; }

std::string ringlet::formatDecisions(const Decisions &decisions) {
  std::string lines;
  for (const Decision &decision : decisions) {
    if (!decision.place.empty())
      lines += decision.place + ": ";
    lines += decision.pass + ": ";
    if (decision.isOfPass && !decision.function.empty())
      lines += "@" + decision.function + ": ";
    lines += decision.text + "\n";
  }
  return lines;
}
