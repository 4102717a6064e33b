//===- TileProgram.cpp - Small kernels as text and in f64 -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/roles/TileProgram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace ringlet;
using namespace ringlet::roles_test;

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

static std::string shapeText(const TileShape &shape) {
  std::string text = std::to_string(shape.rows) + "x";
  if (shape.columns)
    text += std::to_string(shape.columns) + "x";
  return text + std::string(nameOf(shape.dtype));
}

static std::string tileText(const TileShape &shape) {
  return "tensor<" + shapeText(shape) + ">";
}

static std::string bufferText(const BufferSpec &buffer) {
  std::string element(nameOf(buffer.tile.dtype));
  return buffer.columns ? "memref<?x?x" + element + ", strided<[?, 1]>>"
                        : "memref<?x" + element + ", strided<[1]>>";
}

static std::string nameOf(int node) { return "%t" + std::to_string(node); }

namespace {

class Printer {
public:
  explicit Printer(const TileProgram &program) : program(program) {}

  std::string print(const std::string &attributes);

private:
  void line(const std::string &text) {
    out += std::string(inLoop ? "    " : "  ") + text + "\n";
  }
  std::string viewType(int buffer) const {
    return "!rtile.view<" + shapeText(program.buffers[buffer].tile) + ">";
  }
  std::string place(int buffer, Offset row, Offset column) const;
  std::string parameters() const;
  void printNode(int number);
  void printDot(int number);
  void printLoop();

  const TileProgram &program;
  std::string out;
  bool inLoop = false;
};

} // namespace

static const char *offsetName(Offset offset) {
  switch (offset) {
  case Offset::Zero:
    return "%c0";
  case Offset::Row:
    return "%row";
  case Offset::Column:
    return "%column";
  case Offset::Step:
    return "%n";
  }
  return "";
}

std::string Printer::place(int buffer, Offset row, Offset column) const {
  std::string text = "%v" + std::to_string(buffer) + "[" + offsetName(row);
  if (program.buffers[buffer].tile.columns)
    text += std::string(", ") + offsetName(column);
  return text + "]";
}

std::string Printer::parameters() const {
  std::string text;
  for (const BufferSpec &buffer : program.buffers)
    text += "%" + buffer.name + ": " + bufferText(buffer) + ", ";
  return text + "%end: index";
}

void Printer::printDot(int number) {
  const Node &node = program.nodes[number];
  line(nameOf(number) + " = rtile.dot " + nameOf(node.a) + ", " +
       nameOf(node.b) + (node.transposed ? " transposed" : "") +
       (node.c >= 0 ? " init(" + nameOf(node.c) + ")" : "") + " : " +
       tileText(program.nodes[node.a].shape) + ", " +
       tileText(program.nodes[node.b].shape) + " -> " + tileText(node.shape));
}

void Printer::printNode(int number) {
  const Node &node = program.nodes[number];
  std::string result = nameOf(number) + " = ", type = tileText(node.shape);
  auto binary = [&](const char *name) {
    line(result + name + " " + nameOf(node.a) + ", " + nameOf(node.b) + " : " +
         type);
  };
  auto from = [&] {
    return nameOf(node.a) + " : " + tileText(program.nodes[node.a].shape);
  };
  switch (node.op) {
  case Op::Constant: {
    char text[40];
    std::snprintf(text, sizeof text, "%.9e", node.number);
    return line(result + "arith.constant dense<" + text + "> : " + type);
  }
  case Op::Load:
    return line(result + "rtile.load " +
                place(node.buffer, node.row, node.column) + " : " +
                viewType(node.buffer));
  case Op::Dot:
    return printDot(number);
  case Op::Add:
    return binary("arith.addf");
  case Op::Sub:
    return binary("arith.subf");
  case Op::Mul:
    return binary("arith.mulf");
  case Op::Div:
    return binary("arith.divf");
  case Op::Max:
    return binary("arith.maximumf");
  case Op::Exp2:
    return line(result + "math.exp2 " + nameOf(node.a) + " : " + type);
  case Op::BroadcastRows:
    return line(result + "rtile.broadcast " + from() + " -> " + type);
  case Op::BroadcastColumns:
    return line(result + "rtile.broadcast " + nameOf(node.a) + " columns : " +
                tileText(program.nodes[node.a].shape) + " -> " + type);
  case Op::Trunc:
    return line(result + "arith.truncf " + from() + " to " + type);
  case Op::SumOfRow:
    return line(result + "rtile.reduce sum " + from());
  case Op::MaxOfRow:
    return line(result + "rtile.reduce max " + from());
  case Op::Argument:
    return;
  }
}

