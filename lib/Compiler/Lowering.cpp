//===- Lowering.cpp - A module's way to code for one target -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Lowering.h"

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/Timing.h"
#include "lib/Evaluator/VerifyOrders.h"
#include "passes/Recipes/FormOfOp.h"
#include "passes/TileSchedule/SpareRegisters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ringlet;

/// Attentions and kernels, in the order in which origins are numbered.
static SmallVector<Operation *> getOrigins(ModuleOp module) {
  SmallVector<Operation *> origins;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<attn::AttentionOp, rtile::FuncOp>(op))
      origins.push_back(op);
  });
  return origins;
}

/// Kernels have the location of what they come from, so that carries its
/// number.
static void numberOrigins(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto [number, op] : llvm::enumerate(getOrigins(module)))
    op->setLoc(FusedLoc::get({op->getLoc()}, builder.getI64IntegerAttr(number),
                             module.getContext()));
}

std::optional<Origin> ringlet::getOrigin(Operation *kernel) {
  std::optional<Origin> origin;
  kernel->getLoc()->walk([&](Location loc) {
    auto fused = dyn_cast<FusedLoc>(loc);
    auto number =
        fused ? dyn_cast_or_null<IntegerAttr>(fused.getMetadata()) : nullptr;
    if (!number)
      return WalkResult::advance();
    origin = number.getInt();
    return WalkResult::interrupt();
  });
  return origin;
}

/// Tilings that somebody wrote, without their recipes.
static ArrayAttr dropRecipes(ArrayAttr tilings) {
  SmallVector<Attribute> plain;
  for (auto tiling : tilings.getAsRange<attn::TilingAttr>())
    plain.push_back(attn::TilingAttr::get(
        tiling.getContext(), tiling.getQuery(), tiling.getKey(),
        tiling.getPart(), tiling.getManyKeys()));
  return ArrayAttr::get(tilings.getContext(), plain);
}

/// Tells the passes over graphs what is asked of single attentions.
static void applyForms(ModuleOp module, const KernelForms &forms) {
  Builder builder(module.getContext());
  SmallVector<Operation *> origins = getOrigins(module);
  for (auto [number, form] : forms) {
    Operation *op = origins[number];
    if (auto kernel = dyn_cast<rtile::FuncOp>(op)) {
      if (!form.isPlain)
        continue;
      kernel.removeRecipeAttr();
      kernel.removeScheduleAttr();
      kernel->setAttr(recipeOfOpAttr, builder.getStringAttr("plain"));
      continue;
    }
    auto attention = cast<attn::AttentionOp>(op);
    if (ArrayAttr tilings = attention.getTilingsAttr(); tilings && form.isPlain)
      attention.setTilingsAttr(dropRecipes(tilings));
    if (form.isPlain)
      op->setAttr(recipeOfOpAttr, builder.getStringAttr("plain"));
    op->setAttr(spareRegistersOfOpAttr,
                builder.getDenseI64ArrayAttr(
                    {form.spareOfScheduled, form.spareOfPlain}));
  }
}

/// Erases entries with attentions none of which is in `wanted`. Who calls
/// another one, or is called, may have one of its.
static void keepEntries(ModuleOp module, const std::set<Origin> &wanted) {
  for (auto entry : llvm::to_vector(module.getOps<func::FuncOp>())) {
    bool hasAny = false,
         isWanted = !SymbolTable::symbolKnownUseEmpty(entry, module);
    entry.walk([&](Operation *op) {
      isWanted |= isa<func::CallOp>(op);
      if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
        hasAny = true;
        isWanted |= wanted.count(*getOrigin(attention)) != 0;
      }
    });
    if (hasAny && !isWanted)
      entry.erase();
  }
}

