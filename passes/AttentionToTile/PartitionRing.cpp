//===- PartitionRing.cpp - Attention on the ranks of a ring -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function on sharded tensors becomes the plan of one rank, the same for all:
// it begins an exchange, computes with chunks as they come, piece by piece, and
// ends the softmax where all keys have been.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/FunctionLowering.h"
#include "passes/AttentionToTile/KernelFeatures.h"
#include "passes/AttentionToTile/Passes.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Layout/Dilation.h"
#include "ringlet/abi/ring/Pieces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RINGLETPARTITIONRING
#include "passes/AttentionToTile/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using rlayout::getRing;

//===----------------------------------------------------------------------===//
// What can be on a ring
//===----------------------------------------------------------------------===//

/// Why an attention on sharded tensors has no plan for ranks.
static std::string whyNotOnRing(attn::AttentionOp op) {
  rlayout::RingAttr ring = getRing(op.getQuery().getType());
  for (Value value :
       {op.getQuery(), op.getKey(), op.getValue(), op.getOutput()})
    if (getRing(value.getType()) != ring)
      return "expected query, key, value and output on one ring (G1)";
  if (!op.getLse().use_empty() && getRing(op.getLse().getType()) != ring)
    return "expected an lse on the ring of the output, along its last axis "
           "(G1)";
  if (op.getOrdinalOrder() || op.getGridWindow() || op.getBlockMask())
    return "expected no pattern order, grid window or block mask on a ring: "
           "what they show is no progression of rows (O2, B5, B6)";
  for (Value value : {op.getQuery(), op.getKey(), op.getOutput()})
    if (rlayout::getOrder(cast<RankedTensorType>(value.getType())))
      return "expected no memory order on a ring (O1)";
  if (op.getMix() == attn::Mix::Sum)
    return "expected one softmax on a ring, found mix = sum (R2)";
  if (!op.getSizes().empty())
    return "expected branches of known w and r on a ring (B1)";
  return "";
}

/// The type of a rank's part: any number of rows.
static RankedTensorType toPart(RankedTensorType type) {
  if (!getRing(type))
    return type;
  rlayout::LayoutAttr layout = rlayout::getLayout(type);
  SmallVector<int64_t> shape(type.getShape());
  shape[layout.getAxis()] = ShapedType::kDynamic;
  Attribute encoding;
  if (layout.getOrder())
    encoding = rlayout::LayoutAttr::get(type.getContext(), layout.getOrder(),
                                        nullptr, layout.getAxis());
  return RankedTensorType::get(shape, type.getElementType(), encoding);
}

/// Marks attentions on rings, and gives all values the types of parts.
static LogicalResult localize(func::FuncOp function) {
  Builder builder(function.getContext());
  for (Operation &op : function.getBody().front()) {
    auto attention = dyn_cast<attn::AttentionOp>(op);
    bool isSharded = llvm::any_of(op.getOperandTypes(), getRing) ||
                     llvm::any_of(op.getResultTypes(), getRing);
    if (!isSharded || isa<func::ReturnOp>(op))
      continue;
    if (!attention)
      return op.emitOpError("expected no operation on a ring but attention "
                            "(G1)");
    if (std::string reason = whyNotOnRing(attention); !reason.empty())
      return attention.emitOpError() << reason;
    int64_t axis = attention.getSequenceAxis();
    attention->setAttr(shardedAttr, getRing(attention.getQuery().getType()));
    auto rowsOf = [&](Value value) {
      int64_t rows = cast<RankedTensorType>(value.getType()).getDimSize(axis);
      return ShapedType::isDynamic(rows) ? -1 : rows;
    };
    attention->setAttr(shardedRowsAttr, builder.getDenseI64ArrayAttr(
                                            {rowsOf(attention.getQuery()),
                                             rowsOf(attention.getKey())}));
  }
  auto localizeValue = [](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      value.setType(toPart(type));
  };
  for (BlockArgument argument : function.getArguments())
    localizeValue(argument);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      localizeValue(result);
  // An lse has the rows of the queries, whether its type says so or not.
  for (Operation &op : function.getBody().front())
    if (auto attention = dyn_cast<attn::AttentionOp>(op);
        attention && attention->hasAttr(shardedAttr)) {
      auto type = attention.getLse().getType();
      SmallVector<int64_t> shape(type.getShape());
      shape.back() = ShapedType::kDynamic;
      attention.getLse().setType(
          RankedTensorType::get(shape, type.getElementType()));
    }
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), terminator.getOperandTypes()));
  return success();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// A branch as `rplan` has it.
