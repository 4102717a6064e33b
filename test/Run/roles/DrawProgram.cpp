//===- DrawProgram.cpp - Random kernels for roles -------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the forms have in common is that right operands of products are loaded,
// and left ones are loaded or computed. Which of them a schedule can have is
// the compiler's affair: what it leaves plain is no failure here.
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Dice.h"
#include "test/Run/roles/TileProgram.h"

using namespace ringlet;
using namespace ringlet::roles_test;

namespace {

class ProgramDraw {
public:
  explicit ProgramDraw(uint64_t seed) : dice(seed, 7) {}

  TileProgram draw();

private:
  // Forms.
  void drawProduct();
  void drawLongProduct();
  void drawTwoProducts();
  void drawQueryGradient();
  void drawKeyGradients();

  int addBuffer(const char *name, int64_t rows, int64_t columns, DType dtype,
                int64_t allRows, int64_t allColumns, bool isOutput = false);
  int load(int buffer, Offset row, Offset column = Offset::Zero) {
    Node node{Op::Load, program.buffers[buffer].tile};
    node.buffer = buffer;
    node.row = row;
    node.column = column;
    return program.add(node);
  }
  int constant(int64_t rows, int64_t columns, double number) {
    Node node{Op::Constant, {rows, columns}};
    node.number = number;
    return program.add(node);
  }
  int dot(int a, int b, bool transposed, int init = -1) {
    const TileShape &right = shape(b);
    Node node{Op::Dot,
              {shape(a).rows, transposed ? right.rows : right.columns}};
    node.a = a;
    node.b = b;
    node.c = init;
    node.transposed = transposed;
    return program.add(node);
  }
  int make(Op op, TileShape result, int a, int b = -1) {
    Node node{op, result};
    node.a = a;
    node.b = b;
    return program.add(node);
  }
  int binary(Op op, int a, int b) { return make(op, shape(a), a, b); }
  int scale(int tile, double by) {
    return binary(Op::Mul, tile,
                  constant(shape(tile).rows, shape(tile).columns, by));
  }
  int narrow(int tile) {
    TileShape result = shape(tile);
    result.dtype = element;
    return make(Op::Trunc, result, tile);
  }
  int argument(int init) {
    int number = program.add({Op::Argument, shape(init)});
    program.carried.push_back({init, number, -1});
    return number;
  }
  /// A copy: the vector that holds it grows.
  TileShape shape(int node) const { return program.nodes[node].shape; }

  int rowVector();
  int drawElementwise(int tile);
  int drawWeights(int tile);
  void store(int tile, const char *name, Offset column = Offset::Zero,
             int64_t allColumns = 0);

  Dice dice;
  TileProgram program;
  DType element = DType::bf16;
  int64_t rows = 64, keys = 32, depth = 32, width = 32, allRows = 0,
          allKeys = 0;
  int rowBuffer = -1;
};

} // namespace

int ProgramDraw::addBuffer(const char *name, int64_t tileRows, int64_t columns,
                           DType dtype, int64_t bufferRows,
                           int64_t bufferColumns, bool isOutput) {
  program.buffers.push_back({name + std::to_string(program.buffers.size()),
                             {tileRows, columns, dtype},
                             bufferRows,
                             bufferColumns,
                             isOutput});
  return static_cast<int>(program.buffers.size()) - 1;
}

/// A number for each row, of a buffer that the kernel reads once.
int ProgramDraw::rowVector() {
  if (rowBuffer < 0)
    rowBuffer = addBuffer("rows", rows, 0, DType::f32, allRows, 0);
  return load(rowBuffer, Offset::Row);
}

/// Some arithmetic that keeps numbers small.
int ProgramDraw::drawElementwise(int tile) {
  for (int64_t i = dice.between(0, 2); i > 0; --i)
    switch (dice.between(0, 4)) {
    case 0:
      tile = scale(tile, dice.uniform() - 0.5);
      break;
    case 1:
      tile = binary(Op::Sub, tile,
                    make(Op::BroadcastRows, shape(tile), rowVector()));
      break;
    case 2:
      tile = binary(Op::Max, tile,
                    constant(shape(tile).rows, shape(tile).columns, -0.25));
      break;
    case 3: {
      // Away from 0.
      int divisor = binary(Op::Max, rowVector(), constant(rows, 0, 0.5));
      tile =
          binary(Op::Div, tile, make(Op::BroadcastRows, shape(tile), divisor));
      break;
    }
    default:
      tile = binary(Op::Add, tile, tile);
    }
  return tile;
}

