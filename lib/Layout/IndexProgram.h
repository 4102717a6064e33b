//===- IndexProgram.h - Curves as arithmetic --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where sides are powers of two, most curves need a few operations on the bits
// of an index. A curve writes them down once; whoever wants to compute them on
// other hardware translates the list, operation by operation.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_INDEXPROGRAM_H
#define RINGLET_LIB_LAYOUT_INDEXPROGRAM_H

#include <cstdint>
#include <vector>

namespace ringlet::layout {

/// A function of one 64-bit integer, without branches.
class IndexProgram {
public:
  enum class Op : uint8_t {
    Input,    ///< The argument.
    Constant, ///< `value`.
    Add,
    Sub,
    And,
    Xor,
    ShiftLeft,
    ShiftRight, ///< Without sign.
  };
  /// The operation on the results of two earlier steps.
  struct Step {
    Op op;
    uint32_t lhs = 0, rhs = 0;
    int64_t value = 0;
  };

  /// Of the last step is the result.
  const std::vector<Step> &steps() const { return list; }
  int64_t operator()(int64_t input) const;

private:
  friend class IndexBuilder;
  std::vector<Step> list;
};

/// The result of a step; as easy to write with as a number.
struct IndexValue {
  class IndexBuilder *builder = nullptr;
  uint32_t step = 0;
};

/// Writes a program. Equal steps are one, and constants fold.
class IndexBuilder {
public:
  IndexBuilder() { program.list.push_back({IndexProgram::Op::Input}); }

  IndexValue input() { return {this, 0}; }
  IndexValue constant(int64_t value);
  IndexValue add(IndexProgram::Op op, IndexValue lhs, IndexValue rhs);
  /// The program that computes `result`, without steps that it does not need.
  IndexProgram finish(IndexValue result);

private:
  uint32_t find(const IndexProgram::Step &step);
  bool isConstant(uint32_t step, int64_t value) const;

  IndexProgram program;
};

inline IndexValue operator+(IndexValue a, IndexValue b) {
  return a.builder->add(IndexProgram::Op::Add, a, b);
}
inline IndexValue operator-(IndexValue a, IndexValue b) {
  return a.builder->add(IndexProgram::Op::Sub, a, b);
}
inline IndexValue operator&(IndexValue a, IndexValue b) {
  return a.builder->add(IndexProgram::Op::And, a, b);
}
inline IndexValue operator^(IndexValue a, IndexValue b) {
  return a.builder->add(IndexProgram::Op::Xor, a, b);
}
inline IndexValue operator&(IndexValue a, int64_t b) {
  return a & a.builder->constant(b);
}
inline IndexValue operator<<(IndexValue a, int64_t bits) {
  return a.builder->add(IndexProgram::Op::ShiftLeft, a,
                        a.builder->constant(bits));
}
inline IndexValue operator>>(IndexValue a, int64_t bits) {
  return a.builder->add(IndexProgram::Op::ShiftRight, a,
                        a.builder->constant(bits));
}
/// All bits set where the lowest bit of `bit`, a 0 or a 1, is.
inline IndexValue spread(IndexValue bit) {
  return bit.builder->constant(0) - bit;
}

/// The exponent of a power of two, -1 of any other number.
inline int exactLog2(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0 ? __builtin_ctzll(uint64_t(n)) : -1;
}

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_INDEXPROGRAM_H
