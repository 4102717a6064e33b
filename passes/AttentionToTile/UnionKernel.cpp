//===- UnionKernel.cpp - One kernel for all branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries is part of an atom (lib/Layout/UnionShape.h) and walks over
// the atoms of keys that its branches see. The softmax over the multiset of
// keys (R1) counts a key of m branches m times. So keys of the greatest
// multiplicity come first; then the state is taken times m / (m - 1), which
// raises its reference by the logarithm of that and moves no sum, and those of
// one branch less follow.
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Layout/UnionWalk.h"
#include "passes/AttentionToTile/TileKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;

namespace {

/// Numbers of a kernel (see layout::UnionWalk).
class KernelArithmetic {
public:
  using Number = Value;
  using Condition = Value;

  explicit KernelArithmetic(KernelBuilder &k) : k(k) {}

  Value constant(int64_t value) { return k.constant(value); }
  Value add(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulIOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivSIOp>(a, b); }
  Value rem(Value a, Value b) { return make<arith::RemSIOp>(a, b); }
  Value floorDiv(Value a, int64_t b) {
    return make<arith::FloorDivSIOp>(a, constant(b));
  }
  Value min(Value a, Value b) { return make<arith::MinSIOp>(a, b); }
  Value max(Value a, Value b) { return make<arith::MaxSIOp>(a, b); }
  Value less(Value a, Value b) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  }
  Value divides(int64_t a, Value b) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::eq, rem(b, constant(a)),
                               constant(0));
  }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value inverse(Value a) { return make<arith::XOrIOp>(a, always()); }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  Value always() { return truth(true); }
  Value never() { return truth(false); }

private:
  template <class OpT, class... Args>
  Value make(Args &&...args) {
    return k.getBuilder().createOrFold<OpT>(k.getLoc(),
                                            std::forward<Args>(args)...);
  }
  Value truth(bool value) {
    return arith::ConstantOp::create(k.getBuilder(), k.getLoc(),
                                     k.getBuilder().getBoolAttr(value));
  }

  KernelBuilder &k;
};

using Walk = layout::UnionWalk<KernelArithmetic>;

class UnionEmitter : TileKernel {
public:
  UnionEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const UnionKernel &kernel, const layout::UnionShape &shape)
      : TileKernel(plan, name, attention, kernel.ends, /*branch=*/0,
                   getSizes(plan, shape), kernel.tiling),
        shape(shape), arithmetic(k) {}

  void emit();

private:
  using State = SoftmaxBody::State;

  static BranchSizes getSizes(HostPlan &plan, const layout::UnionShape &shape) {
    BranchSizes sizes;
    if (shape.width != layout::unboundedSegment)
      sizes.w = plan.constant(shape.width);
    sizes.r = plan.constant(shape.rate);
    return sizes;
  }
  Walk makeWalk();
  Value countKeySegments();
  /// Ends the body of a loop or a branch with the state that it makes.
  void yield(const State &state);
  State loop(StringRef name, Value end, const State &initial,
             llvm::function_ref<State(Value number, const State &)> body);
  State onlyIf(Value condition, const State &state,
               llvm::function_ref<State()> body);
  /// The state before keys of `multiplicity` branches.
  State raise(Value multiplicity, const State &state);
  /// The state after the keys of one atom.
  State visit(const Walk::Atom &atom, const State &state);

  const layout::UnionShape &shape;
  KernelArithmetic arithmetic;
  Value row, queryTile;
};

} // namespace

/// The number of base segments with keys.
Value UnionEmitter::countKeySegments() {
  if (shape.width == layout::unboundedSegment)
    return k.constant(1);
  const SequencePart &part = sequence.getPart(Side::Key);
  Value count = part.end
                    ? k.create<arith::SubIOp>("k_length", part.end, part.first)
                          .getResult()
                    : sequence.getRows(Side::Key);
  return k.create<arith::CeilDivSIOp>("key_segments", count,
                                      k.constant(shape.width));
}

Walk UnionEmitter::makeWalk() {
  const AttentionGrid::Point &point = grid.getPoint();
  attn::AttentionOp op = attention.op;
  std::vector<Walk::Head> heads;
  for (unsigned i = 0; i < shape.branches.size(); ++i) {
    Value o = makeResidue(plan, k, attention, i, point.head, point.keyHead);
    Value takesPart = arithmetic.always();
    if (!attention.hasEveryHead(i)) {
      attn::BranchAttr branch = attention.getBranch(i);
      int64_t end =
          branch.hasAllHeads() ? op.getQueryHeads() : branch.getHeadEnd();
      Value isBefore =
          arithmetic.less(point.head, k.constant(branch.getHeadBegin()));
      takesPart = arithmetic.both(arithmetic.inverse(isBefore),
                                  arithmetic.less(point.head, k.constant(end)));
    }
    heads.push_back({takesPart, o ? o : k.constant(0)});
  }
  Walk::Atom queries{point.segment ? point.segment : k.constant(0),
                     residue ? residue : k.constant(0)};
  return Walk(arithmetic, shape, heads, queries, countKeySegments());
}

