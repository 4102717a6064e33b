//===- VerifyRing.cpp - Rules of steps on a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "ringlet/abi/Format.h"

#include "ringlet/abi/ring/Pieces.h"

#include <vector>

using namespace ringlet::abi;

bool Verifier::verifyPieces(const std::string &place, uint32_t index,
                            const PieceTypes &types) {
  if (!checkIndex(place, "a function", index, sizeOf(artifact.functions())))
    return false;
  const Function &function = *artifact.functions()->Get(index);
  const std::string name = "function '" + function.name()->str() + "'";
  if (!function.is_private())
    return fail(place, "expected a private function to call, found " + name);
  const int64_t any = -1, dim = types.dim, valueDim = types.valueDim;
  const int64_t queries = types.queryHeads, keys = types.keyHeads;
  using Sizes = std::vector<int64_t>;
  const Sizes ofValues = {any, any, queries, valueDim},
              ofRows = {any, queries, any, 1};
  std::vector<std::pair<DType, Sizes>> expected = {
      {types.query, {any, any, queries, dim}},
      {types.key, {any, any, keys, dim}},
      {types.value, {any, any, keys, valueDim}},
      {DType::I64, {}}};
  if (types.output)
    expected.push_back({DType::I64, {}});
  const size_t inputs = expected.size();
  expected.insert(
      expected.end(),
      {{DType::F32, ofValues}, {DType::F32, ofRows}, {DType::F32, ofRows}});
  if (types.output)
    expected.push_back({*types.output, ofValues});
  if (types.hasLse)
    expected.push_back({DType::F32, ofRows});
  bool good = sizeOf(function.arguments()) == expected.size();
  for (uint32_t i = 0; good && i < expected.size(); ++i) {
    const Argument &argument = *function.arguments()->Get(i);
    const auto &[dtype, sizes] = expected[i];
    good = argument.is_output() == (i >= inputs) && argument.dtype() == dtype &&
           sizeOf(argument.sizes()) == sizes.size();
    for (uint32_t axis = 0; good && axis < sizes.size(); ++axis)
      good = argument.sizes()->Get(axis) == sizes[axis];
  }
  return good ||
         fail(place,
              formatText(
                  "expected inputs query, key, value and a position{} and "
                  "outputs accumulator, maximum and sum{}{} of {} query and {} "
                  "key heads of {} and {} dimensions and any other sizes, "
                  "found those of {}",
                  types.output ? ", an edge" : "",
                  types.output ? ", an output" : "",
                  types.hasLse ? ", an lse" : "", queries, keys, dim, valueDim,
                  name));
}

bool Verifier::verifyRingBranch(const std::string &place,
                                const Exchange &exchange, uint32_t index,
                                const PieceTypes &whole) {
  const RingBranch &branch = *exchange.branches()->Get(index);
  int64_t queryHeads = whole.queryHeads;
  if (branch.w() < 0 || branch.rate() < 1 || branch.head_begin() < 0 ||
      branch.head_end() < branch.head_begin() ||
      branch.head_end() > queryHeads || branch.offset() > OffsetRule::MAX)
    return fail(
        place,
        formatText("expected w >= 0, rate >= 1 and heads up to {} (B1, B2, B3)",
                   queryHeads));
  ring::Attention attention;
  attention.queryHeads = queryHeads;
  attention.keyHeads = whole.keyHeads;
  ring::Branch one;
  one.dilation = branch.rate();
  one.offsetByQuery = branch.by_query();
  one.headBegin = branch.head_begin();
  one.headEnd = branch.head_end();
  PieceTypes part = whole;
  part.queryHeads =
      ring::takesGroups(attention, one) ? queryHeads / whole.keyHeads : 1;
  part.keyHeads = 1;
  // One that takes all heads of all rows serves for both.
  bool isOne = branch.part() == branch.whole() && branch.w() == 0 &&
               branch.rate() == 1 && branch.head_begin() == 0 &&
               branch.head_end() == queryHeads &&
               sizeOf(exchange.branches()) == 1;
  return verifyPieces(place, branch.whole(), whole) &&
         verifyPieces(place, branch.part(), isOne ? whole : part);
}