static rplan::RingBranchAttr toRing(attn::AttentionOp op,
                                    attn::BranchAttr branch) {
  return rplan::RingBranchAttr::get(
      op.getContext(), branch.isUnbounded() ? 0 : branch.getW(), branch.getR(),
      static_cast<rplan::OffsetRule>(branch.getOffset()), branch.getConstant(),
      branch.getBy() == attn::HeadKind::Query, branch.getHeadBegin(),
      branch.getHeadEnd(op.getQueryHeads()));
}

/// The attention of a piece: one branch, no sequences but one, q_offset given.
static attn::AttentionOp
buildPiece(OpBuilder &builder, attn::AttentionOp op, ValueRange arguments,
           attn::BranchAttr branch, attn::TilingAttr tiling, int64_t rate,
           RankedTensorType output, RankedTensorType lse) {
  auto piece = cast<attn::AttentionOp>(builder.clone(*op));
  piece->removeAttr(shardedAttr);
  piece->removeAttr(shardedRowsAttr);
  piece.getQueryMutable().assign(arguments[0]);
  piece.getKeyMutable().assign(arguments[1]);
  piece.getValueMutable().assign(arguments[2]);
  piece.getQOffsetMutable().assign(arguments[3]);
  piece.getQueryStartsMutable().clear();
  piece.getKeyStartsMutable().clear();
  piece.getQueryLengthsMutable().clear();
  piece.getKeyLengthsMutable().clear();
  piece.getSinkMutable().clear();
  piece.setBranchesAttr(builder.getArrayAttr({branch}));
  piece.setTilingsAttr(builder.getArrayAttr({tiling}));
  piece.removeCombineAttr();
  piece.removeSplitKvAttr();
  // Rows that are `rate` positions apart count as one.
  if (auto window = op.getWindow()) {
    SmallVector<int64_t> sides(*window);
    for (int64_t &side : sides)
      side = side < 0 ? side : side / rate;
    piece.setWindowAttr(builder.getDenseI64ArrayAttr(sides));
  }
  piece.getOutput().setType(output);
  piece.getLse().setType(lse);
  return piece;
}

/// Why the last piece of a row leaves a state as the others do; empty if it may
/// end the softmax.
static std::string whyNoEdges(attn::AttentionOp op) {
  auto tilings = op.getTilings()->getAsRange<attn::TilingAttr>();
  if (!hasLongSums(op) && llvm::none_of(tilings, [](attn::TilingAttr each) {
        return each.getRecipe();
      }))
    return "expected a recipe or sums of many keys, whose kernels add what was "
           "there before behind their keys";
  if (op.getOutput().getType().getElementType().isF32())
    return "expected an output of 16 bits, found f32, which is the state's";
  if (op.getSink())
    return "expected no sink, found one, which joins where all keys have been "
           "(R3)";
  return "";
}

