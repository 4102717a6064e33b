//===- PlanRingOps.cpp - Steps of a plan on a ring -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rplan;

LogicalResult RingBranchAttr::verify(function_ref<InFlightDiagnostic()> error,
                                     int64_t w, int64_t rate, OffsetRule,
                                     int64_t, bool, int64_t begin,
                                     int64_t end) {
  if (w < 0)
    return error() << "expected segments of at least 1 position, or 0 for one "
                      "segment, found "
                   << w << " (B1)";
  if (rate < 1)
    return error() << "expected a rate of at least 1, found " << rate
                   << " (B1)";
  if (begin < 0 || end < begin)
    return error() << "expected heads from 0 on, found " << begin << " to "
                   << end << " (B3)";
  return success();
}

//===----------------------------------------------------------------------===//
// ExchangeOp
//===----------------------------------------------------------------------===//

/// The last two axes of a tensor, which are heads and dimensions.
static std::pair<int64_t, int64_t> getHeads(Value tensor) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t rank = type.getRank();
  return {type.getDimSize(rank - 2), type.getDimSize(rank - 1)};
}

int64_t ExchangeOp::getAxis() {
  return cast<MemRefType>(getQuery().getType()).getRank() - 3;
}

ring::Attention ExchangeOp::getAttention() {
  ring::Attention result;
  result.queryHeads = getHeads(getQuery()).first;
  result.keyHeads = getHeads(getKey()).first;
  result.causal = getCausal();
  if (auto window = getWindow()) {
    if ((*window)[0] >= 0)
      result.left = (*window)[0];
    if ((*window)[1] >= 0)
      result.right = (*window)[1];
  }
  for (auto branch : getBranches().getAsRange<RingBranchAttr>())
    result.branches.push_back(
        {branch.getW(), branch.getRate(),
         static_cast<ring::OffsetRule>(branch.getOffset()),
         branch.getConstant(), branch.getByQuery(), branch.getBegin(),
         branch.getEnd()});
  return result;
}

LogicalResult ExchangeOp::verify() {
  bool packed = bool(getQueryStarts());
  if (packed != bool(getKeyStarts()))
    return emitOpError("expected starts of queries and of keys together");
  if (bool(getQueryLengths()) != bool(getKeyLengths()))
    return emitOpError("expected lengths of queries and of keys together");
  if (packed && getQueryLengths())
    return emitOpError("expected starts or lengths, found both (S2)");
  if (getOffset() && getOffsets())
    return emitOpError("expected one position of the first query, or one for "
                       "each sequence, found both (S1)");
  int64_t rank = packed ? 3 : 4;
  for (Value tensor : {getKey(), getValue(), getQuery()}) {
    auto type = cast<MemRefType>(tensor.getType());
    if (type.getRank() != rank)
      return emitOpError("expected keys, values and queries of ")
             << rank << " axes, found " << type;
    if (type.isDynamicDim(rank - 2) || type.isDynamicDim(rank - 1))
      return emitOpError("expected known numbers of heads and of dimensions, "
                         "found ")
             << type;
  }
  auto [keyHeads, keyDim] = getHeads(getKey());
  auto [queryHeads, queryDim] = getHeads(getQuery());
  int64_t valueHeads = getHeads(getValue()).first;
  if (keyHeads != valueHeads || keyDim != queryDim)
    return emitOpError("expected values of ")
           << keyHeads << " heads and queries of " << keyDim
           << " dimensions, as keys have, found " << valueHeads << " and "
           << queryDim;
  if (keyHeads < 1 || queryHeads % keyHeads != 0)
    return emitOpError("expected a multiple of ")
           << keyHeads << " key heads, found " << queryHeads
           << " query heads (section 1)";
  for (auto branch : getBranches().getAsRange<RingBranchAttr>())
    if (branch.getEnd() > queryHeads)
      return emitOpError("expected query heads up to ")
             << queryHeads << ", found " << branch.getEnd() << " (B3)";
  if (getBranches().empty())
    return emitOpError("expected a branch, found none (B1)");
  if (auto window = getWindow())
    for (int64_t side : *window)
      if (side < -1)
        return emitOpError("expected window sides of at least 0, or -1 for "
                           "none, found ")
               << side << " (B4)";
  if (!getChunks().hasOneUse() ||
      !isa<AttendOp>(*getChunks().getUsers().begin()))
    return emitOpError("expected chunks that one rplan.attend waits for");
  return success();
}

//===----------------------------------------------------------------------===//
// AttendOp
//===----------------------------------------------------------------------===//

