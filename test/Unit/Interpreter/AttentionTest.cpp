//===- AttentionTest.cpp - A streaming softmax against the oracle ---------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One branch of an attention as a tile program: every piece of the interpreter
// at once, compared with a definition that shares nothing with it.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "lib/Layout/Dilation.h"
#include "lib/Oracle/Attention.h"
#include "lib/Oracle/Tolerance.h"
#include "lib/Oracle/Unfused.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

namespace {
struct Shapes {
  DType dtype = DType::f32;
  int64_t w = 0, rate = 1;
  int64_t queries = 40, keys = 40, heads = 2, keyHeads = 1;
  int64_t offset = 0;
  bool causal = false;
  std::optional<std::pair<int64_t, int64_t>> window;
  int64_t tileQ = 8, tileK = 4;
};
constexpr int64_t kDim = 16;
} // namespace

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

/// One loop over key tiles from %FIRST to %LAST.
static std::string loop(const std::string &name, const std::string &first,
                        const std::string &last, const std::string &from,
                        bool masked) {
  std::string text = R"(
      %NAME:3 = scf.for %j = %FIRST to %LAST step %step
          iter_args(%m = %FROM#0, %l = %FROM#1, %o = %FROM#2)
          -> (tensor<QTxf32>, tensor<QTxf32>, tensor<QTx16xf32>) {
        %kt = rtile.load %k[%j, %c0] : !k
        %vt = rtile.load %v[%j, %c0] : !k
        %dot = rtile.dot %qt, %kt transposed
            : tensor<QTx16xELT>, tensor<KTx16xELT> -> tensor<QTxKTxf32>
        %scaled = arith.mulf %dot, %scale : tensor<QTxKTxf32>
        MASK
        %rowMax = rtile.reduce max %s : tensor<QTxKTxf32>
        %next = arith.maximumf %m, %rowMax : tensor<QTxf32>
        %dead = arith.cmpf oeq, %next, %infs : tensor<QTxf32>
        %safe = arith.select %dead, %zeros, %next
            : tensor<QTxi1>, tensor<QTxf32>
        %wide = rtile.broadcast %safe : tensor<QTxf32> -> tensor<QTxKTxf32>
        %shifted = arith.subf %s, %wide : tensor<QTxKTxf32>
        %p = math.exp2 %shifted : tensor<QTxKTxf32>
        %fall = arith.subf %m, %safe : tensor<QTxf32>
        %factor = math.exp2 %fall : tensor<QTxf32>
        %rowSum = rtile.reduce sum %p : tensor<QTxKTxf32>
        %kept = arith.mulf %l, %factor : tensor<QTxf32>
        %sum = arith.addf %kept, %rowSum : tensor<QTxf32>
        NARROW
        %factors = rtile.broadcast %factor : tensor<QTxf32> -> tensor<QTx16xf32>
        %scaledO = arith.mulf %o, %factors : tensor<QTx16xf32>
        %nextO = rtile.dot %pn, %vt init(%scaledO)
            : tensor<QTxKTxELT>, tensor<KTx16xELT> -> tensor<QTx16xf32>
        scf.yield %next, %sum, %nextO
            : tensor<QTxf32>, tensor<QTxf32>, tensor<QTx16xf32>
      })";
  replaceAll(text, "MASK",
             masked ? R"(%seen = rtile.visible %q[%row], %k[%j]COND
            : !q, !k -> tensor<QTxKTxi1>
        %s = arith.select %seen, %scaled, %inf
            : tensor<QTxKTxi1>, tensor<QTxKTxf32>)"
                    : "%zk = arith.constant dense<0.0> : "
                      "tensor<QTxKTxf32>\n        %s = "
                      "arith.addf %scaled, %zk : "
                      "tensor<QTxKTxf32>");
  replaceAll(text, "NAME", name);
  replaceAll(text, "FIRST", first);
  replaceAll(text, "LAST", last);
  replaceAll(text, "FROM", from);
  return text;
}

