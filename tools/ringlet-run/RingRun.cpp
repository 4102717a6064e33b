//===- RingRun.cpp - Runs an entry on the ranks of a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/RingRun.h"

#include "lib/Plot/RingPlot.h"
#include "lib/Tensor/AtomicFile.h"
#include "ringlet/abi/Format.h"
#include "ringlet/abi/ring/Artifact.h"
#include "ringlet/abi/ring/Balance.h"
#include "tools/ringlet-run/Devices.h"
#include "tools/ringlet-run/Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

using namespace ringlet;
using namespace ringlet::run;

/// Guards what ranks of one process share.
static std::mutex shared;

static bool isOfTorchrun() {
  return std::getenv("RANK") && std::getenv("WORLD_SIZE") &&
         std::getenv("MASTER_ADDR") && std::getenv("MASTER_PORT");
}

RingRun::RingRun(const Options &options, const std::vector<uint8_t> &artefact,
                 const abi::Function &function, uint32_t entry)
    : options(options), artefact(artefact), function(function), entry(entry) {
  for (uint32_t i = 0; function.plans() && i < function.plans()->size(); ++i) {
    const abi::Plan *each = function.plans()->Get(i);
    for (uint32_t k = 0; each->steps() && k < each->steps()->size(); ++k)
      if (const auto *found = each->steps()->Get(k)->action_as_Exchange();
          found && !exchange) {
        exchange = found;
        plan = each;
      }
  }
  ranks = options.ranks;
  if (ranks == 0 && isOfTorchrun()) {
    ranks = std::atoll(std::getenv("WORLD_SIZE"));
    ownRank = std::atoll(std::getenv("RANK"));
  }
}

uint32_t RingRun::argumentOf(uint32_t buffer) const {
  return plan->buffers()->Get(buffer)->index();
}

int64_t RingRun::axisOf(uint32_t argument) const {
  const auto *layout = function.arguments()->Get(argument)->layout();
  std::string text = layout ? layout->str() : "";
  if (text.find("#rlayout.ring<") == std::string::npos &&
      text.find("ring = <") == std::string::npos)
    return -1;
  const std::string word = "axis = ";
  size_t at = text.find(word);
  return at == std::string::npos ? 1
                                 : std::atoll(text.c_str() + at + word.size());
}

const ring::Shards &RingRun::shardsOf(const Plan &of, uint32_t argument) const {
  bool isKey = argument == argumentOf(exchange->key()) ||
               argument == argumentOf(exchange->value());
  return isKey ? of.keys : of.queries;
}

std::string RingRun::readSequences(const std::vector<Tensor> &tensors,
                                   ring::SequenceNumbers &numbers) const {
  if (exchange->offset() >= 0) {
    const auto &terms =
        *function.exprs()->Get(uint32_t(exchange->offset()))->terms();
    const abi::ExprTerm &term = *terms.Get(terms.size() - 1);
    if (terms.size() != 1 ||
        (term.op() != abi::ExprOp::Const && term.op() != abi::ExprOp::Scalar))
      return "expected a q_offset that is a constant or an input";
    numbers.offsets.push_back(
        term.op() == abi::ExprOp::Const
            ? term.value()
            : *static_cast<const int64_t *>(tensors[term.index()].data()));
  }
  for (auto [buffer, list] :
       {std::pair(exchange->query_starts(), &numbers.queries),
        {exchange->key_starts(), &numbers.keys},
        {exchange->query_lengths(), &numbers.queries},
        {exchange->key_lengths(), &numbers.keys},
        {exchange->offsets(), &numbers.offsets}}) {
    if (buffer < 0)
      continue;
    if (plan->buffers()->Get(uint32_t(buffer))->kind() !=
        abi::BufferKind::Argument)
      return "expected starts, lengths and positions of sequences that are "
             "inputs of the entry";
    const Tensor &from = tensors[argumentOf(uint32_t(buffer))];
    auto *data = static_cast<const int64_t *>(from.data());
    list->assign(data, data + from.elements());
  }
  if (exchange->query_starts() >= 0) {
    numbers.kind = ring::SequenceKind::Packed;
  } else if (exchange->query_lengths() >= 0 || exchange->offsets() >= 0) {
    numbers.kind = ring::SequenceKind::Padded;
    numbers.count = tensors[argumentOf(exchange->query())].shape()[0];
  }
  return "";
}

