//===- ExprTable.cpp - Host arithmetic of a function ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/PlanWriter.h"

#include "llvm/Support/FormatVariadic.h"

using namespace ringlet;
using abi::ExprOp;
using abi::ExprTerm;

uint32_t ExprTable::add(std::vector<ExprTerm> terms) {
  std::vector<std::tuple<uint8_t, uint8_t, uint32_t, int64_t>> key;
  for (const ExprTerm &term : terms)
    key.emplace_back(uint8_t(term.op()), term.axis(), term.index(),
                     term.value());
  auto [entry, isNew] =
      known.try_emplace(std::move(key), uint32_t(function.exprs.size()));
  if (isNew) {
    auto expr = std::make_unique<abi::ExprT>();
    if (terms.size() == 1 && terms[0].op() == ExprOp::Dim)
      expr->name = llvm::formatv("size {0} of '{1}'", terms[0].axis(),
                                 function.arguments[terms[0].index()]->name)
                       .str();
    bool reads = false;
    for (const ExprTerm &term : terms)
      reads |= (term.op() == ExprOp::Ref && moreReaders[term.index()]) ||
               (term.op() == ExprOp::Dim &&
                function.arguments[term.index()]->is_output) ||
               term.op() >= ExprOp::Multiprocessors;
    moreReaders.push_back(reads);
    expr->terms = std::move(terms);
    function.exprs.push_back(std::move(expr));
  }
  return entry->second;
}

uint32_t ExprTable::constant(int64_t value) {
  return add({ExprTerm(ExprOp::Const, 0, 0, value)});
}

uint32_t ExprTable::size(uint32_t argument, uint32_t axis) {
  int64_t known = function.arguments[argument]->sizes[axis];
  return known >= 0 ? constant(known)
                    : add({ExprTerm(ExprOp::Dim, uint8_t(axis), argument, 0)});
}

uint32_t ExprTable::scalar(uint32_t argument) {
  return add({ExprTerm(ExprOp::Scalar, 0, argument, 0)});
}

uint32_t ExprTable::machine(ExprOp op) { return add({ExprTerm(op, 0, 0, 0)}); }

/// Leaves are repeated, everything else is referred to: no expression is
/// longer than three terms, however deep the arithmetic.
void ExprTable::append(std::vector<Term> &terms, uint32_t expr) const {
  const std::vector<ExprTerm> &other = function.exprs[expr]->terms;
  if (other.size() == 1)
    terms.push_back(other[0]);
  else
    terms.push_back(ExprTerm(ExprOp::Ref, 0, expr, 0));
}

uint32_t ExprTable::binary(ExprOp op, uint32_t lhs, uint32_t rhs) {
  std::vector<ExprTerm> terms;
  append(terms, lhs);
  append(terms, rhs);
  terms.push_back(ExprTerm(op, 0, 0, 0));
  return add(std::move(terms));
}

std::optional<int64_t> ExprTable::constantOf(uint32_t expr) const {
  const std::vector<ExprTerm> &terms = function.exprs[expr]->terms;
  if (terms.size() == 1 && terms[0].op() == ExprOp::Const)
    return terms[0].value();
  return std::nullopt;
}