static std::string kernel(const Shapes &shapes) {
  std::string text = R"(
    !q = !rtile.view<QTx16xELTDIL>
    !k = !rtile.view<KTx16xELTDIL>
    !out = !rtile.view<QTx16xELTDIL>
    !row = !rtile.view<QTxf32DIL>
    !buffer = memref<?x?x16xELT, strided<[?, ?, 1]>>
    rtile.func @attention(%Q: !buffer, %K: !buffer, %V: !buffer, %O: !buffer,
                          %L: memref<?x?xf32, strided<[?, 1]>>,
                          %offset: index, %firstSegment: index, %group: index)
        grid(%tile: index, %h: index, %seg: index) {
      %c0 = arith.constant 0 : index
      %step = arith.constant KT : index
      %height = arith.constant QT : index
      %rate = arith.constant RATE : index
      %segment = arith.addi %seg, %firstSegment : index
      %g = arith.floordivsi %h, %group : index
      %residue = arith.remsi %g, %rate : index
      %scale = arith.constant dense<SCALE> : tensor<QTxKTxf32>
      %inf = arith.constant dense<0xFF800000> : tensor<QTxKTxf32>
      %infs = arith.constant dense<0xFF800000> : tensor<QTxf32>
      %zeros = arith.constant dense<0.0> : tensor<QTxf32>
      %ones = arith.constant dense<1.0> : tensor<QTxf32>
      %none = arith.constant dense<0.0> : tensor<QTx16xf32>
      %q = rtile.view %Q[*, %h, *] origin(%offset) PLACE : !buffer to !q
      %k = rtile.view %K[*, %g, *] PLACE : !buffer to !k
      %v = rtile.view %V[*, %g, *] PLACE : !buffer to !k
      %out = rtile.view %O[*, %h, *] origin(%offset) PLACE : !buffer to !out
      %lse = rtile.view %L[%h, *] origin(%offset) PLACE
          : memref<?x?xf32, strided<[?, 1]>> to !row
      %begin, %end = rtile.bounds %q : !q
      %skip = arith.muli %tile, %height : index
      %row = arith.addi %begin, %skip : index
      %qt = rtile.load %q[%row, %c0] : !q
      %b, %wb, %we, %e = rtile.run %q[%row], %kCOND : !q, !k
      %start:3 = scf.for %unused = %c0 to %c0 step %step
          iter_args(%m0 = %infs, %l0 = %zeros, %o0 = %none)
          -> (tensor<QTxf32>, tensor<QTxf32>, tensor<QTx16xf32>) {
        scf.yield %m0, %l0, %o0
            : tensor<QTxf32>, tensor<QTxf32>, tensor<QTx16xf32>
      })" + loop("first", "b", "wb", "start", true) +
                     loop("whole", "wb", "we", "first", false) +
                     loop("last", "we", "e", "whole", true) + R"(
      %dead = arith.cmpf oeq, %last#1, %zeros : tensor<QTxf32>
      %sum = arith.select %dead, %ones, %last#1 : tensor<QTxi1>, tensor<QTxf32>
      %inverse = arith.divf %ones, %sum : tensor<QTxf32>
      %inverses = rtile.broadcast %inverse : tensor<QTxf32> -> tensor<QTx16xf32>
      %o = arith.mulf %last#2, %inverses : tensor<QTx16xf32>
      %ln2 = arith.constant dense<0.693147182> : tensor<QTxf32>
      %log = math.log2 %sum : tensor<QTxf32>
      %both = arith.addf %last#0, %log : tensor<QTxf32>
      %lt = arith.mulf %both, %ln2 : tensor<QTxf32>
      OUT
      rtile.store %on, %out[%row, %c0] : !out
      rtile.store %lt, %lse[%row] : !row
      rtile.return
    })";
  bool narrow = shapes.dtype != DType::f32;
  replaceAll(text, "NARROW",
             narrow ? "%pn = arith.truncf %p : tensor<QTxKTxf32> to "
                      "tensor<QTxKTxELT>"
                    : "%zp = arith.constant dense<0.0> : tensor<QTxKTxf32>\n"
                      "        %pn = arith.addf %p, %zp : tensor<QTxKTxf32>");
  replaceAll(text, "OUT",
             narrow ? "%on = arith.truncf %o : tensor<QTx16xf32> to "
                      "tensor<QTx16xELT>"
                    : "%on = arith.addf %o, %none : tensor<QTx16xf32>");
  std::string conditions = shapes.causal ? " causal" : "";
  if (shapes.window)
    conditions += " window = [" + std::to_string(shapes.window->first) + ", " +
                  std::to_string(shapes.window->second) + "]";
  replaceAll(text, "COND", conditions);
  std::string dilation, place;
  if (shapes.w > 0) {
    dilation += ", w = " + std::to_string(shapes.w);
    place += "segment(%segment) ";
  }
  if (shapes.rate > 1) {
    dilation += ", rate = " + std::to_string(shapes.rate);
    place += "residue(%residue)";
  }
  replaceAll(text, "DIL", dilation);
  replaceAll(text, "PLACE", place);
  replaceAll(text, "RATE", std::to_string(shapes.rate));
  char scale[40];
  std::snprintf(scale, sizeof scale, "%.9e",
                M_LOG2E / std::sqrt(static_cast<double>(kDim)));
  replaceAll(text, "SCALE", scale);
  replaceAll(text, "QT", std::to_string(shapes.tileQ));
  replaceAll(text, "KT", std::to_string(shapes.tileK));
  replaceAll(text, "ELT", std::string(nameOf(shapes.dtype)));
  return text;
}

static Tensor randomTensor(DType dtype, Shape shape, Random &random) {
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    storeElement(tensor.data(), dtype, i, 2 * random.uniform());
  return tensor;
}

/// The view without its leading axis of size 1.
static MutableTensorView withoutBatch(Tensor &tensor) {
  Shape sizes(tensor.shape().begin() + 1, tensor.shape().end());
  return MutableTensorView(tensor.data(), tensor.dtype(), sizes);
}