/// The same for the passes over kernels.
static void applyToKernels(ModuleOp module, const KernelForms &forms) {
  Builder builder(module.getContext());
  for (auto kernel : module.getOps<rtile::FuncOp>()) {
    std::optional<Origin> origin = getOrigin(kernel);
    auto form = origin ? forms.find(*origin) : forms.end();
    if (form != forms.end() && form->second.spareOfScheduled)
      kernel->setAttr(spareRegistersAttr,
                      builder.getI64IntegerAttr(form->second.spareOfScheduled));
  }
}

LogicalResult Lowering::runPipeline(ModuleOp module, const arch::Target &target,
                                    DecisionLog &log, Build build,
                                    Verify verify) {
  PassManager pm(module.getContext());
  log.watch(pm);
  TimingScope timing = startTimer(options.timing, "Passes");
  pm.enableTiming(timing);
  pm.enableVerifier(verify == Verify::EachPass);
  LevelOptions levelOptions;
  levelOptions.level = std::string(target.name());
  levelOptions.order = options.order;
  // A picture shows branches.
  bool isPicture = !options.plot.empty() && options.combine == "auto";
  levelOptions.combine = isPicture ? "chain" : options.combine;
  // A CPU has one kind of kernel: the choice is about the GPUs beside it.
  if (target.gpu) {
    levelOptions.recipe = options.recipe;
    levelOptions.requireRecipe = options.requireRecipe;
    if (isByName())
      levelOptions.asked.push_back("*");
    for (auto kernel : source.getOps<rtile::FuncOp>())
      if (!isByName() && (kernel.getRecipe() || kernel.getSchedule()))
        levelOptions.asked.push_back(kernel.getSymName().str());
  }
  build(pm, levelOptions);
  if (options.verifyDraws)
    enableVerifyOrders(pm, {options.verifySeed, options.verifyDraws});
  if (!options.reproducer.empty())
    pm.enableCrashReproducerGeneration(options.reproducer);
  if (succeeded(pm.run(module)))
    return verify == Verify::EachPass ? success() : mlir::verify(module);
  if (!options.reproducer.empty())
    result.diagnostics +=
        "note: to see it again: ringlet-opt --run-reproducer " +
        options.reproducer + "\n";
  return failure();
}

OwningOpRef<ModuleOp> Lowering::run(const arch::Target &target,
                                    DecisionLog &log, Build build) {
  OwningOpRef<ModuleOp> module = source.clone();
  if (failed(runPipeline(*module, target, log, build)))
    return nullptr;
  return module;
}

std::optional<Lowered> Lowering::lower(const arch::Target &target,
                                       const KernelForms &forms,
                                       const std::set<Origin> &only) {
  DecisionLog log(*source.getContext());
  Lowered lowered;
  lowered.code = source.clone();
  numberOrigins(*lowered.code);
  applyForms(*lowered.code, forms);
  if (!only.empty())
    keepEntries(*lowered.code, only);
  if (failed(
          runPipeline(*lowered.code, target, log, buildRingletToRTilePipeline)))
    return std::nullopt;
  applyToKernels(*lowered.code, forms);
  lowered.tiles = lowered.code->clone();
  // The last part is MLIR's own, on kernels of thousands of operations:
  // verifiers between its passes would take a third of the passes' time.
  if (failed(
          runPipeline(*lowered.code, target, log, buildRTileToCodePipeline)) ||
      failed(runPipeline(*lowered.code, target, log, buildCodeToLLVMPipeline,
                         Verify::Once)))
    return std::nullopt;
  lowered.decisions = log.get();
  return lowered;
}

Operation *Lowering::lookup(Origin origin) {
  return getOrigins(source)[origin];
}

bool Lowering::isAsked(Origin origin) {
  if (isByName())
    return true;
  Operation *op = lookup(origin);
  if (auto kernel = dyn_cast<rtile::FuncOp>(op))
    return kernel.getRecipe() || kernel.getSchedule();
  return !leavesTiles(origin);
}

bool Lowering::leavesTiles(Origin origin) {
  auto attention = dyn_cast<attn::AttentionOp>(lookup(origin));
  return attention && !attention.getTilings();
}
