//===- Ranks.cpp - Ranks of a ring as threads ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Ring.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ringlet::ringtest {

Program::~Program() {
  rl_program_destroy(program);
  rl_context_destroy(context);
}

std::string compileGraph(const Setup &setup, const std::string &name,
                         const std::string &text) {
  std::string file = setup.folder + "/" + name;
  if (access((file + ".rla").c_str(), R_OK) == 0)
    return "";
  std::ofstream(file + ".mlir") << text;
  rl_device device = RL_DEVICE_INIT;
  if (!setup.onGpu() && rl_device_describe("cpu", 0, &device) != RL_OK)
    return rl_last_error();
  std::string target =
      setup.onGpu() ? setup.target : std::string("cpu:") + device.architecture;
  std::string command = setup.compiler + " " + file +
                        ".mlir --target=" + target + " -o " + file + ".rla > " +
                        file + ".log 2>&1";
  if (std::system(command.c_str()) == 0)
    return "";
  std::stringstream log;
  log << std::ifstream(file + ".log").rdbuf();
  return "compilation failed: " + log.str();
}

std::string Program::load(const Setup &setup, const std::string &name,
                          int64_t rank) {
  std::ifstream in(setup.folder + "/" + name + ".rla", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  rl_context_options ofContext = RL_CONTEXT_OPTIONS_INIT;
  ofContext.threads = 1;
  if (setup.onGpu()) {
    ofContext.driver = "cuda";
    ofContext.device = static_cast<int32_t>(rank % setup.devices);
  }
  rl_program_destroy(std::exchange(program, nullptr));
  if ((!context && rl_context_create(&ofContext, &context) != RL_OK) ||
      rl_program_load(context, bytes.data(), bytes.size(), &program) != RL_OK)
    return rl_last_error();
  return "";
}

/// A port that is free now.
uint16_t freePort() {
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
  rl_ring_id id;
  if (transport != "inprocess") {
    if (rl_ring_make_id(nullptr, &id) != RL_OK)
      return {rl_last_error()};
    options.id = &id;
  } else if (rl_ring_create_local(&options, options.ranks, rings.data()) !=
             RL_OK) {
    return {rl_last_error()};
  }
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

/// The rank's rows of `[rows, head, dim]` of each sequence, with `gap` rows of
/// NaN behind them.
std::vector<char> cutRows(const std::vector<const Tensor *> &batch,
                          const std::vector<int64_t> &rows, int64_t gap = 0) {
  std::vector<char> result;
  for (const Tensor *tensor : batch) {
    int64_t length = std::max<int64_t>(1, tensor->shape()[0]);
    int64_t bytes = tensor->elements() / length * sizeOf(tensor->dtype());
    const char *data = static_cast<const char *>(tensor->data());
    for (int64_t row : rows)
      result.insert(result.end(), data + row * bytes, data + (row + 1) * bytes);
    result.insert(result.end(), size_t(gap * bytes), '\xff');
  }
  result.resize(std::max<size_t>(1, result.size()));
  return result;
}

rl_dtype toRuntime(DType dtype) {
  return dtype == DType::f32 ? RL_F32 : dtype == DType::bf16 ? RL_BF16 : RL_F16;
}

class RankCall {
public:
  RankCall(const Item &item, int64_t rank)
      : graph(*item.graph), problem(item.problem),
        queries(rowsByPlace(item.queries, rank)),
        keys(rowsByPlace(item.keys, rank)), offsets(item.problem.offsets),
        queryLengths(item.problem.queryLengths),
        keyLengths(item.problem.keyLengths) {}

  std::string run(const Program &program, rl_ring *ring, bool onGpu) {
    prepare();
    std::vector<void *> onHost;
    std::string message = onGpu ? place(program.context, onHost) : "";
    if (message.empty() &&
        rl_ring_run(ring, program.program, 0, tensors.data(),
                    static_cast<uint32_t>(tensors.size())) != RL_OK)
      message = rl_last_error();
    for (size_t i = 0; i < onHost.size(); ++i) {
      if (onHost[i] && i + 2 >= tensors.size() && message.empty() &&
          rl_memory_copy(program.context, onHost[i], tensors[i].data,
                         bytesOf(i), RL_FROM_DEVICE) != RL_OK)
        message = rl_last_error();
      if (onHost[i])
        rl_memory_release(program.context, tensors[i].data);
    }
    return message;
  }

  /// Bytes of the results, one behind the other.
  size_t resultBytes() const {
    size_t rows = problem.batch.size() * queries.size() *
                  size_t(graph.attention.queryHeads);
    return rows * size_t(graph.valueDim * sizeOf(graph.dtype)) + rows * 4;
  }
  void write(char *to) const {
    std::memcpy(to, output.data(), output.size() - 1);
    std::memcpy(to + output.size() - 1, lse.data(), lse.size() - 1);
  }
  void read(const char *from) {
    size_t ofLse = problem.batch.size() * queries.size() *
                   size_t(graph.attention.queryHeads) * 4;
    output.assign(from, from + resultBytes() - ofLse);
    lse.assign(from + output.size(), from + resultBytes());
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
  uint64_t bytesOf(size_t i) const {
    uint64_t bytes = tensors[i].dtype == RL_I64   ? 8
                     : tensors[i].dtype == RL_F32 ? 4
                                                  : 2;
    const Shape &sizes = *shapes[i];
    for (int64_t size : sizes)
      bytes *= uint64_t(size);
    // With what lies between sequences.
    if (bytes > 0 && tensors[i].strides)
      bytes = bytes / uint64_t(sizes[1]) * uint64_t(sizes[1] + problem.gap);
    return bytes;
  }
  /// Moves tensors to the device; where they were, or null.
  std::string place(rl_context *context, std::vector<void *> &onHost) {
    onHost.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      // Numbers for the plan stay with the host.
      if (tensors[i].rank == 0)
        continue;
      void *there = nullptr;
      if (rl_memory_allocate(context, bytesOf(i) + 1, &there) != RL_OK)
        return rl_last_error();
      onHost[i] = std::exchange(tensors[i].data, there);
      if (bytesOf(i) > 0 && rl_memory_copy(context, there, onHost[i],
                                           bytesOf(i), RL_TO_DEVICE) != RL_OK)
        return rl_last_error();
    }
    return "";
  }
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
    const int64_t gap = graph.packed ? 0 : problem.gap;
    key = cutRows(k, keys, gap);
    value = cutRows(v, keys, gap);
    const ring::Attention &at = graph.attention;
    int64_t n = int64_t(queries.size()), m = int64_t(keys.size());
    rl_dtype dtype = toRuntime(graph.dtype);
    add(query.data(), dtype, shape(n, at.queryHeads, graph.dim));
    for (auto [data, dim] :
         {std::pair(key.data(), graph.dim), {value.data(), graph.valueDim}}) {
      add(data, dtype, shape(m, at.keyHeads, dim));
      if (gap > 0) {
        int64_t row = at.keyHeads * dim;
        strides.push_back(
            std::make_unique<Shape>(Shape{(m + gap) * row, row, dim, 1}));
        tensors.back().strides = strides.back()->data();
      }
    }
    auto addList = [&](std::vector<int64_t> &list, bool isScalar = false) {
      add(list.data(), RL_I64,
          isScalar ? Shape() : Shape{int64_t(list.size())});
    };
    if (graph.hasOffset)
      addList(offsets, !graph.hasOffsets);
    if (graph.padded) {
      addList(queryLengths);
      addList(keyLengths);
    }
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
  const std::vector<int64_t> queries, keys;
  std::vector<char> query, key, value, output, lse;
  std::vector<int64_t> offsets, queryLengths, keyLengths;
  std::vector<std::unique_ptr<Shape>> shapes, strides;
  std::vector<rl_tensor> tensors;
};

Gathered roomFor(const Item &item) {
  Gathered room;
  int64_t heads = item.graph->attention.queryHeads;
  for (size_t i = 0; i < item.problem.batch.size(); ++i) {
    room.output.emplace_back(
        item.graph->dtype,
        Shape{item.problem.queries, heads, item.graph->valueDim});
    room.lse.emplace_back(DType::f32, Shape{heads, item.problem.queries});
  }
  return room;
}

std::string runThreads(const Setup &setup, const Item &item,
                       Gathered &gathered) {
  std::mutex mutex;
  std::vector<std::string> messages =
      onRing(item.queries.ranks(), item.transport, 20,
             [&](rl_ring *ring) -> std::string {
               Program program;
               int64_t rank = rl_ring_rank(ring);
               RankCall call(item, rank);
               std::string message = program.load(setup, item.name, rank);
               if (message.empty())
                 message = call.run(program, ring, setup.onGpu());
               if (!message.empty())
                 rl_ring_abort(ring, message.c_str());
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

/// What ranks that are processes write for the one that has started them: of
/// each item and rank a message, then results.
class Shared {
public:
  static constexpr size_t messageBytes = 1024;

  Shared(const std::vector<Item> &items, int64_t ranks) {
    for (const Item &item : items)
      for (int64_t rank = 0; rank < ranks; ++rank) {
        places.push_back(bytes);
        bytes += messageBytes + RankCall(item, rank).resultBytes();
      }
    memory =
        static_cast<char *>(mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    // Until a rank has written it.
    for (size_t place : places)
      std::strcpy(memory + place, "ended early");
  }
  ~Shared() { munmap(memory, bytes + 1); }

  char *message(size_t index) const { return memory + places[index]; }
  char *results(size_t index) const { return message(index) + messageBytes; }

private:
  size_t bytes = 0;
  std::vector<size_t> places;
  char *memory = nullptr;
};

/// One rank in a process of its own: all items over one ring.
void runRank(const Setup &setup, const std::vector<Item> &items, int64_t rank,
             int64_t ranks, uint16_t port, const Shared &shared) {
  if (ranks > setup.devices && setup.transport == "nccl") {
    // NCCL takes two ranks on one GPU for a mistake unless they are on two
    // hosts.
    setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  }
  rl_ring_options options = RL_RING_OPTIONS_INIT;
  options.rank = static_cast<int32_t>(rank);
  options.ranks = static_cast<int32_t>(ranks);
  options.secret = "a secret of this test";
  options.port = port;
  options.transport = setup.transport.c_str();
  rl_ring *ring = nullptr;
  std::string message;
  if (rl_ring_create(&options, &ring) != RL_OK)
    message = rl_last_error();
  Program program;
  for (size_t i = 0; i < items.size() && message.empty(); ++i) {
    RankCall call(items[i], rank);
    std::string of = program.load(setup, items[i].name, rank);
    if (of.empty())
      of = call.run(program, ring, setup.onGpu());
    size_t index = i * size_t(ranks) + size_t(rank);
    if (of.empty())
      call.write(shared.results(index));
    if (of.empty() && ranks > 1 && setup.transport != rl_ring_transport(ring))
      of = "expected " + setup.transport + ", found " + rl_ring_transport(ring);
    std::snprintf(shared.message(index), Shared::messageBytes, "%s",
                  of.c_str());
    if (rl_ring_status(ring) != RL_OK)
      break;
  }
  if (!message.empty())
    for (size_t i = 0; i < items.size(); ++i)
      std::snprintf(shared.message(i * size_t(ranks) + size_t(rank)),
                    Shared::messageBytes, "%s", message.c_str());
  rl_ring_destroy(ring);
}

std::vector<std::string> runProcesses(const Setup &setup,
                                      const std::vector<Item> &items,
                                      std::vector<Gathered> &gathered) {
  int64_t ranks = items.front().queries.ranks();
  Shared shared(items, ranks);
  uint16_t port = freePort();
  std::vector<pid_t> processes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    pid_t process = fork();
    if (process == 0) {
      runRank(setup, items, rank, ranks, port, shared);
      std::fflush(nullptr);
      _exit(0);
    }
    processes.push_back(process);
  }
  for (pid_t process : processes)
    waitpid(process, nullptr, 0);
  std::vector<std::string> messages(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      size_t index = i * size_t(ranks) + size_t(rank);
      if (*shared.message(index) && messages[i].empty())
        messages[i] =
            "rank " + std::to_string(rank) + " says: " + shared.message(index);
      RankCall call(items[i], rank);
      call.read(shared.results(index));
      call.gather(gathered[i]);
    }
  return messages;
}

} // namespace

std::vector<std::string> runItems(const Setup &setup,
                                  const std::vector<Item> &items,
                                  std::vector<Gathered> &gathered) {
  for (const Item &item : items)
    gathered.push_back(roomFor(item));
  if (setup.transport == "nccl" || setup.transport == "p2p")
    return runProcesses(setup, items, gathered);
  std::vector<std::string> messages;
  for (size_t i = 0; i < items.size(); ++i)
    messages.push_back(runThreads(setup, items[i], gathered[i]));
  return messages;
}

} // namespace ringlet::ringtest
