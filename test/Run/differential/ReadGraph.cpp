//===- ReadGraph.cpp - The meaning of IR ------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/ReadGraph.h"

#include "lib/Evaluator/OracleSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

namespace ringlet::differential {

namespace {

using namespace mlir;

class Reader {
public:
  Reader(func::FuncOp function, std::string *error)
      : function(function), error(error) {}

  std::optional<Graph> read() {
    graph.name = function.getName().str();
    for (BlockArgument argument : function.getArguments())
      define(argument);
    graph.arguments = static_cast<int>(graph.values.size());
    for (mlir::Operation &op : function.getBody().front()) {
      if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
        if (!readAttention(attention))
          return std::nullopt;
      } else if (auto reorder = dyn_cast<attn::ReorderOp>(op)) {
        Operation result;
        result.operands = {numbers.lookup(reorder.getInput())};
        result.results = {define(reorder.getOutput())};
        graph.operations.push_back(result);
      } else if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
        for (Value value : terminator.getOperands())
          graph.results.push_back(numbers.lookup(value));
      } else if (!isa<arith::ConstantOp>(op)) {
        *error = "unexpected operation " + op.getName().getStringRef().str();
        return std::nullopt;
      }
    }
    return graph;
  }

private:
  int define(Value value) {
    ValueType type;
    auto tensor = cast<RankedTensorType>(value.getType());
    for (int64_t size : tensor.getShape())
      type.shape.push_back(ShapedType::isDynamic(size) ? kDynamic : size);
    Type element = tensor.getElementType();
    type.dtype = element.isF16()                  ? DType::f16
                 : element.isBF16()               ? DType::bf16
                 : element.isF32()                ? DType::f32
                 : element.isInteger(1)           ? DType::i1
                 : element.isInteger(32)          ? DType::i32
                 : element.isInteger(8)           ? DType::i8
                 : isa<Float8E4M3FNType>(element) ? DType::f8E4M3FN
                                                  : DType::i64;
    if (rlayout::LayoutAttr layout = rlayout::getLayout(tensor)) {
      type.axis = static_cast<int>(layout.getAxis());
      if (layout.getOrder())
        type.order = layout.getOrder().getSpec();
    }
    int number = graph.addValue(type, "v" + std::to_string(numbers.size()));
    numbers[value] = number;
    return number;
  }

  std::vector<SizeOperands> readSizes(attn::AttentionOp op) {
    std::vector<SizeOperands> result;
    auto next = op.getSizes().begin();
    for (attn::BranchAttr branch : op.getBranchRange()) {
      SizeOperands sizes;
      if (branch.isRuntimeW())
        sizes.w = numbers.lookup(*next++);
      if (branch.isRuntimeR())
        sizes.r = numbers.lookup(*next++);
      result.push_back(sizes);
    }
    return result;
  }

  bool readAttention(attn::AttentionOp op) {
    SmallVector<int64_t> ones(op.getSizes().size(), 1);
    oracle::AttentionSpec spec = toOracle(op, ones);
    Operation result;
    result.operands = {numbers.lookup(op.getQuery()),
                       numbers.lookup(op.getKey()),
                       numbers.lookup(op.getValue())};
    if (op.getBlockMask())
      result.blockMask = numbers.lookup(op.getBlockMask());
    if (op.getQueryLengths())
      result.lengths = {numbers.lookup(op.getQueryLengths()),
                        numbers.lookup(op.getKeyLengths())};
    if (op.isPacked())
      result.starts = {numbers.lookup(op.getQueryStarts()),
                       numbers.lookup(op.getKeyStarts())};
    if (op.isPaged())
      result.pages = numbers.lookup(op.getPageTable());
    if (op.getKeyBegins())
      result.begins = numbers.lookup(op.getKeyBegins());
    if (op.getKScale())
      result.keyScale = numbers.lookup(op.getKScale());
    if (op.getVScale())
      result.valueScale = numbers.lookup(op.getVScale());
    if (!op.getSizes().empty())
      result.sizes = readSizes(op);
    if (op.getSink())
      result.sink = numbers.lookup(op.getSink());
    if (Value offset = op.getQOffset()) {
      DenseIntElementsAttr constant;
      if (matchPattern(offset, m_Constant(&constant)))
        result.offsetConstant = constant.getSplatValue<int64_t>();
      else
        result.offsetOperand = numbers.lookup(offset);
    }
    result.attention = spec;
    int output = define(op.getOutput());
    result.results = {output, define(op.getLse())};
    graph.operations.push_back(result);
    return true;
  }

  func::FuncOp function;
  std::string *error;
  Graph graph;
  llvm::DenseMap<Value, int> numbers;
};

} // namespace

std::optional<Graph> readGraph(mlir::func::FuncOp function,
                               std::string *error) {
  return Reader(function, error).read();
}

} // namespace ringlet::differential
