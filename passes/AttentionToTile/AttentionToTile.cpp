//===- AttentionToTile.cpp - From ringlet to rtile and rplan -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/AttentionRows.h"
#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/KeyTiles.h"
#include "passes/AttentionToTile/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include <limits>

namespace ringlet {
#define GEN_PASS_DEF_RINGLETTORTILE
#include "passes/AttentionToTile/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Of sizes `[.., sequence, head, dim]` those of what belongs to rows,
/// `[.., head, sequence]`.
template <class T>
SmallVector<T> toRows(attn::AttentionOp op, ArrayRef<T> sizes) {
  int64_t axis = op.getSequenceAxis();
  SmallVector<T> rows(sizes.take_front(axis));
  rows.append({sizes[axis + 1], sizes[axis]});
  return rows;
}

/// Lowers one function.
class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, SymbolTable &symbols)
      : function(function), plan(function, symbols) {}

  void lower();

private:
  void lowerAttention(attn::AttentionOp op);
  void lowerReorder(attn::ReorderOp op);
  /// Checks that the sizes of inputs agree, which their types left open.
  void requireShapes(attn::AttentionOp op, const HostTensor &query,
                     const HostTensor &key, const HostTensor &value);
  Value queryOffset(attn::AttentionOp op, const HostTensor &query,
                    const HostTensor &key);
  /// Lists of sequences, of as many as there are if they are not packed.
  SequenceLists getLists(attn::AttentionOp op, Value sequences);
  /// The number that `scalar` holds, a constant or an argument in host memory.
  Value readScalar(Value scalar);
  /// The buffer for a result: the caller's if it is returned.
  HostTensor target(OpResult result, ArrayRef<Value> sizes);
  std::string kernelName(StringRef what) {
    return (plan.getName() + "_" + what + std::to_string(operation)).str();
  }

  func::FuncOp function;
  HostPlan plan;
  DenseMap<Value, HostTensor> tensors;
  unsigned operation = 0;
};

void FunctionLowering::lower() {
  for (BlockArgument argument : function.getArguments())
    tensors[argument] = plan.getInput(argument.getArgNumber());
  for (Operation &op : function.getBody().front()) {
    plan.setLoc(op.getLoc());
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      lowerAttention(attention);
    else if (auto reorder = dyn_cast<attn::ReorderOp>(op))
      lowerReorder(reorder);
    else
      continue;
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
                            " to have the sizes of the graph's value");
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
                            " to have the size that the inputs give it "
                            "(section 3)");
    return output;
  }
  // A type may promise more than the inputs' types do.
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(extent))
      plan.requireEqual(sizes[axis], plan.constant(extent),
                        "expected axis " + Twine(axis) + " of the graph's " +
                            "result of type " + toString(type) +
                            " to have the size of its type (section 3)");
  return plan.workspace(type.getShape(), type.getElementType(), sizes);
}

void FunctionLowering::requireShapes(attn::AttentionOp op,
                                     const HostTensor &query,
                                     const HostTensor &key,
                                     const HostTensor &value) {
  if (!op.isPacked()) {
    plan.requireEqual(query.sizes[0], key.sizes[0],
                      "expected query and key of one batch size (section 1)");
    plan.requireEqual(key.sizes[0], value.sizes[0],
                      "expected key and value of one batch size (section 1)");
  }
  int64_t axis = op.getSequenceAxis();
  plan.requireEqual(key.sizes[axis], value.sizes[axis],
                    "expected key and value of one length (section 1)");
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
    return plan.sub(key.sizes[op.getSequenceAxis()],
                    query.sizes[op.getSequenceAxis()]);
  Value read = readScalar(offset);
  StringRef message = "expected q_offset within +-2^60 (S1)";
  plan.requireAtMost(read, plan.constant(kMaxOffset), message);
  plan.requireAtMost(plan.constant(-kMaxOffset), read, message);
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
                       "expected one start more than there are sequences (S2)");
    plan.requireEqual(starts, lists.keyStarts.sizes[0],
                      "expected as many starts of queries as of keys (S2)");
    lists.count = plan.sub(starts, plan.constant(1));
  }
  if (hasOffsetOfSequence(op)) {
    lists.queryOffsets = tensors.lookup(op.getQOffset());
    plan.requireEqual(lists.queryOffsets.sizes[0], lists.count,
                      "expected a q_offset for each sequence (S1)");
  }
  if (op.getQueryLengths()) {
    lists.queryLengths = tensors.lookup(op.getQueryLengths());
    lists.keyLengths = tensors.lookup(op.getKeyLengths());
    for (const HostTensor &lengths : {lists.queryLengths, lists.keyLengths})
      plan.requireEqual(lengths.sizes[0], lists.count,
                        "expected a length for each sequence (S2)");
  }
  return lists;
}

