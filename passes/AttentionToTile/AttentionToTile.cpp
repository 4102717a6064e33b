//===- AttentionToTile.cpp - From ringlet to rtile and rplan -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/FunctionLowering.h"
#include "passes/AttentionToTile/KernelFeatures.h"
#include "passes/AttentionToTile/KeyTiles.h"
#include "passes/AttentionToTile/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETTORTILE
#include "passes/AttentionToTile/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Of sizes `[.., sequence, head, dim]` those of what belongs to rows,
/// `[.., head, sequence]`.
template <class T>
static SmallVector<T> toRows(attn::AttentionOp op, ArrayRef<T> sizes) {
  int64_t axis = op.getSequenceAxis();
  SmallVector<T> rows(sizes.take_front(axis));
  rows.append({sizes[axis + 1], sizes[axis]});
  return rows;
}

void FunctionLowering::readArguments() {
  for (BlockArgument argument : function.getArguments())
    tensors[argument] = plan.getInput(argument.getArgNumber());
}

void FunctionLowering::lower() {
  readArguments();
  for (Operation &op : function.getBody().front()) {
    plan.setLoc(op.getLoc());
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      lowerAttention(attention);
    else if (auto reorder = dyn_cast<attn::ReorderOp>(op))
      lowerReorder(reorder);
    else {
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        lowerConstant(constant);
      continue;
    }
    ++operation;
  }
  // What is returned without being computed into its place is copied there.
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  plan.setLoc(terminator.getLoc());
  for (OpOperand &operand : terminator->getOpOperands()) {
    HostTensor output = plan.getOutput(operand.getOperandNumber());
    HostTensor from = tensors.lookup(operand.get());
    if (from.buffer == output.buffer)
      continue;
    for (auto [a, b] : llvm::zip_equal(output.sizes, from.sizes))
      plan.requireEqual(a, b,
                        "expected result" + Twine(operand.getOperandNumber()) +
                            " to have the sizes of the graph's value",
                        "section 3");
    emitReorder(plan, kernelName("copy"), output.sizes.size() > 1 ? 1 : 0, from,
                nullptr, output, nullptr);
    ++operation;
  }
}

HostTensor FunctionLowering::target(OpResult result, ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  for (OpOperand &use : result.getUses()) {
    if (!isa<func::ReturnOp>(use.getOwner()))
      continue;
    HostTensor output = plan.getOutput(use.getOperandNumber());
    for (auto [axis, a, b] : llvm::enumerate(output.sizes, sizes))
      plan.requireEqual(a, b,
                        "expected axis " + Twine(axis) + " of result" +
                            Twine(use.getOperandNumber()) +
                            " to have the size that the inputs give it",
                        "section 3");
    return output;
  }
  // A type may promise more than the inputs' types do.
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(extent))
      plan.requireEqual(sizes[axis], plan.constant(extent),
                        "expected axis " + Twine(axis) + " of the graph's " +
                            "result of type " + toString(type) +
                            " to have the size of its type",
                        "section 3");
  return plan.workspace(type.getShape(), type.getElementType(), sizes);
}

void FunctionLowering::requirePages(const HostTensor &pages, Value sequences,
                                    HostTensor &key, HostTensor &value) {
  plan.requireEqual(pages.sizes[0], sequences,
                    "expected pages of each sequence", "S4");
  plan.requireEqual(key.sizes[0], value.sizes[0],
                    "expected as many pages of key as of value", "S4");
  // Page numbers are clamped to the pool: there has to be one.
  Value entries = plan.mul(pages.sizes[0], pages.sizes[1]);
  plan.requireAtMost(plan.min(entries, plan.constant(1)), key.sizes[0],
                     "expected at least one page where sequences have some",
                     "S4");
  for (HostTensor *tensor : {&key, &value})
    tensor->sizes = {sequences, plan.mul(pages.sizes[1], tensor->sizes[1]),
                     tensor->sizes[2], tensor->sizes[3]};
}

void FunctionLowering::requireShapes(attn::AttentionOp op,
                                     const HostTensor &query,
                                     const HostTensor &key,
                                     const HostTensor &value) {
  if (op.isPaged())
    return;
  if (!op.isPacked()) {
    plan.requireEqual(query.sizes[0], key.sizes[0],
                      "expected query and key of one batch size", "section 1");
    plan.requireEqual(key.sizes[0], value.sizes[0],
                      "expected key and value of one batch size", "section 1");
  }
  int64_t axis = op.getSequenceAxis();
  plan.requireEqual(key.sizes[axis], value.sizes[axis],
                    "expected key and value of one length", "section 1");
}

