//===- SplitColumns.cpp - Score tiles in two halves -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a product and the rounding of what is made of it, what happens to an
// element does not depend on other columns, sums apart. The pass does it for
// the left columns and then for the right ones. Half a tile needs half the
// registers, and what ends under the left half (a product under way) need not
// be waited for before the whole tile.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/TileOpt/LoopRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESPLITCOLUMNS
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Columns that the left operand of a matrix instruction takes at a time.
constexpr int64_t kColumns = 16;

struct SplitProduct {
  rtile::DotOp product;
  /// What is done for each half apart; it depends on the product, and the
  /// rounded weights on it.
  DenseSet<Operation *> members;
};

bool isTile(Value value, ArrayRef<int64_t> shape) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getShape() == shape;
}

/// Adds what `value` is made of, in its block, to `slice`.
void addBackward(Value value, Block *block, DenseSet<Operation *> &slice) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == block && slice.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
}

/// What is rounded of the tile of the first product that has such a thing; else
/// null.
Value findRounded(Block *block, rtile::DotOp &product) {
  for (auto dot : block->getOps<rtile::DotOp>())
    for (auto rounding : block->getOps<arith::TruncFOp>()) {
      DenseSet<Operation *> backward;
      addBackward(rounding.getIn(), block, backward);
      if (!isTile(rounding.getIn(), dot.getResult().getType().getShape()) ||
          !backward.contains(dot))
        continue;
      product = dot;
      return rounding.getIn();
    }
  return nullptr;
}

std::optional<SplitProduct> matchLoop(scf::ForOp loop, std::string &why) {
  SplitProduct match;
  Block *block = loop.getBody();
  Value weights = findRounded(block, match.product);
  if (!weights) {
    why = "expected a product and a rounding of what is made of its tile in "
          "the loop, found none";
    return std::nullopt;
  }
  ArrayRef<int64_t> shape = match.product.getResult().getType().getShape();
  DenseSet<Operation *> backward;
  addBackward(weights, block, backward);
  if (shape[1] % kColumns != 0 || shape[1] < 2 * kColumns) {
    why = llvm::formatv("expected a tile of at least {0} columns, a multiple "
                        "of {1}, found {2}",
                        2 * kColumns, kColumns, shape[1])
              .str();
    return std::nullopt;
  }
  DenseSet<Value> forward{match.product.getResult()};
  for (Operation &op : *block) {
    if (op.getNumRegions() != 0) {
      why = "expected a loop without inner regions, found " +
            op.getName().getStringRef().str();
      return std::nullopt;
    }
    if (llvm::none_of(op.getOperands(),
                      [&](Value value) { return forward.contains(value); }))
      continue;
    forward.insert(op.result_begin(), op.result_end());
    if (op.getNumResults() == 1 && isTile(op.getResult(0), shape) &&
        OpTrait::hasElementwiseMappableTraits(&op) && backward.contains(&op))
      match.members.insert(&op);
  }
  if (match.members.empty()) {
    why = "expected arithmetic between product and rounding, found none";
    return std::nullopt;
  }
  return match;
}

class Splitter {
public:
  Splitter(const SplitProduct &match, scf::ForOp loop)
      : match(match), loop(loop),
        builder(this->match.product.getLoc(), this->match.product),
        tile(this->match.product.getResult().getType()) {
    int64_t columns = tile.getDimSize(1);
    widths[0] = (columns / 2 + kColumns - 1) / kColumns * kColumns;
    widths[1] = columns - widths[0];
  }
  void run();

private:
  bool isMember(Operation *op) { return match.members.contains(op); }
  bool isReduction(Operation *op);
  Operation *getReduction(Operation *op);
  bool visit(Operation *op);
  void flush();
  void emit(Operation *op, unsigned half);
  Value getHalf(Value value, unsigned half);
  RankedTensorType getHalfType(Type type, unsigned half) {
    auto whole = cast<RankedTensorType>(type);
    return RankedTensorType::get({whole.getDimSize(0), widths[half]},
                                 whole.getElementType());
  }
  /// Named like `value`, with the half.
  Location nameHalf(Value value, unsigned half) {
    Location loc = value.getLoc();
    auto name = dyn_cast<NameLoc>(loc);
    if (!name)
      return loc;
    return named(
        loc, (name.getName().getValue() + (half ? "_right" : "_left")).str());
  }
  Value combine(Operation *reduction, Value a, Value b);

