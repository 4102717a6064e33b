//===- Harness.cpp - Programs as text in, tensors out ---------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "dialects/Layout/IR/LayoutDialect.h"
#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

static mlir::MLIRContext &context() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registry.insert<attn::RingletDialect, rlayout::RLayoutDialect,
                    rplan::RPlanDialect, rtile::RTileDialect,
                    mlir::arith::ArithDialect, mlir::func::FuncDialect,
                    mlir::math::MathDialect, mlir::memref::MemRefDialect,
                    mlir::scf::SCFDialect>();
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return context;
}

Module::Module(const std::string &text) {
  mlir::ParserConfig config(&context());
  module = mlir::parseSourceString<mlir::ModuleOp>(text, config, "test.mlir");
  if (!module) {
    ADD_FAILURE() << "the program does not parse:\n" << text.substr(0, 4000);
    std::abort();
  }
}

std::string Module::run(const std::string &entry,
                        std::vector<MutableTensorView> arguments,
                        const Options &options) const {
  std::string error;
  bool failed =
      mlir::failed(interpret(*module, entry, arguments, &error, options));
  EXPECT_EQ(failed, !error.empty()) << error;
  return error;
}

std::string Module::runKernel(const std::string &kernel,
                              std::vector<KernelArgument> arguments,
                              std::vector<int64_t> grid,
                              const Options &options) const {
  std::string error;
  bool failed = mlir::failed(
      interpretKernel(*module, kernel, arguments, grid, &error, options));
  EXPECT_EQ(failed, !error.empty()) << error;
  return error;
}

std::vector<double> test::elements(const Tensor &tensor) {
  std::vector<double> values(tensor.elements());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values[i] = loadElement(tensor.data(), tensor.dtype(), i);
  return values;
}

Tensor test::makeTensor(DType dtype, Shape shape, std::vector<double> values) {
  Tensor tensor(dtype, std::move(shape));
  EXPECT_EQ(tensor.elements(), static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    storeElement(tensor.data(), dtype, i, values[i]);
  return tensor;
}

Tensor test::iota(DType dtype, Shape shape, double start) {
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    storeElement(tensor.data(), dtype, i, start + static_cast<double>(i));
  return tensor;
}

Tensor test::filled(DType dtype, Shape shape, double value) {
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    storeElement(tensor.data(), dtype, i, value);
  return tensor;
}

static std::string evaluateInto(const std::string &body, Tensor &result) {
  std::string n = std::to_string(result.elements());
  Module module("rtile.func @f(%out: memref<" + n +
                "xf32>) grid(%point: index) {\n"
                "  %zero = arith.constant 0 : index\n" +
                body + "\n  %view = rtile.view %out[*] : memref<" + n +
                "xf32> to !rtile.view<" + n +
                "xf32>\n"
                "  rtile.store %r, %view[%zero] : !rtile.view<" +
                n +
                "xf32>\n"
                "  rtile.return\n}\n");
  return module.runKernel("f", {result.view()}, {1});
}

std::vector<double> test::evaluate(const std::string &body, int64_t count) {
  Tensor result(DType::f32, {count});
  EXPECT_EQ(evaluateInto(body, result), "") << body;
  return elements(result);
}

std::string test::errorOf(const std::string &body, int64_t count) {
  Tensor result(DType::f32, {count});
  return evaluateInto(body, result);
}

std::string test::list(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "[" : ", ") + std::to_string(value);
  return text + "]";
}

std::string test::list(const std::vector<double> &values) {
  std::string text;
  for (double value : values) {
    char buffer[40];
    auto narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    if (std::isfinite(value))
      std::snprintf(buffer, sizeof buffer, "%.9e", value);
    else
      std::snprintf(buffer, sizeof buffer, "0x%08X", bits);
    text += (text.empty() ? "[" : ", ") + std::string(buffer);
  }
  return text + "]";
}

uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
