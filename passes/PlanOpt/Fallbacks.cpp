//===- Fallbacks.cpp - Plain twins of kernels to be scheduled -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/Target.h"
#include "passes/PlanOpt/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SetVector.h"

namespace ringlet {
#define GEN_PASS_DEF_RPLANADDFALLBACKS
#define GEN_PASS_DEF_RPLANDROPFALLBACKS
#include "passes/PlanOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Copies of kernels that stay as they are, one for each.
class Twins {
public:
  explicit Twins(SymbolTable &symbols) : symbols(symbols) {}

  rtile::FuncOp get(rtile::FuncOp kernel) {
    rtile::FuncOp &twin = twins[kernel];
    if (twin)
      return twin;
    twin = kernel.clone();
    twin.setSymName((kernel.getSymName() + "_plain").str());
    twin.removeRecipeAttr();
    twin.removeScheduleAttr();
    symbols.insert(twin, std::next(Block::iterator(kernel)));
    remark::passed(kernel.getLoc(), remark::RemarkOpts::name("AddFallbacks")
                                        .category("rplan-add-fallbacks")
                                        .function(kernel.getSymName()))
        << (kernel.getSymName() + ": " + twin.getSymName() +
            " runs for tensors that no tensor map can describe")
               .str();
    return twin;
  }

private:
  SymbolTable &symbols;
  DenseMap<Operation *, rtile::FuncOp> twins;
};

struct AddFallbacks : ringlet::impl::RPlanAddFallbacksBase<AddFallbacks> {
  using RPlanAddFallbacksBase::RPlanAddFallbacksBase;

  void runOnOperation() override {
    std::string error;
    arch::Target target = arch::lookupTarget(level, &error);
    if (!target) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    if (!target.gpu || !target.gpu->hasScheduledForm())
      return;
    SymbolTable symbols(getOperation());
    Twins twins(symbols);
    getOperation()->walk([&](rplan::LaunchOp launch) {
      auto kernel = symbols.lookup<rtile::FuncOp>(launch.getKernel());
      if (launch.getFallback() || !kernel ||
          !(kernel.getRecipe() || kernel.getSchedule()))
        return;
      launch.setFallbackLaunch(twins.get(kernel).getSymName(), launch.getGrid(),
                               launch.getArgs());
    });
  }
};

struct DropFallbacks : ringlet::impl::RPlanDropFallbacksBase<DropFallbacks> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SetVector<Operation *> dropped;
    getOperation()->walk([&](rplan::LaunchOp launch) {
      auto kernel = symbols.lookup<rtile::FuncOp>(launch.getKernel());
      if (!launch.getFallback() || !kernel || kernel.getScheduled())
        return;
      dropped.insert(symbols.lookup(*launch.getFallback()));
      launch.removeFallbackAttr();
      launch.getFallbackGridMutable().clear();
      launch.getFallbackArgsMutable().clear();
    });
    for (Operation *kernel : dropped) {
      if (!SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
        continue;
      remark::passed(kernel->getLoc(),
                     remark::RemarkOpts::name("DropFallbacks")
                         .category("rplan-drop-fallbacks")
                         .function(SymbolTable::getSymbolName(kernel)))
          << (SymbolTable::getSymbolName(kernel).str() +
              ": not needed, as the kernel that it stands in for is plain");
      symbols.erase(kernel);
    }
  }
};

} // namespace
