//===- IndexMutations.cpp - Wrong keys, rows and launches -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "dialects/Plan/IR/PlanDialect.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;

namespace {

/// Adds `distance` to a result, for all users.
bool shift(Operation *op, Value result, int64_t distance) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value amount = makeIndex(builder, op->getLoc(), distance);
  Value sum = arith::AddIOp::create(builder, op->getLoc(), result, amount);
  result.replaceAllUsesExcept(sum, sum.getDefiningOp());
  return true;
}

bool dropLastKey(ModuleOp module) {
  return editEach<rtile::RunOp>(
      module, [](rtile::RunOp run) { return shift(run, run.getEnd(), -1); });
}

bool skipFirstKey(ModuleOp module) {
  return editEach<rtile::RunOp>(
      module, [](rtile::RunOp run) { return shift(run, run.getBegin(), 1); });
}

bool wholeStepTooFar(ModuleOp module) {
  return editEach<rtile::RunOp>(module, [](rtile::RunOp run) {
    if (run.getWholeEnd().use_empty())
      return false;
    return shift(run, run.getWholeEnd(), run.getKey().getType().getShape()[0]);
  });
}

bool ignoreWholeBegin(ModuleOp module) {
  return editEach<rtile::RunOp>(module, [](rtile::RunOp run) {
    if (run.getWholeBegin().use_empty())
      return false;
    run.getWholeBegin().replaceAllUsesWith(run.getBegin());
    return true;
  });
}

bool dropMasks(ModuleOp module) {
  return editEach<rtile::VisibleOp>(module, [](rtile::VisibleOp mask) {
    OpBuilder builder(mask);
    auto type = cast<ShapedType>(mask.getResult().getType());
    Value all = arith::ConstantOp::create(
        builder, mask.getLoc(),
        DenseElementsAttr::get(type, builder.getBoolAttr(true)));
    mask.getResult().replaceAllUsesWith(all);
    return true;
  });
}

bool forgetCausal(ModuleOp module) {
  return editEach<rtile::VisibleOp>(module, [](rtile::VisibleOp mask) {
    bool was = mask.getCausal();
    mask.setCausal(false);
    return was;
  });
}

bool widenWindows(ModuleOp module) {
  auto widen = [](auto op) {
    std::optional<ArrayRef<int64_t>> window = op.getWindow();
    if (!window)
      return false;
    SmallVector<int64_t> sides(*window);
    for (int64_t &side : sides)
      side += side >= 0;
    op.setWindow(sides);
    return true;
  };
  bool runs = editEach<rtile::RunOp>(module, widen);
  return editEach<rtile::VisibleOp>(module, widen) && runs;
}

/// The residue that follows, in the given views.
bool nextResidue(ArrayRef<rtile::ViewOp> views) {
  bool changed = false;
  for (rtile::ViewOp view : views) {
    Value residue = view.getResidue();
    if (!residue)
      continue;
    OpBuilder builder(view);
    int64_t rate = view.getResult().getType().getRate();
    Value one = makeIndex(builder, view.getLoc(), 1);
    Value next = arith::AddIOp::create(builder, view.getLoc(), residue, one);
    view.getResidueMutable().assign(arith::RemUIOp::create(
        builder, view.getLoc(), next, makeIndex(builder, view.getLoc(), rate)));
    changed = true;
  }
  return changed;
}

bool wrongResidueOfKeys(ModuleOp module) {
  SmallVector<rtile::ViewOp> views = keyViews(module);
  views.append(valueViews(module));
  return nextResidue(views);
}

bool wrongResidueOfValues(ModuleOp module) {
  return nextResidue(valueViews(module));
}

/// The same rounding for positive numbers only.
bool truncateSegments(ModuleOp module) {
  return editEach<arith::FloorDivSIOp>(module, [](arith::FloorDivSIOp div) {
    OpBuilder builder(div);
    Value quotient = arith::DivSIOp::create(builder, div.getLoc(), div.getLhs(),
                                            div.getRhs());
    div.getResult().replaceAllUsesWith(quotient);
    div.erase();
    return true;
  });
}

bool forgetOrigins(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    if (!view.getOrigin())
      return false;
    view.getOriginMutable().clear();
    return true;
  });
}

/// All rows of a padded sequence, in the given views.
bool forgetLengths(ArrayRef<rtile::ViewOp> views) {
  bool changed = false;
  for (rtile::ViewOp view : views) {
    changed |= static_cast<bool>(view.getFirst());
    view.getFirstMutable().clear();
    view.getEndMutable().clear();
  }
  return changed;
}

bool forgetLengthsOfKeys(ModuleOp module) {
  return forgetLengths(keyViews(module));
}

bool forgetLengthsOfValues(ModuleOp module) {
  return forgetLengths(valueViews(module));
}

