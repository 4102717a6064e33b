//===- RingSteps.cpp - Steps of a run on a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingSteps.h"

#include "Call.h"
#include "PieceQueues.h"

#include "abi/Lists.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Format.h"
#include "ringlet/abi/Verify.h"
#include "ringlet/abi/ring/Artifact.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ringlet::rt {

using abi::sizeOf;
using ringlet::ring::Attention;
using ringlet::ring::Piece;
using ringlet::ring::Schedule;
using ringlet::ring::SequenceKind;
using ringlet::ring::SequenceNumbers;
using ringlet::ring::ShardedAttention;
using ringlet::ring::Shards;

/// How often a plan is called for a piece: once for all sequences of a batch,
/// or for each.
static int64_t callsOf(const Piece &piece, int64_t batch) {
  return piece.whole ? 1 : batch;
}

RingShape::RingShape(Schedule given, int64_t rank, std::vector<size_t> rowBytes,
                     int64_t batch, const ringlet::ring::Queues &queues,
                     bool mayEnd)
    : schedule(std::move(given)), keys(schedule, rank, std::move(rowBytes)) {
  const Attention &attention = schedule.sharded.attention;
  std::vector<std::vector<ringlet::ring::Part>> layouts;
  for (int64_t step = 0; step < keys.steps(); ++step)
    layouts.push_back(keys.layout(step));
  of = {schedule, rank, layouts, mayEnd};
  for (const std::vector<Piece> &pieces : of.pieces) {
    turns.emplace_back(queues, attention.queryHeads / attention.keyHeads);
    for (const Piece &piece : pieces)
      for (int64_t i = 0; i < callsOf(piece, batch); ++i)
        turns.back().add(piece, i);
  }
}

std::shared_ptr<const RingShape>
RingShapeCache::find(const std::vector<int64_t> &key) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[known, shape] : items)
    if (known == key)
      return shape;
  return nullptr;
}

void RingShapeCache::insert(std::vector<int64_t> key,
                            std::shared_ptr<const RingShape> shape) {
  std::shared_ptr<const RingShape> last; // Freed after the lock.
  std::lock_guard<std::mutex> lock(mutex);
  if (items.size() == most) {
    last = std::move(items.front().second);
    items.erase(items.begin());
  }
  items.emplace_back(std::move(key), std::move(shape));
}

RingSteps::~RingSteps() {
  // Others wait for what an exchange that was left would have sent.
  bool left = std::any_of(open.begin(), open.end(), [](const auto &item) {
    return item.second.stream != nullptr;
  });
  if (left && ring && !ring->failure())
    ring->fail(0, "a call ended before its exchange did");
}

//===----------------------------------------------------------------------===//
// Before the first message
//===----------------------------------------------------------------------===//

/// What ranks compare of their lists of sequences.
static std::string digestOf(const SequenceNumbers &sequences) {
  std::vector<int64_t> words = sequences.offsets;
  for (const std::vector<int64_t> *list : {&sequences.queries, &sequences.keys})
    words.insert(words.end(), list->begin(), list->end());
  std::string digest;
  for (uint8_t byte : abi::sha256(words.data(), words.size() * sizeof words[0]))
    digest += formatText("{:02x}", byte);
  return digest;
}

