//===- GraphWriterTest.cpp - Reference graphs in artefacts ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/GraphWriter.h"
#include "TestContext.h"

#include <gtest/gtest.h>

using namespace mlir;

// GoogleTest brings a global `abi` along.
namespace ringlet {

namespace {

struct Graph {
  TestContext context;
  OwningOpRef<ModuleOp> module;
  abi::ArtifactT artifact;
  std::unique_ptr<abi::GraphT> graph;

  explicit Graph(StringRef text) : module(context.parse(text)) {
    if (!module)
      ADD_FAILURE() << context.messages;
    else
      graph = makeGraph(*module->getOps<func::FuncOp>().begin(), artifact);
  }
  abi::AttentionT &attention(size_t node) {
    return *graph->nodes[node]->op.AsAttention();
  }
};

} // namespace

TEST(GraphWriter, EveryFieldOfAnAttention) {
  Graph g(R"mlir(
func.func @f(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x4x64xf16>,
             %v: tensor<2x?x4x32xf16>, %off: tensor<2xi64>,
             %ql: tensor<2xi64>, %kl: tensor<2xi64>, %w: tensor<i64>,
             %sink: tensor<8xf32>, %mask: tensor<4x5xi1>)
    -> (tensor<2x?x8x32xf16>, tensor<3x2x8x?xf32>) {
  %o, %l = ringlet.attention %q, %k, %v
      branches [<w = ?, r = 1>, <w = *, r = 4, offset = block, by = query>,
                <w = 64, r = 2, offset = constant<3>, heads = [2, 6]>]
      causal window = [128, -1] grid_window = <grid = [8, 8], reach = [2, 3]>
      pattern_order = <hilbert, grid = [8, 8]>
      q_offset(%off) lengths(%ql, %kl) sizes(%w) sink(%sink)
      block_mask(%mask) of [16, 32] scale = 0.5 softcap = 30.0 mix = sum
      output_scale = 0.25
      : (tensor<2x?x8x64xf16>, tensor<2x?x4x64xf16>, tensor<2x?x4x32xf16>,
         tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>,
         tensor<8xf32>, tensor<4x5xi1>)
      -> (tensor<2x?x8x32xf16>, tensor<3x2x8x?xf32>)
  return %o, %l : tensor<2x?x8x32xf16>, tensor<3x2x8x?xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  abi::AttentionT &a = g.attention(0);
  EXPECT_EQ((std::vector<int>{a.query, a.key, a.value, a.q_offset,
                              a.query_lengths, a.key_lengths, a.sink,
                              a.block_mask, a.query_starts, a.key_starts}),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 7, 8, -1, -1}));
  ASSERT_EQ(a.branches.size(), 3u);
  EXPECT_EQ(a.branches[0]->w_value, 6);
  EXPECT_EQ(a.branches[1]->w, -1);
  EXPECT_EQ(a.branches[1]->r, 4);
  EXPECT_EQ(a.branches[1]->offset, abi::OffsetRule::Block);
  EXPECT_TRUE(a.branches[1]->by_query);
  EXPECT_EQ(a.branches[1]->head_end, -1);
  EXPECT_EQ(a.branches[2]->w, 64);
  EXPECT_EQ(a.branches[2]->offset, abi::OffsetRule::Constant);
  EXPECT_EQ(a.branches[2]->constant, 3);
  EXPECT_EQ(a.branches[2]->head_begin, 2);
  EXPECT_EQ(a.branches[2]->head_end, 6);
  EXPECT_TRUE(a.causal);
  EXPECT_EQ(a.window_left, 128);
  EXPECT_EQ(a.window_right, -1);
  EXPECT_EQ(a.grid_window->reach, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a.pattern_order->curve, "hilbert");
  EXPECT_EQ(a.block_query, 16);
  EXPECT_EQ(a.block_key, 32);
  EXPECT_EQ(a.scale, 0.5);
  EXPECT_EQ(a.softcap, 30.0);
  EXPECT_EQ(a.mix, abi::Mix::Sum);
  EXPECT_EQ(a.output_scale, 0.25);
  EXPECT_EQ(g.graph->values[a.output]->argument, 9);
  EXPECT_EQ(g.graph->values[a.lse]->argument, 10);
  EXPECT_EQ(g.graph->values[0]->sizes, (std::vector<int64_t>{2, -1, 8, 64}));
}

TEST(GraphWriter, Pages) {
  Graph g(R"mlir(
func.func @f(%q: tensor<3x1x4x16xf32>, %k: tensor<?x8x4x16xf32>,
             %t: tensor<3x?xi32>) -> tensor<3x1x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>,
         tensor<3x?xi32>)
      -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return %o : tensor<3x1x4x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  EXPECT_EQ(g.attention(0).page_table, 2);
  EXPECT_EQ(g.graph->values[2]->dtype, abi::DType::I32);
}

TEST(GraphWriter, KeyBegins) {
  Graph g(R"mlir(
func.func @f(%q: tensor<3x1x4x16xf32>, %k: tensor<3x8x4x16xf32>,
             %b: tensor<3xi32>) -> tensor<3x1x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] key_begins(%b)
      : (tensor<3x1x4x16xf32>, tensor<3x8x4x16xf32>, tensor<3x8x4x16xf32>,
         tensor<3xi32>)
      -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return %o : tensor<3x1x4x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  EXPECT_EQ(g.attention(0).key_begins, 2);
}

TEST(GraphWriter, Scales) {
  Graph g(R"mlir(
func.func @f(%q: tensor<3x1x4x16xf32>, %k: tensor<3x8x4x16xf8E4M3FN>,
             %s: tensor<4xf32>, %t: tensor<3x4xf32>) -> tensor<3x1x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      k_scale(%s) v_scale(%t)
      : (tensor<3x1x4x16xf32>, tensor<3x8x4x16xf8E4M3FN>,
         tensor<3x8x4x16xf8E4M3FN>, tensor<4xf32>, tensor<3x4xf32>)
      -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return %o : tensor<3x1x4x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  EXPECT_EQ(g.graph->values[1]->dtype, abi::DType::F8E4M3FN);
  EXPECT_EQ(g.attention(0).key_scale, 2);
  EXPECT_EQ(g.attention(0).value_scale, 3);
}

TEST(GraphWriter, Precision) {
  Graph g(R"mlir(
func.func @f(%q: tensor<3x1x4x16xf32>) -> tensor<3x1x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      precision = bf16x3
      : (tensor<3x1x4x16xf32>, tensor<3x1x4x16xf32>, tensor<3x1x4x16xf32>)
      -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return %o : tensor<3x1x4x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  EXPECT_EQ(g.attention(0).precision, abi::Precision::BF16x3);
}

TEST(GraphWriter, DefaultsStayDefaults) {
  Graph g(R"mlir(
func.func @f(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
  return %o : tensor<1x8x2x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  EXPECT_FALSE(g.attention(0).scale);
  EXPECT_FALSE(g.attention(0).softcap);
  EXPECT_EQ(g.attention(0).lse, -1);
  EXPECT_EQ(g.attention(0).window_left, -1);
  EXPECT_EQ(g.attention(0).page_table, -1);
  EXPECT_EQ(g.attention(0).key_begins, -1);
  EXPECT_EQ(g.attention(0).key_scale, -1);
  EXPECT_EQ(g.attention(0).precision, abi::Precision::F32);
}

TEST(GraphWriter, ConstantsOrdersAndCopies) {
  Graph g(R"mlir(
#h = #rlayout.layout<order = #rlayout.order<residue<4>>>
func.func @f(%q: tensor<1x8x2x16xf32>, %x: tensor<1x8x2x16xf32, #h>)
    -> (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>,
        tensor<1x8x2x16xf32>) {
  %c = arith.constant dense<5> : tensor<i64>
  %y = ringlet.reorder %x
      : tensor<1x8x2x16xf32, #h> to tensor<1x8x2x16xf32>
  %o, %l = ringlet.attention %q, %y, %y branches [<w = *, r = 1>] q_offset(%c)
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>,
         tensor<i64>) -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
  return %o, %q, %o, %y : tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>,
      tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>
}
)mlir");
  ASSERT_TRUE(g.graph);
  ASSERT_EQ(g.artifact.constants.size(), 1u);
  EXPECT_EQ(g.artifact.constants[0]->data,
            (std::vector<uint8_t>{5, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(g.graph->values[1]->order->curve, "residue");
  EXPECT_EQ(g.graph->values[1]->order->rate, 4);
  std::string nodes;
  for (auto &node : g.graph->nodes)
    nodes += node->op.AsReorder() ? "r" : "a";
  // The reorder and the attention, then copies for results 1 and 2.
  EXPECT_EQ(nodes, "rarr");
  auto *first = g.graph->nodes[2]->op.AsReorder();
  EXPECT_EQ(first->input, 0);
  EXPECT_EQ(g.graph->values[first->output]->argument, 3);
  auto *second = g.graph->nodes[3]->op.AsReorder();
  EXPECT_EQ(second->input, g.attention(1).output);
  EXPECT_EQ(g.graph->values[second->output]->argument, 4);
}

TEST(GraphWriter, WhatItCannotSayIsAbsent) {
  EXPECT_FALSE(Graph("func.func private @f(tensor<i64>)").graph);
}

} // namespace ringlet