/// Weights of scores: at most 2 each.
int ProgramDraw::drawWeights(int scores) {
  int scaled = scale(scores, 0.1 + 0.1 * dice.uniform());
  if (dice.oneIn(2))
    scaled = binary(Op::Sub, scaled,
                    make(Op::BroadcastRows, shape(scaled), rowVector()));
  return dice.oneIn(3) ? scaled : make(Op::Exp2, shape(scaled), scaled);
}

void ProgramDraw::store(int tile, const char *name, Offset column,
                        int64_t allColumns) {
  TileShape result = shape(tile);
  if (result.columns && dice.oneIn(3))
    tile = narrow(tile);
  int64_t columns = result.columns ? std::max(allColumns, result.columns) : 0;
  int buffer = addBuffer(name, result.rows, result.columns, shape(tile).dtype,
                         allRows, columns, /*isOutput=*/true);
  program.stores.push_back({tile, buffer, Offset::Row, column});
}

/// C = f(A B'), without a loop.
void ProgramDraw::drawProduct() {
  bool transposed = dice.oneIn(2);
  int64_t allColumns = keys * dice.between(1, 2);
  program.columnTile = keys;
  program.grid[1] = allColumns / keys;
  int a =
      load(addBuffer("A", rows, depth, element, allRows, depth), Offset::Row);
  int b = transposed
              ? load(addBuffer("B", keys, depth, element, allColumns, depth),
                     Offset::Column)
              : load(addBuffer("B", depth, keys, element, depth, allColumns),
                     Offset::Zero, Offset::Column);
  int sum = drawElementwise(dot(a, b, transposed));
  store(sum, "C", Offset::Column, allColumns);
}

/// C = f(A B') with steps along the depth.
void ProgramDraw::drawLongProduct() {
  int64_t allColumns = keys * dice.between(1, 2);
  int64_t allDepth = depth * dice.between(1, 4);
  program.columnTile = keys;
  program.grid[1] = allColumns / keys;
  program.step = depth;
  program.end = allDepth;
  int aBuffer = addBuffer("A", rows, depth, element, allRows, allDepth);
  int bBuffer = addBuffer("B", keys, depth, element, allColumns, allDepth);
  int zero = constant(rows, keys, 0);
  program.loopBegin = static_cast<int>(program.nodes.size());
  int sums = argument(zero);
  int a = load(aBuffer, Offset::Row, Offset::Step);
  int b = load(bBuffer, Offset::Column, Offset::Step);
  program.carried[0].next = dot(a, b, /*transposed=*/true, sums);
  program.loopEnd = static_cast<int>(program.nodes.size());
  store(drawElementwise(sums), "C", Offset::Column, allColumns);
}

/// O = f(Q K') V over tiles of keys.
void ProgramDraw::drawTwoProducts() {
  program.step = keys;
  program.end = allKeys;
  int q =
      load(addBuffer("Q", rows, depth, element, allRows, depth), Offset::Row);
  int kBuffer = addBuffer("K", keys, depth, element, allKeys, depth);
  int vBuffer = addBuffer("V", keys, width, element, allKeys, width);
  int zero = constant(rows, width, 0);
  int none = constant(rows, 0, 0);
  bool hasSums = dice.oneIn(2), isMax = dice.oneIn(2);
  program.loopBegin = static_cast<int>(program.nodes.size());
  int sums = argument(zero);
  int rowState = hasSums ? argument(none) : -1;
  int k = load(kBuffer, Offset::Step);
  int weights = drawWeights(dot(q, k, /*transposed=*/true));
  if (hasSums) {
    TileShape vector{rows, 0};
    int ofStep = make(isMax ? Op::MaxOfRow : Op::SumOfRow, vector, weights);
    program.carried[1].next =
        binary(isMax ? Op::Max : Op::Add, rowState, ofStep);
  }
  int v = load(vBuffer, Offset::Step);
  program.carried[0].next = dot(narrow(weights), v, /*transposed=*/false, sums);
  program.loopEnd = static_cast<int>(program.nodes.size());
  store(drawElementwise(sums), "O");
  if (hasSums)
    store(rowState, "L");
}

