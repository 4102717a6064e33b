//===- RegisterFit.cpp - Kernels that fit in registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/RegisterFit.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/TranslateKernels.h"
#include "lib/Cost/ScheduleResources.h"
#include "passes/TileToNVVM/Channels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

/// Registers of a thread that are left free: the first multiple that does.
static constexpr int64_t spareRegisters = 16, mostSpareOfPlain = 96;
/// The same for scheduled kernels, before plain ones: first those of slots.
static constexpr int64_t mostSpareOfScheduled = cost::kRegistersOfSlots + 32;
/// Bytes that a kernel beside one for most rows or calls may store and load, a
/// few times a tile. Beside that of a recipe it computes few rows, and with 256
/// columns the next smaller tiles are of 16 x 16.
static constexpr int64_t fewSpilled = 192;

LogicalResult TargetWork::translate(const CompileOptions &options) {
  error.clear();
  code = TargetCode::translate(*lowered.code, target, options);
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

/// More registers free in those kernels that did not fit; where that goes too
/// far for kernels of a recipe, plain ones in their place. Kernels beside them
/// compute few rows: what these spill costs less than to do without the recipe.
std::optional<KernelForm> RegisterFit::Search::getNext() const {
  auto [form, finding] = done.back();
  if (finding.problem.empty())
    return std::nullopt;
  if (finding.isOfScheduled)
    form.spareOfScheduled += spareRegisters;
  if (finding.isOfPlain)
    form.spareOfPlain += spareRegisters;
  if (form.spareOfScheduled <= mostSpareOfScheduled &&
      form.spareOfPlain <= (leavesTiles ? mostSpareOfPlain : 0))
    return form;
  if (!hadRecipe || form.isPlain || !finding.isOfScheduled)
    return std::nullopt;
  return KernelForm{/*isPlain=*/true};
}

static std::string getText(LLVM::LLVMFuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  return text;
}

RegisterFit::Verdict RegisterFit::read(LLVM::LLVMFuncOp kernel,
                                       const PtxasReport &report) {
  std::string symbol = getCodeSymbol(kernel.getSymName());
  Verdict verdict;
  verdict.problem = report.whyUnfit(symbol, work.target.name());
  if (const KernelReport *of = report.find(symbol))
    verdict.spilled = of->spillStores + of->spillLoads;
  return verdict;
}

/// Keeps what ptxas said of each kernel of `code`.
void RegisterFit::learn(ModuleOp code, const PtxasReport &report) {
  for (auto kernel : code.getOps<LLVM::LLVMFuncOp>()) {
    if (kernel.isExternal())
      continue;
    verdicts[getText(kernel)] = read(kernel, report);
  }
}

/// What ptxas said of the kernels of `code`, by where they come from.
std::map<Origin, RegisterFit::Finding> RegisterFit::judge(ModuleOp code,
                                                          ReadVerdict read) {
  std::map<Origin, Finding> findings;
  std::set<Origin> scheduled;
  for (auto kernel : code.getOps<LLVM::LLVMFuncOp>())
    if (std::optional<Origin> origin = getOrigin(kernel);
        origin && kernel->hasAttr(gpu::mapsAttr))
      scheduled.insert(*origin);
  for (auto kernel : code.getOps<LLVM::LLVMFuncOp>()) {
    std::optional<Origin> origin = getOrigin(kernel);
    if (kernel.isExternal() || !origin)
      continue;
    Finding &finding = findings[*origin];
    Verdict verdict = read(kernel);
    bool isScheduled = kernel->hasAttr(gpu::mapsAttr);
    bool isBeside = kernel->hasAttr(rtile::kBesideAttr) ||
                    (!isScheduled && scheduled.count(*origin));
    finding.spilled += verdict.spilled;
    if (verdict.problem.empty() ||
        (isBeside && verdict.spilled > 0 && verdict.spilled <= fewSpilled))
      continue;
    (isScheduled ? finding.isOfScheduled : finding.isOfPlain) = true;
    if (finding.problem.empty())
      finding.problem = verdict.problem;
  }
  for (Origin origin : scheduled) {
    Finding &finding = findings[origin];
    if (!finding.isOfScheduled && !lowering.leavesTiles(origin))
      std::swap(finding.ofFallback, finding.problem);
  }
  return findings;
}

RegisterFit::Search RegisterFit::begin(Origin origin, Operation *kernel,
                                       Finding finding) {
  Search search{kernel->getLoc(), lowering.leavesTiles(origin)};
  search.done.push_back({KernelForm(), std::move(finding)});
  for (auto each : work.lowered.code->getOps<LLVM::LLVMFuncOp>())
    if (getOrigin(each) == origin)
      search.hadRecipe |= each->hasAttr(gpu::mapsAttr);
  return search;
}

/// Erases the kernels that `keep` does not want.
static OwningOpRef<ModuleOp>
keepOnly(ModuleOp code, llvm::function_ref<bool(LLVM::LLVMFuncOp)> keep) {
  OwningOpRef<ModuleOp> part = code.clone();
  for (auto kernel : llvm::to_vector(part->getOps<LLVM::LLVMFuncOp>()))
    if (!kernel.isExternal() && !keep(kernel))
      kernel.erase();
  return part;
}

/// Asks ptxas about the kernels of `code` that it has not seen.
LogicalResult RegisterFit::ask(ModuleOp code) {
  bool isAny = false;
  OwningOpRef<ModuleOp> unseen = keepOnly(code, [&](LLVM::LLVMFuncOp kernel) {
    bool isNew = !verdicts.contains(getText(kernel));
    isAny |= isNew;
    return isNew;
  });
  if (!isAny)
    return success();
  std::unique_ptr<TargetCode> made =
      TargetCode::translate(*unseen, work.target, options);
  if (!made)
    return failure();
  llvm::Expected<TargetCode::Objects> objects = made->emitObjects(options);
  if (!objects)
    return emitError(lowering.getSource().getLoc())
           << "code for " << work.target.name() << ": "
           << llvm::toString(objects.takeError());
  learn(*unseen, objects->report);
  return success();
}

/// Tries the kernels of `pending` in their next forms.
LogicalResult RegisterFit::tryNext(const std::set<Origin> &pending) {
  for (Origin origin : pending)
    forms[origin] = *searches.at(origin).getNext();
  std::optional<Lowered> lowered = lowering.lower(work.target, forms, pending);
  if (!lowered)
    return failure();
  OwningOpRef<ModuleOp> part =
      keepOnly(*lowered->code, [&](LLVM::LLVMFuncOp kernel) {
        std::optional<Origin> origin = getOrigin(kernel);
        return origin && pending.count(*origin);
      });
  if (failed(ask(*part)))
    return failure();
  std::map<Origin, Finding> findings =
      judge(*part, [&](auto kernel) { return verdicts.at(getText(kernel)); });
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
  for (auto [spare, kernels] :
       {std::pair(best.form.spareOfScheduled, "scheduled"),
        std::pair(best.form.spareOfPlain, "plain")})
    if (spare)
      explanation +=
          llvm::formatv(
              "for {0}: tiles of {1} kernels leave {2} registers free: {3}\n",
              target, kernels, spare, first)
              .str();
  return success();
}

/// Everything once more, in the forms that turned out best.
LogicalResult RegisterFit::settle() {
  forms.clear();
  for (auto &[origin, search] : searches) {
    if (failed(tell(origin, search)))
      return failure();
    const KernelForm &form = search.getBest().form;
    if (form.isPlain || form.spareOfScheduled || form.spareOfPlain)
      forms[origin] = form;
  }
  if (forms.empty())
    return success();
  std::optional<Lowered> lowered = lowering.lower(work.target, forms);
  if (!lowered)
    return failure();
  work.lowered = std::move(*lowered);
  if (failed(work.translate(options)))
    return failure();
  work.emitObjects(options);
  return success();
}

LogicalResult RegisterFit::run() {
  if (!work.target.gpu || !work.error.empty() ||
      work.objects.report.kernels.empty())
    return success();
  const PtxasReport &report = work.objects.report;
  std::map<Origin, Finding> findings = judge(
      *work.lowered.code, [&](auto kernel) { return read(kernel, report); });
  for (const auto &[origin, finding] : findings)
    if (!finding.ofFallback.empty())
      explanation += "for " + std::string(work.target.name()) +
                     ": of kernels for tensors that no tensor map can "
                     "describe: " +
                     finding.ofFallback + "\n";
  for (auto kernel : work.lowered.code->getOps<LLVM::LLVMFuncOp>()) {
    std::optional<Origin> origin = getOrigin(kernel);
    if (origin && !kernel.isExternal() && !findings[*origin].problem.empty())
      searches.emplace(*origin, begin(*origin, kernel, findings[*origin]));
  }
  if (searches.empty())
    return success();
  learn(*work.lowered.code, report);
  while (true) {
    std::set<Origin> pending;
    for (auto &[origin, search] : searches)
      if (search.getNext())
        pending.insert(origin);
    if (pending.empty())
      break;
    if (failed(tryNext(pending)))
      return failure();
  }
  return settle();
}
