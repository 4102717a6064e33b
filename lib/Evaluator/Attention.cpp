//===- Attention.cpp - Orders and the oracle ------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle knows tokens, not slots: operands are put in the order of their
// tokens first and results back into the order of their types last (O1).
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Attention.h"
#include "lib/Evaluator/Evaluation.h"
#include "lib/Evaluator/OracleSpec.h"
#include "lib/Oracle/Pages.h"

#include <numeric>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

using Tokens = std::vector<int64_t>;

/// The token of each slot of an axis of `length`. `starts` are the rows at
/// which sequences start, of which each has its own order.
static std::optional<Tokens> tokensOf(rlayout::OrderAttr order, int64_t length,
                                      ArrayRef<int64_t> starts,
                                      std::string *error) {
  Tokens tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 0);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    int64_t begin = starts[i], count = starts[i + 1] - begin;
    // What is wrong with the starts themselves is for the oracle to say.
    if (begin < 0 || count <= 0 || starts[i + 1] > length)
      continue;
    Tokens part = order.getOrder()->permutation(count, error);
    if (part.empty())
      return std::nullopt;
    for (int64_t slot = 0; slot < count; ++slot)
      tokens[begin + slot] = begin + part[slot];
  }
  return tokens;
}

/// Permutes the slots of a tensor of `type` into tokens, or back.
static bool permute(Tensor &tensor, RankedTensorType type,
                    ArrayRef<int64_t> starts, bool toTokens,
                    std::string *error) {
  rlayout::OrderAttr order = rlayout::getOrder(type);
  if (!order)
    return true;
  auto axis = static_cast<int>(rlayout::getLayout(type).getAxis());
  int64_t whole[] = {0, tensor.shape()[axis]};
  std::optional<Tokens> taken = tokensOf(
      order, whole[1], starts.empty() ? ArrayRef(whole) : starts, error);
  if (!taken)
    return false;
  if (toTokens) {
    Tokens slotOf(taken->size());
    for (auto [slot, token] : llvm::enumerate(*taken))
      slotOf[token] = static_cast<int64_t>(slot);
    *taken = std::move(slotOf);
  }
  tensor = takeIndices(std::as_const(tensor).view(), axis, *taken);
  return true;
}

bool evaluator::slotsToTokens(Tensor &tensor, RankedTensorType type,
                              std::string *error) {
  return permute(tensor, type, {}, /*toTokens=*/true, error);
}

bool evaluator::tokensToSlots(Tensor &tensor, RankedTensorType type,
                              std::string *error) {
  return permute(tensor, type, {}, /*toTokens=*/false, error);
}

LogicalResult Evaluation::evaluateReorder(attn::ReorderOp op) {
  const Datum &input = (*this)[op.getInput()];
  if (failed(spend(op, input.tensor.elements())))
    return failure();
  Tensor tensor = input.tensor;
  std::string error;
  if (!slotsToTokens(tensor, op.getInput().getType(), &error) ||
      !tokensToSlots(tensor, op.getOutput().getType(), &error))
    return refuseInputs(op, error);
  return define(op, op.getOutput(), std::move(tensor), input.sumsTokens);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// The operands of an attention by token, in the oracle's types.
struct Operands {
  std::vector<std::unique_ptr<Tensor>> storage;
  oracle::AttentionInputs inputs;

  TensorView add(Tensor tensor) {
    storage.push_back(std::make_unique<Tensor>(std::move(tensor)));
    return std::as_const(*storage.back()).view();
  }
};
} // namespace

/// A product that is nothing if it does not fit.
static std::optional<int64_t> product(ArrayRef<int64_t> factors) {
  return numElements(Shape(factors.begin(), factors.end()));
}