Value FunctionLowering::readScalar(Value scalar) {
  DenseIntElementsAttr constant;
  if (matchPattern(scalar, m_Constant(&constant)))
    return plan.constant(constant.getSplatValue<int64_t>());
  return rplan::ReadOp::create(plan.getBuilder(), plan.getLoc(),
                               plan.getBuilder().getIndexType(),
                               tensors.lookup(scalar).buffer);
}

/// Position of query row 0 (S1).
Value FunctionLowering::queryOffset(attn::AttentionOp op,
                                    const HostTensor &query,
                                    const HostTensor &key) {
  // Those of sequences are the kernels' to find.
  if (hasPositionsOfSequence(op))
    return plan.constant(0);
  Value offset = op.getQOffset();
  if (!offset)
    return plan.sub(key.sizes[op.getKeyAxis()],
                    query.sizes[op.getSequenceAxis()]);
  Value read = readScalar(offset);
  StringRef message = "expected q_offset within +-2^60";
  plan.requireAtMost(read, plan.constant(kMaxOffset), message, "S1");
  plan.requireAtMost(plan.constant(-kMaxOffset), read, message, "S1");
  return read;
}

SequenceLists FunctionLowering::getLists(attn::AttentionOp op,
                                         Value sequences) {
  SequenceLists lists;
  lists.count = sequences;
  if (op.isPacked()) {
    lists.queryStarts = tensors.lookup(op.getQueryStarts());
    lists.keyStarts = tensors.lookup(op.getKeyStarts());
    Value starts = lists.queryStarts.sizes[0];
    plan.requireAtMost(plan.constant(1), starts,
                       "expected one start more than there are sequences",
                       "S2");
    plan.requireEqual(starts, lists.keyStarts.sizes[0],
                      "expected as many starts of queries as of keys", "S2");
    lists.count = plan.sub(starts, plan.constant(1));
  }
  if (hasOffsetOfSequence(op)) {
    lists.queryOffsets = tensors.lookup(op.getQOffset());
    plan.requireEqual(lists.queryOffsets.sizes[0], lists.count,
                      "expected a q_offset for each sequence", "S1");
  }
  if (op.getQueryLengths()) {
    lists.queryLengths = tensors.lookup(op.getQueryLengths());
    lists.keyLengths = tensors.lookup(op.getKeyLengths());
    for (const HostTensor &lengths : {lists.queryLengths, lists.keyLengths})
      plan.requireEqual(lengths.sizes[0], lists.count,
                        "expected a length for each sequence", "S2");
  }
  if (op.getKeyBegins()) {
    lists.keyBegins = tensors.lookup(op.getKeyBegins());
    plan.requireEqual(lists.keyBegins.sizes[0], lists.count,
                      "expected a begin of keys for each sequence", "S5");
  }
  return lists;
}

HostTensor FunctionLowering::requireScales(Value scales, StringRef name,
                                           const SequenceLists &lists) {
  if (!scales)
    return {};
  HostTensor result = tensors.lookup(scales);
  if (result.sizes.size() == 2)
    plan.requireEqual(result.sizes[0], lists.count,
                      "expected " + Twine(name) + " of each sequence", "S6");
  return result;
}

Attention FunctionLowering::readAttention(attn::AttentionOp op) {
  HostTensor query = tensors.lookup(op.getQuery());
  HostTensor key = tensors.lookup(op.getKey());
  HostTensor value = tensors.lookup(op.getValue());
  requireShapes(op, query, key, value);
  SequenceLists lists;
  HostTensor pages;
  if (op.isPaged()) {
    lists = getLists(op, query.sizes[0]);
    pages = tensors.lookup(op.getPageTable());
    requirePages(pages, lists.count, key, value);
  }
  int64_t axis = op.getSequenceAxis();
  Value &queryRows = query.sizes[axis], &keyRows = key.sizes[op.getKeyAxis()];
  queryRows = requireLength(plan, queryRows,
                            rlayout::getOrder(op.getQuery().getType()));
  keyRows =
      requireLength(plan, keyRows, rlayout::getOrder(op.getKey().getType()));
  Value offset = queryOffset(op, query, key);
  // Where there are no queries, there are no positions.
  if (op.getPatternOrderAttr() || op.getGridWindow() || op.getBlockMask())
    offset = plan.mul(offset, plan.min(queryRows, plan.constant(1)));
  if (!op.isPaged())
    lists = getLists(op, query.sizes[0]);
  auto lookup = [&](Value operand) {
    return operand ? tensors.lookup(operand) : HostTensor();
  };
  HostTensor keyScale = requireScales(op.getKScale(), "k_scale", lists);
  HostTensor valueScale = requireScales(op.getVScale(), "v_scale", lists);
  HostTensor blockMask = lookup(op.getBlockMask());
  requireMasks(plan, op, queryRows, offset, keyRows, blockMask);
  AttentionRows rows(plan, op, lists, queryRows, keyRows, offset);
  rows.requirePositions();
  SmallVector<BranchSizes> sizes =
      requireSizes(plan, op, [&](Value size) { return readScalar(size); });
  SmallVector<Value> rowSizes = toRows(op, ArrayRef(query.sizes));
  return {op,
          query,
          key,
          value,
          /*output=*/{},
          /*lse=*/{},
          blockMask,
          lookup(op.getSink()),
          pages,
          keyScale,
          valueScale,
          offset,
          lists,
          rows,
          sizes,
          toRows(op, op.getQuery().getType().getShape()),
          rowSizes};
}

