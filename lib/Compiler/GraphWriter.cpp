//===- GraphWriter.cpp - The reference graph of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/GraphWriter.h"

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Compiler/AbiTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;

namespace {

class GraphBuilder {
public:
  GraphBuilder(func::FuncOp function, abi::ArtifactT &artifact)
      : function(function), artifact(artifact) {}

  std::unique_ptr<abi::GraphT> run();

private:
  bool addValue(Value value, int32_t argument);
  /// The number of a value, -1 for none.
  int32_t find(Value value) {
    return value ? numbers.lookup_or(value, -1) : -1;
  }
  bool addAttention(attn::AttentionOp op);
  bool addReorder(Value input, Value output, int32_t argument);
  bool addConstant(arith::ConstantOp op);
  void addBranches(attn::AttentionOp op, abi::AttentionT &node);
  abi::NodeT &addNode();

  func::FuncOp function;
  abi::ArtifactT &artifact;
  std::unique_ptr<abi::GraphT> graph = std::make_unique<abi::GraphT>();
  llvm::DenseMap<Value, int32_t> numbers;
  /// Which argument of the artefact's function a returned value is.
  llvm::DenseMap<Value, int32_t> returned;
};

} // namespace

bool GraphBuilder::addValue(Value value, int32_t argument) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return false;
  auto entry = std::make_unique<abi::GraphValueT>();
  entry->dtype = toAbi(type.getElementType());
  entry->sizes = toAbiSizes(type.getShape());
  entry->argument = argument;
  if (auto layout =
          dyn_cast_if_present<rlayout::LayoutAttr>(type.getEncoding())) {
    // A caller brings a part of it; what is computed is about all parts.
    if (layout.getRing())
      entry->sizes[layout.getAxis()] = -1;
    if (rlayout::OrderAttr order = rlayout::getOrder(type)) {
      entry->order = toAbi(order);
      entry->order_axis = static_cast<uint8_t>(layout.getAxis());
    }
  } else if (type.getEncoding()) {
    return false;
  }
  numbers[value] = static_cast<int32_t>(graph->values.size());
  graph->values.push_back(std::move(entry));
  return true;
}

abi::NodeT &GraphBuilder::addNode() {
  graph->nodes.push_back(std::make_unique<abi::NodeT>());
  return *graph->nodes.back();
}

void GraphBuilder::addBranches(attn::AttentionOp op, abi::AttentionT &node) {
  // Each `?` takes the next of the `sizes` operands, w before r.
  auto sizes = op.getSizes().begin();
  for (attn::BranchAttr branch : op.getBranchRange()) {
    auto entry = std::make_unique<abi::BranchT>();
    if (branch.isRuntimeW())
      entry->w_value = find(*sizes++);
    else
      entry->w = branch.isUnbounded() ? -1 : branch.getW();
    if (branch.isRuntimeR())
      entry->r_value = find(*sizes++);
    else
      entry->r = branch.getR();
    switch (branch.getOffset()) {
    case attn::OffsetRule::Modulo:
      entry->offset = abi::OffsetRule::Modulo;
      break;
    case attn::OffsetRule::Block:
      entry->offset = abi::OffsetRule::Block;
      break;
    case attn::OffsetRule::Constant:
      entry->offset = abi::OffsetRule::Constant;
      entry->constant = branch.getConstant();
      break;
    }
    entry->by_query = branch.getBy() == attn::HeadKind::Query;
    entry->head_begin = branch.getHeadBegin();
    entry->head_end = branch.getHeadEnd();
    entry->counts_padding = branch.countsPadding();
    node.branches.push_back(std::move(entry));
  }
}

