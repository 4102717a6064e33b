//===- Schedule.cpp - What the scheduling passes share -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Schedule.h"

#include "dialects/Tile/IR/ListReads.h"
#include "passes/Recipes/Recipe.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

std::string schedule::whyNoRoles(const arch::GPUArch &row) {
  return std::string("expected an architecture with products of groups of "
                     "warps and a copy engine, found ") +
         row.name;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

RankedTensorType schedule::getTile(Type type) {
  return dyn_cast<RankedTensorType>(type);
}

bool schedule::isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() != nullptr;
}

rtile::LoadOp schedule::getLoad(Value tile) {
  return tile.getDefiningOp<rtile::LoadOp>();
}

int64_t Feed::getBuffer() const {
  rtile::LoadOp op = load;
  auto view = op.getView().getDefiningOp<rtile::ViewOp>();
  auto buffer = view ? dyn_cast<BlockArgument>(view.getBuffer()) : nullptr;
  return buffer ? static_cast<int64_t>(buffer.getArgNumber()) : -1;
}

int64_t Products::getHeight() const {
  rtile::DotOp first = dots.front();
  return getTile(first.getLhs().getType()).getDimSize(0);
}

TypedValue<rtile::ViewType> Products::getChannelView(const Feed &feed) const {
  auto getView = [](const Feed &of) {
    rtile::LoadOp load = of.load;
    return load.getView();
  };
  TypedValue<rtile::ViewType> view = getView(feed);
  auto isLike = [&](const Feed &other) {
    return other.use == feed.use && other.getBuffer() == feed.getBuffer() &&
           getView(other).getType() == view.getType();
  };
  bool isMadeInLoop = llvm::any_of(feeds, [&](const Feed &other) {
    return isLike(other) &&
           !isa<rtile::FuncOp>(getView(other).getParentBlock()->getParentOp());
  });
  if (feed.getBuffer() < 0 || !isMadeInLoop)
    return view;
  return getView(*llvm::find_if(feeds, isLike));
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Why `dot` is none for roles, or "".
static std::string checkDot(rtile::DotOp dot) {
  std::string reason = whyNotGroupDot(dot);
  if (reason.empty() && !getLoad(dot.getRhs()))
    return "expected right operands that are loaded, found a computed one of " +
           toText(dot.getRhs().getType());
  return reason;
}

/// The same of `load`, whose use it finds.
static std::string checkLoad(rtile::LoadOp load, Feed &feed) {
  feed = {load, Use::Left, false};
  for (OpOperand &operand : load.getResult().getUses()) {
    auto dot = dyn_cast<rtile::DotOp>(operand.getOwner());
    if (!dot)
      feed.isElementwise = true;
    else if (operand.get() == dot.getRhs())
      feed.use = dot.getTransposed() ? Use::Transposed : Use::Right;
  }
  if (load.getResult().use_empty())
    return "expected loads that something uses, found one that nothing does";
  if (feed.isElementwise && feed.use != Use::Left)
    return "expected loads of right operands for products alone, found a tile "
           "of " +
           toText(load.getResult().getType()) +
           " that something else uses, too";
  return "";
}

/// True of a left operand whose rows are no box of the buffer: no copy engine
/// brings it.
static bool isGathered(rtile::LoadOp load) {
  auto view = load.getView().getDefiningOp<rtile::ViewOp>();
  return view && view.getGroup() &&
         llvm::all_of(load.getResult().getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<rtile::DotOp>(use.getOwner());
           return dot && use.get() == dot.getLhs();
         });
}

/// True for a tile that the role that computes loads by itself: values of rows
/// or columns, and what comes once beside the products, is no operand of any,
/// or is a left one that it has to gather.
static bool isLoadedByComputing(rtile::LoadOp load) {
  RankedTensorType tile = getTile(load.getResult().getType());
  bool feedsProduct =
      llvm::any_of(load->getUsers(), llvm::IsaPred<rtile::DotOp>);
  bool comesOnce = !isInLoop(load);
  return tile.getRank() == 1 || (comesOnce && isGathered(load)) ||
         (!feedsProduct && !load.getResult().use_empty() &&
          (comesOnce || tile.getElementTypeBitWidth() != 16));
}

/// Why what `func` loads could change while it runs, or "": a role that loads
/// is ahead of one that stores.
static std::string checkBuffers(rtile::FuncOp func, const Products &products) {
  std::string reason;
  auto getBuffer = [&](TypedValue<rtile::ViewType> view) -> Value {
    if (auto made = view.getDefiningOp<rtile::ViewOp>())
      return made.getBuffer();
    reason = "expected views of rtile.view, found one that a loop carries";
    return nullptr;
  };
  llvm::SmallDenseSet<Value> loaded;
  for (const Feed &feed : products.feeds) {
    rtile::LoadOp load = feed.load;
    loaded.insert(getBuffer(load.getView()));
  }
  func.walk([&](rtile::StoreOp store) {
    if (loaded.contains(getBuffer(store.getView())) && reason.empty())
      reason = "expected operands of products in buffers that nothing is "
               "stored to, found one that is both";
  });
  return reason;
}

FailureOr<Products> schedule::findProducts(rtile::FuncOp func,
                                           std::string &reason) {
  Products products;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto dot = dyn_cast<rtile::DotOp>(op)) {
      reason = checkDot(dot);
      products.dots.push_back(dot);
    } else if (auto load = dyn_cast<rtile::LoadOp>(op)) {
      if (isLoadedByComputing(load))
        return WalkResult::advance();
      Feed feed;
      reason = checkLoad(load, feed);
      products.feeds.push_back(feed);
    } else if (op->getNumRegions() != 0 &&
               !isa<rtile::FuncOp, scf::ForOp, scf::IfOp>(op)) {
      reason = "expected loops and conditions of scf.for and scf.if, found " +
               op->getName().getStringRef().str();
    } else if (!isMemoryEffectFree(op) && !rtile::readsList(op) &&
               !isa<rtile::FuncOp, rtile::StoreOp, scf::ForOp, scf::IfOp>(op)) {
      reason = "expected loads and stores alone to touch memory, found " +
               op->getName().getStringRef().str();
    }
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (reason.empty() && products.dots.empty())
    reason = "expected products of tiles, found none";
  if (reason.empty())
    reason = checkBuffers(func, products);
  if (!reason.empty())
    return failure();
  for (rtile::DotOp dot : products.dots)
    if (int64_t height = getTile(dot.getLhs().getType()).getDimSize(0);
        height != products.getHeight()) {
      reason = llvm::formatv(
                   "expected left operands of one height, found {0} and {1}",
                   products.getHeight(), height)
                   .str();
      return failure();
    }
  return products;
}