void UnionEmitter::yield(const State &state) {
  scf::YieldOp::create(k.getBuilder(), k.getLoc(),
                       ValueRange{state.maximum, state.sum, state.accumulator});
}

UnionEmitter::State UnionEmitter::loop(
    StringRef name, Value end, const State &initial,
    llvm::function_ref<State(Value number, const State &)> body) {
  OpBuilder &builder = k.getBuilder();
  auto loop = k.create<scf::ForOp>(
      "state", k.constant(0), end, k.constant(1),
      ValueRange{initial.maximum, initial.sum, initial.accumulator});
  loop.getInductionVar().setLoc(k.named(name));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto state = loop.getRegionIterArgs();
  yield(body(loop.getInductionVar(), {state[0], state[1], state[2]}));
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

UnionEmitter::State UnionEmitter::onlyIf(Value condition, const State &state,
                                         llvm::function_ref<State()> body) {
  OpBuilder &builder = k.getBuilder();
  SmallVector<Type> types{state.maximum.getType(), state.sum.getType(),
                          state.accumulator.getType()};
  auto branch = k.create<scf::IfOp>("next_state", TypeRange(types), condition,
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  yield(body());
  builder.setInsertionPointToStart(branch.elseBlock());
  yield(state);
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

UnionEmitter::State UnionEmitter::raise(Value multiplicity,
                                        const State &state) {
  OpBuilder &builder = k.getBuilder();
  State raised = state;
  auto type = cast<RankedTensorType>(state.maximum.getType());
  for (int64_t m = 1; m < static_cast<int64_t>(shape.branches.size()); ++m) {
    Value isNext = k.create<arith::CmpIOp>("is_next", arith::CmpIPredicate::eq,
                                           multiplicity, k.constant(m));
    auto branch = k.create<scf::IfOp>("raised", type, isNext,
                                      /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    double factor = static_cast<double>(m + 1) / static_cast<double>(m);
    Value higher = k.create<arith::AddFOp>(
        "m_raised", raised.maximum, k.splat("log2_m", std::log2(factor), type));
    scf::YieldOp::create(builder, k.getLoc(), higher);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, k.getLoc(), raised.maximum);
    raised.maximum = branch.getResult(0);
  }
  return raised;
}

UnionEmitter::State UnionEmitter::visit(const Walk::Atom &atom,
                                        const State &state) {
  KeyViews views = viewKeys(getRows(Side::Key, atom.segment,
                                    shape.rate == 1 ? Value() : atom.residue));
  KeyTiles::Place place{queryView, row, views.key, {}, {}, {}};
  return body.visit(keys, place, views.value, queryTile, state);
}

void UnionEmitter::emit() {
  grid.count(0, attention.op.getQueryHeads());
  if (shape.rate != 1)
    grid.addResidues();
  declareGrid();
  const AttentionGrid::Point &point = grid.getPoint();
  residue = point.residue;
  viewQueries();
  viewResults(/*groupRows=*/0);
  row = getFirstRow("row", queryView, point.tile);
  queryTile = k.load("q_tile", queryView, row);
  Walk walk = makeWalk();
  Value most = k.constant(walk.getMost());
  auto visitGroup = [&](Value number, const State &state) {
    Value multiplicity = k.create<arith::SubIOp>("multiplicity", most, number);
    auto visitPlace = [&](Value place, const State &state) {
      Walk::Visit next = walk.at(place);
      Value isNext =
          k.create<arith::CmpIOp>("is_of_group", arith::CmpIPredicate::eq,
                                  next.multiplicity, multiplicity);
      return onlyIf(arithmetic.both(next.isFirst, isNext), state,
                    [&] { return visit(next.atom, state); });
    };
    return loop("place", walk.getCount(multiplicity),
                raise(multiplicity, state), visitPlace);
  };
  store(loop("group", most, body.begin(std::nullopt, row), visitGroup), row,
        /*marks=*/nullptr);
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const UnionKernel &kernel) {
  layout::UnionShape shape = attn::getUnionShape(attention.op);
  UnionEmitter(plan, name, attention, kernel, shape).emit();
}