void FunctionLowering::lowerAttention(attn::AttentionOp op) {
  HostTensor query = tensors.lookup(op.getQuery());
  HostTensor key = tensors.lookup(op.getKey());
  HostTensor value = tensors.lookup(op.getValue());
  requireShapes(op, query, key, value);
  rlayout::OrderAttr queryOrder = rlayout::getOrder(op.getQuery().getType());
  rlayout::OrderAttr keyOrder = rlayout::getOrder(op.getKey().getType());
  int64_t sequenceAxis = op.getSequenceAxis();
  Value &queryRows = query.sizes[sequenceAxis];
  Value &keyRows = key.sizes[sequenceAxis];
  queryRows = requireLength(plan, queryRows, queryOrder);
  keyRows = requireLength(plan, keyRows, keyOrder);
  Value offset = queryOffset(op, query, key);
  // Where there are no queries, there are no positions.
  if (op.getPatternOrderAttr() || op.getGridWindow() || op.getBlockMask())
    offset = plan.mul(offset, plan.min(queryRows, plan.constant(1)));
  SequenceLists lists = getLists(op, query.sizes[0]);
  HostTensor blockMask;
  if (op.getBlockMask())
    blockMask = tensors.lookup(op.getBlockMask());
  requireMasks(plan, op, queryRows, offset, keyRows, blockMask);
  AttentionRows rows(plan, kernelName("attention"), op, lists, queryRows,
                     keyRows, offset);
  rows.requirePositions();
  bool isSum = op.getMix() == attn::Mix::Sum;

  // Branches that see few of a row's neighbours first, one that covers every
  // row last: it writes the output.
  auto hasEveryHead = [&](unsigned index) {
    auto branch = cast<attn::BranchAttr>(op.getBranches()[index]);
    return branch.getHeadBegin() == 0 &&
           (branch.hasAllHeads() || branch.getHeadEnd() == op.getQueryHeads());
  };
  SmallVector<BranchSizes> sizes =
      requireSizes(plan, op, [&](Value size) { return readScalar(size); });
  // A dilation that only the call knows may be 1.
  auto rate = [&](unsigned index) {
    return getConstant(sizes[index].r).value_or(1);
  };
  auto covers = [&](unsigned index) {
    return sizes[index].getR() == 1 && hasEveryHead(index);
  };
  SmallVector<unsigned> chain =
      llvm::to_vector(llvm::seq<unsigned>(0, op.getBranches().size()));
  llvm::stable_sort(chain, [&](unsigned a, unsigned b) {
    return std::pair(covers(a), -rate(a)) < std::pair(covers(b), -rate(b));
  });
  bool finishes = covers(chain.back());
  bool single = chain.size() == 1;
  // What one dilated branch of all heads leaves out are other residues of the
  // same segments, which a kernel with a recipe fills before its next point.
  // Wide rows leave it no registers for that, and plain kernels have none. It
  // visits every residue, be it that no row has it.
  bool fillsOthers =
      single && !finishes && sizes[0].areKnown() &&
      sizes[0].getR() <= kMaxFillRate &&
      cast<attn::TilingAttr>((*op.getTilings())[0]).getRecipe() &&
      op.getHeadDim() <= kMaxFillDim && op.getValueDim() <= kMaxFillDim &&
      hasEveryHead(0);

  SmallVector<Value> outputSizes(query.sizes);
  outputSizes.back() = value.sizes.back();
  HostTensor output = target(op->getOpResult(0), outputSizes);
  // Computed only for a reader.
  SmallVector<Value> rowSizes = toRows(op, ArrayRef(query.sizes));
  SmallVector<int64_t> rowShape = toRows(op, query.getType().getShape());
  SmallVector<Value> lseSizes = rowSizes;
  if (isSum)
    lseSizes.insert(lseSizes.begin(), plan.constant(chain.size()));
  HostTensor lse;
  if (!op.getLse().use_empty())
    lse = target(op->getOpResult(1), lseSizes);

  HostTensor partial, maximum, sum;
  if (!single) {
    partial = output;
    if (!output.getElementType().isF32())
      partial = plan.workspace(
          cast<RankedTensorType>(op.getOutput().getType()).getShape(),
          plan.getBuilder().getF32Type(), outputSizes);
  }
  if (!single && !isSum) {
    maximum =
        plan.workspace(rowShape, plan.getBuilder().getF32Type(), rowSizes);
    sum = plan.workspace(rowShape, plan.getBuilder().getF32Type(), rowSizes);
  }

  HostTensor sinks;
  if (op.getSink()) {
    sinks = plan.workspace(ArrayRef(rowShape).take_back(2),
                           plan.getBuilder().getF32Type(),
                           ArrayRef(rowSizes).take_back(2));
    emitSinks(plan, kernelName("sinks"), tensors.lookup(op.getSink()), sinks);
  }

  // Rows outside every branch that comes first hold nothing yet.
  bool firstCovers = covers(chain.front());
  if (sum && !firstCovers)
    emitFill(plan, kernelName("fill_sum"), sum, sum.sizes.size() - 1, 0.0);
  bool leavesLse = lse && !sum && !llvm::all_of(chain, covers) && !fillsOthers;
  if (leavesLse && sinks && !isSum)
    emitSinkLse(plan, kernelName("fill_lse"), sinks, lse);
  else if (leavesLse)
    emitFill(plan, kernelName("fill_lse"), lse, lse.sizes.size() - 1,
             -std::numeric_limits<double>::infinity());
  if (single && !finishes && !fillsOthers)
    emitFill(plan, kernelName("fill_output"), output, sequenceAxis, 0.0);
  if (!single && isSum && !firstCovers)
    emitFill(plan, kernelName("fill_partial"), partial, sequenceAxis, 0.0);

  for (auto [position, index] : llvm::enumerate(chain)) {
    bool last = single || (finishes && position + 1 == chain.size());
    BranchStep step;
    step.op = op;
    step.branch = index;
    step.name = kernelName("attention") + "_branch" + std::to_string(index);
    step.query = query;
    step.key = key;
    step.value = value;
    step.sizes = sizes[index];
    step.queryOffset = offset;
    step.sequences = lists;
    step.blockMask = blockMask;
    step.firstRank = rows.getFirstRank();
    step.rankCount = rows.getRankCount();
    step.queryOrder = rows.getQueries(sizes[index]);
    step.keyOrder = rows.getKeys(sizes[index]);
    reportRows(op, index, step.queryOrder, step.keyOrder);
    step.target = last ? output : partial;
    if (!single && !(position == 0 && firstCovers))
      step.partial = partial;
    step.maximum = maximum;
    step.sum = sum;
    if (isSum || last) {
      step.lse = lse;
      step.sinks = sinks;
    }
    step.last = last;
    step.fillsOthers = fillsOthers;
    auto tiling = cast<attn::TilingAttr>((*op.getTilings())[index]);
    if (tiling.getRecipe())
      step.redo =
          plan.workspace(rowShape, plan.getBuilder().getF32Type(), rowSizes);
    emitBranch(plan, step);
  }
  if (!single && !finishes) {
    SoftmaxState state{partial, maximum, sum, sinks};
    emitFinish(plan, kernelName("finish"), op, state, output);
    if (sum && lse)
      emitFinishLse(plan, kernelName("finish_lse"), state, lse);
  }
  // Last: kernels of whole tensors know nothing of lengths.
  if (lists.haveLengths()) {
    const HostTensor &ends =
        lists.arePacked() ? lists.queryStarts : lists.queryLengths;
    auto getBatchAxis = [&](int64_t axis) {
      return lists.arePacked() ? std::nullopt : std::optional(axis);
    };
    emitFillPast(plan, kernelName("fill_output_past"), output, sequenceAxis,
                 0.0, ends, getBatchAxis(0), rows.getQuerySlots());
    if (lse)
      emitFillPast(plan, kernelName("fill_lse_past"), lse, lse.sizes.size() - 1,
                   -std::numeric_limits<double>::infinity(), ends,
                   getBatchAxis(lse.sizes.size() - 3), rows.getQuerySlots());
  }

  tensors[op.getOutput()] = output;
  tensors[op.getLse()] = lse;
  remark::passed(
      op.getLoc(),
      remark::RemarkOpts::name("Attention").category("ringlet-to-rtile"))
      << (std::to_string(chain.size()) + " branch kernels, " +
          (single     ? "no partial results"
           : finishes ? "the last one writes the output"
                      : "a finishing kernel writes the output"));
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

//===----------------------------------------------------------------------===//
// What is accepted
//===----------------------------------------------------------------------===//

LogicalResult checkReorder(attn::ReorderOp op) {
  if (op.getInput().getType().getRank() > 4)
    return op.emitOpError("expected a tensor of at most 4 axes, found ")
           << op.getInput().getType().getRank();
  for (rlayout::LayoutAttr layout : {op.getInputLayout(), op.getOutputLayout()})
    if (layout && layout.getRing())
      return op.emitOpError("expected no ring: it has no lowering yet (G1)");
  return success();
}

LogicalResult checkFunction(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("expected a function of one block");
  if (function.getNumResults() == 0)
    return function.emitOpError("expected at least one result");
  for (auto types : {function.getArgumentTypes(), function.getResultTypes()})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return function.emitOpError("expected arguments and results of ranked "
                                    "tensor type, found ")
               << type;
      if (tensor.getRank() > 8)
        return function.emitOpError("expected tensors of at most 8 axes, "
                                    "found ")
               << type;
    }
  for (Type type : function.getResultTypes())
    if (!isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      return function.emitOpError("expected results of f16, bf16 or f32, "
                                  "found ")
             << type;
  for (Operation &op : function.getBody().front()) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      if (failed(checkSupported(attention)))
        return failure();
    } else if (auto reorder = dyn_cast<attn::ReorderOp>(op)) {
      if (failed(checkReorder(reorder)))
        return failure();
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = dyn_cast<RankedTensorType>(constant.getType());
      if (!type || type.getRank() != 0 || !type.getElementType().isInteger(64))
        return op.emitOpError("expected a constant of tensor<i64>, found ")
               << constant.getType();
      if (!isa<DenseIntElementsAttr>(constant.getValue()))
        return op.emitOpError("expected a constant written as dense<...>, "
                              "found ")
               << constant.getValue();
    } else if (!isa<func::ReturnOp>(op)) {
      return op.emitOpError("expected an operation of ringlet, or "
                            "arith.constant, in a function to compile, found ")
             << op.getName();
    }
  }
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (Value value : terminator.getOperands())
    if (value.getDefiningOp<arith::ConstantOp>() ||
        cast<RankedTensorType>(value.getType()).getRank() == 0 ||
        (isa<BlockArgument>(value) &&
         cast<RankedTensorType>(value.getType()).getRank() > 4))
      return terminator.emitOpError("expected to return results of the "
                                    "graph, or arguments of 1 to 4 axes, "
                                    "found ")
             << value.getType();
  return success();
}

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
