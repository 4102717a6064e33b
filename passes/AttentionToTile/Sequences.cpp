//===- Sequences.cpp - What kernels read of sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/Sequences.h"

#include "passes/TileOpt/RowRange.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

bool ringlet::hasOffsetOfSequence(attn::AttentionOp op) {
  return op.getQOffset() &&
         cast<RankedTensorType>(op.getQOffset().getType()).getRank() != 0;
}

bool ringlet::hasPositionsOfSequence(attn::AttentionOp op) {
  bool haveLengths = op.getQueryLengths() || op.getKeyBegins() || op.isPacked();
  return hasOffsetOfSequence(op) || (haveLengths && !op.getQOffset());
}

std::optional<int64_t> ringlet::getReachOfQueries(attn::AttentionOp op) {
  if (!op.getQOffset())
    return std::nullopt;
  return getRightLimit(op.getCausal(), op.getWindow());
}

/// Those by 2^k take k, and of n that are left then there are fewer than n.
Value ringlet::boundHalvings(HostPlan &plan, Value count) {
  Value bound = plan.sub(count, plan.constant(1));
  for (int64_t k = 4; k <= 12; k += 4)
    bound = plan.min(bound, plan.add(plan.ceilDiv(count, int64_t(1) << k),
                                     plan.constant(k - 1)));
  return bound;
}

SequenceReader::SequenceReader(KernelBuilder &k, const SequenceLists &lists)
    : k(k) {
  auto add = [&](StringRef name, const HostTensor &list) {
    return list ? k.addBuffer(name, list.buffer) : Value();
  };
  offsets = add("q_offsets", lists.queryOffsets);
  queryLengths = add("q_lengths", lists.queryLengths);
  keyLengths = add("k_lengths", lists.keyLengths);
  keyBegins = add("k_begins", lists.keyBegins);
  queryStarts = add("q_starts", lists.queryStarts);
  keyStarts = add("k_starts", lists.keyStarts);
}

Value SequenceReader::findLast(
    Value starts, Value rows, Value halvings,
    llvm::function_ref<Value(Value sequence, Value start)> begins) {
  OpBuilder &builder = k.getBuilder();
  Value zero = k.constant(0), one = k.constant(1);
  Value sequences =
      k.add("sequences", k.size("starts", starts, 0), k.constant(-1));
  auto loop = k.create<scf::ForOp>("found", zero, halvings, one,
                                   ValueRange{zero, sequences});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  loop.getInductionVar().setLoc(k.named("halving"));
  Value low = loop.getRegionIterArg(0), high = loop.getRegionIterArg(1);
  low.setLoc(k.named("low"));
  high.setLoc(k.named("high"));
  Value middle = k.div("middle", k.add("ends", low, high), 2);
  Value begun =
      begins(middle, k.readIndex("start", starts, middle, zero, rows));
  Value nextLow = k.create<arith::SelectOp>("next_low", begun, middle, low);
  Value nextHigh = k.create<arith::SelectOp>("next_high", begun, high, middle);
  scf::YieldOp::create(builder, k.getLoc(), ValueRange{nextLow, nextHigh});
  return loop.getResult(0);
}

SequenceReader::Sequence SequenceReader::read(Value number, Value queryRows,
                                              Value keyRows, Value first) {
  Value zero = k.constant(0);
  Sequence result;
  if (!queryStarts) {
    auto getPart = [&](StringRef name, Value list, Value rows) -> SequencePart {
      return {zero, list ? k.readIndex(name, list, number, zero, rows) : rows};
    };
    result.queries = getPart("q_length", queryLengths, queryRows);
    result.keys = getPart("k_length", keyLengths, keyRows);
    if (keyBegins)
      result.keys.first =
          k.readIndex("k_begin", keyBegins, number, zero, result.keys.end);
    return result;
  }
  Value next = k.add("next_sequence", number, k.constant(1));
  if (!first)
    first = k.readIndex("q_first", queryStarts, number, zero, queryRows);
  result.queries = {first,
                    k.readIndex("q_end", queryStarts, next, first, queryRows)};
  Value firstKey = k.readIndex("k_first", keyStarts, number, zero, keyRows);
  result.keys = {firstKey,
                 k.readIndex("k_end", keyStarts, next, firstKey, keyRows)};
  return result;
}

Value SequenceReader::readOffset(Value number, const Sequence &sequence,
                                 int64_t least) {
  if (offsets)
    return k.readIndex("q_offset", offsets, number, k.constant(least),
                       k.constant(kMaxOffset));
  Value keys = getLength("k_length", sequence.keys);
  return k.create<arith::SubIOp>("q_offset", keys,
                                 getLength("q_length", sequence.queries));
}

Value SequenceReader::getRowsBefore(Value number, const SequencePart &part,
                                    Value rows) {
  return queryStarts ? part.first
                     : k.create<arith::MulIOp>("rows_before", number, rows);
}

Value SequenceReader::getLength(StringRef name, const SequencePart &part,
                                Value rows) {
  if (!part.end)
    return rows;
  return getConstant(part.first) == 0
             ? part.end
             : k.create<arith::SubIOp>(name, part.end, part.first).getResult();
}