/// dQ = (f(Q K') * (dO V' - d)) K over tiles of keys.
void ProgramDraw::drawQueryGradient() {
  program.step = keys;
  program.end = allKeys;
  int q =
      load(addBuffer("Q", rows, depth, element, allRows, depth), Offset::Row);
  int dO =
      load(addBuffer("dO", rows, width, element, allRows, width), Offset::Row);
  int kBuffer = addBuffer("K", keys, depth, element, allKeys, depth);
  int vBuffer = addBuffer("V", keys, width, element, allKeys, width);
  int zero = constant(rows, depth, 0);
  program.loopBegin = static_cast<int>(program.nodes.size());
  int sums = argument(zero);
  int k = load(kBuffer, Offset::Step), v = load(vBuffer, Offset::Step);
  int scores = dot(q, k, /*transposed=*/true);
  int slopes = dot(dO, v, /*transposed=*/true);
  auto subtract = [&] {
    slopes = binary(Op::Sub, slopes,
                    make(Op::BroadcastRows, shape(slopes), rowVector()));
  };
  // The product that was started last may be the one that is used first.
  bool isFirst = dice.oneIn(2);
  if (isFirst)
    subtract();
  int weights = drawWeights(scores);
  if (!isFirst)
    subtract();
  int product = binary(Op::Mul, weights, slopes);
  program.carried[0].next = dot(narrow(product), k, /*transposed=*/false, sums);
  program.loopEnd = static_cast<int>(program.nodes.size());
  store(sums, "dQ");
}

/// dV = f(K Q') dO and dK = (f(K Q') * (V dO' - d)) Q over tiles of queries:
/// two sums, and numbers of columns.
void ProgramDraw::drawKeyGradients() {
  program.step = keys;
  program.end = allKeys;
  int k =
      load(addBuffer("K", rows, depth, element, allRows, depth), Offset::Row);
  int v =
      load(addBuffer("V", rows, width, element, allRows, width), Offset::Row);
  int qBuffer = addBuffer("Q", keys, depth, element, allKeys, depth);
  int dOBuffer = addBuffer("dO", keys, width, element, allKeys, width);
  int lseBuffer = addBuffer("LSE", keys, 0, DType::f32, allKeys, 0);
  int zeroV = constant(rows, width, 0), zeroK = constant(rows, depth, 0);
  program.loopBegin = static_cast<int>(program.nodes.size());
  int sumsV = argument(zeroV), sumsK = argument(zeroK);
  int q = load(qBuffer, Offset::Step), dO = load(dOBuffer, Offset::Step);
  int lse = load(lseBuffer, Offset::Step);
  int scores = scale(dot(k, q, /*transposed=*/true), 0.15);
  int below =
      binary(Op::Sub, scores, make(Op::BroadcastColumns, shape(scores), lse));
  int weights = make(Op::Exp2, shape(below), below);
  program.carried[0].next =
      dot(narrow(weights), dO, /*transposed=*/false, sumsV);
  int slopes = dot(v, dO, /*transposed=*/true);
  int product = binary(Op::Mul, weights, slopes);
  program.carried[1].next =
      dot(narrow(product), q, /*transposed=*/false, sumsK);
  program.loopEnd = static_cast<int>(program.nodes.size());
  store(sumsV, "dV");
  store(sumsK, "dK");
}

TileProgram ProgramDraw::draw() {
  element = dice.pick({DType::bf16, DType::bf16, DType::f16});
  rows = dice.pick({64, 64, 128});
  keys = dice.pick({16, 32, 64, 64, 64});
  // Mostly what the copy engine brings: whole panels of 64 columns.
  depth = dice.pick({64, 64, 64, 64, 64, 64, 128, 24});
  width = dice.pick({64, 64, 64, 64, 64, 64, 128, 40});
  // The last tiles may be short.
  allRows = rows * dice.between(1, 2) - (dice.oneIn(2) ? 0 : 5);
  allKeys = keys * dice.between(1, 4) - (dice.oneIn(2) ? 0 : 3);
  program.rowTile = rows;
  program.grid[0] = (allRows + rows - 1) / rows;
  switch (dice.between(0, 5)) {
  case 0:
    drawProduct();
    break;
  case 1:
    drawLongProduct();
    break;
  case 2:
    drawQueryGradient();
    break;
  case 3:
    drawKeyGradients();
    break;
  default:
    drawTwoProducts();
  }
  return std::move(program);
}

TileProgram roles_test::drawProgram(uint64_t seed) {
  return ProgramDraw(seed).draw();
}

std::vector<Tensor> roles_test::drawBuffers(const TileProgram &program,
                                            uint64_t seed) {
  Dice dice(seed, 8);
  std::vector<Tensor> buffers;
  for (const BufferSpec &spec : program.buffers) {
    Shape shape{spec.rows};
    if (spec.columns)
      shape.push_back(spec.columns);
    Tensor tensor(spec.tile.dtype, shape);
    // Sixteenths: what products sum is exact in f32.
    forEachIndex(shape, [&](const int64_t *indices) {
      tensor.view().set(indices,
                        static_cast<double>(dice.between(-16, 16)) / 16);
    });
    buffers.push_back(std::move(tensor));
  }
  return buffers;
}
