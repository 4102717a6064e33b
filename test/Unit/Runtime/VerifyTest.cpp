//===- VerifyTest.cpp - The verifier against malformed artefacts ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "ringlet/abi/Container.h"
#include "ringlet/abi/Limits.h"
#include "ringlet/abi/Verify.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace ringlet::test {

using abi::DType;
using abi::ExprOp;

static std::string verify(const std::vector<uint8_t> &payload) {
  const abi::Artifact *artifact;
  std::string error =
      abi::verifyArtifact(payload.data(), payload.size(), artifact);
  EXPECT_EQ(artifact == nullptr, !error.empty());
  return error;
}

/// Everything that an artefact can contain, in functions 0 to 6.
static void fillAll(Builder &b) {
  addAffine(b);
  addReorder(b, "reorder", order("residue", {}, 8, 4));
  addCopy(b);
  addGraph(b);
  addMapped(b);
  addTotal(b);
  addBeside(b);
  // The code is for a CPU, but nobody runs it.
  auto gpu = std::make_unique<abi::CodeObjectT>();
  gpu->target = "sm_90a";
  gpu->format = abi::CodeFormat::Cubin;
  gpu->bytes = {1, 2, 3};
  b.artifact.code_objects.push_back(std::move(gpu));
  b.artifact.functions[4]->plans[0]->code_objects = {1};
  b.artifact.kernels[4]->code[0]->code_object = 1;
  abi::KernelT &kernel = *b.artifact.kernels[3];
  kernel.code[0]->code_object = 1;
  kernel.code[0]->blocks_per_multiprocessor = 2;
  for (int64_t rate : {1, 4})
    kernel.code[0]->maps.push_back(mapOfRows(rate));
}

TEST(Verify, AcceptsAll) {
  Builder b;
  fillAll(b);
  EXPECT_EQ(verify(payloadOf(b.artifact)), "");
}