bool GraphBuilder::addAttention(attn::AttentionOp op) {
  abi::AttentionT node;
  node.query = find(op.getQuery());
  node.key = find(op.getKey());
  node.value = find(op.getValue());
  node.q_offset = find(op.getQOffset());
  node.query_lengths = find(op.getQueryLengths());
  node.key_lengths = find(op.getKeyLengths());
  node.query_starts = find(op.getQueryStarts());
  node.key_starts = find(op.getKeyStarts());
  node.sink = find(op.getSink());
  node.block_mask = find(op.getBlockMask());
  node.page_table = find(op.getPageTable());
  node.key_begins = find(op.getKeyBegins());
  node.key_scale = find(op.getKScale());
  node.value_scale = find(op.getVScale());
  if (auto block = op.getBlockSize()) {
    node.block_query = (*block)[0];
    node.block_key = (*block)[1];
  }
  addBranches(op, node);
  node.causal = op.getCausal();
  if (auto window = op.getWindow()) {
    node.window_left = (*window)[0];
    node.window_right = (*window)[1];
  }
  if (auto window = op.getGridWindow()) {
    node.grid_window = std::make_unique<abi::GridWindowT>();
    node.grid_window->grid.assign(window->getGrid().begin(),
                                  window->getGrid().end());
    node.grid_window->reach.assign(window->getReach().begin(),
                                   window->getReach().end());
  }
  if (auto order = op.getPatternOrder())
    node.pattern_order = toAbi(*order);
  if (op.getScale())
    node.scale = op.getScale()->convertToDouble();
  if (op.getSoftcap())
    node.softcap = op.getSoftcap()->convertToDouble();
  node.precision = toAbi(op.getProductPrecision());
  node.mix = op.getMix() == attn::Mix::Sum ? abi::Mix::Sum : abi::Mix::Softmax;
  if (op.getOutputScale())
    node.output_scale = op.getOutputScale()->convertToDouble();

  if (!addValue(op.getOutput(), returned.lookup_or(op.getOutput(), -1)))
    return false;
  node.output = find(op.getOutput());
  if (!op.getLse().use_empty()) {
    if (!addValue(op.getLse(), returned.lookup_or(op.getLse(), -1)))
      return false;
    node.lse = find(op.getLse());
  }
  addNode().op.Set(std::move(node));
  return true;
}

bool GraphBuilder::addReorder(Value input, Value output, int32_t argument) {
  abi::ReorderT node;
  node.input = find(input);
  node.output = static_cast<int32_t>(graph->values.size());
  if (!addValue(output, argument))
    return false;
  addNode().op.Set(std::move(node));
  return true;
}

bool GraphBuilder::addConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !addValue(op.getResult(), -1))
    return false;
  FailureOr<uint32_t> number =
      ringlet::addConstant(elements, artifact.constants);
  if (failed(number))
    return false;
  graph->values.back()->constant = static_cast<int32_t>(*number);
  return true;
}

std::unique_ptr<abi::GraphT> GraphBuilder::run() {
  if (!function.getBody().hasOneBlock())
    return nullptr;
  Block &body = function.getBody().front();
  auto result = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!result)
    return nullptr;
  // An argument that is returned, and a second return of one value, is a copy.
  SmallVector<std::pair<Value, int32_t>> copies;
  int32_t number = static_cast<int32_t>(function.getNumArguments());
  for (Value value : result.getOperands()) {
    if (isa<BlockArgument>(value) ||
        !returned.try_emplace(value, number).second)
      copies.emplace_back(value, number);
    ++number;
  }
  for (BlockArgument value : function.getArguments())
    if (!addValue(value, static_cast<int32_t>(value.getArgNumber())))
      return nullptr;
  for (Operation &op : body.without_terminator()) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      if (!addAttention(attention))
        return nullptr;
    } else if (auto reorder = dyn_cast<attn::ReorderOp>(op)) {
      if (!addReorder(reorder.getInput(), reorder.getOutput(),
                      returned.lookup_or(reorder.getOutput(), -1)))
        return nullptr;
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!addConstant(constant))
        return nullptr;
    } else {
      return nullptr;
    }
  }
  for (auto [value, argument] : copies)
    if (!addReorder(value, value, argument))
      return nullptr;
  return std::move(graph);
}

std::unique_ptr<abi::GraphT> ringlet::makeGraph(func::FuncOp function,
                                                abi::ArtifactT &artifact) {
  return GraphBuilder(function, artifact).run();
}