void Printer::printLoop() {
  std::string results, inits, types, yields;
  for (const Carried &carried : program.carried) {
    std::string comma = results.empty() ? "" : ", ";
    // Behind the loop the argument's name stands for the result.
    results += comma + nameOf(carried.argument);
    inits += comma + nameOf(carried.argument) + "_in = " + nameOf(carried.init);
    types += comma + tileText(program.nodes[carried.argument].shape);
    yields += comma + nameOf(carried.next);
  }
  std::string head = "scf.for %n = %c0 to %end step %step";
  line(results.empty() ? head + " {"
                       : results + " = " + head + " iter_args(" + inits +
                             ") -> (" + types + ") {");
  size_t begin = out.size();
  inLoop = true;
  for (int i = program.loopBegin; i < program.loopEnd; ++i)
    printNode(i);
  if (!results.empty())
    line("scf.yield " + yields + " : " + types);
  inLoop = false;
  line("}");
  // Inside it stands for what is carried.
  std::string body = out.substr(begin);
  out.resize(begin);
  for (const Carried &carried : program.carried) {
    std::string name = nameOf(carried.argument);
    for (size_t at = 0; (at = body.find(name, at)) != std::string::npos;) {
      at += name.size();
      if (at < body.size() &&
          std::isdigit(static_cast<unsigned char>(body[at])))
        continue;
      body.insert(at, "_in");
    }
  }
  out += body;
}

std::string Printer::print(const std::string &attributes) {
  out = "rtile.func @kernel(" + parameters() + ") grid(%i: index, %j: index) " +
        attributes + " {\n";
  line("%c0 = arith.constant 0 : index");
  line("%step = arith.constant " +
       std::to_string(std::max<int64_t>(program.step, 1)) + " : index");
  line("%height = arith.constant " + std::to_string(program.rowTile) +
       " : index");
  line("%width = arith.constant " + std::to_string(program.columnTile) +
       " : index");
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferSpec &buffer = program.buffers[i];
    line("%v" + std::to_string(i) + " = rtile.view %" + buffer.name +
         (buffer.columns ? "[*, *] : " : "[*] : ") + bufferText(buffer) +
         " to " + viewType(static_cast<int>(i)));
  }
  line("%row = arith.muli %i, %height : index");
  line("%column = arith.muli %j, %width : index");
  int count = static_cast<int>(program.nodes.size());
  for (int i = 0; i < count; ++i) {
    if (i == program.loopBegin)
      printLoop();
    if (i < program.loopBegin || i >= program.loopEnd)
      printNode(i);
  }
  for (const Store &store : program.stores)
    line("rtile.store " + nameOf(store.node) + ", " +
         place(store.buffer, store.row, store.column) + " : " +
         tileText(program.nodes[store.node].shape) + ", " +
         viewType(store.buffer));
  line("rtile.return");
  return out + "}\n";
}

std::string TileProgram::toIR(const std::string &attributes) const {
  return Printer(*this).print(attributes);
}

//===----------------------------------------------------------------------===//
// In f64
//===----------------------------------------------------------------------===//

namespace {

using Values = std::vector<double>;

/// One point of the grid.
class Evaluator {
public:
  Evaluator(const TileProgram &program, std::vector<Tensor> &buffers,
            int64_t row, int64_t column)
      : program(program), buffers(buffers), row(row), column(column),
        values(program.nodes.size()) {}

  void run();

private:
  void runNode(int number);
  void runLoop();
  void dot(const Node &node, Values &result);
  int64_t offset(Offset which) const {
    switch (which) {
    case Offset::Zero:
      return 0;
    case Offset::Row:
      return row;
    case Offset::Column:
      return column;
    case Offset::Step:
      return step;
    }
    return 0;
  }
  /// Calls `visit(element, indices)` for the elements of a tile that exist.
  template <typename Visit>
  void forEach(int buffer, Offset rowOffset, Offset columnOffset, Visit visit);

  const TileProgram &program;
  std::vector<Tensor> &buffers;
  int64_t row, column, step = 0;
  std::vector<Values> values;
};

} // namespace