namespace {

struct Malformed {
  const char *name;
  const char *message;
  std::function<void(abi::ArtifactT &)> spoil;
};

abi::FunctionT &affine(abi::ArtifactT &a) { return *a.functions[0]; }
abi::PlanT &plan(abi::ArtifactT &a) { return *affine(a).plans[0]; }
abi::LaunchT &launch(abi::ArtifactT &a) {
  return *plan(a).steps[1]->action.AsLaunch();
}
abi::KernelCodeT &mapped(abi::ArtifactT &a) { return *a.kernels[3]->code[0]; }
abi::TensorMapT &map(abi::ArtifactT &a) { return *mapped(a).maps[1]; }
abi::LaunchT &mappedLaunch(abi::ArtifactT &a) {
  return *a.functions[4]->plans[0]->steps[0]->action.AsLaunch();
}
abi::PlanT &totalPlan(abi::ArtifactT &a) { return *a.functions[5]->plans[0]; }
abi::PlanT &besidePlan(abi::ArtifactT &a) { return *a.functions[6]->plans[0]; }
abi::LaunchT &packing(abi::ArtifactT &a) {
  return *totalPlan(a).steps[0]->action.AsLaunch();
}
abi::GraphT &graph(abi::ArtifactT &a) { return *a.functions[3]->graph; }
abi::AttentionT &attention(abi::ArtifactT &a) {
  return *graph(a).nodes[0]->op.AsAttention();
}

const Malformed malformed[] = {
    // Code, constants, kernels.
    {"CodeFormat", "format from 1 to 3, found 9",
     [](auto &a) { a.code_objects[0]->format = abi::CodeFormat(9); }},
    {"NoCode", "expected code, found none",
     [](auto &a) { a.code_objects[0]->bytes.clear(); }},
    {"TargetName", "printable target, found the character 7",
     [](auto &a) { a.code_objects[0]->target = "x\a"; }},
    {"TargetText", "expected a target in UTF-8",
     [](auto &a) { a.code_objects[0]->target = "x\xff"; }},
    {"ConstantBytes", "expected 8 bytes of data, found 4",
     [](auto &a) { a.constants[0]->sizes = {2}; }},
    {"ConstantOverflow", "overflows 64 bits",
     [](auto &a) { a.constants[0]->sizes = {INT64_MAX, INT64_MAX}; }},
    {"ConstantType", "element type from 1 to 11, found 77",
     [](auto &a) { a.constants[0]->dtype = DType(77); }},
    {"ParamStrides", "one stride for each of 2 sizes, found 1",
     [](auto &a) { a.kernels[0]->params[0]->strides = {1}; }},
    {"ParamKind", "kind 0 or 1, found 5",
     [](auto &a) { a.kernels[0]->params[0]->kind = abi::ParamKind(5); }},
    {"ParamRank", "at most 8 axes, found 9",
     [](auto &a) { a.kernels[0]->params[0]->sizes.assign(9, 1); }},
    {"GridRank", "at most 4 grid dimensions, found 5",
     [](auto &a) { a.kernels[0]->grid_rank = 5; }},
    {"Scratch", "bytes of scratch, found",
     [](auto &a) { a.kernels[0]->code[0]->scratch_bytes = UINT64_MAX; }},
    {"KernelCode", "a code object below 2, found 4",
     [](auto &a) { a.kernels[0]->code[0]->code_object = 4; }},
    // Tensor maps.
    {"MapsOnCpu", "in code for a CPU, found 2 and 0",
     [](auto &a) {
       mapped(a).blocks_per_multiprocessor = 0;
       a.code_objects[1]->format = abi::CodeFormat::SharedObject;
     }},
    {"BlocksOnCpu", "in code for a CPU, found 0 and 1",
     [](auto &a) { a.kernels[0]->code[0]->blocks_per_multiprocessor = 1; }},
    {"ManyBlocks", "at most 32 blocks a multiprocessor, found 33",
     [](auto &a) { mapped(a).blocks_per_multiprocessor = 33; }},
    {"CountedItems", "blocks a multiprocessor where items are counted",
     [](auto &a) {
       mapped(a).blocks_per_multiprocessor = 0;
       mapped(a).counts_items = true;
     }},
    {"ManyMaps", "at most 16 tensor maps, found 17",
     [](auto &a) {
       while (mapped(a).maps.size() < 17)
         mapped(a).maps.push_back(mapOfRows());
     }},
    {"MapParam", "tensor map 1: expected a parameter below 2, found 2",
     [](auto &a) { map(a).param = 2; }},
    {"MapType", "1 to be a buffer of 16-bit elements or f32, found i64",
     [](auto &a) {
       map(a).param = 1;
       a.kernels[3]->params[1]->dtype = abi::DType::I64;
     }},
    {"MapScalar", "1 to be a buffer of 16-bit elements or f32, found a sc",
     [](auto &a) {
       map(a).param = 1;
       a.kernels[3]->params[1]->kind = abi::ParamKind::Scalar;
     }},
    {"MapRate", "a rate of at least 1, found 0",
     [](auto &a) { map(a).rate = 0; }},
    {"MapAxis", "an axis of the buffer below 3, found 3",
     [](auto &a) { map(a).fixed = {3}; }},
    {"MapAxisTwice", "axis 1 comes twice", [](auto &a) { map(a).fixed = {1}; }},
    {"MapRank", "at most 2 fixed axes, found 3",
     [](auto &a) { map(a).fixed = {0, 3, 4}; }},
    {"MapColumns", "stride 1 on axis 0, the columns, found -1",
     [](auto &a) {
       map(a).columns = 0;
       map(a).fixed = {2};
     }},
    {"MapNoRows", "columns, a multiple of 8, found 0 rows of 32",
     [](auto &a) { map(a).box_rows = 0; }},
    {"MapManyRows", "found 257 rows of 32",
     [](auto &a) { map(a).box_rows = 257; }},
    {"MapManyColumns", "found 64 rows of 72",
     [](auto &a) { map(a).box_columns = 72; }},
    {"MapOddColumns", "found 64 rows of 12",
     [](auto &a) { map(a).box_columns = 12; }},
    {"MapResidues", "residues of 0 to 2, found 3",
     [](auto &a) { map(a).residues = abi::Residues(3); }},
    {"MapResiduesOfRateOne",
     "tensor map 0: expected all residues at rate 1, "
     "found 2",
     [](auto &a) { mapped(a).maps[0]->residues = abi::Residues::Longer; }},
    {"OtherwiseKernel", "step 0, otherwise: expected a kernel below 9, found 9",
     [](auto &a) { mappedLaunch(a).otherwise->kernel = 9; }},
    {"OtherwiseArguments", "otherwise: kernel 'plain' expects 2 arguments, found",
     [](auto &a) { mappedLaunch(a).otherwise->args.pop_back(); }},
    {"OtherwiseWritesInput", "neither an output nor a workspace",
     [](auto &a) { a.kernels[4]->params[0]->writes = true; }},
    {"OtherwiseMaps", "expected a kernel without tensor maps, found 'plain'",
     [](auto &a) { a.kernels[4]->code[0]->maps.push_back(mapOfRows()); }},
    {"OtherwiseTwice", "expected a launch without another choice, found one",
     [](auto &a) {
       mappedLaunch(a).otherwise->otherwise =
           std::make_unique<abi::LaunchT>(*mappedLaunch(a).otherwise);
     }},
    // Queues.
    {"Queue", "a queue from 0 to 1, found 2",
     [](auto &a) { besidePlan(a).steps[1]->queue = abi::Queue(2); }},
    {"QueueOfRequire", "on no queue that waits for nothing, found queue 1 and 0",
     [](auto &a) { plan(a).steps[0]->queue = abi::Queue::Exchange; }},
    {"WaitOfRequire", "waits for nothing, found queue 0 and 1 waits",
     [](auto &a) { plan(a).steps[0]->waits = {1}; }},
    {"WaitForItself", "an earlier step to wait for below 2, found 2",
     [](auto &a) { besidePlan(a).steps[2]->waits = {2}; }},
    {"WaitForLater", "an earlier step to wait for below 1, found 2",
     [](auto &a) { besidePlan(a).steps[1]->waits = {2}; }},
    {"WaitForRequire", "to wait for a launch or a copy, found step 0",
     [](auto &a) { plan(a).steps[2]->waits = {0}; }},
    {"ReadBesideWrite", "step 2: uses buffer 4 beside step 1 of another queue",
     [](auto &a) { besidePlan(a).steps[2]->waits.clear(); }},
    {"WriteBesideWrite", "step 1: uses buffer 3 beside step 0 of another queue",
     [](auto &a) {
       besidePlan(a).buffers[2]->index = 0;
       besidePlan(a).steps[1]->action.AsCopy()->destination = 3;
     }},
    {"WriteBesideRead", "step 2: uses buffer 5 beside step 1 of another queue",
     [](auto &a) {
       // The output is read by the copy, through another buffer.
       besidePlan(a).buffers.push_back(
           std::make_unique<abi::BufferT>(*besidePlan(a).buffers[1]));
       abi::CopyT &copy = *besidePlan(a).steps[1]->action.AsCopy();
       copy.source = 1;
       copy.destination = 3;
       besidePlan(a).steps[1]->waits = {0};
       besidePlan(a).steps[2]->waits.clear();
       abi::LaunchT &last = *besidePlan(a).steps[2]->action.AsLaunch();
       last.args[0] = buffer(0);
       last.args[1] = buffer(5);
       last.args[2] = buffer(2);
     }},
    {"AlignedOnExchange", "a launch of the queue compute as step 0",
     [](auto &a) { totalPlan(a).steps[0]->queue = abi::Queue::Exchange; }},
    {"AlignedUsedBeside", "step 1: uses buffer 2 beside step 0 of another queue",
     [](auto &a) { totalPlan(a).steps[1]->queue = abi::Queue::Exchange; }},
    // Arguments.
    {"InputAfterOutput", "an input after an output",
     [](auto &a) { affine(a).arguments[0]->is_output = true; }},
    {"ArgumentTwice", "a second argument named 'x'",
     [](auto &a) { affine(a).arguments[1]->name = "x"; }},
    {"ArgumentSize", "size of at least -1 on axis 1, found -2",
     [](auto &a) { affine(a).arguments[0]->sizes[1] = -2; }},
    {"FunctionTwice", "a second function named 'copy'",
     [](auto &a) { a.functions[3]->name = "copy"; }},
    {"SizeExprOfInput", "size expressions on an output only",
     [](auto &a) { affine(a).arguments[0]->size_exprs = {0, 1}; }},
    {"SizeExprOfMachine", "size of axis 1 depends on",
     [](auto &a) { affine(a).exprs[1]->terms = {op(ExprOp::Ranks)}; }},
    {"SizeExprOfOutput", "size of axis 1 depends on an output",
     [](auto &a) { affine(a).exprs[1]->terms = {dim(2, 1)}; }},
    // Expressions.
    {"ExprEmpty", "expected one value at the end, found 0",
     [](auto &a) { affine(a).exprs[0]->terms.clear(); }},
    {"ExprTwoValues", "expected one value at the end, found 2",
     [](auto &a) { affine(a).exprs[0]->terms.push_back(constant(1)); }},
    {"ExprUnderflow", "an operator finds 1 operands, expected 2",
     [](auto &a) { affine(a).exprs[0]->terms.push_back(op(ExprOp::Add)); }},
    {"ExprStack", "stack of at most 16 values",
     [](auto &a) { affine(a).exprs[0]->terms.assign(17, constant(1)); }},
    {"ExprLength", "at most 64 terms, found 65",
     [](auto &a) { affine(a).exprs[0]->terms.assign(65, constant(1)); }},
    {"ExprOp", "operation from 0 to 15, found 16",
     [](auto &a) { affine(a).exprs[0]->terms = {op(ExprOp(16))}; }},
    {"ExprForwardRef", "an earlier expression below 0, found 0",
     [](auto &a) { affine(a).exprs[0]->terms = {ref(0)}; }},
    {"ExprArgument", "an argument below 3, found 3",
     [](auto &a) { affine(a).exprs[0]->terms = {dim(3, 0)}; }},
    {"ExprAxis", "an axis below 2, found 2",
     [](auto &a) { affine(a).exprs[0]->terms = {stride(0, 2)}; }},
    {"ExprScalar", "rank-0 i64 input to read, found 'x'",
     [](auto &a) { affine(a).exprs[0]->terms = {scalar(0)}; }},
    // Buffers and steps.
    {"BufferKind", "kind from 0 to 6, found 8",
     [](auto &a) { plan(a).buffers[0]->kind = abi::BufferKind(8); }},
    {"BufferArgument", "an argument below 3, found 9",
     [](auto &a) { plan(a).buffers[0]->index = 9; }},
    {"BufferConstant", "a constant below 1, found 1",
     [](auto &a) { plan(a).buffers[3]->index = 1; }},
    {"WorkspaceExpr", "an expression below 5, found 50",
     [](auto &a) { plan(a).buffers[2]->sizes[0] = 50; }},
    {"AlignedArgument", "an argument below 2, found 2",
     [](auto &a) { totalPlan(a).buffers[2]->index = 2; }},
    {"AlignedOutput", "an input of 1 axis or more to align, found 'result0'",
     [](auto &a) { totalPlan(a).buffers[2]->index = 1; }},
    {"AlignedWorth", "an expression below 2, found 9",
     [](auto &a) { totalPlan(a).buffers[2]->worth = 9; }},
    {"AlignedFirst", "is used at step 0, but made by step 1",
     [](auto &a) { totalPlan(a).buffers[2]->first_step = 1; }},
    {"AlignedStep", "a first step below 2, found 2",
     [](auto &a) { totalPlan(a).buffers[2]->first_step = 2; }},
    {"AlignedWithoutLaunch", "compute as step 2, which makes the copy",
     [](auto &a) {
       abi::CopyT copy;
       copy.destination = 1;
       totalPlan(a).steps.push_back(std::make_unique<abi::StepT>());
       totalPlan(a).steps[2]->action.Set(copy);
       totalPlan(a).buffers[2]->first_step = 2;
     }},
    {"AlignedOther", "copies input 0 to buffer 3 and does nothing else",
     [](auto &a) {
       totalPlan(a).buffers.push_back(
           std::make_unique<abi::BufferT>(*totalPlan(a).buffers[2]));
       packing(a).args[0] = buffer(3);
     }},
    {"AlignedOnlyRead", "copies input 0 to buffer 2 and does nothing else",
     [](auto &a) { a.kernels[5]->params[1]->writes = false; }},
    {"AlignedWrittenLater", "neither an output nor a workspace",
     [](auto &a) { a.kernels[6]->params[0]->writes = true; }},
    {"OrderMissing", "expected an order, found none",
     [](auto &a) { a.functions[1]->plans[0]->buffers[2]->order.reset(); }},
    {"OrderFill", "found 90",
     [](auto &a) { a.functions[1]->plans[0]->buffers[2]->fill = 90; }},
    {"OrderFillKernel",
     "expected a kernel that writes one i64 [?] to fill the table, found",
     [](auto &a) { a.functions[1]->plans[0]->buffers[2]->fill = 0; }},
    {"OrdinalOrder", "expected an order, found none",
     [](auto &a) {
       abi::BufferT &table = *a.functions[1]->plans[0]->buffers[2];
       table.kind = abi::BufferKind::OrdinalTable;
       table.order.reset();
     }},
    {"OrdinalFirst", "an expression below 2, found 70",
     [](auto &a) {
       abi::BufferT &table = *a.functions[1]->plans[0]->buffers[2];
       table.kind = abi::BufferKind::OrdinalTable;
       table.first = 70;
     }},
    {"TileIndexMissing", "expected a tile index, found none",
     [](auto &a) {
       a.functions[1]->plans[0]->buffers[2]->kind = abi::BufferKind::TileIndex;
     }},
    {"TileIndexSize", "an expression below 2, found 70",
     [](auto &a) {
       abi::BufferT &table = *a.functions[1]->plans[0]->buffers[2];
       table.kind = abi::BufferKind::TileIndex;
       table.tiles = std::make_unique<abi::TileIndexT>();
       table.tiles->first_segment = 70;
     }},
    {"OrderChunk", "of at least 0, found -1 and 4",
     [](auto &a) { a.functions[1]->plans[0]->buffers[2]->order->chunk = -1; }},
    {"StepEmpty", "action from 1 to 5, found 0",
     [](auto &a) { plan(a).steps[0]->action.Reset(); }},
    {"LaunchKernel", "a kernel below 9, found 9",
     [](auto &a) { launch(a).kernel = 9; }},
    {"LaunchGrid", "expects a grid of rank 1, found 2",
     [](auto &a) { launch(a).grid = {0, 0}; }},
    {"LaunchCount", "expects 3 arguments, found 2",
     [](auto &a) { launch(a).args.pop_back(); }},
    {"LaunchKind", "expects a scalar, found kind 0",
     [](auto &a) { launch(a).args[2] = buffer(0); }},
    {"LaunchType", "expects f32 of rank 2, found i64 of rank 0",
     [](auto &a) { plan(a).buffers[0]->index = 1; }},
    {"LaunchSize", "expects size 3 on axis 0, found 1",
     [](auto &a) { a.kernels[1]->params[2]->sizes = {3}; }},
    {"LaunchNoCode", "'scale' has no code in code object 0",
     [](auto &a) { a.kernels[0]->code.clear(); }},
    {"LaunchWritesInput", "neither an output nor a workspace",
     [](auto &a) { launch(a).args[1] = buffer(0); }},
    {"RequireCompare", "comparison from 0 to 3, found 4",
     [](auto &a) {
       plan(a).steps[0]->action.AsRequire()->compare = abi::Compare(4);
     }},
    {"CopyToInput", "neither an output nor a workspace",
     [](auto &a) {
       auto *copy = a.functions[2]->plans[0]->steps[0]->action.AsCopy();
       std::swap(copy->source, copy->destination);
     }},
    {"CopyToItself", "copies buffer 1 to itself",
     [](auto &a) {
       a.functions[2]->plans[0]->steps[0]->action.AsCopy()->source = 1;
     }},
    {"PlanTwice", "a second plan for code object 0",
     [](auto &a) { plan(a).code_objects = {0, 0}; }},
    {"PlanNothing", "expected a code object, found none",
     [](auto &a) { plan(a).code_objects.clear(); }},
    // Graphs.
    {"GraphType", "has another type than argument 'k'",
     [](auto &a) { graph(a).values[1]->dtype = DType::F16; }},
    {"GraphArgument", "an argument below 5, found",
     [](auto &a) { graph(a).values[1]->argument = -7; }},
    {"GraphCycle", "value 5, which nothing before it defines",
     [](auto &a) { std::swap(graph(a).nodes[0], graph(a).nodes[1]); }},
    {"GraphTwice", "value 5, which is defined before",
     [](auto &a) { graph(a).nodes[1]->op.AsReorder()->output = 5; }},
    {"GraphInput", "is defined before",
     [](auto &a) { attention(a).output = 0; }},
    {"GraphUndefined", "is defined by nothing",
     [](auto &a) { graph(a).nodes.pop_back(); }},
    {"GraphOperand", "expected a key, found none",
     [](auto &a) { attention(a).key = -1; }},
    {"GraphRank", "of rank 4, found 0",
     [](auto &a) { attention(a).value = 3; }},
    {"GraphScalar", "expected w of rank 0, i64",
     [](auto &a) { attention(a).branches[1]->w_value = 0; }},
    {"B1Rate", "expected r <= w, found r 4096 and w 2048 (B1)",
     [](auto &a) { attention(a).branches[0]->r = 4096; }},
    {"B1Zero", "expected r of at least 1, found 0 (B1)",
     [](auto &a) { attention(a).branches[1]->r = 0; }},
    {"B2Rule", "offset rule from 0 to 2, found 3 (B2)",
     [](auto &a) { attention(a).branches[0]->offset = abi::OffsetRule(3); }},
    {"B3Heads", "a range of heads, found [2, 2) (B3)",
     [](auto &a) {
       attention(a).branches[0]->head_begin = 2;
       attention(a).branches[0]->head_end = 2;
     }},
    {"B4Window", "at least -1, found [-2, -1] (B4)",
     [](auto &a) { attention(a).window_left = -2; }},
    {"NoBranch", "expected a branch, found none",
     [](auto &a) { attention(a).branches.clear(); }},
    {"S2Lengths", "lengths, or starts, of queries and keys both (S2)",
     [](auto &a) { attention(a).query_lengths = 3; }},
    {"S5KeyBegins", "no key_begins beside query_starts and key_starts (S5)",
     [](auto &a) {
       auto &node = attention(a);
       node.query_starts = node.key_starts = node.key_begins = node.query;
     }},
    {"S6Scales", "expected scales of rank 1 or 2, f32, beside keys of 8 bits",
     [](auto &a) { attention(a).key_scale = attention(a).query; }},
};

class VerifyMalformed : public testing::TestWithParam<Malformed> {};

} // namespace

