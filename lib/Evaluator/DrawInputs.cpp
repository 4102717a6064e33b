//===- DrawInputs.cpp - Random inputs of a graph --------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/DrawInputs.h"

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Tensor/Dice.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The longest dynamic axis: long enough for a second chunk of small grids.
static constexpr int64_t kLongest = 36;

namespace {

/// An axis of a value.
using Axis = std::pair<Value, int64_t>;

/// Classes of axes that have one size.
class AxisClasses {
public:
  explicit AxisClasses(func::FuncOp function);
  /// Draws a size for each class; an axis that is static keeps its own.
  void draw(Dice &dice);
  int64_t sizeOf(Axis axis) { return sizes[find(axis)]; }

private:
  Axis find(Axis axis);
  void join(Axis a, Axis b) { parents[find(a)] = find(b); }
  /// Axis by axis, as far as both have some.
  void joinAll(Value a, Value b);
  void visit(Operation *op);
  void visitAttention(attn::AttentionOp op);
  void visitStructured(linalg::LinalgOp op);
  void visitReshape(Value narrow, Value wide,
                    ArrayRef<ReassociationIndices> groups);

  llvm::DenseMap<Axis, Axis> parents;
  llvm::DenseMap<Axis, int64_t> sizes;
  SmallVector<Value> values;
};

} // namespace

static RankedTensorType tensorType(Value value) {
  return value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
}

Axis AxisClasses::find(Axis axis) {
  auto parent = parents.find(axis);
  if (parent == parents.end() || parent->second == axis)
    return axis;
  Axis root = find(parent->second);
  parents[axis] = root;
  return root;
}

void AxisClasses::joinAll(Value a, Value b) {
  if (!tensorType(a) || !tensorType(b))
    return;
  int64_t rank = std::min(tensorType(a).getRank(), tensorType(b).getRank());
  for (int64_t axis = 0; axis < rank; ++axis)
    join({a, axis}, {b, axis});
}

void AxisClasses::visitAttention(attn::AttentionOp op) {
  int64_t axis = op.getSequenceAxis(), keyAxis = op.getKeyAxis();
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  auto lse = tensorType(op.getLse()).getRank();
  for (int64_t i = 0; i <= axis + 1; ++i)
    join({query, i}, {op.getOutput(), i});
  for (int64_t i = 0; i <= keyAxis + 1; ++i)
    join({key, i}, {value, i});
  join({query, axis + 2}, {key, keyAxis + 2});
  join({value, keyAxis + 2}, {op.getOutput(), axis + 2});
  join({op.getLse(), lse - 1}, {query, axis});
  join({op.getLse(), lse - 2}, {query, axis + 1});
  if (op.getSink())
    join({op.getSink(), 0}, {query, axis + 1});
  for (Value scale : {Value(op.getKScale()), Value(op.getVScale())})
    if (scale)
      join({scale, tensorType(scale).getRank() - 1}, {key, keyAxis + 1});
  if (op.isPacked())
    return joinAll(op.getQueryStarts(), op.getKeyStarts());
  for (Value scale : {Value(op.getKScale()), Value(op.getVScale())})
    if (scale && tensorType(scale).getRank() == 2)
      join({scale, 0}, {query, 0});
  join({query, 0}, op.isPaged() ? Axis(op.getPageTable(), 0) : Axis(key, 0));
  join({op.getLse(), lse - 3}, {query, 0});
  for (Value perSequence :
       {Value(op.getQueryLengths()), Value(op.getKeyLengths()),
        Value(op.getKeyBegins()), Value(op.getQOffset())})
    if (perSequence && tensorType(perSequence).getRank() == 1)
      join({perSequence, 0}, {query, 0});
}

void AxisClasses::visitStructured(linalg::LinalgOp op) {
  SmallVector<std::optional<Axis>> loops(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!tensorType(operand.get()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      Axis here(operand.get(), axis);
      std::optional<Axis> &loop = loops[dim.getPosition()];
      if (loop)
        join(here, *loop);
      loop = here;
    }
  }
  for (auto [result, init] : llvm::zip(op->getResults(), op.getDpsInits()))
    joinAll(result, init);
}

/// Axes of which the others of their group have one element.
void AxisClasses::visitReshape(Value narrow, Value wide,
                               ArrayRef<ReassociationIndices> groups) {
  for (auto [axis, group] : llvm::enumerate(groups))
    for (int64_t other : group)
      if (llvm::all_of(group, [&](int64_t each) {
            return each == other || tensorType(wide).getDimSize(each) == 1;
          }))
        join({narrow, axis}, {wide, other});
}

