//===- FitRows.cpp - Lower tiles where few rows exist -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CPUTiling.h"
#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECPUFITROWS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Vectors of rows in the tallest tiles that are for few queries.
constexpr int64_t mostVectors = 4;

/// The values of a kernel whose height is that of what it stores: tiles and
/// views, found from the stores on.
class TallValues {
public:
  /// Returns what has no form for few rows, or "".
  std::string find(ArrayRef<rtile::StoreOp> stores) {
    for (rtile::StoreOp store : stores)
      add({store.getTile(), store.getView()});
    for (size_t next = 0; next < values.size(); ++next) {
      Value value = values[next];
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (!visit(argument.getOwner()->getParentOp(), value))
          return problem;
      } else if (!visit(value.getDefiningOp(), value)) {
        return problem;
      }
      for (Operation *user : value.getUsers())
        if (!visit(user, value))
          return problem;
    }
    return "";
  }

  bool contains(Value value) const { return values.contains(value); }
  ArrayRef<Value> get() const { return values.getArrayRef(); }

private:
  bool refuse(StringRef why) {
    problem = why.str();
    return false;
  }

  bool add(ValueRange more) {
    for (Value value : more)
      values.insert(value);
    return true;
  }

  /// Adds what `op` gives the height of `value`; false, with the problem, if it
  /// has no form for few rows.
  bool visit(Operation *op, Value value) {
    if (isa<rtile::ViewOp, arith::ConstantOp, rtile::BoundsOp>(op))
      return true;
    if (auto load = dyn_cast<rtile::LoadOp>(op))
      return add({load.getView(), load.getResult()});
    if (auto store = dyn_cast<rtile::StoreOp>(op))
      return add({store.getView(), store.getTile()});
    if (auto run = dyn_cast<rtile::RunOp>(op))
      return value == run.getQuery() || refuse("keys that are stored");
    if (auto visible = dyn_cast<rtile::VisibleOp>(op))
      return visitMask(visible, value);
    if (auto dot = dyn_cast<rtile::DotOp>(op))
      return visitProduct(dot, value);
    if (auto reduce = dyn_cast<rtile::ReduceOp>(op))
      return add({reduce.getInput(), reduce.getResult()});
    if (auto broadcast = dyn_cast<rtile::BroadcastOp>(op)) {
      if (broadcast.getColumns())
        return refuse("values of columns");
      return add({broadcast.getInput(), broadcast.getResult()});
    }
    if (auto yield = dyn_cast<scf::YieldOp>(op))
      op = yield->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return visitLoop(loop);
    if (!isRowParallel(op))
      return refuse(op->getName().getStringRef());
    for (Value operand : op->getOperands())
      if (getTile(operand))
        values.insert(operand);
    return add(op->getResults());
  }

  bool visitMask(rtile::VisibleOp visible, Value value) {
    if (value == visible.getKey())
      return refuse("keys that are stored");
    auto keys = visible.getKey().getDefiningOp<rtile::ViewOp>();
    if (!keys || keys.getPositions())
      return refuse("keys with positions");
    if (visible.getGrid() || visible.getBlocks())
      return refuse("masks by grids or blocks");
    return add({visible.getQuery(), visible.getResult()});
  }

  bool visitProduct(rtile::DotOp dot, Value value) {
    if (value == dot.getRhs())
      return refuse("a product whose right operand has the height of a result");
    if (dot.getTransposed() && !dot.getLhs().getDefiningOp<rtile::LoadOp>())
      return refuse("a product with keys whose left operand is computed");
    if (dot.getInit())
      values.insert(dot.getInit());
    return add({dot.getLhs(), dot.getResult()});
  }

  bool visitLoop(scf::ForOp loop) {
    for (auto [argument, init, yielded, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(),
                         loop.getYieldedValues(), loop.getResults()))
      if (contains(argument) || contains(init) || contains(yielded) ||
          contains(result))
        add({argument, init, yielded, result});
    return true;
  }

  llvm::SmallSetVector<Value, 32> values;
  std::string problem;
};

Type withHeight(Type type, int64_t height) {
  if (auto view = dyn_cast<rtile::ViewType>(type)) {
    SmallVector<int64_t> shape(view.getShape());
    shape[0] = height;
    return rtile::ViewType::get(shape, view.getElementType(),
                                view.getSegmentLength(), view.getRate(),
                                view.getIndexed());
  }
  auto tile = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tile.getShape());
  shape[0] = height;
  return tile.clone(shape);
}

struct FitRows : ringlet::impl::RTileCPUFitRowsBase<FitRows> {
  using Base::Base;

  void runOnOperation() override {
    const arch::CPULevel *row = lookupLevel(getOperation(), level);
    if (!row)
      return signalPassFailure();
    getOperation()->walk([&](rtile::FuncOp func) {
      func->removeDiscardableAttr(narrowAttr);
      fit(func, *row);
    });
  }

