//===- PrefetchLoads.cpp - Fetch what the next turn will load -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of one head are short and lie far apart, in a dilated branch on a page
// each: a processor foresees neither their lines nor their pages.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECPUPREFETCHLOADS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// The rows by which `load` goes on in each turn of its loop; none if it does
/// not, or if rows are no run of memory at one distance from each other.
std::optional<int64_t> getRowsAhead(rtile::LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  auto view = load.getView().getDefiningOp<rtile::ViewOp>();
  APInt step;
  if (!loop || !view || getTile(load).getRank() != 2 ||
      load.getOffsets()[0] != loop.getInductionVar() ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return std::nullopt;
  bool isRun = view.getAxes().back() == view.getBufferType().getRank() - 1;
  if (view.getRows() || view.getPages() || !isRun)
    return std::nullopt;
  return step.getSExtValue();
}

struct PrefetchLoads : ringlet::impl::RTileCPUPrefetchLoadsBase<PrefetchLoads> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::LoadOp load) {
      load->removeDiscardableAttr(aheadAttr);
      std::optional<int64_t> rows = getRowsAhead(load);
      if (!rows)
        return;
      load->setAttr(aheadAttr, Builder(load).getI64IntegerAttr(*rows));
      remark::passed(load.getLoc(), remark::RemarkOpts::name("PrefetchLoads")
                                        .category("rtile-cpu-prefetch-loads"))
          << llvm::formatv("fetches rows {0} ahead", *rows).str();
    });
  }
};

} // namespace
