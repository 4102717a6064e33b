//===- UnionKernel.cpp - One kernel for all branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries is part of an atom (lib/Layout/UnionShape.h) and walks over
// the key tiles of the atoms that its branches see, as one list whose places
// are taken apart by division. The softmax over the multiset of keys (R1)
// counts a key of m branches m times, so its exponent has log2(m) more.
//
// The list (lib/Layout/UnionTiles.h) begins with the tiles that have no key to
// hide. They have a loop of their own. In windows, and under causality where
// there is one segment without end, every atom has a run of key tiles instead.
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"
#include "lib/Layout/UnionTiles.h"
#include "passes/AttentionToTile/TileStream.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;

namespace {

/// Integers of a kernel of one type (see layout::UnionWalk).
class KernelArithmetic {
public:
  using Number = Value;
  using Condition = Value;

  KernelArithmetic(KernelBuilder &k, Type type) : k(k), type(type) {}

  Value constant(int64_t value) {
    if (type.isIndex())
      return k.constant(value);
    return arith::ConstantIntOp::create(k.getBuilder(), k.getLoc(), type,
                                        value);
  }
  /// From an index, and back.
  Value narrow(Value number) {
    return type.isIndex() ? number : make<arith::IndexCastOp>(type, number);
  }
  Value widen(Value number) {
    return type.isIndex() ? number
                          : make<arith::IndexCastOp>(
                                k.getBuilder().getIndexType(), number);
  }
  Value add(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulIOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivSIOp>(a, b); }
  Value rem(Value a, Value b) { return make<arith::RemSIOp>(a, b); }
  Value ceilDiv(Value a, int64_t b) {
    return make<arith::CeilDivSIOp>(a, constant(b));
  }
  Value floorMod(Value a, int64_t b) {
    Value floor = make<arith::FloorDivSIOp>(a, constant(b));
    return sub(a, mul(floor, constant(b)));
  }
  Value min(Value a, Value b) { return make<arith::MinSIOp>(a, b); }
  Value max(Value a, Value b) { return make<arith::MaxSIOp>(a, b); }
  Value less(Value a, Value b) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  }
  Value divides(int64_t a, Value b) {
    Value rest = rem(b, constant(a));
    return make<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, constant(0));
  }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  Value always() { return truth(true); }
  Value never() { return truth(false); }

private:
  Value truth(bool value) {
    return arith::ConstantOp::create(k.getBuilder(), k.getLoc(),
                                     k.getBuilder().getBoolAttr(value));
  }
  template <class OpT, class... Args>
  Value make(Args &&...args) {
    return k.getBuilder().createOrFold<OpT>(k.getLoc(),
                                            std::forward<Args>(args)...);
  }

  KernelBuilder &k;
  Type type;
};

using Walk = layout::UnionWalk<KernelArithmetic>;
using Tiles = layout::UnionTiles<KernelArithmetic>;

class UnionEmitter : public TileStream {
public:
  UnionEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const UnionKernel &kernel, attn::TilingAttr tiling)
      : UnionEmitter(plan, name, attention, kernel, tiling,
                     attn::getUnionShape(attention.op)) {}

