//===- Decisions.cpp - What the passes decided, and why ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Decisions.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace ringlet;

static std::string placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    place =
        std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  return place;
}

namespace {

class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::shared_ptr<Decisions> decisions)
      : decisions(std::move(decisions)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Decision decision;
    decision.pass = remark.getCombinedCategoryName().str();
    decision.name = remark.getRemarkName().str();
    if (remark.getFunction() != "<unknown function>")
      decision.function = remark.getFunction().str();
    decision.location = remark.getLocation();
    decision.place = placeOf(remark.getLocation());
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key != "Remark")
        decision.text += arg.key + "=";
      decision.text += arg.val;
      // Keys make words of their own; plain text brings its own spaces.
      if (arg.key != "Remark")
        decision.text += " ";
    }
    while (!decision.text.empty() && decision.text.back() == ' ')
      decision.text.pop_back();
    decisions->push_back(std::move(decision));
  }

private:
  std::shared_ptr<Decisions> decisions;
};

} // namespace

std::shared_ptr<Decisions> ringlet::collectDecisions(MLIRContext &context) {
  auto decisions = std::make_shared<Decisions>();
  remark::RemarkCategories everything;
  everything.passed = everything.missed = everything.analysis =
      everything.failed = ".*";
  if (failed(remark::enableOptimizationRemarks(
          context, std::make_unique<Collector>(decisions),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), everything)))
    emitWarning(UnknownLoc::get(&context), "remarks are not available");
  return decisions;
}

std::string ringlet::formatDecisions(const Decisions &decisions) {
  std::string lines;
  for (const Decision &decision : decisions) {
    if (!decision.place.empty())
      lines += decision.place + ": ";
    lines += decision.pass + ": ";
    if (!decision.function.empty())
      lines += "@" + decision.function + ": ";
    lines += decision.text + "\n";
  }
  return lines;
}