  SplitProduct match;
  scf::ForOp loop;
  ImplicitLocOpBuilder builder;
  RankedTensorType tile;
  int64_t widths[2];
  /// Halves of tiles, and the value of reductions after each half.
  DenseMap<Value, Value> halves[2];
  DenseMap<Value, Value> joined;
  /// Not emitted yet.
  SmallVector<Operation *> pending;
  DenseSet<Value> pendingValues;
  SmallVector<Operation *> done;
};

/// A reduction over the columns of a tile that is there in halves.
bool Splitter::isReduction(Operation *op) {
  Value input;
  if (auto reduce = dyn_cast<rtile::ReduceOp>(op);
      reduce && reduce.getKind() != rtile::ReduceKind::min)
    input = reduce.getInput();
  else if (auto fold = dyn_cast<rtile::FoldOp>(op);
           fold && widths[0] % fold.getType().getDimSize(1) == 0 &&
           widths[1] % fold.getType().getDimSize(1) == 0)
    input = fold.getInput();
  return input && (input == match.product.getResult() ||
                   (input.getDefiningOp() && isMember(input.getDefiningOp())));
}

/// The pending reduction that `op` does nothing but add to a value, or null.
Operation *Splitter::getReduction(Operation *op) {
  if (!isa<arith::AddFOp, arith::MaximumFOp>(op))
    return nullptr;
  for (unsigned i : {0u, 1u}) {
    Operation *reduction = op->getOperand(i).getDefiningOp();
    if (!reduction || !llvm::is_contained(pending, reduction) ||
        isMember(reduction) || !reduction->hasOneUse() ||
        !isReduction(reduction) ||
        pendingValues.contains(op->getOperand(1 - i)))
      continue;
    auto reduce = dyn_cast<rtile::ReduceOp>(reduction);
    bool isMaximum = reduce && reduce.getKind() == rtile::ReduceKind::max;
    if (isMaximum == isa<arith::MaximumFOp>(op))
      return reduction;
  }
  return nullptr;
}

Value Splitter::getHalf(Value value, unsigned half) {
  auto [known, isNew] = halves[half].try_emplace(value);
  if (!isNew)
    return known->second;
  RankedTensorType type = getHalfType(value.getType(), half);
  DenseElementsAttr elements;
  Value result;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    result = arith::ConstantOp::create(
        builder, value.getLoc(),
        DenseElementsAttr::get(type, elements.getSplatValue<Attribute>()));
  else if (auto wide = value.getDefiningOp<rtile::BroadcastOp>();
           wide && !wide.getColumns())
    result = rtile::BroadcastOp::create(builder, nameHalf(value, half), type,
                                        wide.getInput(), false);
  else
    result = rtile::SliceOp::create(builder, nameHalf(value, half), type, value,
                                    half ? widths[0] : 0);
  halves[half][value] = result;
  return result;
}

Value Splitter::combine(Operation *reduction, Value a, Value b) {
  Location loc = reduction->getLoc();
  auto reduce = dyn_cast<rtile::ReduceOp>(reduction);
  if (reduce && reduce.getKind() == rtile::ReduceKind::max)
    return arith::MaximumFOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, a, b);
}