private:
  UnionEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const UnionKernel &kernel, attn::TilingAttr tiling,
               const layout::UnionShape &all)
      : UnionEmitter(plan, name, attention, kernel, tiling, all,
                     cost::getShape(all, kernel.part)) {}
  UnionEmitter(HostPlan &plan, const Twine &name, Attention &attention,
               const UnionKernel &kernel, attn::TilingAttr tiling,
               const layout::UnionShape &all, const layout::UnionShape &part)
      : TileStream(plan, name, attention, kernel.ends, /*branch=*/0,
                   getSizes(plan, part), tiling),
        shape(part), numbers(all.getOrder()),
        residues(cost::countResidues(all, kernel.part)), span(getSpan(shape)),
        wide(k, k.getBuilder().getIndexType()),
        walking(k, getWalkType(k.getBuilder(), shape, tiling)) {
    if (tiling.getRecipe())
      k.setRecipe(tiling.getRecipe());
    grid.count(0, attention.op.getQueryHeads());
    if (shape.rate != 1)
      grid.addResidues(residues);
  }

  using State = SoftmaxBody::State;
  using KeyStep = SoftmaxBody::KeyStep;

  void place(int64_t groupRows) override;
  int64_t getResiduesOfPoint() override;
  void placeResidue(Value place) override;
  void streamKeys(Value tile, Value row, const TileRows &of) override;

  static BranchSizes getSizes(HostPlan &plan, const layout::UnionShape &shape) {
    BranchSizes sizes;
    if (shape.width != layout::unboundedSegment)
      sizes.w = plan.constant(shape.width);
    sizes.r = plan.constant(shape.rate);
    return sizes;
  }
  /// Whether a division does not tell which keys are hidden.
  bool needsRuns() {
    bool isEndless = shape.width == layout::unboundedSegment;
    return (attention.op.getCausal() && isEndless) ||
           attention.op.getWindow() || view.getOrder(Side::Query).positions ||
           view.getOrder(Side::Key).positions;
  }
  /// Base segments of the longest segment; 0 if one is unbounded.
  static int64_t getSpan(const layout::UnionShape &shape) {
    int64_t longest = 0;
    for (const layout::UnionBranch &branch : shape.branches) {
      if (branch.width == layout::unboundedSegment)
        return 0;
      longest = std::max(longest, branch.width);
    }
    return longest / shape.width;
  }
  /// Places and distances of segments fit in 32 bits where segments are not too
  /// long.
  static Type getWalkType(OpBuilder &builder, const layout::UnionShape &shape,
                          attn::TilingAttr tiling) {
    double places = static_cast<double>(getSpan(shape)) *
                    static_cast<double>(shape.branches.size()) *
                    (static_cast<double>(shape.width) /
                         static_cast<double>(tiling.getKey()) +
                     2.0 * static_cast<double>(shape.rate));
    bool isNarrow = getSpan(shape) != 0 && places < 0x1p30;
    return isNarrow ? Type(builder.getI32Type()) : builder.getIndexType();
  }

  /// Of the queries, from its place among those of the grid.
  void findResidue(Value place);
  Walk makeWalk();
  /// The number of keys.
  Value countKeys();
  /// A base segment as a distance from that of the queries; those that no
  /// branch reaches may be nearer than they are.
  Value getDistance(Value segment);
  Value getSegment(const Walk::Atom &atom);
  KeyViews viewAtom(const Walk::Atom &atom);
  Tiles listTiles(Walk &walk, Value row);
  /// How often the keys count at a place of `atoms` that has `tiles` tiles for
  /// each, as a logarithm to base 2 of every row; null if always once.
  Value getShift(const Walk::List &atoms, Value tiles, Value place);
  /// A visit, and how often its keys count (see getShift).
  struct Visit : Tiles::Visit {
    Value shift;
  };
  Visit select(Value condition, const Visit &a, const Visit &b);
  /// What stands at a place of the list of which `stretches` are the rest.
  Visit getVisit(Tiles &tiles, ArrayRef<Tiles::Stretch> stretches, Value place);
  KeyStep getStep(const Visit &visit, Value row);
  State visitList(Tiles &tiles, Value row, Value queryTile, const State &state);
  State visitRuns(Walk &walk, Value row, Value queryTile, const State &state);

  layout::UnionShape shape;
  /// Of its branches in the attention.
  std::vector<size_t> numbers;
  /// That have rows to compute.
  int64_t residues;
  int64_t span;
  /// Of numbers of rows and segments, and of a walk.
  KernelArithmetic wide, walking;
  /// Of the queries' residue (see Walk::getResidue).
  Value placeOfResidue;
};

} // namespace

void UnionEmitter::place(int64_t groupRows) {
  declareGrid();
  findResidue(grid.getPoint().residue);
  viewQueries();
  viewResults(groupRows);
}

/// Rows whose marks are looked at together, of all residues.
static constexpr int64_t mostRowsOfLook = 2048;

/// The marks of a segment follow each other where positions do.
int64_t UnionEmitter::getResiduesOfPoint() {
  const RowOrder &order = view.getOrder(Side::Query);
  bool isPlain = !order.rows && !order.order && !order.positions &&
                 !attention.sequences.arePacked();
  bool isShort = shape.width != layout::unboundedSegment &&
                 queryRows * shape.rate <= mostRowsOfLook;
  return shape.rate != 1 && residues == shape.rate && isPlain && isShort
             ? residues
             : 0;
}

void UnionEmitter::placeResidue(Value place) {
  findResidue(place);
  viewQueries();
  viewResults(/*groupRows=*/0);
}

void UnionEmitter::findResidue(Value place) {
  const AttentionGrid::Point &point = grid.getPoint();
  residue = place;
  placeOfResidue = walking.narrow(residue ? residue : k.constant(0));
  // Under causality the last points of a grid are the longest.
  if (residue && attention.op.getCausal())
    placeOfResidue =
        walking.sub(walking.constant(residues - 1), placeOfResidue);
  if (residue && shape.isNested) {
    unsigned last = numbers[shape.branches.size() - 1];
    Value ofHead =
        makeResidue(plan, k, attention, last, point.head, point.keyHead);
    ofHead = walking.narrow(ofHead ? ofHead : k.constant(0));
    Value here = Walk::getResidue(walking, shape, placeOfResidue, ofHead);
    residue = walking.widen(here);
  }
}

