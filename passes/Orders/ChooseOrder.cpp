//===- ChooseOrder.cpp - Choose an order by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/TilePattern.h"
#include "lib/Cost/OrderChoice.h"
#include "lib/Layout/Curve.h"
#include "passes/AttentionOpt/PlainTiling.h"
#include "passes/Orders/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETCHOOSEORDER
#include "passes/Orders/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

using cost::OrderEstimate;
using cost::OrderUse;

struct ChooseOrder : ringlet::impl::RingletChooseOrderBase<ChooseOrder> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult readOptions();
  LogicalResult force(attn::AttentionOp op);
  void choose(attn::AttentionOp op);
  void apply(attn::AttentionOp op, OrderUse use,
             const layout::OrderSpec &order);
  void report(attn::AttentionOp op, bool chosen, const std::string &text);

  arch::Target target;
};

} // namespace

/// Every position sees the keys of one segment, whatever the order of ordinals:
/// a pattern order (O2) changes how it is walked and nothing else.
static bool isDense(attn::AttentionOp op) {
  return llvm::all_of(op.getBranchRange(), [](attn::BranchAttr branch) {
    return branch.isUnbounded() && branch.getR() == 1;
  });
}

/// Why no order is put into or around `op`; empty if one may be.
static std::string whyNotOrdered(attn::AttentionOp op) {
  if (op.getPatternOrder())
    return "it has a pattern order, which is kept (O2)";
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    if (cast<RankedTensorType>(value.getType()).getEncoding())
      return "an operand has an order of its own, which is kept (O1)";
  if (op.isPacked())
    return "orders restart with each of its packed sequences (S2)";
  if (op.isPaged())
    return "a table says in which pages its keys lie (S4)";
  if (op.isWidened())
    return "nothing moves its keys of 8 bits (S6)";
  if (op.getQueryLengths())
    return "what it sees ends with its sequences, whose lengths only the "
           "running program knows (S2)";
  if (op.getKeyBegins())
    return "only the running program knows where its keys begin (S5)";
  if (attn::countsPadding(op))
    return "padding that counts stands behind keys in linear order (B7)";
  if (op.getBlockMask())
    return "its block mask counts along the order that it has (B6)";
  return "";
}

static std::vector<int64_t> gridOf(attn::AttentionOp op) {
  if (std::optional<attn::GridWindowAttr> window = op.getGridWindow())
    return window->getGrid().vec();
  return {};
}

/// Why the tiles of `op` cannot be counted, which comparing orders takes; empty
/// if they can.
static std::string whyNotCounted(attn::AttentionOp op) {
  if (op.getBranches().size() != 1)
    return llvm::formatv("its {0} branches may want different ones",
                         op.getBranches().size())
        .str();
  attn::BranchAttr branch = *op.getBranchRange().begin();
  if (branch.isRuntimeW() || branch.isRuntimeR())
    return "tiles are counted where w and r are known, found runtime ones (B1)";
  for (auto [name, value] :
       {std::pair("queries", op.getQuery()), {"keys", op.getKey()}})
    if (value.getType().isDynamicDim(1))
      return "tiles are counted where lengths are known, found a dynamic "
             "number of " +
             std::string(name);
  if (op.getQOffset())
    return "tiles are counted where the last query lies on the last key, found "
           "a q_offset (S1)";
  return "";
}

/// The text of an order is that of its attribute.
static rlayout::OrderAttr toAttr(MLIRContext *context,
                                 const layout::OrderSpec &order) {
  std::string text = "#rlayout.order<" + layout::describe(order) + ">";
  return cast<rlayout::OrderAttr>(parseAttribute(text, context));
}

/// The largest dilation: what an order that gathers residues is to gather.
static int64_t rateOf(attn::AttentionOp op) {
  int64_t rate = 1;
  for (attn::BranchAttr branch : op.getBranchRange())
    if (!branch.isRuntimeR())
      rate = std::max(rate, branch.getR());
  return rate;
}

void ChooseOrder::report(attn::AttentionOp op, bool chosen,
                         const std::string &text) {
  auto options =
      remark::RemarkOpts::name("ChooseOrder").category("ringlet-choose-order");
  if (chosen)
    remark::passed(op.getLoc(), options) << text;
  else
    remark::missed(op.getLoc(), options) << text;
}

void ChooseOrder::apply(attn::AttentionOp op, OrderUse use,
                        const layout::OrderSpec &order) {
  rlayout::OrderAttr attr = toAttr(op.getContext(), order);
  if (use == OrderUse::Pattern) {
    op.setPatternOrderAttr(attr);
    return;
  }
  OpBuilder builder(op);
  auto layout =
      rlayout::LayoutAttr::get(op.getContext(), attr, rlayout::RingAttr(), 1);
  auto bring = [&](Value value) -> Value {
    auto type = cast<RankedTensorType>(value.getType());
    return attn::ReorderOp::create(
        builder, op.getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType(), layout),
        value);
  };
  Value key = bring(op.getKey());
  Value value = op.getValue() == op.getKey() ? key : bring(op.getValue());
  op.getKeyMutable().assign(key);
  op.getValueMutable().assign(value);
}