/// The search for a packed sequence ends a step too early.
bool searchTooShort(ModuleOp module) {
  return editEach<scf::ForOp>(module, [](scf::ForOp loop) {
    if (loop.getBody()->getOps<arith::CmpIOp>().empty())
      return false;
    OpBuilder builder(loop);
    Value one = makeIndex(builder, loop.getLoc(), 1);
    loop.setUpperBound(arith::SubIOp::create(builder, loop.getLoc(),
                                             loop.getUpperBound(), one));
    return true;
  });
}

/// Values are those of the rows that a sequence would have by itself.
bool forgetStartOfValues(ModuleOp module) {
  bool changed = false;
  for (rtile::ViewOp view : valueViews(module)) {
    changed |= static_cast<bool>(view.getOrigin());
    view.getOriginMutable().clear();
  }
  return changed;
}

/// Rows from a length on keep what they hold.
bool leaveRowsPast(ModuleOp module) {
  return editEach<rtile::FuncOp>(module, [](rtile::FuncOp kernel) {
    if (!kernel.getSymName().contains("_past"))
      return false;
    kernel.walk([](rtile::StoreOp store) { store.erase(); });
    return true;
  });
}

/// Lengths count the slots of an order where they should count tokens.
bool fillPastBySlot(ModuleOp module) {
  return editEach<rtile::FuncOp>(module, [](rtile::FuncOp kernel) {
    bool changed = false;
    kernel.walk([&](rtile::ViewOp view) {
      rtile::ViewType type = view.getResult().getType();
      if (!kernel.getSymName().contains("_past") || !view.getRows())
        return;
      view.getRowsMutable().clear();
      view.getResult().setType(rtile::ViewType::get(
          type.getShape(), type.getElementType(), type.getSegmentLength(),
          type.getRate(), /*indexed=*/false));
      changed = true;
    });
    return changed;
  });
}

/// Values take another number for a size that the call gives than keys do.
bool changeSizeOfValues(ModuleOp module,
                        MutableOperandRange (rtile::ViewOp::*size)(),
                        function_ref<Value(OpBuilder &, Value)> change) {
  bool changed = false;
  for (rtile::ViewOp view : valueViews(module)) {
    MutableOperandRange operand = (view.*size)();
    if (operand.empty())
      continue;
    OpBuilder builder(view);
    operand.assign(change(builder, operand[0].get()));
    changed = true;
  }
  return changed;
}

bool forgetRuntimeRate(ModuleOp module) {
  return changeSizeOfValues(module, &rtile::ViewOp::getRateMutable,
                            [](OpBuilder &builder, Value r) {
                              return makeIndex(builder, r.getLoc(), 1);
                            });
}

bool lengthenRuntimeSegments(ModuleOp module) {
  return changeSizeOfValues(module, &rtile::ViewOp::getWMutable,
                            [](OpBuilder &builder, Value w) -> Value {
                              return arith::AddIOp::create(
                                  builder, w.getLoc(), w,
                                  makeIndex(builder, w.getLoc(), 1));
                            });
}

/// Heads in turn instead of in groups.
bool interleaveHeads(ModuleOp module) {
  bool changed = false;
  SmallVector<rtile::ViewOp> views = keyViews(module);
  views.append(valueViews(module));
  for (rtile::ViewOp view : views) {
    // The last index is that of the head.
    unsigned place = view.getFixed().size() - 1;
    Operation *division = view.getFixed()[place].getDefiningOp();
    if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
            division))
      continue;
    OpBuilder builder(view);
    MemRefType buffer = view.getBufferType();
    Value heads = makeIndex(builder, view.getLoc(),
                            buffer.getDimSize(buffer.getRank() - 2));
    view.getFixedMutable()[place].set(arith::RemUIOp::create(
        builder, view.getLoc(), division->getOperand(0), heads));
    changed = true;
  }
  return changed;
}

bool firstBatch(ModuleOp module) {
  return editAll(keyViews(module), [](rtile::ViewOp view) {
    // Packed ones have no axis of their own.
    if (view.getFixed().size() < 2)
      return false;
    OpBuilder builder(view);
    view.getFixedMutable()[0].set(makeIndex(builder, view.getLoc(), 0));
    return true;
  });
}

/// Tiles of query rows that overlap by a row.
bool overlapTiles(ModuleOp module) {
  return editEach<rtile::FuncOp>(module, [](rtile::FuncOp kernel) {
    for (Operation *user : kernel.getGridPoint()[0].getUsers()) {
      APInt factor;
      auto product = dyn_cast<arith::MulIOp>(user);
      if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
          factor.getSExtValue() < 2)
        continue;
      OpBuilder builder(product);
      product.getRhsMutable().assign(
          makeIndex(builder, product.getLoc(), factor.getSExtValue() - 1));
      return true;
    }
    return false;
  });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