Value UnionEmitter::countKeys() {
  const SequencePart &part = sequence.getPart(Side::Key);
  if (!part.end)
    return sequence.getRows(Side::Key);
  return k.create<arith::SubIOp>("k_length", part.end, part.first);
}

Value UnionEmitter::getDistance(Value segment) {
  Value here = grid.getPoint().segment;
  Value distance = here ? wide.sub(segment, here) : segment;
  if (span != 0) {
    distance = wide.max(distance, k.constant(-span));
    distance = wide.min(distance, k.constant(span));
  }
  return walking.narrow(distance);
}

Value UnionEmitter::getSegment(const Walk::Atom &atom) {
  Value here = grid.getPoint().segment;
  return here ? wide.add(here, walking.widen(atom.segment)) : Value();
}

TileKernel::KeyViews UnionEmitter::viewAtom(const Walk::Atom &atom) {
  Value segment = getSegment(atom);
  Value ofAtom = shape.rate == 1 ? Value() : walking.widen(atom.residue);
  return viewKeys(getRows(Side::Key, segment, ofAtom));
}

Walk UnionEmitter::makeWalk() {
  const AttentionGrid::Point &point = grid.getPoint();
  attn::AttentionOp op = attention.op;
  std::vector<Walk::Head> heads;
  for (unsigned i = 0; i < shape.branches.size(); ++i) {
    unsigned number = numbers[i];
    Value o =
        makeResidue(plan, k, attention, number, point.head, point.keyHead);
    Value takesPart = wide.always();
    if (!attention.hasEveryHead(number)) {
      attn::BranchAttr branch = attention.getBranch(number);
      int64_t end = branch.getHeadEnd(op.getQueryHeads());
      Value begin = k.constant(branch.getHeadBegin());
      Value isBehind = k.create<arith::CmpIOp>(
          "is_behind", arith::CmpIPredicate::sge, point.head, begin);
      takesPart = wide.both(isBehind, wide.less(point.head, k.constant(end)));
    }
    const layout::UnionBranch &branch = shape.branches[i];
    int64_t segments = branch.width == layout::unboundedSegment
                           ? branch.rate
                           : branch.width / shape.width;
    Value segment =
        point.segment ? wide.floorMod(point.segment, segments) : k.constant(0);
    heads.push_back({takesPart, walking.narrow(o ? o : k.constant(0)),
                     walking.narrow(segment)});
  }
  Value here = walking.narrow(residue ? residue : k.constant(0));
  return Walk(walking, shape, heads, here, placeOfResidue);
}

Tiles UnionEmitter::listTiles(Walk &walk, Value row) {
  bool isAligned = !sequence.getFirstOrdinal();
  Tiles::Query query{grid.getPoint().segment, row, queryRows, isAligned};
  return Tiles(wide, walking, walk, shape, attention.op.getCausal(), query,
               {countKeys(), keyRows},
               [&](Value segment) { return getDistance(segment); });
}

Value UnionEmitter::getShift(const Walk::List &atoms, Value tiles,
                             Value place) {
  int64_t most = 0;
  for (const Walk::List::Span &span : atoms.spans)
    most = std::max(most, span.multiplicity);
  if (most < 2)
    return nullptr;
  double unit = ScoreUnits(attention.op).exponent;
  auto getLog = [&](int64_t m) {
    return k.splat("log2_m", std::log2(static_cast<double>(m)) / unit,
                   k.tileType({queryRows}));
  };
  Value shift = getLog(atoms.spans.back().multiplicity);
  for (const Walk::List::Span &span :
       llvm::reverse(ArrayRef(atoms.spans).drop_back())) {
    Value isHere = walking.less(place, walking.mul(span.end, tiles));
    shift = k.create<arith::SelectOp>("shift", isHere,
                                      getLog(span.multiplicity), shift);
  }
  return shift;
}

UnionEmitter::Visit UnionEmitter::select(Value condition, const Visit &a,
                                         const Visit &b) {
  Visit visit;
  visit.atom.segment =
      walking.select(condition, a.atom.segment, b.atom.segment);
  visit.atom.residue =
      walking.select(condition, a.atom.residue, b.atom.residue);
  visit.tile = walking.select(condition, a.tile, b.tile);
  if (a.shift)
    visit.shift =
        k.create<arith::SelectOp>("shift", condition, a.shift, b.shift);
  return visit;
}

