//===- RegisterFit.cpp - Kernels that ptxas takes without spilling ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/RegisterFit.h"

#include "lib/Compiler/TranslateKernels.h"
#include "passes/TileToNVVM/Channels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet;

/// Registers of a thread that are left free: the first multiple that does.
static constexpr int64_t spareRegisters = 16, mostSpareRegisters = 96;
/// The same for kernels of a recipe, before plain ones.
static constexpr int64_t mostSpareOfRecipe = 32;

LogicalResult TargetWork::translate() {
  error.clear();
  code = TargetCode::translate(*lowered.code, target);
  return success(code != nullptr);
}

void TargetWork::emitObjects(const CompileOptions &options) {
  llvm::Expected<TargetCode::Objects> made = code->emitObjects(options);
  if (made)
    objects = std::move(*made);
  else
    error = llvm::toString(made.takeError());
  code.reset();
}

const RegisterFit::Attempt &RegisterFit::Search::getBest() const {
  return *llvm::min_element(done, [](const Attempt &a, const Attempt &b) {
    return std::pair(!a.finding.problem.empty(), a.finding.spilled) <
           std::pair(!b.finding.problem.empty(), b.finding.spilled);
  });
}

/// What ptxas said, by where the kernels come from.
std::map<Origin, RegisterFit::Finding>
RegisterFit::judge(ModuleOp code, const PtxasReport &report) {
  std::map<Origin, Finding> findings;
  for (auto kernel : code.getOps<LLVM::LLVMFuncOp>()) {
    std::optional<Origin> origin = getOrigin(kernel);
    if (kernel.isExternal() || !origin)
      continue;
    Finding &finding = findings[*origin];
    std::string symbol = getCodeSymbol(kernel.getSymName());
    std::string problem = report.whyUnfit(symbol, work.target.name());
    if (const KernelReport *of = report.find(symbol))
      finding.spilled += of->spillStores + of->spillLoads;
    if (finding.problem.empty())
      finding.problem = problem;
  }
  return findings;
}

/// The forms that may help, in the order in which they are tried.
RegisterFit::Search RegisterFit::begin(Origin origin, Operation *kernel,
                                       Finding finding) {
  Search search{kernel->getLoc(), false, {}, {{KernelForm(), finding}}};
  for (auto each : work.lowered.code->getOps<LLVM::LLVMFuncOp>())
    if (getOrigin(each) == origin)
      search.hadRecipe |= each->hasAttr(gpu::mapsAttr);
  bool leavesTiles = lowering.leavesTiles(origin);
  int64_t most = search.hadRecipe ? mostSpareOfRecipe
                 : leavesTiles    ? mostSpareRegisters
                                  : 0;
  for (int64_t spare = spareRegisters; spare <= most; spare += spareRegisters)
    search.ahead.push_back({/*isPlain=*/false, spare});
  if (search.hadRecipe)
    for (int64_t spare = 0; spare <= (leavesTiles ? mostSpareRegisters : 0);
         spare += spareRegisters)
      search.ahead.push_back({/*isPlain=*/true, spare});
  return search;
}

/// Code without the kernels that are not asked about.
static OwningOpRef<ModuleOp> keepOnly(ModuleOp code,
                                      const std::set<Origin> &origins) {
  OwningOpRef<ModuleOp> part = code.clone();
  for (auto kernel : llvm::to_vector(part->getOps<LLVM::LLVMFuncOp>())) {
    std::optional<Origin> origin = getOrigin(kernel);
    if (!kernel.isExternal() && !(origin && origins.count(*origin)))
      kernel.erase();
  }
  return part;
}

/// Compiles the kernels of `pending` alone in their next forms.
LogicalResult RegisterFit::tryNext(const std::set<Origin> &pending) {
  for (Origin origin : pending) {
    Search &search = searches.at(origin);
    forms[origin] = search.ahead.front();
    search.ahead.erase(search.ahead.begin());
  }
  std::optional<Lowered> lowered = lowering.lower(work.target, forms);
  if (!lowered)
    return failure();
  OwningOpRef<ModuleOp> part = keepOnly(*lowered->code, pending);
  std::unique_ptr<TargetCode> code = TargetCode::translate(*part, work.target);
  if (!code)
    return failure();
  llvm::Expected<TargetCode::Objects> objects = code->emitObjects(options);
  if (!objects)
    return emitError(lowering.getSource().getLoc())
           << "code for " << work.target.name() << ": "
           << llvm::toString(objects.takeError());
  std::map<Origin, Finding> findings = judge(*part, objects->report);
  for (Origin origin : pending)
    searches.at(origin).done.push_back({forms[origin], findings[origin]});
  return success();
}

/// What became of the kernels of an origin, for those who wait for it.
LogicalResult RegisterFit::tell(Origin origin, const Search &search) {
  const Attempt &best = search.getBest();
  const std::string &first = search.done.front().finding.problem;
  StringRef target = work.target.name();
  if (search.hadRecipe && best.form.isPlain) {
    if (options.requireRecipe && lowering.isAsked(origin))
      return emitError(search.place)
             << "expected the recipe that was asked for to fit on " << target
             << ": " << first;
    emitWarning(search.place)
        << "plain kernels for " << target << ": " << first;
  }
  if (!best.finding.problem.empty())
    emitWarning(search.place)
        << "of " << search.done.size()
        << (search.done.size() == 1 ? " form" : " forms")
        << " none fits, and the one that spills least is kept: "
        << best.finding.problem;
  if (best.form.spareRegisters)
    explanation += "for " + target.str() + ": tiles leave " +
                   std::to_string(best.form.spareRegisters) +
                   " registers free: " + first + "\n";
  return success();
}

/// Everything once more, in the forms that turned out best.
LogicalResult RegisterFit::settle() {
  forms.clear();
  for (auto &[origin, search] : searches) {
    if (failed(tell(origin, search)))
      return failure();
    const KernelForm &form = search.getBest().form;
    if (form.isPlain || form.spareRegisters)
      forms[origin] = form;
  }
  if (forms.empty())
    return success();
  std::optional<Lowered> lowered = lowering.lower(work.target, forms);
  if (!lowered)
    return failure();
  work.lowered = std::move(*lowered);
  if (failed(work.translate()))
    return failure();
  work.emitObjects(options);
  return success();
}

LogicalResult RegisterFit::run() {
  if (!work.target.gpu || !work.error.empty() ||
      work.objects.report.kernels.empty())
    return success();
  std::map<Origin, Finding> findings =
      judge(*work.lowered.code, work.objects.report);
  for (auto kernel : work.lowered.code->getOps<LLVM::LLVMFuncOp>()) {
    std::optional<Origin> origin = getOrigin(kernel);
    if (origin && !kernel.isExternal() && !findings[*origin].problem.empty())
      searches.emplace(*origin, begin(*origin, kernel, findings[*origin]));
  }
  while (true) {
    std::set<Origin> pending;
    for (auto &[origin, search] : searches)
      if (!search.isOver())
        pending.insert(origin);
    if (pending.empty())
      break;
    if (failed(tryNext(pending)))
      return failure();
  }
  return searches.empty() ? success() : settle();
}
