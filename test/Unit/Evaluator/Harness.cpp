//===- Harness.cpp - Functions from text ----------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Evaluator/Harness.h"

#include "dialects/Ringlet/IR/RingletDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::evaluator;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect,
                  rlayout::RLayoutDialect, attn::RingletDialect>();
  return registry;
}

Program::Program(const std::string &text)
    : context(makeRegistry(), MLIRContext::Threading::DISABLED),
      module(parseSourceString<ModuleOp>(text, ParserConfig(&context))) {}

func::FuncOp Program::function() {
  return *module->getOps<func::FuncOp>().begin();
}

std::vector<std::vector<double>> Program::run(std::vector<Tensor> arguments) {
  std::vector<Datum> data;
  for (Tensor &argument : arguments)
    data.push_back({std::move(argument)});
  auto results = evaluate(function(), std::move(data), refusal);
  if (!results)
    return {{NAN}};
  std::vector<std::vector<double>> lists;
  for (const Datum &result : *results) {
    std::vector<double> &list = lists.emplace_back();
    for (int64_t i = 0; i < result.tensor.elements(); ++i)
      list.push_back(
          loadElement(result.tensor.data(), result.tensor.dtype(), i));
  }
  return lists;
}

Tensor evaluator::makeTensor(Shape shape, const std::vector<double> &elements) {
  Tensor tensor(DType::f64, std::move(shape));
  std::copy(elements.begin(), elements.end(), tensor.as<double>());
  return tensor;
}

Tensor evaluator::makeIntegers(Shape shape,
                               const std::vector<int64_t> &elements) {
  Tensor tensor(DType::i64, std::move(shape));
  std::copy(elements.begin(), elements.end(), tensor.as<int64_t>());
  return tensor;
}