TEST_P(VerifyMalformed, IsRefused) {
  Builder b;
  fillAll(b);
  GetParam().spoil(b.artifact);
  std::string error = verify(payloadOf(b.artifact));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyMalformed, testing::ValuesIn(malformed),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(Verify, RefusesOtherBytes) {
  EXPECT_NE(verify({}), "");
  EXPECT_NE(verify(std::vector<uint8_t>(100, 0)), "");
  EXPECT_NE(verify(std::vector<uint8_t>(100, 255)), "");
}

// The digest keeps accidents out; what remains is the verifier's alone. Here
// every file has a good digest over a spoilt payload. Whatever still verifies
// must load, introspect and estimate without harm; the sanitizer builds see to
// it that "without harm" is meant.
TEST(Verify, SurvivesRandomDamage) {
  Builder b;
  // Small bytes of code: loading it fails, which is an ordinary failure.
  b.artifact.code_objects[0]->bytes.assign(64, 1);
  fillAll(b);
  std::vector<uint8_t> good = payloadOf(b.artifact);
  ASSERT_EQ(verify(good), "");
  ContextPtr context = makeContext(1);
  std::mt19937 random(20260);
  int accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    std::vector<uint8_t> payload = good;
    int changes = 1 + int(random() % 4);
    for (int i = 0; i < changes; ++i) {
      static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
      uint8_t &byte = payload[random() % payload.size()];
      byte = random() % 2 ? edges[random() % 5] : uint8_t(random());
    }
    std::vector<uint8_t> file =
        abi::makeContainer(payload.data(), payload.size());
    rl_program *program;
    rl_status status =
        rl_program_load(nullptr, file.data(), file.size(), &program);
    ASSERT_TRUE(status == RL_OK || status == RL_BAD_ARTIFACT);
    if (status != RL_OK)
      continue;
    ++accepted;
    for (uint32_t e = 0; e < rl_program_entry_count(program); ++e) {
      (void)std::string(rl_program_explain(program, e));
      for (uint32_t i = 0; i < rl_program_argument_count(program, e); ++i) {
        rl_argument argument = RL_ARGUMENT_INIT;
        ASSERT_EQ(rl_program_argument(program, e, i, &argument), RL_OK);
        ASSERT_LE(argument.rank, RL_MAX_RANK);
      }
    }
    rl_program_destroy(program);
    status = rl_program_load(context.get(), file.data(), file.size(), &program);
    ASSERT_NE(status, RL_OK); // The code is none.
  }
  // Most damage hits data or padding; if nothing is accepted, or everything,
  // the test has lost its object.
  EXPECT_GT(accepted, 500);
  EXPECT_LT(accepted, 9500);
}

