//===- FuseRows.cpp - Group operations that run panel by panel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSEROWS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

enum class PhaseKind { Rows, Columns, Dot };

struct Phase {
  PhaseKind kind;
  int64_t width;
};

/// True for an operation that is cheap enough to repeat, but whose value
/// someone wants to find in memory.
bool isWantedInMemory(Operation *op) {
  if (!isRepeated(op))
    return false;
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    if (isa<rtile::DotOp>(use.getOwner()))
      return use.getOperandNumber() < 2;
    return isa<rtile::StoreOp>(use.getOwner());
  });
}

PhaseKind getKind(Operation *op) {
  if (isa<rtile::DotOp>(op))
    return PhaseKind::Dot;
  return getWidth(op) ? PhaseKind::Columns : PhaseKind::Rows;
}

/// The open group of one block.
class Group {
public:
  Group(int64_t number, int64_t height) : number(number), height(height) {}

  /// True if `op` can join: same height, and nothing that it reads as a whole
  /// is made in here.
  bool accepts(Operation *op) {
    bool result = getHeight(op) == height;
    walkOperands(op, [&](Value tile, bool whole) {
      result &= !whole || !members.count(tile.getDefiningOp());
    });
    return result;
  }

  void add(Operation *op) {
    order.push_back(op);
    Builder builder(op->getContext());
    op->setAttr(groupAttr, builder.getI64IntegerAttr(number));
    PhaseKind kind = getKind(op);
    int64_t earliest = 0;
    walkOperands(op, [&](Value tile, bool) {
      auto known = members.find(tile.getDefiningOp());
      if (known == members.end())
        return;
      // Columns of one phase and rows of one phase are in registers; the
      // result of a reduction or a product is complete after its phase.
      bool flows =
          phases[known->second].kind == kind && kind != PhaseKind::Dot &&
          !(kind == PhaseKind::Columns && getTile(tile).getRank() == 1);
      earliest = std::max(earliest, known->second + (flows ? 0 : 1));
    });
    members[op] = getPhaseFor(kind, getWidth(op), earliest);
    if (auto dot = dyn_cast<rtile::DotOp>(op); dot && dot.getInit())
      moveInto(dot.getInit(), members[op]);
  }

  /// Numbers the phases that did not become empty.
  void close() {
    SmallVector<int64_t> numbers(phases.size(), -1);
    for (Operation *op : order)
      numbers[members[op]] = 0;
    int64_t count = 0;
    for (int64_t &phase : numbers)
      phase = phase < 0 ? -1 : count++;
    Builder builder(order.front()->getContext());
    for (Operation *op : order)
      op->setAttr(phaseAttr, builder.getI64IntegerAttr(numbers[members[op]]));
    remark::passed(
        order.front()->getLoc(),
        remark::RemarkOpts::name("FuseRows").category("rtile-fuse-rows"))
        << llvm::formatv("group {0}: {1} operations on {2} rows in {3} phases",
                         number, order.size(), height, count)
               .str();
  }

private:
  int64_t getPhaseFor(PhaseKind kind, int64_t width, int64_t earliest) {
    if (kind != PhaseKind::Dot)
      for (int64_t phase = earliest; phase < int64_t(phases.size()); ++phase)
        if (phases[phase].kind == kind && phases[phase].width == width)
          return phase;
    phases.push_back({kind, width});
    return phases.size() - 1;
  }

  /// An elementwise operation that only makes the initial value of a product
  /// runs where the product reads it: no pass over memory of its own.
  void moveInto(Value init, int64_t phase) {
    Operation *op = init.getDefiningOp();
    if (!op || !members.count(op) || !init.hasOneUse() ||
        getKind(op) != PhaseKind::Columns || isa<rtile::ReduceOp>(op) ||
        isa<rtile::BroadcastOp, rtile::VisibleOp, arith::ConstantOp>(op))
      return;
    members[op] = phase;
    for (Value operand : op->getOperands())
      if (getTile(operand))
        moveInto(operand, phase);
  }

  int64_t number, height;
  SmallVector<Operation *> order;
  DenseMap<Operation *, int64_t> members;
  SmallVector<Phase> phases;
};

struct FuseRows : ringlet::impl::RTileFuseRowsBase<FuseRows> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      func.walk([](Operation *op) {
        op->removeDiscardableAttr(groupAttr);
        op->removeDiscardableAttr(phaseAttr);
      });
      groups = 0;
      fuse(func.getBody().front());
    });
  }

  void fuse(Block &block) {
    std::unique_ptr<Group> open;
    auto close = [&] {
      if (open)
        open->close();
      open.reset();
    };
    for (Operation &op : block) {
      if (op.getNumRegions() || isa<rtile::StoreOp>(op)) {
        close();
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            fuse(inner);
        continue;
      }
      // Its operands have to be complete before it.
      if (runsAlone(&op)) {
        close();
        continue;
      }
      // Loads and scalars do not depend on tiles: they may run before the
      // group that they stand in.
      if (!isRowParallel(&op) && !isWantedInMemory(&op))
        continue;
      if (open && !open->accepts(&op))
        close();
      if (!open)
        open = std::make_unique<Group>(groups++, getHeight(&op));
      open->add(&op);
    }
    close();
  }

  int64_t groups = 0;
};

} // namespace
