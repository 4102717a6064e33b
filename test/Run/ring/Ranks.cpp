//===- Ranks.cpp - Ranks of a ring as threads ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Ring.h"

#include "ringlet/Compile.h"

#include <arpa/inet.h>
#include <cstring>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ringlet::ringtest {

Program::~Program() {
  rl_program_destroy(program);
  rl_context_destroy(context);
}

std::string Program::load(const std::string &text) {
  CompileOptions options;
  options.inputName = "graph.mlir";
  rl_device device = RL_DEVICE_INIT;
  if (rl_device_describe("cpu", 0, &device) != RL_OK)
    return rl_last_error();
  options.levels = {device.architecture};
  CompileResult result = compile(text, options);
  if (!result.ok)
    return "compilation failed: " + result.diagnostics;
  rl_context_options ofContext = RL_CONTEXT_OPTIONS_INIT;
  ofContext.threads = 1;
  if (rl_context_create(&ofContext, &context) != RL_OK ||
      rl_program_load(context, result.output.data(), result.output.size(),
                      &program) != RL_OK)
    return rl_last_error();
  return "";
}

/// A port that is free now.
static uint16_t freePort() {
  int ear = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  uint16_t port = 0;
  if (ear >= 0 &&
      bind(ear, reinterpret_cast<sockaddr *>(&address), size) == 0 &&
      getsockname(ear, reinterpret_cast<sockaddr *>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  if (ear >= 0)
    close(ear);
  return port;
}

std::vector<std::string>
onRing(int64_t ranks, const std::string &transport, double waitSeconds,
       const std::function<std::string(rl_ring *)> &body) {
  std::vector<std::string> messages(ranks);
  std::vector<rl_ring *> rings(ranks, nullptr);
  rl_ring_options options = RL_RING_OPTIONS_INIT;
  options.wait_seconds = waitSeconds;
  options.ranks = static_cast<int32_t>(ranks);
  options.secret = "a secret of this test";
  options.port = freePort();
  if (transport == "inprocess" &&
      rl_ring_create_local(&options, options.ranks, rings.data()) != RL_OK)
    return {rl_last_error()};
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      rl_ring_options own = options;
      own.rank = static_cast<int32_t>(rank);
      if (!rings[rank] && rl_ring_create(&own, &rings[rank]) != RL_OK) {
        messages[rank] = rl_last_error();
        return;
      }
      messages[rank] = body(rings[rank]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (rl_ring *ring : rings)
    rl_ring_destroy(ring);
  return messages;
}

namespace {

/// A rank's part of a tensor with `row` bytes a row, and where its rows are.
struct Part {
  std::vector<char> bytes;
  std::vector<int64_t> rows;
};

std::vector<int64_t> rowsByPlace(const ring::Shards &shards, int64_t rank) {
  std::vector<int64_t> rows(shards.size(rank));
  for (const ring::Stretch &stretch : shards.of(rank))
    for (int64_t i = 0; i < stretch.rows.size(); ++i)
      rows[stretch.local + i % stretch.rows.run +
           i / stretch.rows.run * stretch.localStride] = stretch.rows.at(i);
  return rows;
}

/// The rank's rows of `[rows, head, dim]` of each sequence.
std::vector<char> cutRows(const std::vector<const Tensor *> &batch,
                          const std::vector<int64_t> &rows) {
  std::vector<char> result;
  for (const Tensor *tensor : batch) {
    int64_t length = std::max<int64_t>(1, tensor->shape()[0]);
    int64_t bytes = tensor->elements() / length * sizeOf(tensor->dtype());
    const char *data = static_cast<const char *>(tensor->data());
    for (int64_t row : rows)
      result.insert(result.end(), data + row * bytes, data + (row + 1) * bytes);
  }
  result.resize(std::max<size_t>(1, result.size()));
  return result;
}

rl_dtype toRuntime(DType dtype) {
  return dtype == DType::f32 ? RL_F32 : dtype == DType::bf16 ? RL_BF16 : RL_F16;
}

class RankCall {
public:
  RankCall(const Graph &graph, const Problem &problem,
           const std::vector<int64_t> &queries,
           const std::vector<int64_t> &keys)
      : graph(graph), problem(problem), queries(queries), keys(keys) {}

  std::string run(const Program &program, rl_ring *ring) {
    prepare();
    if (rl_ring_run(ring, program.program, 0, tensors.data(),
                    static_cast<uint32_t>(tensors.size())) != RL_OK)
      return rl_last_error();
    return "";
  }

  void gather(Gathered &to) const {
    int64_t heads = graph.attention.queryHeads, dim = graph.valueDim;
    int64_t count = static_cast<int64_t>(queries.size());
    for (size_t b = 0; b < problem.batch.size(); ++b)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t head = 0; head < heads; ++head) {
          for (int64_t d = 0; d < dim; ++d)
            to.output[b].set(
                {queries[i], head, d},
                loadElement(output.data(), graph.dtype,
                            ((int64_t(b) * count + i) * heads + head) * dim +
                                d));
          to.lse[b].set({head, queries[i]},
                        loadElement(lse.data(), DType::f32,
                                    (int64_t(b) * heads + head) * count + i));
        }
  }

private:
  void add(void *data, rl_dtype dtype, Shape sizes) {
    shapes.push_back(std::make_unique<Shape>(std::move(sizes)));
    tensors.push_back(
        RL_TENSOR_INIT(data, dtype, static_cast<int32_t>(shapes.back()->size()),
                       shapes.back()->data(), nullptr));
  }
  Shape shape(int64_t rows, int64_t heads, int64_t dim) const {
    Shape result = {rows, heads, dim};
    if (!graph.packed)
      result.insert(result.begin(), int64_t(problem.batch.size()));
    return result;
  }
  void prepare() {
    std::vector<const Tensor *> q, k, v;
    for (const ring::OracleProblem &one : problem.batch) {
      q.push_back(&one.query);
      k.push_back(&one.key);
      v.push_back(&one.value);
    }
    query = cutRows(q, queries);
    key = cutRows(k, keys);
    value = cutRows(v, keys);
    const ring::Attention &at = graph.attention;
    int64_t n = int64_t(queries.size()), m = int64_t(keys.size());
    rl_dtype dtype = toRuntime(graph.dtype);
    add(query.data(), dtype, shape(n, at.queryHeads, graph.dim));
    add(key.data(), dtype, shape(m, at.keyHeads, graph.dim));
    add(value.data(), dtype, shape(m, at.keyHeads, graph.valueDim));
    offset = problem.offset;
    if (graph.hasOffset)
      add(&offset, RL_I64, {});
    const ring::OracleProblem &first = problem.batch.front();
    if (graph.packed)
      for (const Tensor *starts : {&first.cuQ, &first.cuK})
        add(const_cast<void *>(static_cast<const void *>(starts->data())),
            RL_I64, starts->shape());
    if (graph.hasSink)
      add(const_cast<void *>(static_cast<const void *>(problem.sink.data())),
          RL_F32, {at.queryHeads});
    size_t rows = problem.batch.size() * queries.size() * size_t(at.queryHeads);
    output.resize(1 + rows * size_t(graph.valueDim * sizeOf(graph.dtype)));
    lse.resize(1 + rows * 4);
    add(output.data(), dtype, shape(n, at.queryHeads, graph.valueDim));
    Shape ofLse = {at.queryHeads, n};
    if (!graph.packed)
      ofLse.insert(ofLse.begin(), int64_t(problem.batch.size()));
    add(lse.data(), RL_F32, ofLse);
  }

  const Graph &graph;
  const Problem &problem;
  const std::vector<int64_t> &queries, &keys;
  std::vector<char> query, key, value, output, lse;
  int64_t offset = 0;
  std::vector<std::unique_ptr<Shape>> shapes;
  std::vector<rl_tensor> tensors;
};

} // namespace

std::string runRing(const Program &program, const Graph &graph,
                    const Problem &problem, const ring::Shards &queries,
                    const ring::Shards &keys, const std::string &transport,
                    Gathered &gathered) {
  int64_t heads = graph.attention.queryHeads;
  for (size_t i = 0; i < problem.batch.size(); ++i) {
    gathered.output.emplace_back(graph.dtype,
                                 Shape{problem.queries, heads, graph.valueDim});
    gathered.lse.emplace_back(DType::f32, Shape{heads, problem.queries});
  }
  std::mutex mutex;
  std::vector<std::string> messages =
      onRing(queries.ranks(), transport, 20, [&](rl_ring *ring) -> std::string {
        int64_t rank = rl_ring_rank(ring);
        std::vector<int64_t> own = rowsByPlace(queries, rank);
        std::vector<int64_t> ownKeys = rowsByPlace(keys, rank);
        RankCall call(graph, problem, own, ownKeys);
        std::string message = call.run(program, ring);
        std::lock_guard<std::mutex> lock(mutex);
        if (message.empty())
          call.gather(gathered);
        return message;
      });
  for (size_t rank = 0; rank < messages.size(); ++rank)
    if (!messages[rank].empty())
      return "rank " + std::to_string(rank) + " says: " + messages[rank];
  return "";
}

} // namespace ringlet::ringtest
