//===- PackOperands.cpp - How tiles lie in scratch memory -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEPACKOPERANDS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Vectors in a column of a panel. Two halve the loads of broadcast elements
/// for each multiplication; with more, the register blocks get too narrow.
constexpr int64_t vectorsPerColumn = 2;

constexpr int64_t cacheLine = 64;

/// Columns of the largest register block: accumulators, one column of the left
/// operand and two registers for broadcast elements are held at once.
int64_t getLargestBlock(const arch::CPULevel &level, int64_t vectors) {
  return (level.vectorRegisters - vectors - 2) / vectors;
}

/// Cuts `columns` into blocks of nearly equal width, as pairs (width, count):
/// no block is left with so few accumulators that it waits for latency.
SmallVector<int64_t> cutIntoBlocks(int64_t columns, int64_t largest) {
  int64_t blocks = llvm::divideCeil(columns, largest);
  int64_t wide = llvm::divideCeil(columns, blocks);
  int64_t wideCount = columns - blocks * (wide - 1);
  SmallVector<int64_t> pairs{wide, wideCount};
  if (wideCount < blocks)
    pairs.append({wide - 1, blocks - wideCount});
  return pairs;
}

/// The same for tile registers, which take 16 columns each: two of them share
/// what is loaded of the left operand.
SmallVector<int64_t> cutIntoTiles(int64_t columns) {
  int64_t tiles = llvm::divideCeil(columns, amxSide);
  SmallVector<int64_t> pairs;
  if (tiles / 2 > 0)
    pairs.append({2 * amxSide, tiles / 2});
  if (tiles % 2 > 0)
    pairs.append({amxSide, 1});
  return pairs;
}

struct PackOperands : ringlet::impl::RTilePackOperandsBase<PackOperands> {
  using Base::Base;

  void runOnOperation() override {
    const arch::CPULevel *row = lookupLevel(getOperation(), level);
    if (!row)
      return signalPassFailure();
    getOperation()->walk([&](rtile::FuncOp func) {
      choosePairs(func, *row);
      chooseGeometry(func, *row);
      Geometry geometry = Geometry::of(func);
      func.walk([&](rtile::LoadOp load) { chooseForms(load); });
      func.walk([&](rtile::DotOp dot) { chooseBlocks(dot, *row, geometry); });
      explainPrecision(func);
    });
  }

  /// R7: what may be coarser is not faster here.
  static void explainPrecision(rtile::FuncOp func) {
    Precision precision = Precision::f32;
    func.walk([&](rtile::DotOp dot) {
      precision = std::max(precision, dot.getProductPrecision());
    });
    if (precision == Precision::f32)
      return;
    remark::missed(func.getLoc(), remark::RemarkOpts::name("PackOperands")
                                      .category("rtile-pack-operands")
                                      .function(func.getSymName()))
        << llvm::formatv("{0}: products that may be of {1} are of f32, which "
                         "is more accurate: CPU code has no others (R7)",
                         func.getSymName(), StringRef(nameOf(precision)))
               .str();
  }

  void chooseGeometry(rtile::FuncOp func, const arch::CPULevel &row) {
    bool byAMX = false;
    int64_t tallest = 0;
    func.walk([&](rtile::DotOp dot) {
      byAMX |= dot->hasAttr(amxAttr);
      tallest = std::max(tallest, getTile(dot.getResult()).getDimSize(0));
    });
    bool isLow = tallest > 0 && tallest <= row.lanes();
    auto write = [&](StringRef name, int64_t value) {
      func->setAttr(name, Builder(func).getI64IntegerAttr(value));
    };
    write(lanesAttr, row.lanes());
    write(panelAttr, vectorsPerColumn * row.lanes());
    // Elements of one column in neighbouring rows are read at the same time:
    // with rows of whole cache lines they would meet in one bank of the cache.
    // Tile registers take whole lines, which should not lie across two; and
    // where one panel reads a row, it is copied as often as it is read.
    write(rowPaddingAttr, byAMX || isLow ? cacheLine : Geometry::rowAlignment);
  }

  /// Rows for the right operands of products and for copies to memory, panels
  /// for everything else. Tile registers take the right operand of a product
  /// transposed; one that is not transposed already is so in panels.
  void chooseForms(rtile::LoadOp load) {
    if (getTile(load).getRank() != 2)
      return;
    bool rows = false, panels = false;
    walkUses(load, [&](OpOperand &use, bool whole) {
      auto dot = dyn_cast<rtile::DotOp>(use.getOwner());
      bool turned = dot && dot->hasAttr(amxAttr) && !dot.getTransposed();
      bool alongDepth = dot && dot.getTransposed() && isNarrow(dot);
      bool asRows = isa<rtile::StoreOp>(use.getOwner()) || alongDepth ||
                    (dot && whole && !turned);
      (asRows ? rows : panels) = true;
    });
    SmallVector<StringRef> forms;
    if (rows || !panels)
      forms.push_back("rows");
    if (panels)
      forms.push_back("panels");
    load->setAttr(formsAttr, Builder(load).getStrArrayAttr(forms));
  }