LogicalResult Evaluation::evaluateAttention(attn::AttentionOp op) {
  auto integers = [&](Value value) {
    const Tensor &tensor = (*this)[value].tensor;
    return ArrayRef(tensor.as<int64_t>(), tensor.elements());
  };
  ArrayRef<int64_t> queryStarts, keyStarts;
  if (op.isPacked()) {
    queryStarts = integers(op.getQueryStarts());
    keyStarts = integers(op.getKeyStarts());
  }

  Operands operands;
  std::string error;
  // The widest type that the oracle takes.
  auto byToken = [&](TypedValue<RankedTensorType> value,
                     ArrayRef<int64_t> starts) -> std::optional<TensorView> {
    Tensor tensor = (*this)[value].tensor;
    if (!permute(tensor, value.getType(), starts, /*toTokens=*/true, &error))
      return std::nullopt;
    return operands.add(
        Tensor::copyOf(std::as_const(tensor).view(), DType::f32));
  };
  auto query = byToken(op.getQuery(), queryStarts);
  auto inPages =
      [&](TypedValue<RankedTensorType> value) -> std::optional<TensorView> {
    std::optional<Tensor> rows =
        oracle::gatherPages((*this)[value].tensor.view(),
                            (*this)[op.getPageTable()].tensor.view(), &error);
    if (!rows)
      return std::nullopt;
    return operands.add(
        Tensor::copyOf(std::as_const(*rows).view(), DType::f32));
  };
  auto ofKeys = [&](TypedValue<RankedTensorType> value) {
    return op.isPaged() ? inPages(value) : byToken(value, keyStarts);
  };
  auto key = ofKeys(op.getKey());
  auto value = ofKeys(op.getValue());
  if (!query || !key || !value)
    return refuseInputs(op, error);
  oracle::AttentionInputs &inputs = operands.inputs;
  inputs.query = *query;
  inputs.key = *key;
  inputs.value = *value;
  auto as = [&](Value value, DType dtype) -> std::optional<TensorView> {
    if (!value)
      return std::nullopt;
    return operands.add(Tensor::copyOf((*this)[value].tensor.view(), dtype));
  };
  inputs.cuSeqlensQ = as(op.getQueryStarts(), DType::i64);
  inputs.cuSeqlensK = as(op.getKeyStarts(), DType::i64);
  if (op.isPaged() && op.isPacked()) {
    inputs.cuSeqlensK.reset();
    inputs.lengthsK = operands.add(oracle::countKeysInPages(
        (*this)[op.getKeyStarts()].tensor.view(), inputs.key.size(1)));
  }
  inputs.lengthsQ = as(op.getQueryLengths(), DType::i64);
  if (op.getKeyLengths())
    inputs.lengthsK = as(op.getKeyLengths(), DType::i64);
  inputs.keyBegins = as(op.getKeyBegins(), DType::i64);
  inputs.keyScale = as(op.getKScale(), DType::f32);
  inputs.valueScale = as(op.getVScale(), DType::f32);
  inputs.sink = as(op.getSink(), DType::f32);
  inputs.blockMask = as(op.getBlockMask(), DType::i1);
  if (op.getQOffset()) {
    Tensor offset = (*this)[op.getQOffset()].tensor;
    offset.reshape({offset.elements()});
    inputs.qOffset = operands.add(std::move(offset));
  }
  SmallVector<int64_t> sizes;
  for (Value size : op.getSizes())
    sizes.push_back(integer(size));
  oracle::AttentionSpec spec = toOracle(op, sizes);

  int axis = static_cast<int>(op.getSequenceAxis());
  if (failed(spend(op, product({inputs.query.elements(),
                                inputs.key.size(op.isPaged() ? 1 : axis),
                                static_cast<int64_t>(spec.branches.size())}))))
    return failure();
  oracle::AttentionOptions options;
  options.threads = 1;
  std::optional<oracle::AttentionResult> result =
      oracle::attention(spec, inputs, &error, options);
  if (!result)
    return refuseInputs(op, error);
  for (auto [value, tensor] : {std::pair(op.getOutput(), &result->output),
                               {op.getLse(), &result->lse}}) {
    if (!permute(*tensor, value.getType(), queryStarts, /*toTokens=*/false,
                 &error))
      return refuseInputs(op, error);
    if (failed(define(op, value, std::move(*tensor), /*sumsTokens=*/true)))
      return failure();
  }
  return success();
}
