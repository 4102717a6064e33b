//===- RingStepWriter.cpp - Steps on a ring to an artefact's plan ---------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/PlanWriterState.h"

using namespace mlir;
using namespace ringlet;

LogicalResult PlanWriter::exchange(State &state, rplan::ExchangeOp op) {
  abi::ExchangeT exchange;
  auto set = [&](auto &place, FailureOr<uint32_t> number) {
    place = succeeded(number) ? *number : 0;
    return succeeded(number);
  };
  bool good = set(exchange.key, buffer(state, op.getKey())) &&
              set(exchange.value, buffer(state, op.getValue())) &&
              set(exchange.query, buffer(state, op.getQuery()));
  if (good && op.getOffset())
    good = set(exchange.offset, expr(state, op.getOffset()));
  if (good && op.getQueryStarts())
    good = set(exchange.query_starts, buffer(state, op.getQueryStarts())) &&
           set(exchange.key_starts, buffer(state, op.getKeyStarts()));
  if (good && op.getQueryLengths())
    good = set(exchange.query_lengths, buffer(state, op.getQueryLengths())) &&
           set(exchange.key_lengths, buffer(state, op.getKeyLengths()));
  if (good && op.getOffsets())
    good = set(exchange.offsets, buffer(state, op.getOffsets()));
  if (!good)
    return failure();
  rlayout::RingAttr ring = op.getRing();
  exchange.ranks = ring.hasAnyRanks() ? -1 : ring.getRanks();
  exchange.sharding = static_cast<abi::Sharding>(ring.getBalance());
  exchange.block = ring.getBlock();
  exchange.causal = op.getCausal();
  if (auto window = op.getWindow()) {
    exchange.window_left = (*window)[0];
    exchange.window_right = (*window)[1];
  }
  if (auto rows = op.getRows()) {
    exchange.query_rows = (*rows)[0];
    exchange.key_rows = (*rows)[1];
  }
  auto attend = cast<rplan::AttendOp>(*op.getChunks().getUsers().begin());
  for (auto [attr, whole, part] :
       llvm::zip_equal(op.getBranches().getAsRange<rplan::RingBranchAttr>(),
                       attend.getWhole().getAsRange<FlatSymbolRefAttr>(),
                       attend.getPart().getAsRange<FlatSymbolRefAttr>())) {
    auto branch = std::make_unique<abi::RingBranchT>();
    branch->w = attr.getW();
    branch->rate = attr.getRate();
    branch->offset = static_cast<abi::OffsetRule>(attr.getOffset());
    branch->constant = attr.getConstant();
    branch->by_query = attr.getByQuery();
    branch->head_begin = attr.getBegin();
    branch->head_end = attr.getEnd();
    branch->whole = state.functions.lookup(whole.getValue());
    branch->part = state.functions.lookup(part.getValue());
    exchange.branches.push_back(std::move(branch));
  }
  state.chunks[op.getChunks()] =
      static_cast<uint32_t>(state.plan->steps.size());
  addStep(state, std::move(exchange));
  state.copies.clear();
  return success();
}

LogicalResult PlanWriter::attend(State &state, rplan::AttendOp op) {
  abi::AttendT attend;
  attend.exchange = state.chunks.lookup(op.getChunks());
  for (auto [place, value] :
       {std::pair(&attend.accumulator, op.getAccumulator()),
        std::pair(&attend.maximum, op.getMaximum()),
        std::pair(&attend.sum, op.getSum())}) {
    FailureOr<uint32_t> number = buffer(state, value);
    if (failed(number))
      return failure();
    *place = *number;
  }
  for (auto [place, value] : {std::pair(&attend.output, op.getOutput()),
                              std::pair(&attend.lse, op.getLse())}) {
    if (!value)
      continue;
    FailureOr<uint32_t> number = buffer(state, value);
    if (failed(number))
      return failure();
    *place = static_cast<int32_t>(*number);
  }
  addStep(state, std::move(attend));
  state.copies.clear();
  return success();
}