bool Verifier::verifyExchange(const std::string &place,
                              const Function &function, const Plan &plan,
                              uint32_t step, const Exchange &exchange) {
  if (function.is_private())
    return fail(place, "expected no exchange in a private function");
  uint32_t buffers = sizeOf(plan.buffers());
  bool packed = exchange.query_starts() >= 0;
  BufferType types[3];
  uint32_t number = 0;
  for (uint32_t index : {exchange.query(), exchange.key(), exchange.value()}) {
    if (!checkIndex(place, "a buffer", index, buffers) ||
        !checkUse(place, function, plan, step, index, false))
      return false;
    types[number] = bufferType(artifact, function, *plan.buffers()->Get(index));
    if (types[number].rank != (packed ? 3 : 4) || !types[number].sizes)
      return fail(place, formatText("expected an argument of {} axes, found {}",
                                    packed ? 3 : 4, types[number].rank));
    ++number;
  }
  if (packed != (exchange.key_starts() >= 0))
    return fail(place, "expected starts of queries and of keys together");
  if ((exchange.query_lengths() >= 0) != (exchange.key_lengths() >= 0))
    return fail(place, "expected lengths of queries and of keys together");
  if (packed && exchange.query_lengths() >= 0)
    return fail(place, "expected starts or lengths, found both (S2)");
  if (exchange.offset() >= 0 && exchange.offsets() >= 0)
    return fail(place, "expected one position of the first query, or one for "
                       "each sequence, found both (S1)");
  for (int32_t index :
       {exchange.query_starts(), exchange.key_starts(),
        exchange.query_lengths(), exchange.key_lengths(), exchange.offsets()}) {
    if (index < 0)
      continue;
    if (!checkIndex(place, "a buffer", uint32_t(index), buffers))
      return false;
    BufferType type =
        bufferType(artifact, function, *plan.buffers()->Get(uint32_t(index)));
    if (type.dtype != DType::I64 || type.rank != 1)
      return fail(place,
                  "expected starts, lengths and positions of i64 and one "
                  "axis");
  }
  if (exchange.offset() >= 0 &&
      !checkIndex(place, "an expression", uint32_t(exchange.offset()),
                  sizeOf(function.exprs())))
    return false;
  if (exchange.sharding() > Sharding::MAX)
    return fail(place,
                formatText("expected a sharding from 0 to {}, found {}",
                           int(Sharding::MAX), int(exchange.sharding())));
  uint32_t headAxis = types[0].rank - 2;
  int64_t queryHeads = types[0].sizes->Get(headAxis);
  int64_t keyHeads = types[1].sizes->Get(headAxis);
  if (keyHeads < 1 || queryHeads < keyHeads || queryHeads % keyHeads != 0 ||
      types[2].sizes->Get(headAxis) != keyHeads)
    return fail(
        place,
        formatText("expected query heads a multiple of key heads, which are "
                   "as many as of values, found {} and {} (section 1)",
                   queryHeads, keyHeads));
  for (const BufferType &type : types)
    if (type.sizes->Get(headAxis + 1) < 0)
      return fail(place, "expected known dimensions of heads");
  if (types[0].sizes->Get(headAxis + 1) != types[1].sizes->Get(headAxis + 1))
    return fail(place, "expected queries and keys of as many dimensions");
  if (!checkCount(place, "branches", sizeOf(exchange.branches()), kMaxSteps) ||
      sizeOf(exchange.branches()) == 0)
    return fail(place, "expected branches, found none (B1)");
  std::optional<DType> output;
  bool hasLse = false;
  // What comes behind has not been verified yet.
  for (uint32_t i = step + 1; i < sizeOf(plan.steps()); ++i)
    if (const Attend *attend = plan.steps()->Get(i)->action_as_Attend();
        attend && attend->exchange() == step && attend->output() >= 0) {
      if (!checkIndex(place, "a buffer", uint32_t(attend->output()), buffers))
        return false;
      output = bufferType(artifact, function,
                          *plan.buffers()->Get(uint32_t(attend->output())))
                   .dtype;
      hasLse = attend->lse() >= 0;
    }
  const PieceTypes whole = {types[0].dtype,
                            types[1].dtype,
                            types[2].dtype,
                            queryHeads,
                            keyHeads,
                            types[0].sizes->Get(headAxis + 1),
                            types[2].sizes->Get(headAxis + 1),
                            output,
                            hasLse};
  for (uint32_t i = 0; i < sizeOf(exchange.branches()); ++i)
    if (!verifyRingBranch(formatText("{}, branch {}", place, i), exchange, i,
                          whole))
      return false;
  return true;
}

bool Verifier::verifyAttend(const std::string &place, const Function &function,
                            const Plan &plan, uint32_t step,
                            const Attend &attend) {
  if (!checkIndex(place, "an earlier step", attend.exchange(), step))
    return false;
  const Exchange *exchange =
      plan.steps()->Get(attend.exchange())->action_as_Exchange();
  if (!exchange)
    return fail(place, formatText("expected an exchange as step {}",
                                  attend.exchange()));
  for (uint32_t i = attend.exchange() + 1; i < step; ++i)
    if (const Attend *other = plan.steps()->Get(i)->action_as_Attend())
      if (other->exchange() == attend.exchange())
        return fail(place, formatText("step {} has used up the exchange", i));
  uint32_t rank = exchange->query_starts() >= 0 ? 3 : 4;
  uint32_t expected[] = {rank, rank - 1, rank - 1}, number = 0;
  for (uint32_t index :
       {attend.accumulator(), attend.maximum(), attend.sum()}) {
    if (!checkIndex(place, "a buffer", index, sizeOf(plan.buffers())) ||
        !checkUse(place, function, plan, step, index, true))
      return false;
    BufferType type =
        bufferType(artifact, function, *plan.buffers()->Get(index));
    if (type.dtype != DType::F32 || type.rank != expected[number])
      return fail(
          place,
          formatText("expected a state of f32 and {} axes, found {} of {}",
                     expected[number], dtypeName(type.dtype), type.rank));
    ++number;
  }
  return verifyEnds(place, function, plan, step, attend, rank);
}

bool Verifier::verifyEnds(const std::string &place, const Function &function,
                          const Plan &plan, uint32_t step, const Attend &attend,
                          uint32_t rank) {
  if (attend.lse() >= 0 && attend.output() < 0)
    return fail(place, "expected an output beside an lse");
  for (bool isLse : {false, true}) {
    int32_t index = isLse ? attend.lse() : attend.output();
    if (index < 0)
      continue;
    if (!checkIndex(place, "a buffer", uint32_t(index),
                    sizeOf(plan.buffers())) ||
        !checkUse(place, function, plan, step, uint32_t(index), true))
      return false;
    BufferType type =
        bufferType(artifact, function, *plan.buffers()->Get(uint32_t(index)));
    uint32_t axes = isLse ? rank - 1 : rank;
    if (type.rank != axes || (isLse && type.dtype != DType::F32))
      return fail(place, formatText("expected {} of {} axes, found {} of {}",
                                    isLse ? "an lse in f32" : "an output", axes,
                                    dtypeName(type.dtype), type.rank));
  }
  return true;
}
