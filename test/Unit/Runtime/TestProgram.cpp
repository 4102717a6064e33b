//===- TestProgram.cpp - Artefacts made in tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "ringlet/abi/Container.h"

#include <gtest/gtest.h>

namespace ringlet::test {

using abi::DType;
using abi::ExprOp;

const std::vector<uint8_t> &kernelCode() {
  static const std::vector<uint8_t> code = [] {
    std::vector<uint8_t> bytes;
    std::string error = abi::readFile(RINGLET_TEST_KERNELS, bytes);
    EXPECT_EQ(error, "");
    return bytes;
  }();
  return code;
}

abi::ExprTerm constant(int64_t value) {
  return abi::ExprTerm(ExprOp::Const, 0, 0, value);
}
abi::ExprTerm dim(uint32_t argument, uint8_t axis) {
  return abi::ExprTerm(ExprOp::Dim, axis, argument, 0);
}
abi::ExprTerm stride(uint32_t argument, uint8_t axis) {
  return abi::ExprTerm(ExprOp::Stride, axis, argument, 0);
}
abi::ExprTerm scalar(uint32_t argument) {
  return abi::ExprTerm(ExprOp::Scalar, 0, argument, 0);
}
abi::ExprTerm ref(uint32_t expr) {
  return abi::ExprTerm(ExprOp::Ref, 0, expr, 0);
}
abi::ExprTerm op(ExprOp op) { return abi::ExprTerm(op, 0, 0, 0); }

abi::LaunchArg buffer(uint32_t index) {
  return abi::LaunchArg(abi::LaunchArgKind::Buffer, index);
}
abi::LaunchArg value(uint32_t expr) {
  return abi::LaunchArg(abi::LaunchArgKind::Expr, expr);
}

abi::OrderT order(const std::string &curve, std::vector<int64_t> grid,
                  int64_t chunk, int64_t rate) {
  abi::OrderT order;
  order.curve = curve;
  order.grid = std::move(grid);
  order.chunk = chunk;
  order.rate = rate;
  return order;
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

Builder::Builder(const std::string &target, const std::vector<uint8_t> &bytes) {
  artifact.compiler = "test 1.0";
  artifact.module_name = "module";
  auto code = std::make_unique<abi::CodeObjectT>();
  code->target = target;
  code->format = abi::CodeFormat::SharedObject;
  code->bytes = bytes;
  artifact.code_objects.push_back(std::move(code));
  auto one = std::make_unique<abi::ConstantT>();
  one->dtype = DType::F32;
  one->sizes = {1};
  one->data = {0, 0, 0x80, 0x3f};
  artifact.constants.push_back(std::move(one));
}

void Builder::function(const std::string &name) {
  auto function = std::make_unique<abi::FunctionT>();
  function->name = name;
  function->plans.push_back(std::make_unique<abi::PlanT>());
  function->plans.back()->code_objects = {0};
  artifact.functions.push_back(std::move(function));
}

uint32_t Builder::argument(const std::string &name, DType dtype,
                           std::vector<int64_t> sizes, bool output,
                           std::vector<uint32_t> sizeExprs) {
  auto argument = std::make_unique<abi::ArgumentT>();
  argument->name = name;
  argument->dtype = dtype;
  argument->sizes = std::move(sizes);
  argument->is_output = output;
  argument->size_exprs = std::move(sizeExprs);
  function().arguments.push_back(std::move(argument));
  return uint32_t(function().arguments.size() - 1);
}

uint32_t Builder::expr(std::initializer_list<abi::ExprTerm> terms,
                       const std::string &name) {
  auto expr = std::make_unique<abi::ExprT>();
  expr->terms = terms;
  expr->name = name;
  function().exprs.push_back(std::move(expr));
  return uint32_t(function().exprs.size() - 1);
}

static uint32_t add(abi::PlanT &plan, std::unique_ptr<abi::BufferT> buffer) {
  plan.buffers.push_back(std::move(buffer));
  return uint32_t(plan.buffers.size() - 1);
}

uint32_t Builder::argumentBuffer(uint32_t argument) {
  auto buffer = std::make_unique<abi::BufferT>();
  buffer->kind = abi::BufferKind::Argument;
  buffer->index = argument;
  return add(plan(), std::move(buffer));
}

uint32_t Builder::constantBuffer(uint32_t constant) {
  auto buffer = std::make_unique<abi::BufferT>();
  buffer->kind = abi::BufferKind::Constant;
  buffer->index = constant;
  return add(plan(), std::move(buffer));
}

uint32_t Builder::workspace(DType dtype, std::vector<uint32_t> sizes) {
  auto buffer = std::make_unique<abi::BufferT>();
  buffer->kind = abi::BufferKind::Workspace;
  buffer->dtype = dtype;
  buffer->sizes = std::move(sizes);
  return add(plan(), std::move(buffer));
}

uint32_t Builder::aligned(uint32_t argument, uint32_t worth, uint32_t first) {
  auto buffer = std::make_unique<abi::BufferT>();
  buffer->kind = abi::BufferKind::Aligned;
  buffer->index = argument;
  buffer->worth = worth;
  buffer->first_step = first;
  return add(plan(), std::move(buffer));
}

uint32_t Builder::orderTable(abi::OrderT order, uint32_t length, bool inverse) {
  auto buffer = std::make_unique<abi::BufferT>();
  buffer->kind = abi::BufferKind::OrderTable;
  buffer->order = std::make_unique<abi::OrderT>(std::move(order));
  buffer->length = length;
  buffer->inverse = inverse;
  return add(plan(), std::move(buffer));
}

abi::StepT &Builder::step() {
  plan().steps.push_back(std::make_unique<abi::StepT>());
  return *plan().steps.back();
}

void Builder::require(abi::Compare compare, uint32_t lhs, uint32_t rhs,
                      const std::string &message, const std::string &rule) {
  abi::RequireT require;
  require.compare = compare;
  require.lhs = lhs;
  require.rhs = rhs;
  require.message = message;
  require.rule = rule;
  step().action.Set(std::move(require));
}

static abi::LaunchT makeLaunch(uint32_t kernel, std::vector<uint32_t> grid,
                               std::vector<abi::LaunchArg> args) {
  abi::LaunchT launch;
  launch.kernel = kernel;
  launch.grid = std::move(grid);
  launch.args = std::move(args);
  return launch;
}

void Builder::launch(uint32_t kernel, std::vector<uint32_t> grid,
                     std::vector<abi::LaunchArg> args) {
  step().action.Set(makeLaunch(kernel, std::move(grid), std::move(args)));
}

void Builder::otherwise(uint32_t kernel, std::vector<uint32_t> grid,
                        std::vector<abi::LaunchArg> args) {
  plan().steps.back()->action.AsLaunch()->otherwise =
      std::make_unique<abi::LaunchT>(
          makeLaunch(kernel, std::move(grid), std::move(args)));
}

void Builder::queue(abi::Queue queue, std::vector<uint32_t> waits) {
  plan().steps.back()->queue = queue;
  plan().steps.back()->waits = std::move(waits);
}

void Builder::copy(uint32_t source, uint32_t destination) {
  abi::CopyT copy;
  copy.source = source;
  copy.destination = destination;
  step().action.Set(std::move(copy));
}

uint32_t Builder::kernel(const std::string &symbol, uint8_t gridRank,
                         uint64_t scratch) {
  auto kernel = std::make_unique<abi::KernelT>();
  kernel->name = symbol;
  kernel->grid_rank = gridRank;
  for (uint32_t object = 0; object < artifact.code_objects.size(); ++object) {
    auto code = std::make_unique<abi::KernelCodeT>();
    code->code_object = object;
    code->symbol = symbol;
    code->scratch_bytes = scratch;
    kernel->code.push_back(std::move(code));
  }
  auto decision = std::make_unique<abi::KeyValueT>();
  decision->key = "made by";
  decision->value = "hand";
  kernel->decisions.push_back(std::move(decision));
  artifact.kernels.push_back(std::move(kernel));
  return uint32_t(artifact.kernels.size() - 1);
}

void Builder::param(DType dtype, std::vector<int64_t> sizes,
                    std::vector<int64_t> strides, bool writes) {
  auto param = std::make_unique<abi::KernelParamT>();
  param->dtype = dtype;
  param->sizes = std::move(sizes);
  param->strides = std::move(strides);
  param->writes = writes;
  artifact.kernels.back()->params.push_back(std::move(param));
}

void Builder::scalarParam() {
  auto param = std::make_unique<abi::KernelParamT>();
  param->kind = abi::ParamKind::Scalar;
  artifact.kernels.back()->params.push_back(std::move(param));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Kernels that multiply with a number and add one of a tensor.
std::pair<uint32_t, uint32_t> addScaleAndShift(Builder &b) {
  uint32_t scale = b.kernel("scale", 1);
  b.param(DType::F32, {-1, -1}, {-1, 1});
  b.param(DType::F32, {-1, -1}, {-1, 1}, true);
  b.scalarParam();
  uint32_t shift = b.kernel("shift", 1);
  b.param(DType::F32, {-1, -1}, {-1, 1});
  b.param(DType::F32, {-1, -1}, {-1, 1}, true);
  b.param(DType::F32, {1}, {1});
  return {scale, shift};
}

void addAffine(Builder &b) {
  auto [scale, shift] = addScaleAndShift(b);

  b.function("affine");
  uint32_t x = b.argument("x", DType::F32, {-1, -1});
  uint32_t s = b.argument("s", DType::I64, {});
  uint32_t y = b.argument("result0", DType::F32, {-1, -1}, true, {0, 1});
  uint32_t rows = b.expr({dim(x, 0)}, "rows");
  uint32_t columns = b.expr({dim(x, 1)}, "columns");
  uint32_t factor = b.expr({scalar(s)}, "s");
  uint32_t one = b.expr({constant(1)});
  uint32_t tiles =
      b.expr({ref(rows), constant(4), op(ExprOp::CeilDiv)}, "tiles");
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  uint32_t scaled = b.workspace(DType::F32, {rows, columns});
  uint32_t c = b.constantBuffer(0);
  b.require(abi::Compare::Le, one, factor, "expected 1 <= s", "B1");
  b.launch(scale, {tiles}, {buffer(in), buffer(scaled), value(factor)});
  b.launch(shift, {tiles}, {buffer(scaled), buffer(out), buffer(c)});
}

void addReorder(Builder &b, const std::string &name, abi::OrderT order,
                bool inverse) {
  uint32_t gather = b.kernel("gather", 1);
  b.param(DType::F32, {-1, -1}, {-1, 1});
  b.param(DType::I64, {-1}, {1});
  b.param(DType::F32, {-1, -1}, {-1, 1}, true);
  b.function(name);
  uint32_t x = b.argument("x", DType::F32, {-1, -1});
  uint32_t y = b.argument("result0", DType::F32, {-1, -1}, true, {0, 1});
  uint32_t rows = b.expr({dim(x, 0)}, "rows");
  b.expr({dim(x, 1)}, "columns");
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  uint32_t table = b.orderTable(std::move(order), rows, inverse);
  b.launch(gather, {rows}, {buffer(in), buffer(table), buffer(out)});
}

void addVisit(Builder &b) {
  uint32_t visit = b.kernel("visit", 3);
  b.param(DType::I64, {-1, -1, -1}, {-1, -1, 1}, true);
  b.function("visit");
  uint32_t y = b.argument("result0", DType::I64, {-1, -1, -1}, true);
  uint32_t i = b.expr({dim(y, 0)}), j = b.expr({dim(y, 1)}),
           k = b.expr({dim(y, 2)});
  uint32_t out = b.argumentBuffer(y);
  b.launch(visit, {i, j, k}, {buffer(out)});
}

void addProbe(Builder &b) {
  uint32_t probe = b.kernel("probe", 1, 1000);
  b.param(DType::I64, {-1}, {1}, true);
  b.function("probe");
  uint32_t y = b.argument("result0", DType::I64, {-1}, true);
  uint32_t n = b.expr({dim(y, 0)});
  uint32_t out = b.argumentBuffer(y);
  b.launch(probe, {n}, {buffer(out)});
}

void addCopy(Builder &b) {
  b.function("copy");
  uint32_t x = b.argument("x", DType::F32, {-1, -1, -1});
  uint32_t y = b.argument("result0", DType::F32, {-1, -1, -1}, true);
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  b.copy(in, out);
}

void addBeside(Builder &b) {
  auto [scale, shift] = addScaleAndShift(b);
  b.function("beside");
  uint32_t x = b.argument("x", DType::F32, {-1, -1});
  uint32_t c = b.argument("c", DType::F32, {1});
  uint32_t s = b.argument("s", DType::I64, {});
  uint32_t y = b.argument("result0", DType::F32, {-1, -1}, true, {0, 1});
  uint32_t rows = b.expr({dim(x, 0)}), columns = b.expr({dim(x, 1)});
  uint32_t factor = b.expr({scalar(s)}), one = b.expr({constant(1)});
  uint32_t tiles = b.expr({ref(rows), constant(4), op(ExprOp::CeilDiv)});
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  uint32_t there = b.argumentBuffer(c);
  uint32_t scaled = b.workspace(DType::F32, {rows, columns});
  uint32_t here = b.workspace(DType::F32, {one});
  b.launch(scale, {tiles}, {buffer(in), buffer(scaled), value(factor)});
  b.copy(there, here);
  b.queue(abi::Queue::Exchange);
  b.launch(shift, {tiles}, {buffer(scaled), buffer(out), buffer(here)});
  b.waitFor({1});
}

void addMapped(Builder &b) {
  uint32_t mark = b.kernel("mark", 1);
  b.param(DType::BF16, {-1, -1, -1}, {-1, -1, 1});
  b.param(DType::F32, {-1}, {1}, true);
  uint32_t plain = b.kernel("plain", 1);
  b.param(DType::BF16, {-1, -1, -1}, {-1, -1, 1});
  b.param(DType::F32, {-1}, {1}, true);
  b.function("mapped");
  uint32_t x = b.argument("x", DType::BF16, {-1, -1, -1});
  uint32_t y = b.argument("result0", DType::F32, {-1}, true, {0});
  uint32_t rows = b.expr({dim(x, 1)}, "rows");
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  uint32_t marks = b.workspace(DType::F32, {rows});
  b.launch(mark, {rows}, {buffer(in), buffer(marks)});
  b.otherwise(plain, {rows}, {buffer(in), buffer(marks)});
  b.copy(marks, out);
}

void addTotal(Builder &b) {
  uint32_t pack = b.kernel("pack", 1);
  b.param(DType::BF16, {-1, -1, -1}, {-1, -1, 1});
  b.param(DType::BF16, {-1, -1, -1}, {-1, -1, 1}, true);
  uint32_t total = b.kernel("total", 1);
  b.param(DType::BF16, {-1, -1, -1}, {-1, -1, 1});
  b.param(DType::F32, {-1}, {1}, true);
  b.function("total");
  uint32_t x = b.argument("x", DType::BF16, {-1, -1, -1});
  uint32_t y = b.argument("result0", DType::F32, {-1}, true, {0});
  uint32_t rows = b.expr({dim(x, 1)}, "rows");
  uint32_t worth = b.expr({ref(rows), constant(8), op(abi::ExprOp::FloorDiv)});
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  uint32_t near = b.aligned(x, worth, 0);
  b.launch(pack, {rows}, {buffer(in), buffer(near)});
  b.launch(total, {rows}, {buffer(near), buffer(out)});
}

std::unique_ptr<abi::TensorMapT> mapOfRows(int64_t rate) {
  auto map = std::make_unique<abi::TensorMapT>();
  map->rows = 1;
  map->columns = 2;
  map->fixed = {0};
  map->rate = rate;
  map->box_rows = 64;
  map->box_columns = 32;
  return map;
}

void addGraph(Builder &b) {
  b.function("graph");
  uint32_t arguments[5] = {
      b.argument("q", DType::BF16, {1, -1, 4, 64}),
      b.argument("k", DType::BF16, {1, -1, 2, 64}),
      b.argument("v", DType::BF16, {1, -1, 2, 64}),
      b.argument("w", DType::I64, {}),
      b.argument("result0", DType::BF16, {1, -1, 4, 64}, true)};
  auto graph = std::make_unique<abi::GraphT>();
  for (uint32_t argument : arguments) {
    auto value = std::make_unique<abi::GraphValueT>();
    value->dtype = b.function().arguments[argument]->dtype;
    value->sizes = b.function().arguments[argument]->sizes;
    value->argument = int32_t(argument);
    graph->values.push_back(std::move(value));
  }
  graph->values[4]->order =
      std::make_unique<abi::OrderT>(order("residue", {}, 0, 4));
  auto linear = std::make_unique<abi::GraphValueT>();
  linear->dtype = DType::BF16;
  linear->sizes = {1, -1, 4, 64};
  graph->values.push_back(std::move(linear));

  abi::AttentionT attention;
  attention.query = 0;
  attention.key = 1;
  attention.value = 2;
  attention.output = 5;
  auto local = std::make_unique<abi::BranchT>();
  local->w = 2048;
  auto sparse = std::make_unique<abi::BranchT>();
  sparse->w_value = 3;
  sparse->r = 4;
  attention.branches.push_back(std::move(local));
  attention.branches.push_back(std::move(sparse));
  abi::ReorderT reorder;
  reorder.input = 5;
  reorder.output = 4;
  graph->nodes.push_back(std::make_unique<abi::NodeT>());
  graph->nodes.back()->op.Set(std::move(attention));
  graph->nodes.push_back(std::make_unique<abi::NodeT>());
  graph->nodes.back()->op.Set(std::move(reorder));
  b.function().graph = std::move(graph);
}

std::vector<uint8_t> payloadOf(const abi::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  abi::FinishArtifactBuffer(builder, abi::Artifact::Pack(builder, &artifact));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<uint8_t> fileOf(const abi::ArtifactT &artifact) {
  std::vector<uint8_t> payload = payloadOf(artifact);
  return abi::makeContainer(payload.data(), payload.size());
}

//===----------------------------------------------------------------------===//
// Handles and tensors
//===----------------------------------------------------------------------===//

ContextPtr makeContext(uint32_t threads, uint64_t memoryLimit) {
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.memory_limit = memoryLimit;
  rl_context *context;
  EXPECT_EQ(rl_context_create(&options, &context), RL_OK) << rl_last_error();
  return ContextPtr(context);
}

ProgramPtr loadProgram(rl_context *context, const abi::ArtifactT &artifact) {
  std::vector<uint8_t> file = fileOf(artifact);
  rl_program *program;
  EXPECT_EQ(rl_program_load(context, file.data(), file.size(), &program), RL_OK)
      << rl_last_error();
  return ProgramPtr(program);
}

uint32_t findEntry(const rl_program *program, const std::string &name) {
  uint32_t entry;
  EXPECT_EQ(rl_program_find_entry(program, name.c_str(), &entry), RL_OK)
      << rl_last_error();
  return entry;
}

TensorArg::TensorArg(void *data, rl_dtype dtype, std::vector<int64_t> sizes,
                     std::vector<int64_t> strides)
    : data(data), dtype(dtype), sizes(std::move(sizes)),
      strides(std::move(strides)) {}

std::vector<rl_tensor> toTensors(const std::vector<TensorArg> &tensors) {
  std::vector<rl_tensor> list;
  for (const TensorArg &tensor : tensors)
    list.push_back(RL_TENSOR_INIT(
        tensor.data, tensor.dtype, int32_t(tensor.sizes.size()),
        tensor.sizes.data(),
        tensor.strides.empty() ? nullptr : tensor.strides.data()));
  return list;
}

rl_status run(const rl_program *program, uint32_t entry,
              const std::vector<TensorArg> &tensors, rl_estimate *estimate) {
  std::vector<rl_tensor> list = toTensors(tensors);
  if (estimate)
    return rl_program_estimate(program, entry, list.data(),
                               uint32_t(list.size()), estimate);
  return rl_program_run(program, entry, list.data(), uint32_t(list.size()));
}

} // namespace ringlet::test