/// The order that the user asked for, or why there cannot be one.
LogicalResult ChooseOrder::force(attn::AttentionOp op) {
  std::string reason = whyNotOrdered(op);
  if (!reason.empty()) {
    report(op, false, "no " + order + ": " + reason);
    return success();
  }
  std::vector<int64_t> grid = gridOf(op);
  bool isPattern = isDense(op) && !grid.empty() && order != "residue";
  int64_t length = op.getKey().getType().getDimSize(1);
  // An order whose length nobody knows has a chunk.
  bool isDynamic = ShapedType::isDynamic(length);
  layout::OrderSpec spec =
      cost::orderAlong(order, isDynamic ? 0 : length, rateOf(op), grid);
  std::string error;
  std::shared_ptr<const layout::Order> made = layout::makeOrder(spec, &error);
  if (made && !isDynamic)
    error =
        isPattern ? made->validatePattern(length - 1) : made->validate(length);
  if (!error.empty())
    return op.emitOpError("order ") << order << ": " << error;
  apply(op, isPattern ? OrderUse::Pattern : OrderUse::Memory, spec);
  report(op, true,
         (isPattern ? "tiles along " : "K and V in ") + layout::describe(spec) +
             ", as asked for");
  return success();
}

void ChooseOrder::choose(attn::AttentionOp op) {
  std::string reason = whyNotOrdered(op);
  if (reason.empty())
    reason = whyNotCounted(op);
  if (!reason.empty())
    return report(op, false, "no order: " + reason);
  int64_t queries = op.getQuery().getType().getDimSize(1);
  int64_t keys = op.getKey().getType().getDimSize(1);
  attn::BranchAttr first = *op.getBranchRange().begin();

  cost::OrderedBranch branch;
  PlainTiling tiling = choosePlainTiling(op, first, target);
  branch.pattern = attn::getTilePattern(op, first, tiling.tiling);
  const layout::TilePattern &pattern = branch.pattern;
  branch.queries = queries;
  branch.keys = keys;
  branch.queryOffset = keys - queries; // S1
  branch.heads = op.getKeyHeads();
  int64_t bytes = op.getKey().getType().getElementTypeBitWidth() / 8;
  branch.headBytes = op.getHeadDim() * bytes;
  branch.valueBytes = op.getValueDim() * bytes;
  branch.cyclesPerScore = tiling.cyclesPerScore;

  cost::Machine machine = target.gpu ? cost::Machine::GPU : cost::Machine::CPU;
  std::string error;
  std::optional<OrderEstimate> plain = cost::estimate(
      machine, branch, OrderUse::None, layout::OrderSpec(), error);
  if (!plain)
    return report(op, false, "no order: " + error);
  OrderUse use = isDense(op) && !pattern.grid.empty() ? OrderUse::Pattern
                                                      : OrderUse::Memory;
  std::optional<OrderEstimate> best;
  for (const layout::OrderSpec &order :
       cost::ordersToCompare(keys, pattern.rate, pattern.grid)) {
    std::optional<OrderEstimate> next =
        cost::estimate(machine, branch, use, order, error);
    if (next && (!best || next->cycles < best->cycles))
      best = next;
  }
  if (!best)
    return report(op, false, "no order: " + error);
  if (!cost::isClearlyBetter(*best, *plain))
    return report(op, false,
                  cost::explain(*plain) + "; " + cost::explain(*best));
  apply(op, use, best->order);
  report(op, true, cost::explain(*best) + "; " + cost::explain(*plain));
}

LogicalResult ChooseOrder::readOptions() {
  std::string error;
  target = arch::lookupTarget(level, &error);
  if (!target)
    return emitError(getOperation()->getLoc()) << error;
  const layout::CurveRow *row = layout::findCurve(order);
  if (order == "auto" || (row && row->table == layout::Use::Refused))
    return success();
  return emitError(getOperation()->getLoc())
         << "expected auto or a curve that needs no table as the order, found '"
         << order << "'; nearest " << layout::nearestCurve(order).name
         << " (O1)";
}

void ChooseOrder::runOnOperation() {
  if (failed(readOptions()))
    return signalPassFailure();
  // Asked not to.
  if (order == "linear")
    return;
  WalkResult walk = getOperation()->walk([&](attn::AttentionOp op) {
    if (order == "auto")
      choose(op);
    else if (failed(force(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    signalPassFailure();
}