// Damage outside of the code: what loads must estimate without harm.
TEST(Verify, EstimatesSurviveRandomDamage) {
  Builder b;
  addAffine(b);
  addReorder(b, "reorder", order("hilbert", {4, 4}));
  std::vector<uint8_t> good = payloadOf(b.artifact);
  auto code = std::search(good.begin(), good.end(), kernelCode().begin(),
                          kernelCode().end());
  ASSERT_NE(code, good.end());
  size_t first = size_t(code - good.begin()),
         last = first + kernelCode().size();
  ContextPtr context = makeContext(1);
  std::mt19937 random(20261);
  float data[64] = {};
  int64_t scale = 3;
  int estimated = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> payload = good;
    size_t at = random() % (payload.size() - (last - first));
    payload[at < first ? at : at + (last - first)] = uint8_t(random());
    std::vector<uint8_t> file =
        abi::makeContainer(payload.data(), payload.size());
    rl_program *raw;
    if (rl_program_load(context.get(), file.data(), file.size(), &raw) != RL_OK)
      continue;
    ProgramPtr program(raw);
    for (uint32_t e = 0; e < rl_program_entry_count(raw); ++e) {
      rl_estimate estimate = RL_ESTIMATE_INIT;
      TensorArg x(data, RL_F32, {16, 4}), s(&scale, RL_I64, {});
      std::vector<TensorArg> list = {x, s, x};
      if (rl_program_argument_count(raw, e) == 2)
        list = {x, x};
      estimated += test::run(raw, e, list, &estimate) == RL_OK;
    }
  }
  EXPECT_GT(estimated, 500);
}

