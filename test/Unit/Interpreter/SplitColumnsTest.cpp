//===- SplitColumnsTest.cpp - Tiles in two parts are the same tiles
//--------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random loops with arithmetic between products and a rounding, run by the
// interpreter before and after rtile-split-columns. Sums of rows are added up
// in another order, so results agree up to rounding.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/Recipes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

namespace {

constexpr int64_t rowsOfData = 160, side = 4;

/// The text of one random loop over tiles of 4 rows.
class Generator {
public:
  explicit Generator(Random &random)
      : random(random), columns(random.oneOf({32, 48, 80})) {}

  std::string getKernel();

private:
  std::string wideType() const {
    return "tensor<4x" + std::to_string(columns) + "xf32>";
  }
  std::string oneOf(const std::vector<std::string> &names) {
    return names[random.pick(0, names.size() - 1)];
  }
  std::string add(const std::string &text) {
    std::string name = "%v" + std::to_string(count++);
    body += "    " + name + " = " + text + "\n";
    return name;
  }
  void addProduct();
  void addOperation();

  Random &random;
  int64_t columns;
  int count = 0;
  std::string body;
  std::vector<std::string> wides, rows;
};

void Generator::addProduct() {
  wides.push_back(add("rtile.dot %q, %k transposed : tensor<4x4xf32>, tensor<" +
                      std::to_string(columns) + "x4xf32> -> " + wideType()));
}

void Generator::addOperation() {
  const std::string rowType = "tensor<4xf32>";
  switch (random.pick(0, 8)) {
  case 0:
    return addProduct();
  case 1:
    return wides.push_back(
        add("math.tanh " + oneOf(wides) + " : " + wideType()));
  case 2:
  case 3: {
    const char *kinds[] = {"arith.addf", "arith.mulf", "arith.subf",
                           "arith.maximumf"};
    return wides.push_back(add(std::string(kinds[random.pick(0, 3)]) + " " +
                               oneOf(wides) + ", " + oneOf(wides) + " : " +
                               wideType()));
  }
  case 4:
    return wides.push_back(add("rtile.broadcast " + oneOf(rows) + " : " +
                               rowType + " -> " + wideType()));
  case 5:
    return wides.push_back(add("rtile.broadcast %line columns : tensor<" +
                               std::to_string(columns) + "xf32> -> " +
                               wideType()));
  case 6:
  case 7: {
    const char *kinds[] = {"max", "sum", "min"};
    return rows.push_back(add(std::string("rtile.reduce ") +
                              kinds[random.pick(0, 2)] + " " + oneOf(wides) +
                              " : " + wideType()));
  }
  default:
    return rows.push_back(
        add(std::string(random.flip() ? "arith.maximumf " : "arith.addf ") +
            oneOf(rows) + ", " + oneOf(rows) + " : " + rowType));
  }
}

std::string Generator::getKernel() {
  std::string n = std::to_string(columns);
  rows = {"%m"};
  addProduct();
  int64_t operations = random.pick(2, 12);
  for (int64_t i = 0; i < operations; ++i)
    addOperation();
  // Results stay small, and so do differences.
  std::string weights = add("math.tanh " + oneOf(wides) + " : " + wideType());
  std::string rounded = add("arith.truncf " + weights + " : " + wideType() +
                            " to tensor<4x" + n + "xbf16>");
  std::string next =
      add("rtile.dot " + rounded + ", %v init(%acc) : tensor<4x" + n +
          "xbf16>, tensor<" + n + "x4xbf16> -> tensor<4x4xf32>");
  std::string row = add("math.tanh " + oneOf(rows) + " : tensor<4xf32>");
  return "rtile.func @k(%K: memref<?x4xf32, strided<[?, 1]>>, %V: "
         "memref<?x4xbf16,"
         " strided<[?, 1]>>, %L: memref<?xf32, strided<[1]>>, %OUT: "
         "memref<?x4xf32,"
         " strided<[?, 1]>>, %ROW: memref<?xf32, strided<[1]>>, %to: index) "
         "grid(%i: index) {\n"
         "  %c0 = arith.constant 0 : index\n"
         "  %c1 = arith.constant 1 : index\n"
         "  %zero = arith.constant dense<0.0> : tensor<4x4xf32>\n"
         "  %none = arith.constant dense<0.25> : tensor<4xf32>\n"
         "  %qs = rtile.view %K[*, *] : memref<?x4xf32, strided<[?, 1]>> to "
         "!rtile.view<4x4xf32>\n"
         "  %ks = rtile.view %K[*, *] : memref<?x4xf32, strided<[?, 1]>> to "
         "!rtile.view<" +
         n +
         "x4xf32>\n"
         "  %vs = rtile.view %V[*, *] : memref<?x4xbf16, strided<[?, 1]>> to "
         "!rtile.view<" +
         n +
         "x4xbf16>\n"
         "  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to "
         "!rtile.view<" +
         n +
         "xf32>\n"
         "  %os = rtile.view %OUT[*, *] : memref<?x4xf32, strided<[?, 1]>> to "
         "!rtile.view<4x4xf32>\n"
         "  %rs = rtile.view %ROW[*] : memref<?xf32, strided<[1]>> to "
         "!rtile.view<4xf32>\n"
         "  %q = rtile.load %qs[%c1, %c0] : !rtile.view<4x4xf32>\n"
         "  %s:2 = scf.for %j = %c0 to %to step %c1 iter_args(%m = %none, %acc "
         "= "
         "%zero) -> (tensor<4xf32>, tensor<4x4xf32>) {\n"
         "    %k = rtile.load %ks[%j, %c0] : !rtile.view<" +
         n +
         "x4xf32>\n"
         "    %v = rtile.load %vs[%j, %c0] : !rtile.view<" +
         n +
         "x4xbf16>\n"
         "    %line = rtile.load %ls[%j] : !rtile.view<" +
         n + "xf32>\n" + body + "    scf.yield " + row + ", " + next +
         " : tensor<4xf32>, tensor<4x4xf32>\n  }\n"
         "  rtile.store %s#1, %os[%c0, %c0] : !rtile.view<4x4xf32>\n"
         "  rtile.store %s#0, %rs[%c0] : !rtile.view<4xf32>\n"
         "  rtile.return\n}\n";
}

std::vector<double> run(const Module &module, int64_t steps, uint64_t data) {
  Random random(data);
  auto draw = [&](DType dtype, Shape shape, int64_t size) {
    std::vector<double> values;
    // Few digits, so that bf16 holds them.
    for (int64_t i = 0; i < size; ++i)
      values.push_back(static_cast<double>(random.pick(-16, 16)) / 16);
    return makeTensor(dtype, std::move(shape), values);
  };
  Tensor K = draw(DType::f32, {rowsOfData, side}, rowsOfData * side);
  Tensor V = draw(DType::bf16, {rowsOfData, side}, rowsOfData * side);
  Tensor L = draw(DType::f32, {rowsOfData}, rowsOfData);
  Tensor out = filled(DType::f32, {side, side}, 0);
  Tensor row = filled(DType::f32, {side}, 0);
  EXPECT_EQ(module.runKernel(
                "k",
                {K.view(), V.view(), L.view(), out.view(), row.view(), steps},
                {1}),
            "");
  std::vector<double> all = elements(out), more = elements(row);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(SplitColumns, PartsAreTheWhole) {
  Random random(13);
  int split = 0;
  for (int trial = 0; trial < 600 && !HasFailure(); ++trial) {
    std::string text = Generator(random).getKernel();
    SCOPED_TRACE(text);
    Module before(text), after(text);
    mlir::PassManager manager((*after).getContext());
    manager.addPass(createRTileSplitColumns());
    ASSERT_TRUE(mlir::succeeded(manager.run(*after)));
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    (*after)->print(stream);
    SCOPED_TRACE("becomes " + printed);
    bool isSplit = false;
    (*after)->walk([&](mlir::Operation *op) {
      isSplit |= mlir::isa<rtile::JoinOp, rtile::SliceOp>(op);
    });
    split += isSplit;
    int64_t steps = random.pick(0, 3);
    uint64_t data = random.next();
    std::vector<double> expected = run(before, steps, data);
    std::vector<double> found = run(after, steps, data);
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(found[i]))
        continue;
      ASSERT_NEAR(expected[i], found[i], 0.05 * (1 + std::abs(expected[i])))
          << "element " << i;
    }
  }
  EXPECT_GT(split, 300);
}

} // namespace