void FunctionLowering::addResults(Attention &attention) {
  attn::AttentionOp op = attention.op;
  SmallVector<Value> outputSizes(attention.query.sizes);
  outputSizes.back() = attention.value.sizes.back();
  attention.output = target(op->getOpResult(0), outputSizes);
  SmallVector<Value> lseSizes = attention.rowSizes;
  if (op.getMix() == attn::Mix::Sum)
    lseSizes.insert(lseSizes.begin(), plan.constant(attention.sizes.size()));
  // Computed only for a reader.
  if (!op.getLse().use_empty())
    attention.lse = target(op->getOpResult(1), lseSizes);
  tensors[op.getOutput()] = attention.output;
  tensors[op.getLse()] = attention.lse;
}

void FunctionLowering::emitIf(Value condition, StringRef suffix,
                              function_ref<KernelList()> list,
                              function_ref<void(const KernelList &)> emit) {
  std::optional<int64_t> known = getConstant(condition);
  if (known == 0)
    return;
  plan.setCondition(known ? Value() : condition);
  KernelList kernels = list();
  for (Kernel &kernel : kernels)
    kernel.part += suffix;
  emit(kernels);
  plan.setCondition(nullptr);
}

void FunctionLowering::emitForKeys(
    Attention &attention, Value condition, function_ref<KernelList()> list,
    function_ref<void(const KernelList &)> emit) {
  Value isMany = plan.mul(condition, mayHaveManyKeys(plan, attention));
  emitIf(plan.sub(condition, isMany), "", list, emit);
  attention.hasManyKeys = true;
  emitIf(isMany, "_many_keys", list, emit);
}

void FunctionLowering::lowerAttention(attn::AttentionOp op) {
  if (op->hasAttr(shardedAttr))
    return lowerSharded(op);
  Attention attention = readAttention(op);
  addResults(attention);
  EqualKernels equal(symbols);
  auto emit = [&](const KernelList &kernels) {
    emitKernels(plan, attention, kernels, equal,
                [&](StringRef what) { return kernelName(what); });
    if (!attention.hasManyKeys)
      reportKernels(attention, kernels);
  };
  Value isOther = plan.constant(1);
  SmallVector<attn::SplitKVAttr> splits = op.getSplits();
  SmallVector<Value> selected = selectSplit(plan, attention);
  for (auto [number, split] : llvm::enumerate(splits)) {
    std::string suffix;
    if (number != 0)
      suffix = "_to" + std::to_string(split.getQueries());
    emitIf(
        selected[number], suffix,
        [&, split = split] { return listPartsKernels(plan, attention, split); },
        emit);
    isOther = plan.sub(isOther, selected[number]);
  }
  emitForKeys(
      attention, isOther, [&] { return listKernels(plan, attention); }, emit);
}

void FunctionLowering::lowerReorder(attn::ReorderOp op) {
  HostTensor from = tensors.lookup(op.getInput());
  HostTensor to = target(op->getOpResult(0), from.sizes);
  auto order = [](rlayout::LayoutAttr layout) {
    return layout ? layout.getOrder() : rlayout::OrderAttr();
  };
  emitReorder(plan, kernelName("reorder"), op.getSequenceAxis(), from,
              order(op.getInputLayout()), to, order(op.getOutputLayout()));
  tensors[op.getOutput()] = to;
}

void FunctionLowering::lowerConstant(arith::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getRank() == 0)
    return; // A number, which readScalar finds.
  Value buffer = rplan::ConstantOp::create(
      plan.getBuilder(), plan.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType()),
      cast<ElementsAttr>(op.getValue()));
  tensors[op.getResult()] = plan.getTensor(buffer);
}

namespace {

struct AttentionToTile : ringlet::impl::RingletToRTileBase<AttentionToTile> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(checkFunction(function)))
        return signalPassFailure();
    for (func::FuncOp function : functions) {
      {
        SymbolTable symbols(module);
        symbols.remove(function);
        FunctionLowering(function, symbols).lower();
      }
      function.erase();
    }
  }
};

} // namespace