FlatSymbolRefAttr FunctionLowering::addPieces(attn::AttentionOp op,
                                              unsigned index, bool whole) {
  MLIRContext *context = op.getContext();
  auto branch = cast<attn::BranchAttr>(op.getBranches()[index]);
  attn::TilingAttr tiling = op.getTilingOf(index);
  int64_t queryHeads = op.getQueryHeads(), keyHeads = op.getKeyHeads();
  int64_t rate = 1;
  if (!whole) {
    ring::Attention attention;
    attention.queryHeads = queryHeads;
    attention.keyHeads = keyHeads;
    rplan::RingBranchAttr ofRing = toRing(op, branch);
    ring::Branch one;
    one.dilation = rate = branch.getR();
    one.offsetByQuery = ofRing.getByQuery();
    one.headBegin = ofRing.getBegin();
    one.headEnd = ofRing.getEnd();
    queryHeads = ring::takesGroups(attention, one) ? queryHeads / keyHeads : 1;
    keyHeads = 1;
    branch = attn::BranchAttr::get(
        context, attn::BranchAttr::kUnbounded, 1, attn::OffsetRule::Modulo, 0,
        attn::HeadKind::Key, 0, attn::BranchAttr::kAllHeads,
        attn::Padding::None);
  }
  int64_t any = ShapedType::kDynamic, dim = op.getHeadDim();
  int64_t valueDim = op.getValueDim();
  Type f32 = Float32Type::get(context);
  auto tensor = [&](ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  };
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  auto rows = tensor({any, queryHeads, any}, f32);
  auto state = tensor({any, queryHeads, any, 1}, f32);
  SmallVector<Type> inputs = {
      tensor({any, any, queryHeads, dim}, elementOf(op.getQuery())),
      tensor({any, any, keyHeads, dim}, elementOf(op.getKey())),
      tensor({any, any, keyHeads, valueDim}, elementOf(op.getValue())),
      tensor({}, IntegerType::get(context, 64))};
  SmallVector<Type> outputs = {tensor({any, any, queryHeads, valueDim}, f32),
                               state, state};
  if (whyNoEdges(op).empty()) {
    inputs.push_back(tensor({}, IntegerType::get(context, 64)));
    outputs.push_back(
        tensor({any, any, queryHeads, valueDim}, elementOf(op.getOutput())));
    if (!op.getLse().use_empty())
      outputs.push_back(state);
  }
  OpBuilder builder(function);
  std::string name =
      kernelName(whole ? "whole" : "part") + "_branch" + std::to_string(index);
  auto pieces = func::FuncOp::create(builder, op.getLoc(), name,
                                     builder.getFunctionType(inputs, outputs));
  const char *const names[] = {"query", "key", "value", "q_offset", "edge"};
  for (auto [argument, what] :
       llvm::enumerate(ArrayRef(names).take_front(inputs.size())))
    pieces.setArgAttr(argument, "ringlet.name", builder.getStringAttr(what));
  builder.setInsertionPointToStart(pieces.addEntryBlock());
  attn::AttentionOp piece = buildPiece(
      builder, op, pieces.getArguments(), branch, tiling, rate,
      tensor({any, any, queryHeads, valueDim}, elementOf(op.getOutput())),
      rows);
  FunctionLowering(pieces, symbols).lowerPieces(piece);
  pieces.erase();
  return FlatSymbolRefAttr::get(context, name);
}

void FunctionLowering::lowerPieces(attn::AttentionOp op) {
  readArguments();
  plan.setLoc(op.getLoc());
  Attention attention = readAttention(op);
  SoftmaxState state{plan.getOutput(0), plan.getOutput(1), plan.getOutput(2)};
  for (auto [axis, size] : llvm::enumerate(state.accumulator.sizes))
    plan.requireEqual(size,
                      axis + 1 < attention.query.sizes.size()
                          ? attention.query.sizes[axis]
                          : attention.value.sizes[axis],
                      "expected a state of the queries", "section 3");
  std::optional<PieceEdge> edge;
  if (function.getNumArguments() > 4) {
    edge.emplace();
    edge->number = readScalar(function.getArgument(4));
    edge->result.output = plan.getOutput(3);
    if (function.getNumResults() > 4)
      edge->result.lse = plan.getOutput(4);
  }
  EqualKernels equal(symbols);
  emitForKeys(
      attention, plan.constant(1),
      [&] { return listPieceKernels(plan, attention, state, edge); },
      [&](const KernelList &kernels) {
        emitKernels(plan, attention, kernels, equal, [&](StringRef what) {
          return (plan.getName() + "_" + what).str();
        });
      });
}