/// Appends what `op` does for one half.
void Splitter::emit(Operation *op, unsigned half) {
  Value old = op->getResult(0);
  Location loc = nameHalf(old, half);
  if (isMember(op)) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isTile(operand, tile.getShape()))
        mapping.map(operand, getHalf(operand, half));
    Operation *copy = builder.clone(*op, mapping);
    copy->setLoc(loc);
    copy->getResult(0).setType(getHalfType(old.getType(), half));
    halves[half][old] = copy->getResult(0);
    return;
  }
  if (isReduction(op)) {
    Value input = getHalf(op->getOperand(0), half);
    Operation *copy = builder.clone(*op);
    copy->setLoc(loc);
    copy->setOperand(0, input);
    halves[half][old] = copy->getResult(0);
    return;
  }
  // The left sum is added to what it was added to, the right one to that.
  Operation *reduction = getReduction(op);
  Value sum = reduction->getResult(0);
  IRMapping mapping;
  mapping.map(sum, halves[half][sum]);
  Value other =
      op->getOperand(0) == sum ? op->getOperand(1) : op->getOperand(0);
  if (half)
    mapping.map(other, halves[0][old]);
  Operation *copy = builder.clone(*op, mapping);
  if (!half)
    copy->setLoc(loc);
  halves[half][old] = copy->getResult(0);
}

void Splitter::flush() {
  for (unsigned half : {0u, 1u})
    for (Operation *op : pending)
      emit(op, half);
  for (Operation *op : pending) {
    Value old = op->getResult(0);
    if (isMember(op))
      continue;
    Value whole = halves[1][old];
    if (isReduction(op)) {
      // Added up already, if that is all it is for.
      if (llvm::all_of(old.getUsers(), [&](Operation *user) {
            return llvm::is_contained(pending, user);
          }))
        continue;
      whole = combine(op, halves[0][old], halves[1][old]);
    }
    old.replaceUsesWithIf(whole, [&](OpOperand &use) {
      return !llvm::is_contained(pending, use.getOwner());
    });
  }
  llvm::append_range(done, pending);
  pending.clear();
  pendingValues.clear();
}

/// Takes one operation, in order; false if it stays as it is.
bool Splitter::visit(Operation *op) {
  bool accumulates = getReduction(op) != nullptr;
  if (!isMember(op) && !isReduction(op) && !accumulates)
    return false;
  // A sum is known when both halves are done.
  bool needsSum = llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !accumulates && pendingValues.contains(operand) && !isMember(source);
  });
  if (needsSum) {
    builder.setInsertionPoint(op);
    flush();
  }
  pending.push_back(op);
  pendingValues.insert(op->getResult(0));
  return true;
}

void Splitter::run() {
  SmallVector<Operation *> order;
  for (Operation &op : *loop.getBody())
    order.push_back(&op);
  for (Operation *op : order) {
    if (visit(op))
      continue;
    builder.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (pendingValues.contains(value))
        flush();
      if (value.getDefiningOp() && isMember(value.getDefiningOp())) {
        Value &whole = joined[value];
        if (!whole)
          whole = rtile::JoinOp::create(
              builder, value.getLoc(), value.getType(),
              ValueRange{getHalf(value, 0), getHalf(value, 1)});
        operand.set(whole);
      }
    }
  }
  for (Operation *op : llvm::reverse(done))
    op->erase();
  eraseDead(*loop.getBody());
  std::string text =
      llvm::formatv(
          "tiles of {0} columns are computed in two parts, of {1} and {2}",
          tile.getDimSize(1), widths[0], widths[1])
          .str();
  remark::passed(
      match.product.getLoc(),
      remark::RemarkOpts::name("SplitColumns").category("rtile-split-columns"))
      << text;
}

struct SplitColumns : ringlet::impl::RTileSplitColumnsBase<SplitColumns> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      SmallVector<scf::ForOp> loops;
      func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops) {
        std::string why;
        if (std::optional<SplitProduct> match = matchLoop(loop, why)) {
          Splitter(*match, loop).run();
          continue;
        }
        remark::missed(loop.getLoc(), remark::RemarkOpts::name("SplitColumns")
                                          .category("rtile-split-columns"))
            << why;
      }
    });
  }
};

} // namespace