Status RingSteps::gatherRows(const Exchange &exchange, uint32_t number,
                             const Tensors &tensors,
                             std::optional<int64_t> offset,
                             const SequenceNumbers &sequences,
                             std::vector<int64_t> &rows) {
  const abi::Exchange &step = *exchange.step;
  const TensorView &key = tensors[step.key()];
  rows = {tensors[step.query()].sizes[exchange.axis], key.sizes[exchange.axis]};
  if (!ring)
    return {};
  RL_TRY(ring->begin(
      {{"artefact", program.digest()},
       {"entry", entry.function->name()->str()},
       {"exchange", text(number)},
       {"sequences of the batch", text(exchange.axis ? key.sizes[0] : 1)},
       {"q_offset", offset ? text(*offset) : "none"}},
      program.context->driver->usesHostMemory() ? nullptr : program.context));
  std::vector<std::string> all;
  const std::string digest = digestOf(sequences);
  RL_TRY(ring->gather(text(rows[0], " ", rows[1], " ", digest), all));
  rows.clear();
  for (const std::string &words : all) {
    char *end = nullptr;
    rows.push_back(std::strtoll(words.c_str(), &end, 10));
    rows.push_back(std::strtoll(end, &end, 10));
    if (rows.back() < 0 || rows[rows.size() - 2] < 0)
      return invalid("expected numbers of rows, found '", words, "'");
  }
  // Where lists differ, every rank says so of the same one.
  auto listsOf = [&](size_t rank) {
    return all[rank].substr(std::min(all[rank].size(), all[rank].rfind(' ')));
  };
  for (size_t i = 1; i < all.size(); ++i)
    if (listsOf(i) != listsOf(0))
      return invalid("rank ", i,
                     ": expected the starts, lengths and positions "
                     "of sequences of rank 0, found others (G3)");
  return {};
}

Status RingSteps::shard(const abi::Exchange &step, const char *what,
                        int64_t known, const std::vector<int64_t> &rows,
                        std::optional<Shards> &shards) const {
  int64_t total = 0;
  for (int64_t count : rows)
    total += count;
  if (known >= 0 && total != known)
    return invalid("expected ", known, " rows of ", what,
                   " on all ranks together, found ", total, " (G1)");
  std::string error;
  shards = ringlet::ring::shardsOf(step, rows, &error);
  return shards ? Status() : invalid(what, ": ", error);
}

Status RingSteps::readList(const TensorView &list,
                           std::vector<int64_t> &numbers) const {
  const auto count = size_t(list.sizes[0]);
  const int64_t stride = list.strides[0];
  numbers.resize(count ? (count - 1) * size_t(stride) + 1 : 0);
  if (count)
    RL_TRY(program.context->driver->transfer(numbers.data(), list.data,
                                             numbers.size() * sizeof(int64_t),
                                             Transfer::FromDevice));
  for (size_t i = 0; i < count; ++i)
    numbers[i] = numbers[i * size_t(stride)];
  numbers.resize(count);
  return {};
}

Status RingSteps::readSequences(const abi::Exchange &step,
                                const Tensors &tensors,
                                std::optional<int64_t> offset,
                                SequenceNumbers &numbers) const {
  if (offset)
    numbers.offsets = {*offset};
  for (auto [buffer, list] : {std::pair(step.query_starts(), &numbers.queries),
                              {step.key_starts(), &numbers.keys},
                              {step.query_lengths(), &numbers.queries},
                              {step.key_lengths(), &numbers.keys},
                              {step.offsets(), &numbers.offsets}})
    if (buffer >= 0)
      RL_TRY(readList(tensors[uint32_t(buffer)], *list));
  if (step.query_starts() >= 0) {
    numbers.kind = SequenceKind::Packed;
  } else if (step.query_lengths() >= 0 || step.offsets() >= 0) {
    numbers.kind = SequenceKind::Padded;
    numbers.count = tensors[step.query()].sizes[0];
  }
  return {};
}

ringlet::ring::Queues RingSteps::queues() const {
  // A kernel behind one that leaves multiprocessors to messages would take
  // them.
  return ring && ring->multiprocessors() > 0
             ? ringlet::ring::Queues()
             : PieceQueues::of(*program.context->driver);
}

