//===- PropagateOrders.cpp - Move reorders to the edge -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/Target.h"
#include "lib/Graph/Labelling.h"
#include "passes/AttentionOpt/ChooseRecipe.h"
#include "passes/Orders/OrderGraph.h"
#include "passes/Orders/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETPROPAGATEORDERS
#include "passes/Orders/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using rlayout::GroupAxis;
using rlayout::LayoutAttr;
using rlayout::OrderInterface;

namespace {

/// A reorder costs its launch, then the bytes that it moves for each token.
constexpr int64_t kLaunchCost = int64_t(1) << 40;
constexpr int64_t kMostBytes = int64_t(1) << 20;

int64_t getReorderCost(RankedTensorType type, int64_t axis) {
  // What ringlet.reorder moves.
  if (!isa<Float16Type, BFloat16Type, Float32Type>(type.getElementType()))
    return graph::neverConverted;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(dim) != axis && !ShapedType::isDynamic(size))
      bytes = std::min(bytes, kMostBytes) * std::min(size, kMostBytes);
  return kLaunchCost + std::min(bytes, kMostBytes);
}

/// `type` in `layout`, moved to `axis`.
RankedTensorType withLayout(RankedTensorType type, LayoutAttr layout,
                            int64_t axis) {
  if (layout)
    layout = LayoutAttr::get(type.getContext(), layout.getOrder(),
                             layout.getRing(), axis);
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

rlayout::RingAttr getRing(LayoutAttr layout) {
  return layout ? layout.getRing() : rlayout::RingAttr();
}

/// What the sites of a block cost, and which of them change for less.
class Choice {
public:
  explicit Choice(OrderGraph &graph);

  /// The layout of each site after the change.
  std::vector<LayoutAttr> layouts;
  /// What the reorders cost that these take.
  int64_t cost = 0;

private:
  /// Sites that a net joins count the same tokens.
  void findSequences();
  /// A tensor has one order: where a second axis of it has one, too, its sites
  /// stay as they are.
  void pinDoubleAxes();
  void improveSequence(ArrayRef<unsigned> members);

  OrderGraph &graph;
  llvm::EquivalenceClasses<unsigned> sequences;
  /// Leaders of sequences in which some site has an order.
  llvm::SmallDenseSet<unsigned> ordered;
};

Choice::Choice(OrderGraph &graph) : graph(graph) {
  for (const OrderSite &site : graph.sites)
    layouts.push_back(site.layout);
  findSequences();
  pinDoubleAxes();
  for (const auto &entry : sequences)
    if (entry->isLeader() && ordered.contains(entry->getData()))
      improveSequence(llvm::to_vector(sequences.members(*entry)));
}

void Choice::findSequences() {
  for (unsigned site : llvm::seq<unsigned>(graph.sites.size()))
    sequences.insert(site);
  for (const auto &[place, net] : graph.nets)
    if (!isAlikeForAllTokens(place.first))
      for (unsigned reader : net.readers)
        sequences.unionSets(net.driver, reader);
  for (auto [index, site] : llvm::enumerate(graph.sites))
    if (site.layout)
      ordered.insert(sequences.getLeaderValue(index));
}

void Choice::pinDoubleAxes() {
  llvm::MapVector<Value, SmallVector<const OrderNet *>> netsOf;
  for (const auto &[place, net] : graph.nets)
    if (ordered.contains(sequences.getLeaderValue(net.driver)))
      netsOf[place.first].push_back(&net);
  for (const auto &[value, nets] : netsOf) {
    if (nets.size() < 2)
      continue;
    for (const OrderNet *net : nets) {
      graph.sites[net->driver].movable = false;
      for (unsigned reader : net->readers)
        graph.sites[reader].movable = false;
    }
  }
}

/// Whether the axes of `site` may lie in `layout`, whose order is `order`.
bool mayTake(const OrderSite &site, LayoutAttr layout,
             const layout::Order *order) {
  if (!site.movable || getRing(site.layout) != getRing(layout))
    return false;
  return llvm::all_of(site.group.getAxes(site.op), [&](auto member) {
    auto [value, axis] = member;
    int64_t length = cast<RankedTensorType>(value.getType()).getDimSize(axis);
    return !order || ShapedType::isDynamic(length) ||
           order->validate(length).empty();
  });
}

void Choice::improveSequence(ArrayRef<unsigned> members) {
  DenseMap<unsigned, unsigned> local;
  llvm::SetVector<LayoutAttr> labels;
  labels.insert(LayoutAttr()); // Linear order is label 0.
  graph::LabelProblem problem;
  for (auto [index, site] : llvm::enumerate(members)) {
    local[site] = index;
    labels.insert(layouts[site]);
    problem.labels.push_back(llvm::find(labels, layouts[site]) -
                             labels.begin());
  }
  problem.count = labels.size();
  for (const auto &[place, net] : graph.nets) {
    auto driver = local.find(net.driver);
    if (driver == local.end() || isAlikeForAllTokens(place.first))
      continue;
    graph::Net copy{driver->second, {}, 0};
    for (unsigned reader : net.readers)
      copy.readers.push_back(local.at(reader));
    copy.weight = getReorderCost(cast<RankedTensorType>(place.first.getType()),
                                 place.second);
    problem.nets.push_back(std::move(copy));
  }
  std::vector<std::shared_ptr<const layout::Order>> orders;
  for (LayoutAttr label : labels)
    orders.push_back(label && label.getOrder() ? label.getOrder().getOrder()
                                               : nullptr);
  problem.mayTake = [&](unsigned index, unsigned label) {
    return mayTake(graph.sites[members[index]], labels[label],
                   orders[label].get());
  };
  graph::Labels improved = graph::improve(problem);
  cost += graph::getCost(problem, improved);
  for (auto [index, site] : llvm::enumerate(members))
    layouts[site] = labels[improved[index]];
}

/// Writes the layouts of sites into the types of a block.
class Rewrite {
public:
  Rewrite(Block &block, const OrderGraph &graph, ArrayRef<LayoutAttr> layouts)
      : block(block), graph(graph), layouts(layouts) {}

  void run();

private:
  /// The type in which `use` wants its tensor.
  RankedTensorType getWantedType(const OrderedOperand &use) const;
  void retype(const OrderSite &site, LayoutAttr layout);
  /// `source`, a reorder of it, or, where it is alike for all tokens, another
  /// one like it.
  Value getInType(Value source, RankedTensorType type);
  Value makeInType(Value source, RankedTensorType type);
  OpBuilder getBuilderAfter(Value source);
  void eraseUnused();

  Block &block;
  const OrderGraph &graph;
  ArrayRef<LayoutAttr> layouts;
  /// What holds the tokens of a value in an order.
  DenseMap<std::pair<Value, Type>, Value> inType;
};

remark::detail::InFlightRemark report(Location location, StringRef what) {
  return remark::passed(location, remark::RemarkOpts::name(what).category(
                                      "ringlet-propagate-orders"));
}

void Rewrite::run() {
  for (auto [site, layout] : llvm::zip_equal(graph.sites, layouts))
    if (site.layout != layout)
      retype(site, layout);
  for (attn::ReorderOp reorder : graph.reorders)
    inType.try_emplace({reorder.getInput(), reorder.getOutput().getType()},
                       reorder.getOutput());
  for (const OrderedOperand &use : graph.uses)
    use.operand->set(getInType(use.source, getWantedType(use)));
  eraseUnused();
}

RankedTensorType Rewrite::getWantedType(const OrderedOperand &use) const {
  auto type = cast<RankedTensorType>(use.operand->get().getType());
  // Linear order has several spellings: what lies well stays as it is.
  if (llvm::all_of(llvm::enumerate(use.sites), [&](auto place) {
        return getLayoutOf(type, place.index()) == layouts[place.value()];
      }))
    return type;
  for (auto [axis, site] : llvm::enumerate(use.sites))
    if (layouts[site])
      return withLayout(type, layouts[site], axis);
  return withLayout(type, {}, 0);
}

void Rewrite::retype(const OrderSite &site, LayoutAttr layout) {
  for (GroupAxis member : site.group.results) {
    Value result = site.op->getResult(member.number);
    result.setType(withLayout(cast<RankedTensorType>(result.getType()), layout,
                              member.axis));
  }
  bool reads = !site.group.operands.empty();
  GroupAxis first =
      reads ? site.group.operands.front() : site.group.results.front();
  report(site.op->getLoc(), "MoveReorder")
      << llvm::formatv("{0}{1}{2} in {3}, no longer in {4}",
                       site.op->getName().getStringRef(),
                       (reads ? " takes operand #" : " gives result #"),
                       first.number, describe(layout), describe(site.layout))
             .str();
}

Value Rewrite::getInType(Value source, RankedTensorType type) {
  if (source.getType() == type)
    return source;
  Value &value = inType[{source, type}];
  if (!value)
    value = makeInType(source, type);
  else if (auto reorder = value.getDefiningOp<attn::ReorderOp>()) {
    // It may stand after some of those that want it.
    OpBuilder builder = getBuilderAfter(source);
    reorder->moveBefore(builder.getInsertionBlock(),
                        builder.getInsertionPoint());
  }
  return value;
}

OpBuilder Rewrite::getBuilderAfter(Value source) {
  Operation *op = source.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return OpBuilder::atBlockBegin(&block);
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  return builder;
}

Value Rewrite::makeInType(Value source, RankedTensorType type) {
  OpBuilder builder = getBuilderAfter(source);
  if (isAlikeForAllTokens(source))
    return source.getDefiningOp<OrderInterface>().makeWithType(builder, type);
  auto reorder =
      attn::ReorderOp::create(builder, source.getLoc(), type, source);
  report(reorder.getLoc(), "PlaceReorder")
      << ("a reorder to " + describe(rlayout::getLayout(type)));
  return reorder;
}

void Rewrite::eraseUnused() {
  for (attn::ReorderOp reorder : llvm::reverse(graph.reorders)) {
    if (!reorder->use_empty())
      continue;
    report(reorder.getLoc(), "CancelReorder")
        << ("a reorder to " + describe(reorder.getOutputLayout()) +
            " is not needed any more");
    reorder->erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto alike = dyn_cast<OrderInterface>(op);
        alike && alike.isAlikeForAllTokens() && isOpTriviallyDead(&op))
      op.erase();
}

/// A kernel with a recipe is worth more than a reorder before it.
void keepSchedulable(OrderGraph &graph, const arch::Target &target) {
  std::string reason;
  for (OrderSite &site : graph.sites)
    if (auto attention = dyn_cast_or_null<attn::AttentionOp>(site.op);
        attention && !findAttentionRecipe(attention, target, reason).empty())
      site.movable = false;
}

void propagate(Block &block, const arch::Target &target) {
  OrderGraph graph(block);
  if (graph.reorders.empty())
    return;
  keepSchedulable(graph, target);
  int64_t before = 0;
  for (attn::ReorderOp reorder : graph.reorders)
    before +=
        getReorderCost(reorder.getInput().getType(), reorder.getSequenceAxis());
  Choice choice(graph);
  if (choice.cost < before)
    Rewrite(block, graph, choice.layouts).run();
}

struct PropagateOrders
    : ringlet::impl::RingletPropagateOrdersBase<PropagateOrders> {
  using RingletPropagateOrdersBase::RingletPropagateOrdersBase;

  void runOnOperation() override {
    std::string error;
    arch::Target target = arch::lookupTarget(level, &error);
    if (!target) {
      getOperation()->emitError() << error;
      return signalPassFailure();
    }
    getOperation()->walk([&](Block *block) {
      if (mayHaveSSADominance(*block->getParent()))
        propagate(*block, target);
    });
  }
};

} // namespace
