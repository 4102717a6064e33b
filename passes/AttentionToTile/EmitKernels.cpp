//===- EmitKernels.cpp - A list of kernels, emitted -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/Kernels.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <utility>

using namespace mlir;
using namespace ringlet;

/// What becomes of the branches of a union.
static std::string describeUnion(attn::AttentionOp op,
                                 const KernelList &kernels) {
  size_t count = op.getBranches().size();
  std::string text = llvm::formatv("one kernel for {0} branches", count).str();
  for (const Kernel &kernel : kernels) {
    auto *each = std::get_if<UnionKernel>(&kernel.spec);
    if (!each || each->part.branches == count)
      continue;
    text +=
        llvm::formatv(" that computes rows of {0} of them once more, behind "
                      "one for the others, whose tiles hide less",
                      count - each->part.branches)
            .str();
  }
  return text + ", no partial results";
}

void ringlet::reportKernels(Attention &attention, const KernelList &kernels) {
  attn::AttentionOp op = attention.op;
  auto remark = [&](const std::string &text) {
    remark::passed(
        op.getLoc(),
        remark::RemarkOpts::name("Attention").category("ringlet-to-rtile"))
        << text;
  };
  if (op.isUnion())
    return remark(describeUnion(op, kernels));
  bool isShared = attention.sizes.front().areOperands;
  StringRef sharing =
      isShared ? "which are told w and r and share their code, " : "";
  if (op.isApart())
    return remark(
        llvm::formatv("a kernel for each of {0} branches of different heads, "
                      "{1}no partial results",
                      op.getBranches().size(), sharing)
            .str());
  if (llvm::any_of(kernels, [](const Kernel &kernel) {
        return std::holds_alternative<MergeKernel>(kernel.spec);
      }))
    return;
  SmallVector<const BranchKernel *> branches;
  for (const Kernel &kernel : kernels)
    if (auto *branch = std::get_if<BranchKernel>(&kernel.spec))
      branches.push_back(branch);
  auto *result = std::get_if<SoftmaxResult>(&branches.back()->ends.after);
  StringRef ending = branches.size() == 1 ? "no partial results"
                     : result && result->isWhole
                         ? "the last one writes the output"
                         : "a finishing kernel writes the output";
  remark(llvm::formatv("{0} branch kernels, {1}{2}", branches.size(), sharing,
                       ending)
             .str());
}

void ringlet::emitKernel(HostPlan &, const Twine &name, Attention &attention,
                         const RowTableKernel &kernel) {
  attention.rows.emitTable(name, kernel.side);
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const RedoKernel &kernel) {
  std::visit(
      [&](const auto &marking) { emitRedo(plan, name, attention, marking); },
      kernel.marking);
}

/// Whether a kernel without a recipe reads a state behind its keys: what that
/// needs may lie in memory meanwhile.
static bool joinsBehindKeys(const Kernel &kernel) {
  auto *branch = std::get_if<BranchKernel>(&kernel.spec);
  return branch && branch->ends.sumsFromZero && !branch->ends.marks;
}

/// What runs in place of `launch`, that of a kernel with a recipe, where
/// tensors are such that it cannot.
static void emitPlainTwin(HostPlan &plan, Attention &attention,
                          PartsKernel kernel, const std::string &name,
                          EqualKernels &equal, rplan::LaunchOp launch) {
  kernel.split = std::exchange(kernel.plain, nullptr);
  emitKernel(plan, name, attention, kernel);
  auto twin = cast<rplan::LaunchOp>(
      plan.getBuilder().getInsertionPoint()->getPrevNode());
  launch->moveBefore(twin);
  launch.setFallbackLaunch(equal.share(name), twin.getGrid(), twin.getArgs());
  twin.erase();
}

void ringlet::emitKernels(HostPlan &plan, Attention &attention,
                          const KernelList &kernels, EqualKernels &equal,
                          function_ref<std::string(StringRef)> getName) {
  for (const Kernel &kernel : kernels) {
    std::visit(
        [&](const auto &spec) {
          emitKernel(plan, getName(kernel.name) + kernel.part, attention, spec);
        },
        kernel.spec);
    auto launch = dyn_cast_or_null<rplan::LaunchOp>(
        plan.getBuilder().getInsertionPoint()->getPrevNode());
    if (!launch)
      continue;
    // Branches with the same sizes, and sets of kernels for other calls, have
    // kernels that differ in what they are launched on.
    std::string own = launch.getKernel().str();
    launch.setKernel(equal.share(own));
    if ((attention.hasManyKeys || joinsBehindKeys(kernel)) &&
        launch.getKernel() == own)
      plan.getSymbols().lookup(own)->setAttr(rtile::kBesideAttr,
                                             plan.getBuilder().getUnitAttr());
    if (auto *parts = std::get_if<PartsKernel>(&kernel.spec);
        parts && parts->plain)
      emitPlainTwin(plan, attention, *parts,
                    getName(kernel.name) + kernel.part + "_plain", equal,
                    launch);
    // It also stands in for the launch before, whose marked rows it redoes.
    if (std::holds_alternative<RedoKernel>(kernel.spec))
      cast<rplan::LaunchOp>(launch->getPrevNode())
          .setFallback(launch.getKernel());
  }
}
