//===- Graph.h - A function of ringlet operations as plain data -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the generator draws, what is written as IR text, and what is read back
// from IR after each pass: one struct for all, so that the two ends can be
// compared without trusting what lies between.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_GRAPH_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_GRAPH_H

#include "lib/Layout/UnionShape.h"
#include "lib/Oracle/AttentionSpec.h"

#include <functional>

namespace ringlet::differential {

constexpr int64_t kDynamic = -1;

struct ValueType {
  DType dtype = DType::f32;
  /// kDynamic where the type does not know.
  Shape shape;
  /// For each axis the size variable that it is, or -1 for a fixed number.
  /// Known to the generator only.
  std::vector<int> variables;
  /// The order of the tokens of `axis`; nothing stands for no encoding.
  std::optional<layout::OrderSpec> order;
  int axis = 1;
};

struct Tiling {
  int64_t query;
  int64_t key;
};

/// The values that are w and r of a branch, where the call gives them.
struct SizeOperands {
  std::optional<int> w, r;
};

/// An attention (results: output, lse) or, without `attention`, a reorder.
struct Operation {
  /// Numbers of values: query, key, value, or the tensor to reorder.
  std::vector<int> operands;
  std::vector<int> results;
  std::optional<oracle::AttentionSpec> attention;
  /// The value that is the block mask, if the attention has one.
  std::optional<int> blockMask;
  /// The value that is the sink, if the attention has one.
  std::optional<int> sink;
  /// The value, one number or one for each sequence, or the number that is
  /// q_offset.
  std::optional<int> offsetOperand;
  std::optional<int64_t> offsetConstant;
  /// The values that are the lengths of sequences, of queries and of keys.
  std::optional<std::pair<int, int>> lengths;
  /// In their place, where packed sequences begin.
  std::optional<std::pair<int, int>> starts;
  /// The value that is the table of pages in which keys and values lie.
  std::optional<int> pages;
  /// The value that says at which row the keys of padded sequences begin.
  std::optional<int> begins;
  /// The values by which keys and values of 8 bits are multiplied.
  std::optional<int> keyScale, valueScale;
  /// One for each branch, or none. What the call gives is 1 in `attention`.
  std::vector<SizeOperands> sizes;
  /// Whether one kernel is to compute all branches.
  bool isUnion = false;
  /// Whether each branch has a kernel that ends its softmaxes.
  bool isApart = false;
  /// Empty where the compiler is to choose.
  std::vector<Tiling> tilings;

  /// The axis of sequences of what an attention reads, and of its output.
  int sequenceAxis() const { return starts ? 0 : 1; }
};

struct Graph {
  std::string name = "entry";
  /// The first values are the arguments.
  int arguments = 0;
  std::vector<ValueType> values;
  std::vector<std::string> names;
  std::vector<Operation> operations;
  std::vector<int> results;

  int addValue(ValueType type, std::string valueName) {
    values.push_back(std::move(type));
    names.push_back(std::move(valueName));
    return static_cast<int>(values.size()) - 1;
  }
};

/// The segments and residues of a kernel for all branches.
layout::UnionShape unionOf(const oracle::AttentionSpec &spec);

/// The attention of `op` with the sizes that the call gives; `get` reads a
/// value.
oracle::AttentionSpec withSizes(const Operation &op,
                                const std::function<int64_t(int)> &get);

/// What the graph computes, in a canonical text: graphs with equal texts give
/// equal results. What only kernels heed is no part of it.
std::string meaningOf(const Graph &graph);

/// The graph as an MLIR module that every tool accepts.
std::string toIR(const Graph &graph);

/// "tensor<2x?x4x64xf16>".
std::string toIR(const ValueType &type);

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_GRAPH_H