//===----------------------------------------------------------------------===//
// The plan of a rank
//===----------------------------------------------------------------------===//

void FunctionLowering::lowerSharded(attn::AttentionOp op) {
  Attention attention = readAttention(op);
  addResults(attention);
  std::string noEdges = whyNoEdges(op);
  RingKernels kernels = listRingKernels(plan, attention, noEdges.empty());
  auto getName = [&](StringRef what) { return kernelName(what); };
  EqualKernels equal(symbols);
  emitKernels(plan, attention, kernels.before, equal, getName);

  OpBuilder &builder = plan.getBuilder();
  SmallVector<Attribute> branches, whole, part;
  for (unsigned index : orderBranches(attention)) {
    attn::BranchAttr branch = attention.getBranch(index);
    branches.push_back(toRing(op, branch));
    bool isDense = branch.isUnbounded() && branch.getR() == 1 &&
                   attention.hasEveryHead(index);
    whole.push_back(addPieces(op, index, /*whole=*/true));
    // With several branches, heads may have other rows of a chunk.
    bool needsPart = !isDense || op.getBranches().size() > 1;
    part.push_back(needsPart ? addPieces(op, index, /*whole=*/false)
                             : whole.back());
  }
  const SequenceLists &lists = attention.sequences;
  Value offset = op.getQOffset() && !lists.queryOffsets
                     ? readScalar(op.getQOffset())
                     : Value();
  auto exchange = rplan::ExchangeOp::create(
      builder, plan.getLoc(), rplan::ChunksType::get(op.getContext()),
      attention.key.buffer, attention.value.buffer, attention.query.buffer,
      op->getAttrOfType<rlayout::RingAttr>(shardedAttr),
      builder.getArrayAttr(branches),
      op->getAttrOfType<DenseI64ArrayAttr>(shardedRowsAttr), op.getCausalAttr(),
      op.getWindowAttr(), offset, lists.queryStarts.buffer,
      lists.keyStarts.buffer, lists.queryLengths.buffer,
      lists.keyLengths.buffer, lists.queryOffsets.buffer);
  const SoftmaxState &state = kernels.state;
  rplan::AttendOp::create(
      builder, plan.getLoc(), exchange, attention.query.buffer,
      state.accumulator.buffer, state.maximum.buffer, state.sum.buffer,
      noEdges.empty() ? attention.output.buffer : Value(),
      noEdges.empty() ? attention.lse.buffer : Value(),
      builder.getArrayAttr(whole), builder.getArrayAttr(part));
  emitKernels(plan, attention, kernels.after, equal, getName);
  StringRef sums = hasLongSums(op)
                       ? "; the sums of each piece begin with 0 and are added "
                         "to it behind the last key, so that none grows with "
                         "the number of chunks"
                       : "";
  auto options =
      remark::RemarkOpts::name("Ring").category("ringlet-partition-ring");
  remark::passed(op.getLoc(), options)
      << llvm::formatv("keys of other ranks join the softmax chunk by chunk, "
                       "in a state in f32; {0} branches{1}",
                       branches.size(), sums)
             .str();
  if (noEdges.empty())
    remark::passed(op.getLoc(), options)
        << "the last piece of its rows ends their softmax, the first one "
           "reads no state; a finishing kernel ends that of rows that have "
           "none";
  else
    remark::missed(op.getLoc(), options)
        << "a finishing kernel ends the softmax of all rows: " + noEdges;
}

namespace {
struct PartitionRing : ringlet::impl::RingletPartitionRingBase<PartitionRing> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto isSharded = [](func::FuncOp function) {
      return llvm::any_of(function.getArgumentTypes(), getRing) ||
             llvm::any_of(function.getResultTypes(), getRing);
    };
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (isSharded(function))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (function.isExternal() || !function.getBody().hasOneBlock() ||
          failed(localize(function)) || failed(checkFunction(function)))
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