  /// A product of bf16 multiplies pairs along its depth if its right operand is
  /// loaded for such products only: then it lies as they read it. A left one
  /// may also be made into pairs just before.
  void choosePairs(rtile::FuncOp func, const arch::CPULevel &row) {
    func.walk([&](rtile::LoadOp load) {
      load->removeDiscardableAttr(pairsAttr);
      if (!row.hasBF16)
        return;
      if (isOperand(load, 1, [](rtile::DotOp dot) {
            return isPairable(dot) && dot.getTransposed();
          }))
        load->setAttr(pairsAttr, StringAttr::get(&getContext(), "columns"));
      else if (isOperand(load, 1, [](rtile::DotOp dot) {
                 return isPairable(dot) && !dot.getTransposed();
               }))
        load->setAttr(pairsAttr, StringAttr::get(&getContext(), "rows"));
    });
    func.walk([&](rtile::DotOp dot) {
      dot->removeDiscardableAttr(pairedAttr);
      dot->removeDiscardableAttr(amxAttr);
      if (!getPairedLoad(dot.getRhs()))
        return;
      dot->setAttr(pairedAttr, UnitAttr::get(&getContext()));
      if (row.hasAMX)
        dot->setAttr(amxAttr, UnitAttr::get(&getContext()));
    });
    auto isPaired = [](rtile::DotOp dot) { return dot->hasAttr(pairedAttr); };
    func.walk([&](rtile::LoadOp load) {
      if (isOperand(load, 0, isPaired))
        load->setAttr(pairsAttr, StringAttr::get(&getContext(), "columns"));
    });
    // What makes pairs of a tile rounds it.
    func.walk([&](arith::TruncFOp round) {
      round->removeDiscardableAttr(unroundedAttr);
      if (isOperand(round, 0, isPaired))
        round->setAttr(unroundedAttr, UnitAttr::get(&getContext()));
    });
  }

  static bool isPairable(rtile::DotOp dot) {
    return !isNarrow(dot) && getTile(dot.getLhs()).getElementType().isBF16() &&
           getTile(dot.getRhs()).getElementType().isBF16();
  }

  /// True if all users of what `op` makes are products that `holds` is true
  /// for, with it as their operand of that number.
  static bool isOperand(Operation *op, unsigned number,
                        function_ref<bool(rtile::DotOp)> holds) {
    return !op->use_empty() && llvm::all_of(op->getUses(), [&](OpOperand &use) {
      auto dot = dyn_cast<rtile::DotOp>(use.getOwner());
      return dot && use.getOperandNumber() == number && holds(dot);
    });
  }

  void chooseBlocks(rtile::DotOp dot, const arch::CPULevel &row,
                    const Geometry &geometry) {
    Builder builder(dot);
    if (dot.getRhs().getDefiningOp<rtile::LoadOp>())
      dot->removeDiscardableAttr(repackAttr);
    else
      dot->setAttr(repackAttr, builder.getUnitAttr());
    if (isNarrow(dot)) {
      dot->removeDiscardableAttr(blocksAttr);
      remark::passed(dot.getLoc(), remark::RemarkOpts::name("PackOperands")
                                       .category("rtile-pack-operands"))
          << llvm::formatv("product of {0} rows with lanes along {1}",
                           getHeight(dot),
                           dot.getTransposed() ? "the depth" : "columns")
                 .str();
      return;
    }
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    int64_t vectors = geometry.panelRows(type.getDimSize(0)) / geometry.lanes;
    SmallVector<int64_t> blocks =
        dot->hasAttr(amxAttr)
            ? cutIntoTiles(type.getDimSize(1))
            : cutIntoBlocks(type.getDimSize(1), getLargestBlock(row, vectors));
    dot->setAttr(blocksAttr, builder.getDenseI64ArrayAttr(blocks));
    remark::passed(dot.getLoc(), remark::RemarkOpts::name("PackOperands")
                                     .category("rtile-pack-operands"))
        << llvm::formatv(
               "register blocks of {0}x{1}{2}{3}{4}", vectors * geometry.lanes,
               blocks[0],
               (dot->hasAttr(repackAttr) ? ", right operand repacked" : ""),
               (dot->hasAttr(pairedAttr) ? ", pairs of bf16" : ""),
               (dot->hasAttr(amxAttr) ? " by AMX" : ""))
               .str();
  }
};

} // namespace