static void check(const Shapes &shapes, Random &random) {
  Tensor query = randomTensor(shapes.dtype,
                              {1, shapes.queries, shapes.heads, kDim}, random);
  Tensor key = randomTensor(shapes.dtype,
                            {1, shapes.keys, shapes.keyHeads, kDim}, random);
  Tensor value = randomTensor(shapes.dtype,
                              {1, shapes.keys, shapes.keyHeads, kDim}, random);
  Tensor offset =
      makeTensor(DType::i64, {1}, {static_cast<double>(shapes.offset)});

  oracle::AttentionSpec spec;
  oracle::Branch branch;
  if (shapes.w > 0)
    branch.segment = shapes.w;
  branch.dilation = shapes.rate;
  spec.branches = {branch};
  spec.causal = shapes.causal;
  if (shapes.window && shapes.window->first >= 0)
    spec.windowLeft = shapes.window->first;
  if (shapes.window && shapes.window->second >= 0)
    spec.windowRight = shapes.window->second;
  oracle::AttentionInputs inputs;
  inputs.query = query.view();
  inputs.key = key.view();
  inputs.value = value.view();
  inputs.qOffset = offset.view();
  std::string error;
  auto exact = oracle::attention(spec, inputs, &error);
  ASSERT_TRUE(exact) << error;
  std::vector<oracle::AttentionResult> unfused;
  std::vector<TensorView> unfusedOutputs, unfusedLses;
  const auto &ways = oracle::arithmeticsFor(shapes.dtype);
  unfused.reserve(ways.size());
  for (oracle::Arithmetic arithmetic : ways) {
    auto result =
        oracle::unfusedAttention(spec, inputs, &error, {}, arithmetic);
    ASSERT_TRUE(result) << error;
    unfused.push_back(std::move(*result));
    unfusedOutputs.push_back(std::as_const(unfused.back().output).view());
    unfusedLses.push_back(std::as_const(unfused.back().lse).view());
  }

  // Rows that are not in the branch have no kernel to write them.
  Tensor output =
      filled(shapes.dtype, {1, shapes.queries, shapes.heads, kDim}, 0);
  Tensor lse = filled(DType::f32, {1, shapes.heads, shapes.queries}, -INFINITY);
  int64_t first = layout::segmentOf(shapes.offset, shapes.w);
  int64_t last =
      layout::segmentOf(shapes.offset + shapes.queries - 1, shapes.w);
  int64_t rows =
      std::min(shapes.w > 0 ? shapes.w : shapes.queries, shapes.queries);
  int64_t tiles =
      layout::ceilDiv(layout::ceilDiv(rows, shapes.rate) + 1, shapes.tileQ);
  Options options;
  options.seed = random.next();
  options.chooseFreely = random.flip();
  Module module(kernel(shapes));
  ASSERT_EQ(module.runKernel("attention",
                             {withoutBatch(query), withoutBatch(key),
                              withoutBatch(value), withoutBatch(output),
                              withoutBatch(lse), shapes.offset, first,
                              shapes.heads / shapes.keyHeads},
                             {tiles, shapes.heads, last - first + 1}, options),
            "");
  auto comparison =
      oracle::compare(output.view(), exact->output.view(), unfusedOutputs,
                      oracle::Quantity::Output, shapes.dtype);
  EXPECT_TRUE(comparison.ok) << comparison.text;
  comparison = oracle::compare(lse.view(), exact->lse.view(), unfusedLses,
                               oracle::Quantity::Lse, shapes.dtype);
  EXPECT_TRUE(comparison.ok) << comparison.text;
}

TEST(Attention, StreamingSoftmaxMatchesTheOracle) {
  Random random(5);
  for (int trial = 0; trial < 150; ++trial) {
    Shapes shapes;
    shapes.dtype = trial % 3 == 0   ? DType::bf16
                   : trial % 3 == 1 ? DType::f16
                                    : DType::f32;
    shapes.w = random.oneOf({0, 1, 7, 16, 24, 64});
    shapes.rate =
        random.pick(1, shapes.w > 0 ? std::min<int64_t>(shapes.w, 4) : 4);
    shapes.queries = random.pick(1, 70);
    shapes.keys = random.pick(1, 70);
    shapes.keyHeads = random.pick(1, 3);
    shapes.heads = shapes.keyHeads * random.pick(1, 2);
    shapes.offset =
        random.flip() ? shapes.keys - shapes.queries : random.pick(-30, 30);
    shapes.causal = random.flip();
    if (random.flip())
      shapes.window = {random.oneOf({-1, 0, 5, 30}), random.oneOf({-1, 0, 5})};
    shapes.tileQ = random.oneOf({1, 4, 8, 16});
    shapes.tileK = random.oneOf({1, 4, 8, 16});
    SCOPED_TRACE("trial " + std::to_string(trial) + ": w " +
                 std::to_string(shapes.w) + ", rate " +
                 std::to_string(shapes.rate) + ", queries " +
                 std::to_string(shapes.queries) + ", keys " +
                 std::to_string(shapes.keys) + ", offset " +
                 std::to_string(shapes.offset));
    check(shapes, random);
    if (HasFailure())
      return;
  }
}