template <typename Visit>
void Evaluator::forEach(int buffer, Offset rowOffset, Offset columnOffset,
                        Visit visit) {
  const BufferSpec &spec = program.buffers[buffer];
  int64_t width = std::max<int64_t>(spec.tile.columns, 1);
  for (int64_t i = 0; i < spec.tile.rows; ++i)
    for (int64_t j = 0; j < width; ++j) {
      int64_t indices[2] = {offset(rowOffset) + i,
                            spec.columns ? offset(columnOffset) + j : 0};
      if (indices[0] < spec.rows &&
          indices[1] < std::max<int64_t>(spec.columns, 1))
        visit(i * width + j, indices);
    }
}

void Evaluator::dot(const Node &node, Values &result) {
  const Values &a = values[node.a], &b = values[node.b];
  int64_t depth = program.nodes[node.a].shape.columns;
  int64_t columns = node.shape.columns;
  for (int64_t i = 0; i < node.shape.rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = node.c >= 0 ? values[node.c][i * columns + j] : 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += a[i * depth + k] *
               (node.transposed ? b[j * depth + k] : b[k * columns + j]);
      result[i * columns + j] = sum;
    }
}

static double combine(Op op, double a, double b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  case Op::Exp2:
    return std::exp2(a);
  default:
    return std::max(a, b);
  }
}

static double roundTo(double value, DType dtype) {
  auto narrow = static_cast<float>(value);
  return dtype == DType::bf16  ? bf16ToFloat(floatToBF16(narrow))
         : dtype == DType::f16 ? f16ToFloat(floatToF16(narrow))
                               : narrow;
}

void Evaluator::runNode(int number) {
  const Node &node = program.nodes[number];
  if (node.op == Op::Argument)
    return;
  Values &result = values[number];
  result.assign(node.shape.elements(), 0);
  int64_t columns = std::max<int64_t>(node.shape.columns, 1);
  switch (node.op) {
  case Op::Constant:
    std::fill(result.begin(), result.end(), static_cast<float>(node.number));
    return;
  case Op::Load:
    return forEach(node.buffer, node.row, node.column,
                   [&](int64_t element, const int64_t *indices) {
                     result[element] = buffers[node.buffer].view().get(indices);
                   });
  case Op::Dot:
    return dot(node, result);
  case Op::SumOfRow:
  case Op::MaxOfRow: {
    int64_t width = program.nodes[node.a].shape.columns;
    for (int64_t i = 0; i < node.shape.rows; ++i) {
      result[i] = node.op == Op::SumOfRow ? 0 : -INFINITY;
      for (int64_t j = 0; j < width; ++j)
        result[i] = combine(node.op == Op::SumOfRow ? Op::Add : Op::Max,
                            result[i], values[node.a][i * width + j]);
    }
    return;
  }
  default:
    break;
  }
  for (int64_t i = 0; i < node.shape.elements(); ++i) {
    if (node.op == Op::BroadcastRows)
      result[i] = values[node.a][i / columns];
    else if (node.op == Op::BroadcastColumns)
      result[i] = values[node.a][i % columns];
    else if (node.op == Op::Trunc)
      result[i] = roundTo(values[node.a][i], node.shape.dtype);
    else
      result[i] = combine(node.op, values[node.a][i],
                          node.b >= 0 ? values[node.b][i] : 0);
  }
}

void Evaluator::runLoop() {
  for (const Carried &carried : program.carried)
    values[carried.argument] = values[carried.init];
  for (step = 0; step < program.end; step += program.step) {
    for (int i = program.loopBegin; i < program.loopEnd; ++i)
      runNode(i);
    std::vector<Values> next;
    for (const Carried &carried : program.carried)
      next.push_back(values[carried.next]);
    for (size_t i = 0; i < next.size(); ++i)
      values[program.carried[i].argument] = std::move(next[i]);
  }
}

void Evaluator::run() {
  int count = static_cast<int>(program.nodes.size());
  for (int i = 0; i < count; ++i) {
    if (i == program.loopBegin)
      runLoop();
    if (i < program.loopBegin || i >= program.loopEnd)
      runNode(i);
  }
  for (const Store &store : program.stores)
    forEach(store.buffer, store.row, store.column,
            [&](int64_t element, const int64_t *indices) {
              buffers[store.buffer].view().set(indices,
                                               values[store.node][element]);
            });
}

std::vector<Tensor>
TileProgram::evaluate(const std::vector<Tensor> &before) const {
  std::vector<Tensor> after = before;
  for (int64_t i = 0; i < grid[0]; ++i)
    for (int64_t j = 0; j < grid[1]; ++j)
      Evaluator(*this, after, i * rowTile, j * columnTile).run();
  return after;
}