LogicalResult AttendOp::verify() {
  auto exchange = getChunks().getDefiningOp<ExchangeOp>();
  if (!exchange)
    return emitOpError("expected chunks of an rplan.exchange");
  if (exchange.getQuery() != getQuery())
    return emitOpError("expected the queries of the exchange");
  size_t branches = exchange.getBranches().size();
  for (auto plans : {getWhole(), getPart()})
    if (plans.size() != branches)
      return emitOpError("expected a plan for each of the ")
             << branches << " branches, found " << plans.size();
  auto query = cast<MemRefType>(getQuery().getType());
  int64_t rank = query.getRank();
  auto isState = [&](Value value, int64_t axes) {
    auto type = cast<MemRefType>(value.getType());
    return type.getRank() == axes && type.getElementType().isF32();
  };
  if (!isState(getAccumulator(), rank) || !isState(getMaximum(), rank - 1) ||
      !isState(getSum(), rank - 1))
    return emitOpError("expected a state in f32, of ")
           << rank << ", " << rank - 1 << " and " << rank - 1 << " axes, found "
           << getAccumulator().getType() << ", " << getMaximum().getType()
           << " and " << getSum().getType();
  if (getLse() && (!getOutput() || !isState(getLse(), rank - 1)))
    return emitOpError("expected an lse in f32 of ")
           << rank - 1 << " axes, beside an output, found "
           << getLse().getType();
  if (getOutput() && cast<MemRefType>(getOutput().getType()).getRank() != rank)
    return emitOpError("expected an output of ")
           << rank << " axes, found " << getOutput().getType();
  return success();
}

LogicalResult AttendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto exchange = getChunks().getDefiningOp<ExchangeOp>();
  if (!exchange)
    return success(); // verify() says so.
  auto check = [&](FlatSymbolRefAttr name, int64_t queryHeads,
                   int64_t keyHeads) -> LogicalResult {
    auto plan = symbols.lookupNearestSymbolFrom<FuncOp>(*this, name);
    if (!plan)
      return emitOpError("expected a plan, found no rplan.func ") << name;
    if (plan == (*this)->getParentOfType<FuncOp>())
      return emitOpError("expected another plan than the one it is in");
    auto arguments = plan.getBody().getArguments();
    // The axis of heads, and how many there are, of queries, keys, values and
    // position, and of what states and results have; none of numbers.
    SmallVector<std::pair<int64_t, int64_t>> types = {
        {2, queryHeads}, {2, keyHeads}, {2, keyHeads}, {-1, 0}};
    if (getOutput())
      types.push_back({-1, 0});
    size_t inputs = types.size();
    types.append({{2, queryHeads}, {1, queryHeads}, {1, queryHeads}});
    if (getOutput())
      types.push_back({2, queryHeads});
    if (getLse())
      types.push_back({1, queryHeads});
    bool good =
        arguments.size() == types.size() && plan.getNumInputs() == inputs;
    for (size_t i = 0; good && i < types.size(); ++i) {
      auto type = dyn_cast<MemRefType>(arguments[i].getType());
      auto [axis, heads] = types[i];
      good = type && type.getRank() == (axis < 0 ? 0 : 4) &&
             (axis < 0 || type.getDimSize(axis) == heads);
    }
    if (!good)
      return emitOpError("expected ")
             << name << " to have inputs of 4, 4, 4"
             << (getOutput() ? ", 0" : "") << " and 0 axes and "
             << types.size() - inputs << " outputs of 4, with " << queryHeads
             << " query and " << keyHeads << " key heads";
    return success();
  };
  int64_t queryHeads = getHeads(exchange.getQuery()).first;
  int64_t keyHeads = getHeads(exchange.getKey()).first;
  for (auto name : getWhole().getAsRange<FlatSymbolRefAttr>())
    if (failed(check(name, queryHeads, keyHeads)))
      return failure();
  auto branch = cast<RingBranchAttr>(exchange.getBranches()[0]);
  bool isDense = exchange.getBranches().size() == 1 && branch.getW() == 0 &&
                 branch.getRate() == 1 && branch.getBegin() == 0 &&
                 branch.getEnd() == queryHeads;
  // One plan serves for all rows of all heads.
  if (isDense && getPart()[0] == getWhole()[0])
    return success();
  for (auto name : getPart().getAsRange<FlatSymbolRefAttr>()) {
    auto plan = symbols.lookupNearestSymbolFrom<FuncOp>(*this, name);
    auto type =
        plan && plan.getBody().getNumArguments() != 0
            ? dyn_cast<MemRefType>(plan.getBody().getArgument(0).getType())
            : MemRefType();
    bool isSingle = type && type.getRank() == 4 && type.getDimSize(2) == 1;
    if (failed(check(name, isSingle ? 1 : queryHeads / keyHeads, 1)))
      return failure();
  }
  return success();
}