std::optional<RingRun::Plan> RingRun::planOf(const std::vector<Tensor> &tensors,
                                             std::string *error) const {
  for (uint32_t buffer :
       {exchange->query(), exchange->key(), exchange->value()})
    if (plan->buffers()->Get(buffer)->kind() != abi::BufferKind::Argument) {
      *error = "expected queries, keys and values that are arguments of the "
               "entry";
      return std::nullopt;
    }
  if (exchange->ranks() >= 0 && exchange->ranks() != ranks) {
    *error = formatText("expected a ring of {} ranks, found {} (G1)",
                        exchange->ranks(), ranks);
    return std::nullopt;
  }
  const Shape &query = tensors[argumentOf(exchange->query())].shape();
  const Shape &key = tensors[argumentOf(exchange->key())].shape();
  size_t axis = query.size() - 3;
  auto even = [&](int64_t rows) {
    auto kind = static_cast<ring::Sharding>(exchange->sharding());
    return ring::Shards::even(kind, rows, ranks, exchange->block(), error);
  };
  auto queries = even(query[axis]), keys = even(key[axis]);
  if (!queries || !keys)
    return std::nullopt;
  Plan of = {*queries,
             *keys,
             {{ring::attentionOf(*exchange, query[axis + 1], key[axis + 1]),
               *queries, *keys},
              ranks,
              /*slots=*/2}};
  ring::SequenceNumbers numbers;
  *error = readSequences(tensors, numbers);
  if (!error->empty() || !addSequences(numbers, of.schedule.sharded, error) ||
      !validate(of.schedule, error))
    return std::nullopt;
  return of;
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

namespace {

/// Copies between a whole tensor and a rank's rows of it along an axis.
void copyRows(const Tensor &like, char *whole, char *part, int64_t axis,
              const ring::Shards &shards, int64_t rank, bool toPart) {
  const Shape &sizes = like.shape();
  int64_t before = 1, bytes = sizeOf(like.dtype());
  for (int64_t i = 0; i < axis; ++i)
    before *= sizes[i];
  for (size_t i = axis + 1; i < sizes.size(); ++i)
    bytes *= sizes[i];
  for (const ring::Stretch &stretch : shards.of(rank))
    for (int64_t at = 0; at < stretch.rows.count; ++at) {
      int64_t row = stretch.rows.first + at * stretch.rows.stride;
      int64_t local = stretch.local + at * stretch.localStride;
      for (int64_t outer = 0; outer < before; ++outer) {
        char *there = whole + (outer * sizes[axis] + row) * bytes;
        char *here = part + (outer * shards.size(rank) + local) * bytes;
        std::memcpy(toPart ? here : there, toPart ? there : here,
                    size_t(stretch.rows.run * bytes));
      }
    }
}

} // namespace

/// A program of its own, and this rank's parts of the tensors.
struct RingRun::Rank {
  ~Rank() {
    placed.clear();
    rl_program_destroy(program);
    rl_context_destroy(context);
  }
  rl_context *context = nullptr;
  rl_program *program = nullptr;
  std::vector<Tensor> parts;
  std::vector<rl_tensor> bound;
  std::vector<DeviceMemory> placed;
};

uint32_t RingRun::threadsOfRank() const {
  if (isOne())
    return options.threads;
  uint32_t all =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  return std::max<uint32_t>(1, all / uint32_t(ranks));
}

std::string RingRun::deviceOf(int64_t rank, int32_t &device) const {
  device = int32_t(options.device);
  if (isOne() || options.hasDevice)
    return "";
  uint32_t count = 1;
  if (rl_device_count(options.driver.c_str(), &count) != RL_OK)
    return rl_last_error();
  device = int32_t(rank % std::max<uint32_t>(1, count));
  return "";
}

std::string RingRun::start(int64_t rank, Rank &own) const {
  rl_context_options contextOptions = RL_CONTEXT_OPTIONS_INIT;
  contextOptions.threads = threadsOfRank();
  contextOptions.driver = options.driver.c_str();
  if (std::string error = deviceOf(rank, contextOptions.device); !error.empty())
    return error;
  contextOptions.target =
      options.target.empty() ? nullptr : options.target.c_str();
  if (rl_context_create(&contextOptions, &own.context) != RL_OK ||
      rl_program_load(own.context, artefact.data(), artefact.size(),
                      &own.program) != RL_OK)
    return rl_last_error();
  return "";
}

std::string RingRun::place(Rank &own, uint32_t inputCount) const {
  for (uint32_t i = 0; options.driver != "cpu" && i < own.parts.size(); ++i) {
    Tensor &part = own.parts[i];
    // Numbers for the plan stay with the host.
    if (i < inputCount && part.rank() == 0 && part.dtype() == DType::i64)
      continue;
    auto bytes = uint64_t(part.bytes());
    own.placed.emplace_back(own.context, i, std::max<uint64_t>(1, bytes));
    if (!own.placed.back().data() ||
        (bytes > 0 &&
         rl_memory_copy(own.context, own.placed.back().data(), part.data(),
                        bytes, RL_TO_DEVICE) != RL_OK))
      return rl_last_error();
    own.bound[i].data = own.placed.back().data();
  }
  return "";
}

std::string RingRun::fetch(Rank &own, uint32_t inputCount) const {
  for (const DeviceMemory &memory : own.placed) {
    Tensor &part = own.parts[memory.argument()];
    if (memory.argument() >= inputCount && part.bytes() > 0 &&
        rl_memory_copy(own.context, part.data(), memory.data(),
                       uint64_t(part.bytes()), RL_FROM_DEVICE) != RL_OK)
      return rl_last_error();
  }
  return "";
}

std::string RingRun::repeatCall(rl_ring *ring, Rank &own, uint32_t repeat) {
  uint32_t warmup = repeat > 1 ? 1 : 0;
  bool speaks = isOne() ? ownRank == 0 : rl_ring_rank(ring) == 0;
  double start = now();
  for (uint32_t i = 0; i < repeat + warmup; ++i) {
    double begin = now();
    if (rl_ring_run(ring, own.program, entry, own.bound.data(),
                    static_cast<uint32_t>(own.bound.size())) != RL_OK)
      return rl_last_error();
    if (!speaks && !isOne())
      continue;
    if (i >= warmup)
      times.push_back(now() - begin);
    if (speaks && now() - start > 2 && i + 1 < repeat + warmup)
      std::fprintf(stderr, "\rrun %u of %u", i + 1 - warmup, repeat);
  }
  if (speaks && now() - start > 2 && repeat > 1)
    std::fprintf(stderr, "\r%40s\r", "");
  return "";
}

std::string RingRun::runRank(rl_ring *ring, std::vector<Tensor> &tensors,
                             uint32_t inputCount, uint32_t repeat,
                             const Plan &of) {
  int64_t rank = rl_ring_rank(ring);
  Rank own;
  if (std::string error = start(rank, own); !error.empty())
    return error;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    int64_t axis = axisOf(i);
    if (axis < 0) {
      own.parts.push_back(Tensor::copyOf(tensors[i].view()));
      continue;
    }
    const ring::Shards &shards = shardsOf(of, i);
    Shape shape = tensors[i].shape();
    shape[axis] = shards.size(rank);
    own.parts.emplace_back(tensors[i].dtype(), shape);
    copyRows(tensors[i], static_cast<char *>(tensors[i].data()),
             static_cast<char *>(own.parts.back().data()), axis, shards, rank,
             /*toPart=*/true);
  }
  for (Tensor &part : own.parts)
    own.bound.push_back(
        RL_TENSOR_INIT(part.data(), toRuntime(part.dtype()),
                       static_cast<int32_t>(part.shape().size()),
                       part.shape().data(), nullptr));
  std::string error = place(own, inputCount);
  if (error.empty())
    error = repeatCall(ring, own, repeat);
  if (error.empty())
    error = fetch(own, inputCount);
  if (!error.empty())
    return error;
  std::lock_guard<std::mutex> lock(shared);
  transport = rl_ring_transport(ring);
  for (uint32_t i = inputCount; i < tensors.size(); ++i) {
    int64_t axis = axisOf(i);
    if (axis >= 0)
      copyRows(tensors[i], static_cast<char *>(tensors[i].data()),
               static_cast<char *>(own.parts[i].data()), axis, shardsOf(of, i),
               rank, /*toPart=*/false);
    else
      tensors[i] = std::move(own.parts[i]);
  }
  addTrace(ring);
  return "";
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

std::string RingRun::run(std::vector<Tensor> &tensors, uint32_t inputCount,
                         uint32_t repeat) {
  std::string error;
  std::optional<Plan> of = planOf(tensors, &error);
  if (!of)
    return error;
  times.clear();
  events.clear();
  rl_ring_options ringOptions = RL_RING_OPTIONS_INIT;
  if (!options.transport.empty())
    ringOptions.transport = options.transport.c_str();
  if (isOne()) {
    rl_ring *ring = nullptr;
    if (rl_ring_create(&ringOptions, &ring) != RL_OK)
      return rl_last_error();
    error = runRank(ring, tensors, inputCount, repeat, *of);
    rl_ring_destroy(ring);
    return error;
  }
  std::vector<rl_ring *> rings(static_cast<size_t>(ranks), nullptr);
  if (rl_ring_create_local(&ringOptions, static_cast<int32_t>(ranks),
                           rings.data()) != RL_OK)
    return rl_last_error();
  std::vector<std::thread> threads;
  for (rl_ring *ring : rings)
    threads.emplace_back([&, ring] {
      std::string message = runRank(ring, tensors, inputCount, repeat, *of);
      if (message.empty())
        return;
      // The others would wait for this one.
      rl_ring_abort(ring, message.c_str());
      std::lock_guard<std::mutex> lock(shared);
      if (error.empty())
        error = message;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (rl_ring *ring : rings)
    rl_ring_destroy(ring);
  return error;
}

std::vector<std::string>
RingRun::explain(const std::vector<Tensor> &tensors) const {
  std::string error;
  std::optional<Plan> of = planOf(tensors, &error);
  if (!of)
    return {error};
  const ring::Schedule &schedule = of->schedule;
  const Tensor &key = tensors[argumentOf(exchange->key())];
  const Tensor &value = tensors[argumentOf(exchange->value())];
  // Pairs of sequences that differ are counted as those of one.
  bool isOfBatch = exchange->query_lengths() < 0 && exchange->offsets() < 0;
  int64_t batch = isOfBatch && key.shape().size() == 4 ? key.shape()[0] : 1;
  int64_t pair = batch * (key.shape().back() * sizeOf(key.dtype()) +
                          value.shape().back() * sizeOf(value.dtype()));
  const char *kinds[] = {"contiguous", "zigzag", "striped"};
  std::vector<std::string> lines = {
      formatText("{} ranks, {}, {} steps", ranks,
                 kinds[static_cast<int>(exchange->sharding())],
                 countSteps(schedule, ring::Direction::Forward))};
  for (int64_t rank = 0; rank < ranks && rank < 16; ++rank) {
    ring::Traffic traffic = trafficOf(schedule, rank);
    lines.push_back(formatText(
        "rank {}: {} rows of queries, receives {} bytes, room for {}", rank,
        of->queries.size(rank), traffic.direct * pair,
        traffic.buffered * pair));
  }
  ring::Balance balance = balanceOf(schedule);
  lines.push_back(
      formatText("busiest rank {:.1f}% above the mean, {:.1f}% step by step",
                 100 * balance.imbalance(), 100 * balance.imbalanceOfSteps()));
  return lines;
}

std::string RingRun::writePlot(const std::vector<Tensor> &tensors) const {
  if (options.plot.empty() || (isOne() && ownRank > 0))
    return "";
  std::string error;
  std::optional<Plan> of = planOf(tensors, &error);
  if (!of)
    return error;
  if (ranks > plot::kMostRanks)
    return formatText("--plot: expected at most {} ranks, found {}",
                      plot::kMostRanks, ranks);
  std::string text = plot::drawFigure(
      formatText("{} on {} ranks", function.name()->str(), ranks),
      plot::plotRing(of->schedule));
  return writeFileAtomically(options.plot, {{text.data(), text.size()}});
}

//===----------------------------------------------------------------------===//
// The trace
//===----------------------------------------------------------------------===//

/// A process for each rank; a track for computations and for each queue.
void RingRun::addTrace(rl_ring *ring) {
  if (options.trace.empty())
    return;
  std::vector<rl_ring_record> records(128, RL_RING_RECORD_INIT);
  uint32_t count = static_cast<uint32_t>(records.size());
  if (rl_ring_records(ring, records.data(), &count) != RL_OK)
    return;
  int rank = rl_ring_rank(ring);
  events.push_back(formatText(
      R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"rank {0}"}}}})",
      rank));
  const char *names[] = {"compute", "exchange within the host",
                         "exchange between hosts"};
  for (int track = 0; track < 3; ++track)
    events.push_back(
        formatText(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name",)"
                   R"("args":{{"name":"{}"}}}})",
                   rank, track, names[track]));
  for (uint32_t i = 0; i < count; ++i) {
    const rl_ring_record &at = records[i];
    events.push_back(
        formatText(R"({{"ph":"X","pid":{},"tid":{},"name":"step {}",)"
                   R"("ts":{:.3f},"dur":{:.3f},"args":{{"call":{},)"
                   R"("sent":{},"received":{}}}}})",
                   rank, at.queue + 1, at.step, at.begin * 1e6,
                   at.seconds * 1e6, at.call, at.sent, at.received));
  }
}

std::string RingRun::writeTrace() const {
  if (options.trace.empty())
    return "";
  std::string text = "{\"traceEvents\":[\n";
  for (size_t i = 0; i < events.size(); ++i)
    text += events[i] + (i + 1 < events.size() ? ",\n" : "\n");
  text += "]}\n";
  std::string file = options.trace;
  if (isOne())
    file += formatText(".{}", ownRank);
  return writeFileAtomically(file, {{text.data(), text.size()}});
}