void AxisClasses::visit(Operation *op) {
  for (Value result : op->getResults())
    values.push_back(result);
  if (auto attention = dyn_cast<attn::AttentionOp>(op))
    return visitAttention(attention);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return visitStructured(structured);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return visitReshape(collapse.getResult(), collapse.getSrc(),
                        collapse.getReassociationIndices());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return visitReshape(expand.getSrc(), expand.getResult(),
                        expand.getReassociationIndices());
  if (isa<attn::ReorderOp, linalg::SoftmaxOp, tensor::CastOp>(op) ||
      op->hasTrait<OpTrait::Elementwise>())
    for (Value operand : op->getOperands())
      joinAll(operand, op->getResult(0));
}

AxisClasses::AxisClasses(func::FuncOp function) {
  llvm::append_range(values, function.getArguments());
  for (Operation &op : function.getBody().front())
    visit(&op);
}

void AxisClasses::draw(Dice &dice) {
  llvm::DenseMap<Axis, SmallVector<rlayout::OrderAttr, 2>> orders;
  SmallVector<Axis> classes;
  llvm::DenseMap<Axis, int64_t> known;
  for (Value value : values) {
    RankedTensorType type = tensorType(value);
    for (int64_t axis = 0; type && axis < type.getRank(); ++axis) {
      Axis root = find({value, axis});
      classes.push_back(root);
      if (!type.isDynamicDim(axis))
        known[root] = type.getDimSize(axis);
      if (rlayout::OrderAttr order = rlayout::getOrder(type);
          order && rlayout::getLayout(type).getAxis() == axis)
        orders[root].push_back(order);
    }
  }
  for (Axis root : classes) {
    if (sizes.contains(root))
      continue;
    auto fits = [&](int64_t size) {
      return llvm::all_of(orders[root], [&](rlayout::OrderAttr order) {
        return order.getOrder()->validate(size).empty();
      });
    };
    int64_t size = dice.between(1, kLongest);
    if (!fits(size))
      // A grid without a chunk has one length.
      for (rlayout::OrderAttr order : orders[root])
        if (int64_t period = order.getOrder()->period(); fits(period))
          size = period;
    auto fixed = known.find(root);
    sizes[root] = fixed == known.end() ? size : fixed->second;
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

class Drawer {
public:
  Drawer(func::FuncOp function, uint64_t seed)
      : function(function), dice(seed, 0), axes(function) {}

  std::optional<std::vector<Tensor>> run(Refusal &refusal);

private:
  void fill(Value argument, Tensor &tensor);
  /// Fills what an attention reads as something else than query, key or value;
  /// false if it is none of that.
  bool fillOption(OpOperand &use, Tensor &tensor);
  void fillStarts(Tensor &tensor, int64_t rows);
  void fillLengths(Tensor &tensor, int64_t rows);
  int64_t countKeys(attn::AttentionOp op);
  void fillBegins(Tensor &tensor, int64_t rows);
  void fillPages(Tensor &tensor, attn::AttentionOp op);
  void fillOffsets(Tensor &tensor, attn::AttentionOp op);
  int64_t drawSize(attn::AttentionOp op, Value size);

  func::FuncOp function;
  Dice dice;
  AxisClasses axes;
};

} // namespace

/// Half of the time the first one starts at 0 and the last one ends with the
/// rows; rows after the last sequence belong to none (S2).
void Drawer::fillStarts(Tensor &tensor, int64_t rows) {
  ArrayRef<int64_t> all(tensor.as<int64_t>(), tensor.elements());
  auto *starts = tensor.as<int64_t>();
  for (size_t i = 1; i < all.size(); ++i)
    starts[i] = dice.between(0, rows);
  if (all.size() > 1 && dice.oneIn(2))
    starts[all.size() - 1] = rows;
  std::sort(starts, starts + all.size());
}

void Drawer::fillLengths(Tensor &tensor, int64_t rows) {
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<int64_t>()[i] = dice.oneIn(3) ? rows : dice.between(0, rows);
}

/// Some before the first row, and some behind the last one (S5).
void Drawer::fillBegins(Tensor &tensor, int64_t rows) {
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<int64_t>()[i] =
        dice.oneIn(3) ? dice.between(-1, rows + 1) : dice.between(0, rows / 2);
}

/// Those that a sequence may have, or packed ones together.
int64_t Drawer::countKeys(attn::AttentionOp op) {
  int64_t rows = axes.sizeOf({op.getKey(), op.getKeyAxis()});
  return op.isPaged() ? rows * axes.sizeOf({op.getPageTable(), 1}) : rows;
}

/// Numbers of pages and, now and then, of none (S4).
void Drawer::fillPages(Tensor &tensor, attn::AttentionOp op) {
  int64_t pages = axes.sizeOf({op.getKey(), 0});
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<int64_t>()[i] = dice.between(-1, pages);
}

void Drawer::fillOffsets(Tensor &tensor, attn::AttentionOp op) {
  // Positions before the sequence, and those beyond a grid, are not allowed
  // everywhere; 0 mostly is.
  int64_t keys = countKeys(op);
  bool isFree = dice.oneIn(2);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<int64_t>()[i] = isFree ? dice.between(-2, keys) : 0;
}

/// A dilation of at most kMostDilated, a segment of at least the dilation (B1).
int64_t Drawer::drawSize(attn::AttentionOp op, Value size) {
  constexpr int64_t kMostDilated = 4;
  auto next = op.getSizes().begin();
  for (attn::BranchAttr branch : op.getBranchRange()) {
    if (branch.isRuntimeW() && *next++ == size)
      return std::max(branch.isRuntimeR() ? kMostDilated : branch.getR(),
                      dice.between(1, kLongest));
    bool isShort = !branch.isRuntimeW() && !branch.isUnbounded() &&
                   branch.getW() < kMostDilated;
    if (branch.isRuntimeR() && *next++ == size)
      return dice.between(1, isShort ? branch.getW() : kMostDilated);
  }
  llvm_unreachable("a size that no branch reads");
}

bool Drawer::fillOption(OpOperand &use, Tensor &tensor) {
  auto op = dyn_cast<attn::AttentionOp>(use.getOwner());
  if (!op)
    return false;
  Value value = use.get();
  int64_t axis = op.getSequenceAxis();
  int64_t queries = axes.sizeOf({op.getQuery(), axis});
  int64_t keys = countKeys(op);
  if (value == op.getQOffset())
    fillOffsets(tensor, op);
  else if (value == op.getQueryLengths())
    fillLengths(tensor, value == op.getKeyLengths() ? std::min(queries, keys)
                                                    : queries);
  else if (value == op.getKeyLengths())
    fillLengths(tensor, keys);
  else if (value == op.getQueryStarts())
    fillStarts(tensor,
               value == op.getKeyStarts() ? std::min(queries, keys) : queries);
  else if (value == op.getKeyStarts())
    fillStarts(tensor, keys);
  else if (value == op.getKeyBegins())
    fillBegins(tensor, keys);
  else if (value == op.getPageTable())
    fillPages(tensor, op);
  else if (llvm::is_contained(op.getSizes(), value))
    *tensor.as<int64_t>() = drawSize(op, value);
  else
    return false;
  return true;
}

void Drawer::fill(Value argument, Tensor &tensor) {
  if (tensor.dtype() == DType::f64) {
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<double>()[i] = dice.normal();
    return;
  }
  for (OpOperand &use : argument.getUses())
    if (fillOption(use, tensor))
      return;
  bool isBoolean = getElementTypeOrSelf(argument.getType()).isInteger(1);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<int64_t>()[i] = isBoolean
                                  ? -static_cast<int64_t>(dice.percent(70))
                                  : dice.between(0, 7);
}

std::optional<std::vector<Tensor>> Drawer::run(Refusal &refusal) {
  axes.draw(dice);
  std::vector<Tensor> inputs;
  int64_t elements = 0;
  for (BlockArgument argument : function.getArguments()) {
    std::optional<DType> dtype = storageOf(argument.getType());
    RankedTensorType type = tensorType(argument);
    if (!dtype || !(type || isa<FloatType>(argument.getType()))) {
      llvm::raw_string_ostream(refusal.message)
          << "expected arguments that are numbers or tensors of numbers, found "
          << argument.getType();
      refusal.op = function;
      return std::nullopt;
    }
    Shape shape;
    for (int64_t axis = 0; type && axis < type.getRank(); ++axis)
      shape.push_back(axes.sizeOf({argument, axis}));
    std::optional<int64_t> count = numElements(shape);
    if (!count || *count > kMaxElements - elements) {
      refusal = {function,
                 "expected arguments of at most 2^24 elements together to "
                 "draw, found one of shape " +
                     toString(shape),
                 /*isAboutInputs=*/true};
      return std::nullopt;
    }
    elements += *count;
    fill(argument, inputs.emplace_back(*dtype, shape));
  }
  return inputs;
}

std::optional<std::vector<Tensor>>
evaluator::drawInputs(func::FuncOp function, uint64_t seed, Refusal &refusal) {
  return Drawer(function, seed).run(refusal);
}
