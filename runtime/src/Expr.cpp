//===- Expr.cpp - The plan's integer arithmetic ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expr.h"

#include "ringlet/abi/Limits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;
using abi::ExprOp;

static const char *symbolOf(ExprOp op) {
  switch (op) {
  case ExprOp::Add:
    return "+";
  case ExprOp::Sub:
    return "-";
  case ExprOp::Mul:
    return "*";
  case ExprOp::FloorDiv:
    return "floordiv";
  case ExprOp::CeilDiv:
    return "ceildiv";
  case ExprOp::FloorMod:
    return "mod";
  default:
    return "?";
  }
}

/// False if the result is not a 64-bit integer.
static bool apply(ExprOp op, int64_t a, int64_t b, int64_t &result) {
  switch (op) {
  case ExprOp::Add:
    return !__builtin_add_overflow(a, b, &result);
  case ExprOp::Sub:
    return !__builtin_sub_overflow(a, b, &result);
  case ExprOp::Mul:
    return !__builtin_mul_overflow(a, b, &result);
  case ExprOp::Min:
    result = std::min(a, b);
    return true;
  case ExprOp::Max:
    result = std::max(a, b);
    return true;
  default:
    break;
  }
  if (b == 0)
    return false;
  if (b == -1) { // INT64_MIN / -1 overflows, and its remainder traps.
    if (op == ExprOp::FloorMod) {
      result = 0;
      return true;
    }
    return !__builtin_sub_overflow(int64_t(0), a, &result);
  }
  int64_t quotient = a / b, rest = a % b;
  bool opposite = rest != 0 && (rest < 0) != (b < 0);
  if (op == ExprOp::FloorDiv)
    result = quotient - opposite;
  else if (op == ExprOp::CeilDiv)
    result = quotient + (rest != 0 && !opposite);
  else
    result = opposite ? rest + b : rest;
  return true;
}

bool ExprValues::read(const abi::ExprTerm &term,
                      const std::vector<TensorView> &tensors,
                      const Machine *machine, int64_t &value) const {
  switch (term.op()) {
  case ExprOp::Multiprocessors:
  case ExprOp::Rank:
  case ExprOp::Ranks:
    if (!machine)
      return false;
    value = term.op() == ExprOp::Rank    ? machine->rank
            : term.op() == ExprOp::Ranks ? machine->ranks
                                         : machine->multiprocessors;
    return true;
  default:
    break;
  }
  if (term.index() >= tensors.size())
    return false;
  const TensorView &tensor = tensors[term.index()];
  if (term.op() == ExprOp::Scalar)
    std::memcpy(&value, tensor.data, sizeof(value));
  else
    value = term.op() == ExprOp::Dim ? tensor.sizes[term.axis()]
                                     : tensor.strides[term.axis()];
  return true;
}

ExprValues::ExprValues(const abi::Function &function,
                       const std::vector<TensorView> &tensors,
                       const Machine *machine)
    : function(function) {
  uint32_t count = function.exprs() ? function.exprs()->size() : 0;
  values.assign(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    int64_t stack[abi::kMaxExprStack];
    uint32_t depth = 0;
    std::string failed;
    for (const abi::ExprTerm *term : *function.exprs()->Get(i)->terms()) {
      switch (term->op()) {
      case ExprOp::Const:
        stack[depth++] = term->value();
        continue;
      case ExprOp::Ref: {
        auto inherited = failures.find(term->index());
        if (inherited != failures.end())
          failed = inherited->second;
        stack[depth++] = values[term->index()];
        break;
      }
      case ExprOp::Dim:
      case ExprOp::Stride:
      case ExprOp::Scalar:
      case ExprOp::Multiprocessors:
      case ExprOp::Rank:
      case ExprOp::Ranks: {
        int64_t &top = stack[depth++] = 0;
        if (!read(*term, tensors, machine, top))
          failed = text(nameOf(i), " depends on an output or on the machine");
        break;
      }
      default: {
        int64_t b = stack[--depth], a = stack[depth - 1];
        if (apply(term->op(), a, b, stack[depth - 1]))
          continue;
        failed = text(nameOf(i), ": ", a, " ", symbolOf(term->op()), " ", b,
                      b == 0 && term->op() >= ExprOp::FloorDiv
                          ? " divides by zero"
                          : " overflows 64 bits");
        break;
      }
      }
      if (!failed.empty())
        break;
    }
    if (failed.empty())
      values[i] = stack[0];
    else
      failures.emplace(i, std::move(failed));
  }
}

std::string ExprValues::nameOf(uint32_t expr) const {
  const auto *name = function.exprs()->Get(expr)->name();
  if (name && name->size())
    return text("expression '", name->str(), "'");
  return text("expression ", expr);
}

Status ExprValues::get(uint32_t expr, int64_t &value) const {
  auto failed = failures.find(expr);
  if (failed != failures.end())
    return invalid("entry '", function.name()->str(), "': ", failed->second);
  value = values[expr];
  return {};
}

Status ExprValues::getSize(uint32_t expr, const char *what,
                           int64_t &size) const {
  RL_TRY(get(expr, size));
  if (size >= 0)
    return {};
  return invalid("entry '", function.name()->str(), "': expected ", what,
                 " of at least 0, found ", size, " from ", nameOf(expr));
}