Status RingSteps::plan(Exchange &exchange, uint32_t number,
                       const Tensors &tensors, std::optional<int64_t> offset) {
  exchange.step = entry.plan->steps()->Get(number)->action_as_Exchange();
  const abi::Exchange &step = *exchange.step;
  const TensorView &query = tensors[step.query()], &key = tensors[step.key()];
  exchange.axis = key.rank - 3;
  SequenceNumbers sequences;
  RL_TRY(readSequences(step, tensors, offset, sequences));
  exchange.isOfBatch = sequences.kind != SequenceKind::Padded;
  exchange.batch = exchange.axis && exchange.isOfBatch ? key.sizes[0] : 1;
  const TensorView &value = tensors[step.value()];
  if (step.ranks() >= 0 && step.ranks() != ranks())
    return invalid("expected a ring of ", step.ranks(), " ranks, found ",
                   ranks(), " (G1)");
  std::vector<int64_t> rows;
  RL_TRY(gatherRows(exchange, number, tensors, offset, sequences, rows));
  std::vector<int64_t> ofQueries, ofKeys;
  for (size_t i = 0; i < rows.size(); i += 2) {
    ofQueries.push_back(rows[i]);
    ofKeys.push_back(rows[i + 1]);
  }
  std::optional<Shards> queries, keys;
  RL_TRY(shard(step, "queries", step.query_rows(), ofQueries, queries));
  RL_TRY(shard(step, "keys", step.key_rows(), ofKeys, keys));
  uint32_t heads = exchange.axis + 1;
  ShardedAttention sharded = {
      ringlet::ring::attentionOf(step, query.sizes[heads], key.sizes[heads]),
      *queries, *keys};
  std::string error;
  if (!addSequences(sequences, sharded, &error))
    return invalid(error);

  std::vector<int64_t> cacheKey = {int64_t(number), rank(),
                                   ranks(),         exchange.batch,
                                   sharded.axes,    queues().count};
  cacheKey.insert(cacheKey.end(), rows.begin(), rows.end());
  for (const ringlet::ring::Sequence &at : sharded.attention.sequences)
    for (int64_t word : {at.query, at.queries, at.key, at.keys, at.offset})
      cacheKey.push_back(word);
  exchange.shape = entry.ringShapes->find(cacheKey);
  if (exchange.shape)
    return {};
  Schedule schedule = {std::move(sharded), ranks(), /*slots=*/2};
  if (!validate(schedule, &error))
    return invalid(error);
  bool mayEnd = false;
  for (const abi::Step *each : *entry.plan->steps())
    if (const auto *attend = each->action_as_Attend();
        attend && attend->exchange() == number)
      mayEnd = attend->output() >= 0;
  std::vector<size_t> rowBytes;
  for (const TensorView *tensor : {&key, &value})
    for (int64_t i = 0; i < exchange.batch; ++i)
      rowBytes.push_back(size_t(tensor->sizes[heads + 1]) *
                         abi::dtypeSize(tensor->dtype));
  exchange.shape = std::make_shared<const RingShape>(
      std::move(schedule), rank(), rowBytes, exchange.batch, queues(), mayEnd);
  entry.ringShapes->insert(std::move(cacheKey), exchange.shape);
  return {};
}

Status RingSteps::exchange(uint32_t number, const Tensors &tensors,
                           std::optional<int64_t> offset, Stream stream) {
  Exchange exchange;
  RL_TRY(plan(exchange, number, tensors, offset));
  if (ring) {
    if (const std::shared_ptr<ring::Device> &device = ring->device())
      RL_TRY(ring::DeviceKeys::create(*device, stream, exchange.memory));
    else
      exchange.memory = std::make_unique<ring::HostKeys>(program.context.get());
    exchange.stream = std::make_unique<ring::KeyStream>(
        exchange.shape->keys, *ring, *exchange.memory,
        ownKeys(exchange, tensors));
  }
  open[number] = std::move(exchange);
  return {};
}

Status RingSteps::estimate(uint32_t number, const Tensors &tensors,
                           std::optional<int64_t> offset, uint64_t &bytes) {
  Exchange exchange;
  RL_TRY(plan(exchange, number, tensors, offset));
  const ring::KeyPlan &keys = exchange.shape->keys;
  // Kernels of one queue use memory after each other.
  std::vector<uint64_t> ofQueues(size_t(queues().count), 0);
  for (const abi::Step *step : *entry.plan->steps()) {
    const auto *attend = step->action_as_Attend();
    if (!attend || attend->exchange() != number)
      continue;
    // Chunks lie as they will, but nowhere.
    ring::Chunk chunk;
    chunk.tensors.resize(2 * size_t(exchange.batch));
    for (int64_t t = 0; t < keys.steps(); ++t) {
      chunk.pairs = ringlet::ring::pairsOf(keys.layout(t));
      size_t number = 0;
      RL_TRY(forEachCall(
          exchange, stateOf(*attend, exchange, tensors), t,
          tensors[exchange.step->key()], tensors[exchange.step->value()],
          t > 0 ? &chunk : nullptr, [&](Call &call) {
            auto queue = size_t(exchange.shape->turns[t][number++].queue);
            ofQueues[queue] = std::max(ofQueues[queue], call.runBytes());
            return Status();
          }));
    }
  }
  bytes = std::accumulate(ofQueues.begin(), ofQueues.end(), uint64_t(0));
  if (ring)
    bytes += keys.bufferBytes() + keys.packedBytes(ownKeys(exchange, tensors));
  return {};
}