UnionEmitter::Visit UnionEmitter::getVisit(Tiles &tiles,
                                           ArrayRef<Tiles::Stretch> stretches,
                                           Value place) {
  std::optional<Visit> found;
  for (const Tiles::Stretch &stretch : llvm::reverse(stretches)) {
    Visit here{tiles.at(stretch, place), Value()};
    here.shift = getShift(stretch.atoms, stretch.tiles, here.number);
    found = found ? select(wide.less(place, stretch.end), here, *found) : here;
  }
  return *found;
}

UnionEmitter::KeyStep UnionEmitter::getStep(const Visit &visit, Value row) {
  KeyViews views = viewAtom(visit.atom);
  KeyStep step;
  step.place = {queryView, row, views.key, {}, {}, {}};
  step.value = views.value;
  step.keyRow = wide.mul(walking.widen(visit.tile), k.constant(keyRows));
  step.shift = visit.shift;
  return step;
}

UnionEmitter::State UnionEmitter::visitList(Tiles &tiles, Value row,
                                            Value queryTile,
                                            const State &initial) {
  State state = initial;
  auto visit = [&](Value begin, Value end,
                   llvm::function_ref<KeyStep(Value)> getStep) {
    state = body.visit("place", {begin, end, k.constant(1)}, keys, queryTile,
                       state, getStep);
  };
  Value begin = k.constant(0), end = tiles.masked.back().end;
  if (!tiles.whole.empty()) {
    Value wholeEnd = tiles.whole.back().end;
    visit(begin, wholeEnd, [&](Value place) {
      KeyStep step = getStep(getVisit(tiles, tiles.whole, place), row);
      step.isMasked = false;
      return step;
    });
    begin = wholeEnd;
  }
  visit(begin, end, [&](Value place) {
    Visit visit = getVisit(tiles, tiles.masked, place);
    if (!tiles.whole.empty()) {
      // So that the first step of all can be one of these.
      Visit whole = getVisit(tiles, tiles.whole, place);
      visit = select(wide.less(place, begin), whole, visit);
    }
    return getStep(visit, row);
  });
  return state;
}

UnionEmitter::State UnionEmitter::visitRuns(Walk &walk, Value row,
                                            Value queryTile,
                                            const State &initial) {
  OpBuilder &builder = k.getBuilder();
  Value zero = k.constant(0), one = k.constant(1);
  Walk::List atoms;
  if (shape.width == layout::unboundedSegment) {
    Value always = wide.always();
    atoms = walk.listOne(walking.constant(0), always);
  } else {
    Value first = getDistance(zero);
    Value last = getDistance(wide.ceilDiv(countKeys(), shape.width));
    atoms = walk.list(first, last);
  }
  auto loop = k.create<scf::ForOp>(
      "state", zero, walking.widen(atoms.count), one,
      ValueRange{initial.maximum, initial.sum, initial.accumulator});
  Value place = loop.getInductionVar();
  place.setLoc(k.named("place"));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  KeyViews views = viewAtom(walk.at(atoms, walking.narrow(place)));
  auto inits = loop.getRegionIterArgs();
  Value number = walking.narrow(place);
  Value shift = getShift(atoms, walking.constant(1), number);
  State next =
      body.visit(keys, {queryView, row, views.key, {}, {}, {}}, views.value,
                 queryTile, {inits[0], inits[1], inits[2]}, shift);
  scf::YieldOp::create(builder, k.getLoc(),
                       ValueRange{next.maximum, next.sum, next.accumulator});
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

void UnionEmitter::streamKeys(Value, Value row, const TileRows &of) {
  Value queryTile = k.load("q_tile", queryView, row);
  Walk walk = makeWalk();
  State state = body.begin(std::nullopt, row);
  if (needsRuns())
    return store(visitRuns(walk, row, queryTile, state), row, of);
  Tiles tiles = listTiles(walk, row);
  TileRows known = of;
  known.isEmpty = wide.less(tiles.masked.back().end, k.constant(1));
  state = visitList(tiles, row, queryTile, state);
  store(state, row, known);
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const UnionKernel &kernel) {
  UnionEmitter(plan, name, attention, kernel, kernel.tiling).emitOnce();
}

void ringlet::emitRedo(HostPlan &plan, const Twine &name, Attention &attention,
                       const UnionKernel &marking) {
  UnionEmitter(plan, name, attention, marking, marking.tiling.getRedo())
      .emitRedo();
}