SmallVector<rplan::LaunchOp> launchesOf(ModuleOp module, StringRef part) {
  SmallVector<rplan::LaunchOp> launches;
  module.walk([&](rplan::LaunchOp launch) {
    if (launch.getKernel().contains(part))
      launches.push_back(launch);
  });
  return launches;
}

bool skipLaunches(ModuleOp module, StringRef part) {
  SmallVector<rplan::LaunchOp> launches = launchesOf(module, part);
  for (rplan::LaunchOp launch : launches)
    launch.erase();
  return !launches.empty();
}

bool skipFinish(ModuleOp module) { return skipLaunches(module, "_finish"); }
bool skipFill(ModuleOp module) { return skipLaunches(module, "_fill_"); }

/// The branch that writes the output goes before one whose rows it needs.
bool swapBranches(ModuleOp module) {
  SmallVector<rplan::LaunchOp> launches = launchesOf(module, "0_branch");
  if (launches.size() < 2)
    return false;
  launches[0]->moveAfter(launches.back());
  return true;
}

bool oneTileShort(ModuleOp module) {
  bool changed = false;
  for (rplan::LaunchOp launch : launchesOf(module, "_branch")) {
    OpBuilder builder(launch);
    Value one = makeIndex(builder, launch.getLoc(), 1);
    OpOperand &tiles = launch.getGridMutable()[0];
    Value fewer =
        arith::SubIOp::create(builder, launch.getLoc(), tiles.get(), one);
    tiles.set(arith::MaxSIOp::create(builder, launch.getLoc(), fewer, one));
    changed = true;
  }
  return changed;
}

bool invertOrders(ModuleOp module) {
  return editEach<rplan::OrderTableOp>(module, [](rplan::OrderTableOp table) {
    table.setInverse(!table.getInverse());
    return true;
  });
}

/// Rows lie where they would in linear order.
bool forgetViewOrders(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    return static_cast<bool>(view.removeOrderAttr());
  });
}

bool forgetOrdersOfOrdinals(ModuleOp module) {
  return editEach<rplan::OrdinalTableOp>(
      module, [](rplan::OrdinalTableOp table) {
        return static_cast<bool>(table.removeMemoryAttr());
      });
}

/// The first token of a sequence has the position 0.
bool forgetOffsetsOfOrdinals(ModuleOp module) {
  return editEach<rplan::OrdinalTableOp>(
      module, [](rplan::OrdinalTableOp table) {
        if (!table.getOffset() || matchPattern(table.getOffset(), m_Zero()))
          return false;
        OpBuilder builder(table);
        table.getOffsetMutable().assign(makeIndex(builder, table.getLoc(), 0));
        return true;
      });
}

/// Masks speak of ordinals, not of positions.
bool forgetPositions(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    if (!view.getPositions())
      return false;
    view.getPositionsMutable().clear();
    return true;
  });
}

/// All sequences have the q_offset of the first one.
bool offsetOfFirst(ModuleOp module) {
  return editEach<memref::LoadOp>(module, [](memref::LoadOp load) {
    auto sequence = dyn_cast<BlockArgument>(load.getIndices()[0]);
    auto number = load->use_empty()
                      ? arith::IndexCastOp()
                      : dyn_cast<arith::IndexCastOp>(*load->user_begin());
    if (!sequence || !isa<rtile::FuncOp>(sequence.getOwner()->getParentOp()) ||
        !number)
      return false;
    OpBuilder builder(load);
    load.getIndicesMutable().assign(makeIndex(builder, load.getLoc(), 0));
    return true;
  });
}

/// Rows before the first key are counted a second time.
bool applyBeginsTwice(ModuleOp module) {
  return editAll(keyViews(module), [](rtile::ViewOp view) {
    if (!view.getOrigin())
      return false;
    OpBuilder builder(view);
    view.getOriginMutable().assign(arith::SubIOp::create(
        builder, view.getLoc(), view.getOrigin(), view.getFirst()));
    return true;
  });
}

/// Keys end as many rows further on as they begin.
bool takeLengthsFromBegins(ModuleOp module) {
  SmallVector<rtile::ViewOp> views = keyViews(module);
  views.append(valueViews(module));
  return editAll(views, [](rtile::ViewOp view) {
    if (!view.getOrigin() || !view.getFirst() || !view.getEnd())
      return false;
    OpBuilder builder(view);
    view.getEndMutable().assign(arith::AddIOp::create(
        builder, view.getLoc(), view.getEnd(), view.getFirst()));
    return true;
  });
}

/// The loads of scales, of one element.
SmallVector<rtile::LoadOp> scaleLoads(ModuleOp module) {
  SmallVector<rtile::LoadOp> loads;
  module.walk([&](rtile::LoadOp load) {
    if (load.getView().getType().getShape() == ArrayRef<int64_t>{1} &&
        load.getResult().hasOneUse() &&
        isa<rtile::BroadcastOp>(*load->user_begin()))
      loads.push_back(load);
  });
  return loads;
}