/// K, then V, of each sequence of the batch.
std::vector<ring::KeyRows> RingSteps::ownKeys(const Exchange &exchange,
                                              const Tensors &tensors) const {
  std::vector<ring::KeyRows> own;
  for (uint32_t buffer : {exchange.step->key(), exchange.step->value()}) {
    const TensorView &tensor = tensors[buffer];
    auto bytes = ptrdiff_t(abi::dtypeSize(tensor.dtype));
    const int64_t *sizes = tensor.sizes, *strides = tensor.strides;
    // In a tensor without gaps, one axis goes on where the other one ends.
    bool goesOn = exchange.isOfBatch || strides[0] == sizes[1] * strides[1];
    for (int64_t i = 0; i < exchange.batch; ++i)
      own.push_back(
          {tensor.data + (exchange.axis ? i * tensor.strides[0] * bytes : 0),
           tensor.strides[exchange.axis] * bytes,
           tensor.strides[exchange.axis + 1] * bytes,
           size_t(tensor.sizes[exchange.axis + 2] * bytes),
           goesOn ? 0 : sizes[1], goesOn ? 0 : strides[0] * bytes});
  }
  return own;
}

//===----------------------------------------------------------------------===//
// Chunk by chunk
//===----------------------------------------------------------------------===//

/// That it has the rows and heads of the queries, and the values' dimensions.
Status RingSteps::checkState(const State &state, const TensorView &value,
                             uint32_t axis) {
  bool good = true;
  for (uint32_t i = 0; i < axis; ++i)
    for (const TensorView *each :
         {&state.accumulator, &state.maximum, &state.sum})
      good &= each->sizes[i] == state.query.sizes[i];
  for (uint32_t i = 0; i < 2; ++i) {
    int64_t size = state.query.sizes[axis + i];
    good &= state.accumulator.sizes[axis + i] == size &&
            state.maximum.sizes[axis + 1 - i] == size &&
            state.sum.sizes[axis + 1 - i] == size;
  }
  good &= state.accumulator.sizes[axis + 2] == value.sizes[axis + 2];
  auto isAlike = [](const std::optional<TensorView> &one,
                    const TensorView &other) {
    return !one || std::equal(one->sizes, one->sizes + one->rank, other.sizes);
  };
  good &= isAlike(state.output, state.accumulator) &&
          isAlike(state.lse, state.maximum);
  return good ? Status()
              : Status(RL_BAD_ARTIFACT, "expected a state as large as queries");
}

RingSteps::State RingSteps::stateOf(const abi::Attend &step,
                                    const Exchange &exchange,
                                    const Tensors &tensors) {
  State state = {tensors[exchange.step->query()], tensors[step.accumulator()],
                 tensors[step.maximum()], tensors[step.sum()]};
  if (step.output() >= 0)
    state.output = tensors[uint32_t(step.output())];
  if (step.lse() >= 0)
    state.lse = tensors[uint32_t(step.lse())];
  return state;
}

Status RingSteps::compute(const Exchange &exchange, const State &state,
                          const Tensors &tensors, int64_t step,
                          const ring::Chunk *chunk, Stream stream) {
  const RingShape &shape = *exchange.shape;
  uint32_t spared =
      ring && shape.keys.hasMessages(step) ? ring->multiprocessors() : 0;
  PieceQueues queues(*program.context->driver, stream, shape.turns[step]);
  RL_TRY(queues.open());
  RL_TRY(forEachCall(exchange, state, step, tensors[exchange.step->key()],
                     tensors[exchange.step->value()], chunk, [&](Call &call) {
                       call.spare(spared);
                       Stream queue = stream;
                       RL_TRY(queues.enter(queue));
                       RL_TRY(call.execute(queue));
                       return queues.leave();
                     }));
  return queues.join();
}

