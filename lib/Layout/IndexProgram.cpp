//===- IndexProgram.cpp - Curves as arithmetic ------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/IndexProgram.h"

#include <algorithm>

using namespace ringlet::layout;
using Op = IndexProgram::Op;

static int64_t apply(Op op, int64_t lhs, int64_t rhs) {
  auto a = uint64_t(lhs), b = uint64_t(rhs);
  switch (op) {
  case Op::Add:
    return int64_t(a + b);
  case Op::Sub:
    return int64_t(a - b);
  case Op::And:
    return int64_t(a & b);
  case Op::Xor:
    return int64_t(a ^ b);
  case Op::ShiftLeft:
    return int64_t(a << b);
  case Op::ShiftRight:
    return int64_t(a >> b);
  case Op::Input:
  case Op::Constant:
    break;
  }
  return 0;
}

int64_t IndexProgram::operator()(int64_t input) const {
  std::vector<int64_t> values;
  values.reserve(list.size());
  for (const Step &step : list)
    values.push_back(step.op == Op::Input ? input
                     : step.op == Op::Constant
                         ? step.value
                         : apply(step.op, values[step.lhs], values[step.rhs]));
  return values.back();
}

uint32_t IndexBuilder::find(const IndexProgram::Step &step) {
  auto &list = program.list;
  // Programs are short, and what is equal is near.
  auto found = std::find_if(
      list.rbegin(), list.rend(), [&](const IndexProgram::Step &other) {
        return other.op == step.op && other.lhs == step.lhs &&
               other.rhs == step.rhs && other.value == step.value;
      });
  if (found != list.rend())
    return uint32_t(list.rend() - found) - 1;
  list.push_back(step);
  return uint32_t(list.size()) - 1;
}

bool IndexBuilder::isConstant(uint32_t step, int64_t value) const {
  return program.list[step].op == Op::Constant &&
         program.list[step].value == value;
}

IndexValue IndexBuilder::constant(int64_t value) {
  return {this, find({Op::Constant, 0, 0, value})};
}

IndexValue IndexBuilder::add(Op op, IndexValue lhs, IndexValue rhs) {
  const IndexProgram::Step &a = program.list[lhs.step],
                           &b = program.list[rhs.step];
  if (a.op == Op::Constant && b.op == Op::Constant)
    return constant(apply(op, a.value, b.value));
  bool keepsLeft =
      op == Op::And ? isConstant(rhs.step, -1) : isConstant(rhs.step, 0);
  if (keepsLeft)
    return lhs;
  if ((op == Op::Add || op == Op::Xor) && isConstant(lhs.step, 0))
    return rhs;
  if (op == Op::And && isConstant(lhs.step, -1))
    return rhs;
  if (op == Op::And && (isConstant(lhs.step, 0) || isConstant(rhs.step, 0)))
    return constant(0);
  return {this, find({op, lhs.step, rhs.step})};
}

IndexProgram IndexBuilder::finish(IndexValue result) {
  const std::vector<IndexProgram::Step> &all = program.list;
  std::vector<bool> needed(all.size());
  needed[result.step] = true;
  for (size_t i = all.size(); i-- > 0;)
    if (needed[i] && all[i].op != Op::Input && all[i].op != Op::Constant)
      needed[all[i].lhs] = needed[all[i].rhs] = true;
  IndexProgram finished;
  std::vector<uint32_t> place(all.size());
  for (size_t i = 0; i <= result.step; ++i) {
    if (!needed[i])
      continue;
    place[i] = uint32_t(finished.list.size());
    IndexProgram::Step step = all[i];
    step.lhs = place[step.lhs];
    step.rhs = place[step.rhs];
    finished.list.push_back(step);
  }
  return finished;
}