TEST(Verify, LimitsExpressions) {
  Builder b;
  b.function("many");
  for (uint32_t i = 0; i <= abi::kMaxExprs; ++i)
    b.expr({constant(1)});
  EXPECT_NE(verify(payloadOf(b.artifact)).find("at most 65536 expressions"),
            std::string::npos);
}

// A file of some kilobytes can point to one table from many places. The count
// of visits is bounded, and with it the time.
TEST(Verify, LimitsSharedTables) {
  flatbuffers::FlatBufferBuilder builder;
  auto key = builder.CreateString("k");
  auto pair = abi::CreateKeyValue(builder, key, key);
  auto pairs = builder.CreateVector(
      std::vector<flatbuffers::Offset<abi::KeyValue>>(256, pair));
  auto name = builder.CreateString("kernel");
  auto kernel = abi::CreateKernel(builder, name, 0, 0, 0, pairs);
  auto kernels = builder.CreateVector(
      std::vector<flatbuffers::Offset<abi::Kernel>>(4096, kernel));
  abi::FinishArtifactBuffer(
      builder, abi::CreateArtifact(builder, name, name, 0, kernels));
  EXPECT_LT(builder.GetSize(), 20000u);
  EXPECT_NE(verify({builder.GetBufferPointer(),
                    builder.GetBufferPointer() + builder.GetSize()}),
            "");
}

} // namespace ringlet::test
