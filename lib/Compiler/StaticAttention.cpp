//===- StaticAttention.cpp - Attention without runtime values ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/StaticAttention.h"

#include "lib/Evaluator/OracleSpec.h"

using namespace mlir;
using namespace ringlet;

std::optional<plot::Attention>
ringlet::readStaticAttention(attn::AttentionOp op, StringRef use,
                             std::string &error) {
  // What is an operand is known when the program runs, not here.
  for (auto [value, name, rule] :
       {std::tuple{op.getQOffset() != nullptr, "q_offset", "S1"},
        {op.getQueryLengths() != nullptr, "lengths", "S2"},
        {op.isPacked(), "packed", "S2"},
        {op.isPaged(), "pages", "S4"},
        {op.getKeyBegins() != nullptr, "key_begins", "S5"},
        {!op.getSizes().empty(), "sizes", "B1"},
        {op.getBlockMask() != nullptr, "block_mask", "B6"}})
    if (value) {
      error = "expected an attention without runtime values to " + use.str() +
              ", found " + name + " (" + rule + "); leave it out or " +
              use.str() + " a case of it";
      return std::nullopt;
    }
  plot::Attention result;
  result.queries = op.getQuery().getType().getDimSize(1);
  result.keys = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(result.queries) ||
      ShapedType::isDynamic(result.keys)) {
    error = "expected sequences of a static length to " + use.str() +
            ", found ?; write one, as in tensor<1x256x8x64xf32>";
    return std::nullopt;
  }
  result.queryHeads = op.getQueryHeads();
  result.keyHeads = op.getKeyHeads();
  result.spec = toOracle(op);
  return result;
}
