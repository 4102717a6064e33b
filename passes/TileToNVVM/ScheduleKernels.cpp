//===- ScheduleKernels.cpp - Roles for a kernel, or none -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a kernel can be scheduled is known when it has been. So each is tried
// on a copy, by itself, and the copy takes its place only if every pass and
// everything that the emission asks of it agree.
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/Recipes/Recipe.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/Schedule.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESCHEDULEKERNELS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// While it lives, remarks are kept back: what they tell of may not last.
class HeldRemarks {
public:
  explicit HeldRemarks(MLIRContext *context) {
    if (remark::detail::RemarkEngine *engine = context->getRemarkEngine())
      policy = engine->getRemarkEmittingPolicy();
    if (!policy)
      return;
    report = std::move(Access::of(*policy));
    policy->initialize([this](const remark::detail::Remark &remark) {
      remarks.push_back(remark);
    });
  }
  ~HeldRemarks() {
    if (policy)
      policy->initialize(std::move(report));
  }

  /// Tells what was kept back so far.
  void tell() {
    for (const remark::detail::Remark &remark : remarks)
      report(remark);
    remarks.clear();
  }

private:
  /// A policy's way to report can be replaced, but not asked for.
  struct Access : remark::detail::RemarkEmittingPolicyBase {
    static remark::detail::ReportFn &of(RemarkEmittingPolicyBase &policy) {
      return policy.*(&Access::reportImpl);
    }
  };

  remark::detail::RemarkEmittingPolicyBase *policy = nullptr;
  remark::detail::ReportFn report;
  std::vector<remark::detail::Remark> remarks;
};

struct ScheduleKernels
    : ringlet::impl::RTileScheduleKernelsBase<ScheduleKernels> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    addPasses(all);
    addChecks(all);
    all.getDependentDialects(registry);
  }

  void runOnOperation() override {
    row = ringlet::gpu::lookupArch(getOperation(), level);
    if (!row)
      return signalPassFailure();
    bool isRefused = false;
    for (auto func : llvm::to_vector(getOperation().getOps<rtile::FuncOp>()))
      if (!func.getScheduled() && (func.getRecipe() || func.getSchedule()))
        isRefused |= failed(schedule(func));
    if (isRefused)
      signalPassFailure();
  }

private:
  void addPasses(OpPassManager &pm) const {
    addSchedulePasses(pm, level, spareRegisters);
  }
  void addChecks(OpPassManager &pm) const { addScheduledChecks(pm, level); }

  LogicalResult run(ModuleOp trial);
  LogicalResult attempt(rtile::FuncOp func, std::string &reason);
  LogicalResult schedule(rtile::FuncOp func);
  LogicalResult keepPlain(rtile::FuncOp func, StringRef reason);

  const arch::GPUArch *row = nullptr;
};

} // namespace

/// Gives the kernel in `trial` roles, and sees whether they can be emitted.
LogicalResult ScheduleKernels::run(ModuleOp trial) {
  OpPassManager passes(ModuleOp::getOperationName());
  addPasses(passes);
  if (failed(runPipeline(passes, trial)))
    return failure();
  // What is decided to find out will be decided, and told, again.
  HeldRemarks untold(&getContext());
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto scratch = cast<ModuleOp>(builder.clone(*trial));
  OpPassManager checks(ModuleOp::getOperationName());
  addChecks(checks);
  LogicalResult result = runPipeline(checks, scratch);
  scratch.erase();
  return result;
}

/// Puts a copy with roles in the place of `func`, or says in `reason` why there
/// is none.
LogicalResult ScheduleKernels::attempt(rtile::FuncOp func,
                                       std::string &reason) {
  HeldRemarks remarks(&getContext());
  // Pipelines run on what is inside of the pass's operation.
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto trial = ModuleOp::create(builder, func.getLoc());
  auto copy =
      cast<rtile::FuncOp>(OpBuilder::atBlockEnd(trial.getBody()).clone(*func));
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          reason.empty())
        reason = diagnostic.str();
      return success();
    });
    result = run(trial);
  }
  if (succeeded(result)) {
    remarks.tell();
    copy->moveBefore(func);
    func.erase();
  }
  trial.erase();
  return result;
}

LogicalResult ScheduleKernels::schedule(rtile::FuncOp func) {
  if (!row->hasScheduledForm())
    return keepPlain(func, schedule::whyNoRoles(*row));
  std::string reason;
  if (func.getRecipe()) {
    if (!parseRecipeUse(*func.getRecipe(), reason))
      return func.emitOpError("recipe: ") << reason;
    if (!findRecipe(func, reason))
      return keepPlain(func, reason);
  }
  return succeeded(attempt(func, reason)) ? success() : keepPlain(func, reason);
}

/// A kernel that stays what it was, which is an error if it was not to.
LogicalResult ScheduleKernels::keepPlain(rtile::FuncOp func, StringRef reason) {
  // A module may be for several architectures, of which some have no roles.
  bool isAsked =
      row->hasScheduledForm() && (llvm::is_contained(asked, "*") ||
                                  llvm::is_contained(asked, func.getSymName()));
  std::string recipe = "a schedule";
  if (func.getRecipe())
    recipe = ("recipe " + *func.getRecipe()).str();
  if (isAsked && require)
    return func.emitError() << "expected kernel '" << func.getSymName()
                            << "' to take " << recipe << ": " << reason;
  if (isAsked)
    func.emitWarning() << "kernel '" << func.getSymName() << "' stays plain; "
                       << recipe << " was asked for: " << reason;
  func.removeRecipeAttr();
  func.removeScheduleAttr();
  remark::missed(func.getLoc(), remark::RemarkOpts::name("ScheduleKernels")
                                    .category("rtile-schedule-kernels")
                                    .function(func.getSymName()))
      << (func.getSymName() + " stays plain: " + reason).str();
  return success();
}
