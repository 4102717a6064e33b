//===- AssignShared.cpp - Where tiles lie in shared memory -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEASSIGNSHARED
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// A tile's place, from the first operation that writes it to the last one that
/// reads it, both as numbers in program order.
struct SharedPlace {
  /// Several loads, where a loop carries what they load from turn to turn.
  SmallVector<Operation *, 1> ops;
  unsigned index;
  RankedTensorType tile;
  Image image;
  int64_t begin, end;
  int64_t offset = 0;

  int64_t bytes() const { return image.bytes; }
};

class Assignment {
public:
  Assignment(rtile::FuncOp func, const arch::GPUArch &row)
      : func(func), row(row) {
    number(func.getBody().front());
  }

  LogicalResult run() {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) { addPlaces(op); });
    int64_t total = allocate();
    if (total > row.sharedBytes)
      return refuse(total);
    write(total);
    return success();
  }

private:
  void number(Block &block) {
    for (Operation &op : block) {
      begins[&op] = ends[&op] = now++;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
      if (op.getNumRegions())
        ends[&op] = now++;
    }
  }

  void addPlaces(Operation *op) {
    if (auto load = dyn_cast<rtile::LoadOp>(op))
      return addLoad(load);
    for (OpOperand &operand : op->getOpOperands())
      if (needsImage(operand) && !isLoadedImage(operand))
        places.push_back({{op},
                          operand.getOperandNumber(),
                          getTile(operand.get()),
                          getImage(getTile(operand.get())),
                          begins[op],
                          begins[op]});
  }

  void addLoad(rtile::LoadOp load) {
    int64_t begin = begins[load], end = -1;
    Operation *first = load, *loop = nullptr;
    for (OpOperand &use : load->getUses()) {
      if (isLoadedImage(use) && needsImage(use))
        end = std::max(end, getLastRead(load, use.getOwner()));
      if (!isCarriedOn(use, &loop))
        continue;
      // The loop may go on with the next tile until its end.
      end = std::max(end, ends[loop]);
      if (isa<scf::YieldOp>(use.getOwner()))
        first = getImageLoad(
            cast<scf::ForOp>(loop).getRegionIterArgs()[use.getOperandNumber()]);
    }
    if (end < 0)
      return;
    for (SharedPlace &place : places)
      if (place.ops.front() == first) {
        place.ops.push_back(load);
        place.end = std::max(place.end, end);
        return;
      }
    places.push_back({{load}, 0, getTile(load), getImage(load), begin, end});
  }

  /// What comes from outside a loop is needed until its last turn.
  int64_t getLastRead(Value tile, Operation *user) {
    int64_t last = begins[user];
    for (Operation *outer = user->getParentOp();
         !outer->getRegion(0).isAncestor(tile.getParentRegion());
         outer = outer->getParentOp())
      if (isa<scf::ForOp>(outer))
        last = std::max(last, ends[outer]);
    return last;
  }

  /// Largest first, each at the lowest address that no place takes whose
  /// lifetime meets its own. Returns the bytes needed in all.
  int64_t allocate() {
    SmallVector<SharedPlace *> order;
    for (SharedPlace &place : places)
      order.push_back(&place);
    llvm::stable_sort(order, [](SharedPlace *a, SharedPlace *b) {
      return a->bytes() > b->bytes();
    });
    int64_t total = 0;
    SmallVector<SharedPlace *> placed;
    for (SharedPlace *place : order) {
      SmallVector<SharedPlace *> others;
      llvm::copy_if(
          placed, std::back_inserter(others), [&](SharedPlace *other) {
            return other->begin <= place->end && place->begin <= other->end;
          });
      llvm::sort(others, [](SharedPlace *a, SharedPlace *b) {
        return a->offset < b->offset;
      });
      for (SharedPlace *other : others)
        if (place->offset + place->bytes() > other->offset)
          place->offset =
              std::max(place->offset,
                       int64_t(llvm::alignTo(other->offset + other->bytes(),
                                             Image::rowOfBanks)));
      placed.push_back(place);
      total = std::max(total, place->offset + place->bytes());
    }
    return total;
  }

  LogicalResult refuse(int64_t total) {
    const SharedPlace *largest = &places.front();
    for (const SharedPlace &place : places)
      if (place.bytes() > largest->bytes())
        largest = &place;
    const Image &image = largest->image;
    int64_t rows = (row.sharedBytes - (total - image.bytes)) / image.pitch;
    rows = rows / 16 * 16;
    auto diagnostic =
        largest->ops.front()->emitOpError("expected tiles that need at most ")
        << row.sharedBytes << " bytes of shared memory on " << row.name
        << ", found " << total << ", of which " << image.bytes << " for "
        << largest->tile;
    if (rows > 0)
      diagnostic << "; " << rows << " rows of it would fit";
    else
      diagnostic << "; several tiles of the kernel must be smaller";
    return diagnostic;
  }

  void write(int64_t total) {
    Builder builder(func.getContext());
    DenseMap<Operation *, SmallVector<int64_t>> offsets;
    for (const SharedPlace &place : places)
      for (Operation *op : place.ops) {
        SmallVector<int64_t> &list = offsets[op];
        list.resize(isa<rtile::DotOp>(op) ? 2 : 1, -1);
        list[place.index] = place.offset;
      }
    for (auto &[op, list] : offsets)
      op->setAttr(sharedAttr, builder.getDenseI64ArrayAttr(list));
    func->setAttr(sharedBytesAttr, builder.getI64IntegerAttr(total));
    remark::passed(func.getLoc(), remark::RemarkOpts::name("AssignShared")
                                      .category("rtile-gpu-assign-shared")
                                      .function(func.getSymName()))
        << llvm::formatv("{0}: {1} of {2} bytes of shared memory on {3}",
                         func.getSymName(), total, row.sharedBytes, row.name)
               .str();
  }

  rtile::FuncOp func;
  const arch::GPUArch &row;
  SmallVector<SharedPlace> places;
  int64_t now = 0;
  DenseMap<Operation *, int64_t> begins, ends;
};

struct AssignShared : ringlet::impl::RTileAssignSharedBase<AssignShared> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      // Channels are rtile-gpu-assign-channels' matter.
      if (func.getScheduled())
        return WalkResult::skip();
      bool decided = true;
      func.walk([&](rtile::DotOp dot) { decided &= dot->hasAttr(dotAttr); });
      if (!decided) {
        func.emitOpError("expected the decisions of rtile-gpu-choose-dot");
        return WalkResult::interrupt();
      }
      return WalkResult(Assignment(func, *row).run());
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