Status RingSteps::attend(const abi::Attend &step, const Tensors &tensors,
                         Stream stream) {
  Exchange &exchange = open.at(step.exchange());
  const State state = stateOf(step, exchange, tensors);
  RL_TRY(checkState(state, tensors[exchange.step->value()], exchange.axis));
  for (int64_t t = 0; t < exchange.shape->keys.steps(); ++t) {
    std::optional<ring::Chunk> chunk;
    Status status =
        exchange.stream ? exchange.stream->step(t, chunk) : Status();
    if (status.ok() && t > 0 && !chunk)
      continue;
    if (status.ok()) {
      ring::Deadline begin = ring::Clock::now();
      status = compute(exchange, state, tensors, t, chunk ? &*chunk : nullptr,
                       stream);
      if (ring)
        ring->computed(t, begin);
    }
    if (!status.ok()) {
      if (ring)
        ring->fail(t, status.message());
      return status;
    }
  }
  Status status = exchange.stream ? exchange.stream->finish() : Status();
  exchange.stream.reset();
  exchange.memory.reset();
  return status;
}

/// A tensor of a call: the sizes and strides of four axes, from an element on.
static TensorView part(const TensorView &of, char *data, int64_t first,
                       std::initializer_list<int64_t> sizes,
                       std::initializer_list<int64_t> strides) {
  TensorView result;
  result.dtype = of.dtype;
  result.rank = 4;
  result.data = data + first * int64_t(abi::dtypeSize(of.dtype));
  std::copy(sizes.begin(), sizes.end(), result.sizes);
  std::copy(strides.begin(), strides.end(), result.strides);
  return result;
}

namespace {

/// Tensors of `[.., sequence, head, dim]` cut to the pieces of a branch.
class Cutter {
public:
  Cutter(const Piece &piece, uint32_t axis, int64_t batch, int64_t group)
      : piece(piece), axis(axis), batch(batch), group(group) {}

  /// Queries, and what lies as they do.
  TensorView queries(const TensorView &of, int64_t call) const {
    const int64_t *stride = of.strides + axis;
    int64_t dim = of.sizes[axis + 2], rows = piece.queries.count;
    int64_t first = piece.queries.first * stride[0];
    int64_t step = piece.queries.step * stride[0];
    first += call * ofBatch(of);
    if (piece.whole)
      return part(of, of.data, first, {batch, rows, of.sizes[axis + 1], dim},
                  {ofBatch(of), step, stride[1], 1});
    int64_t heads = piece.grouped ? group : 1;
    return part(of, of.data, first + piece.heads.first * heads * stride[1],
                {piece.heads.count, rows, heads, dim},
                {piece.heads.step * heads * stride[1], step, stride[1], 1});
  }

  /// Numbers of rows, `[.., head, sequence]`.
  TensorView rows(const TensorView &of, int64_t call) const {
    const int64_t *stride = of.strides + axis;
    int64_t first = piece.queries.first * stride[1];
    int64_t step = piece.queries.step * stride[1];
    int64_t count = piece.queries.count;
    first += call * ofBatch(of);
    if (piece.whole)
      return part(of, of.data, first, {batch, of.sizes[axis], count, 1},
                  {ofBatch(of), stride[0], step, 1});
    int64_t heads = piece.grouped ? group : 1;
    return part(of, of.data, first + piece.heads.first * heads * stride[0],
                {piece.heads.count, heads, count, 1},
                {piece.heads.step * heads * stride[0], stride[0], step, 1});
  }

