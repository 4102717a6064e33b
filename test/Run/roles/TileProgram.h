//===- TileProgram.h - Small kernels as text and in f64 ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of products and elementwise arithmetic, with one loop or none, that
// can be written as rtile and computed in f64, each without the other.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_ROLES_TILEPROGRAM_H
#define RINGLET_TEST_RUN_ROLES_TILEPROGRAM_H

#include "lib/Tensor/Tensor.h"

#include <string>
#include <vector>

namespace ringlet::roles_test {

/// A tile of `columns` 0 has one axis.
struct TileShape {
  int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;

  int64_t elements() const { return rows * (columns ? columns : 1); }
};

/// Where a tile begins along an axis of its buffer.
enum class Offset { Zero, Row, Column, Step };

/// One buffer and the tiles of it.
struct BufferSpec {
  std::string name;
  TileShape tile;
  /// Of the buffer; columns 0: one axis.
  int64_t rows = 0, columns = 0;
  bool isOutput = false;
};

enum class Op {
  Constant, ///< filled with `number`
  Load,     ///< of `buffer`
  Dot,      ///< a * b, or a * b', plus c if there is one
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Exp2,
  BroadcastRows,    ///< one number for each row
  BroadcastColumns, ///< one number for each column
  Trunc,            ///< to the narrow type
  SumOfRow,
  MaxOfRow,
  Argument, ///< what the loop carries
};

struct Node {
  Op op;
  TileShape shape;
  int a = -1, b = -1, c = -1;
  double number = 0;
  bool transposed = false;
  int buffer = -1;
  Offset row = Offset::Zero, column = Offset::Zero;
};

struct Carried {
  /// A node before the loop, the argument, and what a step makes of it.
  int init, argument, next;
};

struct Store {
  int node, buffer;
  Offset row, column;
};

/// Nodes are numbered in the order of the program; those of the loop lie in
/// [loopBegin, loopEnd). Behind the loop, arguments are its results.
struct TileProgram {
  std::vector<BufferSpec> buffers;
  std::vector<Node> nodes;
  int loopBegin = -1, loopEnd = -1;
  std::vector<Carried> carried;
  std::vector<Store> stores;
  /// Tile heights of the grid's two axes; the loop's step and its end.
  int64_t rowTile = 0, columnTile = 0, step = 0, end = 0;
  int64_t grid[2] = {1, 1};

  int add(Node node) {
    nodes.push_back(node);
    return static_cast<int>(nodes.size()) - 1;
  }

  /// An rtile.func named "kernel" with `attributes`; its parameters are the
  /// buffers and the end of the loop.
  std::string toIR(const std::string &attributes) const;
  /// What the buffers hold afterwards. Elements that are not stored are as
  /// they were.
  std::vector<Tensor> evaluate(const std::vector<Tensor> &buffers) const;
};

/// A random program of a form that products on a GPU have, and its buffers.
TileProgram drawProgram(uint64_t seed);
std::vector<Tensor> drawBuffers(const TileProgram &program, uint64_t seed);

} // namespace ringlet::roles_test

#endif // RINGLET_TEST_RUN_ROLES_TILEPROGRAM_H