  static void fit(rtile::FuncOp func, const arch::CPULevel &row) {
    SmallVector<rtile::StoreOp> stores;
    func.walk([&](rtile::StoreOp store) { stores.push_back(store); });
    SmallVector<rtile::DotOp> dots;
    func.walk([&](rtile::DotOp dot) { dots.push_back(dot); });
    if (stores.empty() || dots.empty())
      return;
    int64_t height = getTile(stores.front().getTile()).getDimSize(0);
    int64_t narrow = getRowsOfQuery(stores);
    if (narrow == 0 || narrow >= row.lanes() || narrow >= height ||
        height > mostVectors * row.lanes())
      return;
    auto explain = [&](remark::detail::InFlightRemark remark,
                       const std::string &text) {
      remark << llvm::formatv("{0}: {1}", func.getSymName(), text).str();
    };
    auto options = remark::RemarkOpts::name("FitRows")
                       .category("rtile-cpu-fit-rows")
                       .function(func.getSymName());
    cost::FewRows few = compare(dots, row, narrow);
    TallValues tall;
    std::string problem = whyNot(stores, dots, tall, row.lanes() / narrow);
    if (!problem.empty())
      return explain(remark::missed(func.getLoc(), options),
                     "no tiles of " + std::to_string(narrow) +
                         " rows: there is no form of " + problem +
                         " for so few");
    if (!few.areNarrow())
      return explain(remark::missed(func.getLoc(), options),
                     "no lower tiles for " + cost::explain(few));
    split(func, stores, tall, narrow);
    func->setAttr(narrowAttr, Builder(func).getI64IntegerAttr(narrow));
    explain(remark::passed(func.getLoc(), options),
            "where no more exist, tiles of " + cost::explain(few));
  }

  /// The rows of one query, up to a power of two; 0 if stores differ in height.
  static int64_t getRowsOfQuery(ArrayRef<rtile::StoreOp> stores) {
    int64_t group = 1;
    for (rtile::StoreOp store : stores) {
      auto view = store.getView().getDefiningOp<rtile::ViewOp>();
      rtile::StoreOp first = stores.front();
      if (!view || getTile(store.getTile()).getDimSize(0) !=
                       getTile(first.getTile()).getDimSize(0))
        return 0;
      group = std::max(group, view.getGroupSize());
    }
    return static_cast<int64_t>(llvm::PowerOf2Ceil(group));
  }

  static cost::FewRows compare(ArrayRef<rtile::DotOp> dots,
                               const arch::CPULevel &row, int64_t narrow) {
    cost::BranchShape shape = {};
    bool isBF16 = true, isF32 = true;
    for (rtile::DotOp dot : dots) {
      RankedTensorType right = getTile(dot.getRhs());
      isBF16 &= right.getElementType().isBF16();
      auto load = dot.getRhs().getDefiningOp<rtile::LoadOp>();
      isF32 &= load && isF32InMemory(load);
      (dot.getTransposed() ? shape.headDim : shape.valueDim) =
          right.getDimSize(1);
    }
    return cost::compareForms(cost::CPUCore::of(row, isBF16, isF32), shape,
                              narrow);
  }

  static std::string whyNot(ArrayRef<rtile::StoreOp> stores,
                            ArrayRef<rtile::DotOp> dots, TallValues &tall,
                            int64_t columns) {
    Operation *known = getRowsKnown(stores);
    if (!known || llvm::any_of(stores, [](rtile::StoreOp store) {
          return bool(store->getParentOfType<scf::ForOp>());
        }))
      return "stores at several rows";
    if (std::string problem = tall.find(stores); !problem.empty())
      return problem;
    for (rtile::DotOp dot : dots)
      if (!tall.contains(dot.getResult()))
        return "products that are not stored";
    // A vector has several columns: all of them have to exist in reductions.
    for (Value value : tall.get())
      if (Operation *op = value.getDefiningOp();
          isa_and_nonnull<rtile::ReduceOp, rtile::DotOp>(op))
        if (bool counts = !isa<rtile::DotOp>(op) ||
                          cast<rtile::DotOp>(op).getTransposed();
            counts && getWidth(op) % columns != 0)
          return "tiles of " + std::to_string(getWidth(op)) + " keys";
    return "";
  }

  /// Puts what comes when rows are known on both sides of a branch.
  static void split(rtile::FuncOp func, ArrayRef<rtile::StoreOp> stores,
                    const TallValues &tall, int64_t narrow) {
    Block &body = func.getBody().front();
    Operation *known = getRowsKnown(stores);
    ImplicitLocOpBuilder b(func.getLoc(), known);
    b.setInsertionPointAfter(known);
    Value row = rtile::StoreOp(stores.front()).getOffsets()[0];
    Value most = arith::ConstantIndexOp::create(b, narrow);
    Value limit = arith::AddIOp::create(b, row, most);
    Value few;
    for (rtile::StoreOp store : stores) {
      auto bounds = rtile::BoundsOp::create(b, store.getView());
      Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                         bounds.getEnd(), limit);
      few = few ? arith::AndIOp::create(b, few, here).getResult() : here;
    }
    auto branch = scf::IfOp::create(b, few, /*withElseRegion=*/true);
    Operation *end = body.getTerminator();
    Block *otherwise = branch.elseBlock(), *then = branch.thenBlock();
    while (branch->getNextNode() != end)
      branch->getNextNode()->moveBefore(otherwise->getTerminator());

    IRMapping map;
    b.setInsertionPointToStart(then);
    auto isTall = [&](Value value) { return tall.contains(value); };
    for (Operation &op : body.without_terminator()) {
      if (&op == branch)
        break;
      if (llvm::any_of(op.getResults(), isTall))
        b.clone(op, map);
    }
    for (Operation &op : otherwise->without_terminator())
      b.clone(op, map);
    for (Value value : tall.get())
      lower(map.lookup(value), narrow);
  }

  static void lower(Value value, int64_t narrow) {
    Type type = withHeight(value.getType(), narrow);
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      constant.setValueAttr(splat.resizeSplat(cast<ShapedType>(type)));
    }
  }
};

} // namespace