/// Keys and values have the scale of another head, or of another sequence.
bool scaleOfFirst(ModuleOp module) {
  return editAll(scaleLoads(module), [](rtile::LoadOp load) {
    OpBuilder builder(load);
    load.getOffsetsMutable().assign(makeIndex(builder, load.getLoc(), 0));
    return true;
  });
}

/// Scales have no sign.
bool scalesOfSize(ModuleOp module) {
  return editAll(scaleLoads(module), [](rtile::LoadOp load) {
    OpBuilder builder(load->getContext());
    builder.setInsertionPointAfter(load);
    auto size = math::AbsFOp::create(builder, load.getLoc(), load.getResult());
    load.getResult().replaceAllUsesExcept(size, size);
    return true;
  });
}

/// Keys and values lie in the pages of another sequence.
bool pagesOfFirst(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    if (!view.getPages())
      return false;
    OpBuilder builder(view);
    view.getFixedMutable()[view.getAxes()[0] - 1].set(
        makeIndex(builder, view.getLoc(), 0));
    return true;
  });
}

/// The page behind that of a value, at the end one past the table.
bool nextPageOfValues(ModuleOp module) {
  return editAll(valueViews(module), [](rtile::ViewOp view) {
    if (!view.getPages() || view.getOrigin())
      return false;
    OpBuilder builder(view);
    view.getOriginMutable().assign(
        makeIndex(builder, view.getLoc(), -view.getPageSize()));
    return true;
  });
}

/// Pages of a pool are those of sequences.
bool forgetPages(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    bool changed = static_cast<bool>(view.getPages());
    view.getPagesMutable().clear();
    return changed;
  });
}

} // namespace

std::vector<Mutation> planted::indexMutations() {
  constexpr const char *stage = "ringlet-to-rtile";
  constexpr const char *split = "rtile-split-masked-loops";
  return {
      {"the last key of a run is dropped", stage, dropLastKey},
      {"the first key of a run is skipped", stage, skipFirstKey},
      {"one step too many goes without a mask", split, wholeStepTooFar},
      {"steps before the whole ones go without a mask", split,
       ignoreWholeBegin},
      {"masks are dropped", stage, dropMasks},
      {"q_offset is that of the first sequence", stage, offsetOfFirst},
      {"masks forget causality", stage, forgetCausal},
      {"windows are one too wide", stage, widenWindows},
      {"keys are of another residue than queries", stage, wrongResidueOfKeys},
      {"values are of another residue than keys", stage, wrongResidueOfValues},
      {"segments of negative positions are truncated", stage, truncateSegments},
      {"q_offset is ignored by views", stage, forgetOrigins},
      {"keys past the length of a sequence are read", stage,
       forgetLengthsOfKeys},
      {"values past the length of a sequence are read", stage,
       forgetLengthsOfValues},
      {"rows past the length of a sequence are left", stage, leaveRowsPast},
      {"slots past the length of a sequence are filled", stage, fillPastBySlot},
      {"packed sequences are not searched to the end", stage, searchTooShort},
      {"values of packed sequences are those of the first", stage,
       forgetStartOfValues},
      {"values forget the dilation of the call", stage, forgetRuntimeRate},
      {"values count longer segments than those of the call", stage,
       lengthenRuntimeSegments},
      {"query heads read key heads in turn", stage, interleaveHeads},
      {"every sequence reads the keys of the first", stage, firstBatch},
      {"tiles of query rows overlap", stage, overlapTiles},
      {"the last tile of query rows is not launched", stage, oneTileShort},
      {"rows of no branch are not finished", stage, skipFinish},
      {"rows of no branch are not filled", stage, skipFill},
      {"the first branch is launched last", stage, swapBranches},
      {"orders are applied backwards", stage, invertOrders},
      {"views forget their order", stage, forgetViewOrders},
      {"tokens along a pattern order lie in linear order", stage,
       forgetOrdersOfOrdinals},
      {"tokens along a pattern order begin at position 0", stage,
       forgetOffsetsOfOrdinals},
      {"masks take ordinals for positions", stage, forgetPositions},
      {"begins of keys are applied twice", stage, applyBeginsTwice},
      {"lengths of keys count from their begin", stage, takeLengthsFromBegins},
      {"scales are those of the first head or sequence", stage, scaleOfFirst},
      {"scales lose their sign", stage, scalesOfSize},
      {"keys lie in the pages of the first sequence", stage, pagesOfFirst},
      {"values lie a page further on", stage, nextPageOfValues},
      {"pages are those of the pool", stage, forgetPages},
  };
}