  /// Own keys.
  TensorView keys(const TensorView &of, int64_t call) const {
    const int64_t *stride = of.strides + axis;
    int64_t dim = of.sizes[axis + 2], rows = piece.keys.count;
    int64_t first = piece.keys.first * stride[0];
    int64_t step = piece.keys.step * stride[0];
    first += call * ofBatch(of);
    if (piece.whole)
      return part(of, of.data, first, {batch, rows, of.sizes[axis + 1], dim},
                  {ofBatch(of), step, stride[1], 1});
    return part(of, of.data, first + piece.keyHead * stride[1],
                {piece.heads.count, rows, 1, dim},
                {piece.keyHeadStep * stride[1], step, stride[1], 1});
  }

  /// Those of a chunk, whose pairs follow each other; `of` has their type.
  TensorView keys(const TensorView &of, const ring::Chunk &chunk, size_t tensor,
                  int64_t call) const {
    int64_t dim = of.sizes[axis + 2], rows = piece.keys.count;
    int64_t first = piece.keys.first * dim, step = piece.keys.step * dim;
    char *data = const_cast<char *>(
        chunk.tensors[tensor * size_t(batch) + size_t(call)]);
    if (piece.whole)
      return part(of, data, first, {batch, rows, of.sizes[axis + 1], dim},
                  {chunk.pairs * dim, step, piece.keyHeadStep * dim, 1});
    return part(of, data, first, {piece.heads.count, rows, 1, dim},
                {piece.keyHeadStep * dim, step, dim, 1});
  }

private:
  int64_t ofBatch(const TensorView &of) const {
    return axis ? of.strides[0] : 0;
  }

  const Piece &piece;
  uint32_t axis;
  int64_t batch, group;
};

} // namespace

/// The number of the axis that rows lie on, of axes of so many rows one behind
/// the other; they are counted from its beginning on then.
static int64_t takeAxis(ringlet::ring::Lane &lane, int64_t rows) {
  int64_t axis = lane.first / rows;
  lane.first %= rows;
  return axis;
}

/// A number for a call.
static TensorView scalar(int64_t &number) {
  TensorView result;
  result.dtype = abi::DType::I64;
  result.data = reinterpret_cast<char *>(&number);
  return result;
}

Status RingSteps::forEachCall(const Exchange &exchange, const State &state,
                              int64_t step, const TensorView &key,
                              const TensorView &value, const ring::Chunk *chunk,
                              const std::function<Status(Call &)> &use) {
  uint32_t heads = exchange.axis + 1;
  int64_t group = state.query.sizes[heads] / key.sizes[heads];
  const RingShape &shape = *exchange.shape;
  const auto &pieces = shape.of.pieces[step];
  for (size_t number = 0; number < pieces.size(); ++number) {
    Piece piece = pieces[number];
    // Of sequences that differ, a piece has one.
    int64_t first = 0;
    if (!exchange.isOfBatch) {
      first = takeAxis(piece.queries, state.query.sizes[exchange.axis]);
      if (piece.ofOwn)
        takeAxis(piece.keys, key.sizes[exchange.axis]);
    }
    Cutter cut(piece, exchange.axis, exchange.batch, group);
    const abi::RingBranch &branch =
        *exchange.step->branches()->Get(uint32_t(piece.branch));
    const Entry &of =
        program.entries()[piece.whole ? branch.whole() : branch.part()];
    for (int64_t i = 0; i < callsOf(piece, exchange.batch); ++i) {
      int64_t offset = piece.offset,
              edge = shape.of.edges[step][number].number();
      std::vector<TensorView> arguments = {
          cut.queries(state.query, first + i),
          piece.ofOwn ? cut.keys(key, first + i) : cut.keys(key, *chunk, 0, i),
          piece.ofOwn ? cut.keys(value, first + i)
                      : cut.keys(value, *chunk, 1, i),
          scalar(offset)};
      if (state.output)
        arguments.push_back(scalar(edge));
      arguments.insert(arguments.end(),
                       {cut.queries(state.accumulator, first + i),
                        cut.rows(state.maximum, first + i),
                        cut.rows(state.sum, first + i)});
      if (state.output)
        arguments.push_back(cut.queries(*state.output, first + i));
      if (state.lse)
        arguments.push_back(cut.rows(*state.lse, first + i));
      Call call(program, of);
      RL_TRY(call.prepare(arguments));
      RL_TRY(use(call));
    }
  }
  return {};
}

} // namespace ringlet::rt
