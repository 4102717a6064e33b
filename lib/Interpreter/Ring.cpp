//===- Ring.cpp - Steps of a plan on a ring -------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys travel as they are, so a rank that is alone here reads those of others
// from their arguments, chunk by chunk as messages would bring them.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "ringlet/abi/ring/Edges.h"
#include "ringlet/abi/ring/Sequences.h"

#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;
using ring::Piece;
using ring::ShardedAttention;
using ring::Shards;

namespace {

/// Memory with four axes.
struct Tensor4 {
  char *data = nullptr;
  DType dtype = DType::f32;
  Shape sizes, strides;

  MutableTensorView view() const { return {data, dtype, sizes, strides}; }
};

/// `[.., sequence, head, dim]` as `[batch, sequence, head, dim]`.
Tensor4 toFour(char *data, DType dtype, ArrayRef<int64_t> sizes,
               ArrayRef<int64_t> strides) {
  Tensor4 result{data, dtype, Shape(sizes.begin(), sizes.end()),
                 Shape(strides.begin(), strides.end())};
  if (sizes.size() == 3) {
    result.sizes.insert(result.sizes.begin(), 1);
    result.strides.insert(result.strides.begin(), 0);
  }
  return result;
}

/// `[.., head, sequence]` as `[batch, head, sequence, 1]`.
Tensor4 rowsToFour(const Buffer &buffer) {
  Tensor4 result{buffer.data, buffer.dtype,
                 Shape(buffer.sizes.begin(), buffer.sizes.end()),
                 Shape(buffer.strides.begin(), buffer.strides.end())};
  if (result.sizes.size() == 2) {
    result.sizes.insert(result.sizes.begin(), 1);
    result.strides.insert(result.strides.begin(), 0);
  }
  result.sizes.push_back(1);
  result.strides.push_back(1);
  return result;
}

/// `count` of an axis, from `first` on, `step` apart.
void slice(Tensor4 &tensor, unsigned axis, int64_t first, int64_t step,
           int64_t count) {
  tensor.data += first * tensor.strides[axis] * sizeOf(tensor.dtype);
  tensor.strides[axis] *= step;
  tensor.sizes[axis] = count;
}

/// Puts heads of one batch where a plan of pieces has its first axis: groups of
/// `group` heads, `step` groups apart.
void headsFirst(Tensor4 &tensor, unsigned axis, int64_t batch, int64_t first,
                int64_t step, int64_t count, int64_t group) {
  slice(tensor, 0, batch, 1, 1);
  slice(tensor, axis, first * group, 1, group);
  tensor.sizes[0] = count;
  tensor.strides[0] = step * group * tensor.strides[axis];
}

/// The number of the axis that rows lie on, of axes of so many rows one behind
/// the other; they are counted from its beginning on then.
int64_t takeAxis(ring::Lane &lane, int64_t rows) {
  int64_t axis = lane.first / rows;
  lane.first %= rows;
  return axis;
}

class Attending {
public:
  Attending(Machine &machine, const Instruction &instruction)
      : machine(machine), instruction(instruction),
        op(cast<rplan::AttendOp>(instruction.op)),
        exchange(op.getChunks().getDefiningOp<rplan::ExchangeOp>()),
        chunks(machine.operand(instruction, 0)) {}

  LogicalResult run();

private:
  ring::SequenceNumbers readSequences();
  LogicalResult readShards();
  Tensor4 keysOf(int64_t rank, bool values);
  std::vector<char> gather(const Tensor4 &keys,
                           const std::vector<ring::Part> &layout,
                           int64_t batch) const;
  std::vector<ring::Part> getLayout(int64_t owner) const;
  LogicalResult attend(int64_t owner, const std::vector<ring::Part> &layout,
                       ArrayRef<Piece> pieces, ArrayRef<ring::Edge> edges);
  LogicalResult call(Piece piece, ring::Edge edge, int64_t batch, Tensor4 key,
                     Tensor4 value);
  /// Whether a piece is one of all sequences of a batch: they are alike.
  bool isOfBatch() {
    return !exchange.getQueryLengths() && !exchange.getOffsets();
  }

  Machine &machine;
  const Instruction &instruction;
  rplan::AttendOp op;
  rplan::ExchangeOp exchange;
  const Datum &chunks;
  std::optional<ring::Schedule> schedule;
};

Tensor4 Attending::keysOf(int64_t rank, bool values) {
  if (rank != machine.run.options.rank) {
    Value operand = values ? exchange.getValue() : exchange.getKey();
    const MutableTensorView &tensor =
        machine.run.options
            .peers[rank][cast<BlockArgument>(operand).getArgNumber()];
    return toFour(static_cast<char *>(tensor.data()), tensor.dtype(),
                  tensor.sizes(), tensor.strides());
  }
  const Buffer &buffer = *chunks.parts[values ? 1 : 0];
  return toFour(buffer.data, buffer.dtype, buffer.sizes, buffer.strides);
}

/// What an exchange has read of its lists.
ring::SequenceNumbers Attending::readSequences() {
  ring::SequenceNumbers numbers;
  numbers.offsets.assign(chunks.ints.begin(), chunks.ints.end());
  unsigned next = 3;
  auto read = [&](Value list, std::vector<int64_t> &to) {
    if (!list)
      return;
    const Buffer &from = *chunks.parts[next++];
    for (int64_t i = 0; i < from.sizes[0]; ++i) {
      int64_t value;
      std::memcpy(&value, from.data + i * from.strides[0] * sizeOf(DType::i64),
                  sizeof value);
      to.push_back(value);
    }
  };
  read(exchange.getQueryStarts(), numbers.queries);
  read(exchange.getKeyStarts(), numbers.keys);
  read(exchange.getQueryLengths(), numbers.queries);
  read(exchange.getKeyLengths(), numbers.keys);
  read(exchange.getOffsets(), numbers.offsets);
  if (exchange.getQueryStarts())
    numbers.kind = ring::SequenceKind::Packed;
  else if (exchange.getQueryLengths() || exchange.getOffsets()) {
    numbers.kind = ring::SequenceKind::Padded;
    numbers.count = chunks.parts[2]->sizes[0];
  }
  return numbers;
}

LogicalResult Attending::readShards() {
  const Options &options = machine.run.options;
  int64_t axis = exchange.getAxis();
  auto rowsOf = [&](Value operand, const Buffer &own,
                    std::vector<int64_t> &rows) -> LogicalResult {
    auto argument = dyn_cast<BlockArgument>(operand);
    for (int64_t rank = 0; rank < options.ranks; ++rank) {
      if (rank == options.rank) {
        rows.push_back(own.sizes[axis]);
        continue;
      }
      if (!argument || size_t(rank) >= options.peers.size() ||
          options.peers[rank].size() <= argument.getArgNumber())
        return machine.fail(instruction,
                            "expected the arguments of rank " + Twine(rank));
      rows.push_back(options.peers[rank][argument.getArgNumber()].size(axis));
    }
    return success();
  };
  std::vector<int64_t> queries, keys;
  if (failed(rowsOf(exchange.getQuery(), *chunks.parts[2], queries)) ||
      failed(rowsOf(exchange.getKey(), *chunks.parts[0], keys)))
    return failure();
  rlayout::RingAttr ring = exchange.getRing();
  if (!ring.hasAnyRanks() && ring.getRanks() != options.ranks)
    return machine.fail(instruction,
                        "expected a ring of " + Twine(ring.getRanks()) +
                            " ranks, found " + Twine(options.ranks) + " (G1)");
  std::string error;
  auto kind = static_cast<ring::Sharding>(ring.getBalance());
  auto ofQueries = Shards::of(kind, queries, ring.getBlock(), &error);
  auto ofKeys = Shards::of(kind, keys, ring.getBlock(), &error);
  if (!ofQueries || !ofKeys)
    return machine.fail(instruction, error);
  schedule = {{exchange.getAttention(), *ofQueries, *ofKeys},
              /*ranksPerHost=*/options.ranks};
  if (!ring::addSequences(readSequences(), schedule->sharded, &error) ||
      !ring::validate(*schedule, &error))
    return machine.fail(instruction, error);
  return success();
}

/// The pairs of a layout, one after the other.
std::vector<char> Attending::gather(const Tensor4 &keys,
                                    const std::vector<ring::Part> &layout,
                                    int64_t batch) const {
  int64_t element = sizeOf(keys.dtype), bytes = keys.sizes[3] * element;
  std::vector<char> result;
  for (const ring::Part &part : layout)
    for (size_t set = 0; set < part.rows.size(); ++set)
      for (int64_t i = 0; i < part.rows[set].size(); ++i)
        for (int64_t head = part.head; head < part.head + part.heads; ++head) {
          int64_t run = part.rows[set].run;
          int64_t row = part.local[set] + i % run * part.rows[set].step +
                        i / run * part.localStride[set];
          // Of axes one behind the other, the rows of the first come first.
          int64_t axis = row / keys.sizes[1];
          row %= keys.sizes[1];
          const char *from =
              keys.data + ((batch + axis) * keys.strides[0] +
                           row * keys.strides[1] + head * keys.strides[2]) *
                              element;
          result.insert(result.end(), from, from + bytes);
        }
  return result;
}

LogicalResult Attending::call(Piece piece, ring::Edge edge, int64_t batch,
                              Tensor4 key, Tensor4 value) {
  int64_t group = schedule->sharded.attention.queryHeads /
                  schedule->sharded.attention.keyHeads;
  const Buffer &queries = *chunks.parts[2];
  const Buffer &partial = *machine.operand(instruction, 2).buffer;
  Tensor4 query =
      toFour(queries.data, queries.dtype, queries.sizes, queries.strides);
  Tensor4 accumulator =
      toFour(partial.data, partial.dtype, partial.sizes, partial.strides);
  Tensor4 maximum = rowsToFour(*machine.operand(instruction, 3).buffer);
  Tensor4 sum = rowsToFour(*machine.operand(instruction, 4).buffer);
  Tensor4 output, lse;
  if (op.getOutput()) {
    const Buffer &of = *machine.operand(instruction, 5).buffer;
    output = toFour(of.data, of.dtype, of.sizes, of.strides);
  }
  if (op.getLse())
    lse = rowsToFour(*machine.operand(instruction, 6).buffer);
  SmallVector<Tensor4 *> ofQueries = {&query, &accumulator},
                         ofRows = {&maximum, &sum};
  if (op.getOutput())
    ofQueries.push_back(&output);
  if (op.getLse())
    ofRows.push_back(&lse);
  if (!isOfBatch()) {
    batch = takeAxis(piece.queries, query.sizes[1]);
    if (piece.ofOwn)
      takeAxis(piece.keys, key.sizes[1]);
  }
  for (Tensor4 *tensor : ofQueries)
    slice(*tensor, 1, piece.queries.first, piece.queries.step,
          piece.queries.count);
  for (Tensor4 *tensor : ofRows)
    slice(*tensor, 2, piece.queries.first, piece.queries.step,
          piece.queries.count);
  for (Tensor4 *tensor : {&key, &value})
    slice(*tensor, 1, piece.keys.first, piece.keys.step, piece.keys.count);
  if (piece.whole && !isOfBatch()) {
    for (ArrayRef<Tensor4 *> tensors : {ArrayRef(ofQueries), ArrayRef(ofRows)})
      for (Tensor4 *tensor : tensors)
        slice(*tensor, 0, batch, 1, 1);
    for (Tensor4 *tensor : {&key, &value})
      if (piece.ofOwn)
        slice(*tensor, 0, batch, 1, 1);
  }
  if (!piece.whole) {
    int64_t heads = piece.grouped ? group : 1;
    auto first = [&](Tensor4 &tensor, unsigned axis) {
      headsFirst(tensor, axis, batch, piece.heads.first, piece.heads.step,
                 piece.heads.count, heads);
    };
    for (Tensor4 *tensor : ofQueries)
      first(*tensor, 2);
    for (Tensor4 *tensor : ofRows)
      first(*tensor, 1);
    if (piece.ofOwn)
      for (Tensor4 *tensor : {&key, &value})
        headsFirst(*tensor, 2, batch, piece.keyHead, piece.keyHeadStep,
                   piece.heads.count, 1);
  }
  int64_t offset = piece.offset;
  int64_t edgeNumber = edge.number();
  Tensor4 position{reinterpret_cast<char *>(&offset), DType::i64, {}, {}};
  Tensor4 place{reinterpret_cast<char *>(&edgeNumber), DType::i64, {}, {}};
  SmallVector<const Tensor4 *> tensors = {&query, &key, &value, &position};
  if (op.getOutput())
    tensors.push_back(&place);
  tensors.append({&accumulator, &maximum, &sum});
  if (op.getOutput())
    tensors.push_back(&output);
  if (op.getLse())
    tensors.push_back(&lse);
  SmallVector<MutableTensorView> arguments;
  for (const Tensor4 *tensor : tensors)
    arguments.push_back(tensor->view());
  Options options = machine.run.options;
  options.poison = false;
  std::string error;
  ArrayAttr plans = piece.whole ? op.getWhole() : op.getPart();
  if (succeeded(
          interpret(op->getParentOfType<ModuleOp>(),
                    cast<FlatSymbolRefAttr>(plans[piece.branch]).getValue(),
                    arguments, &error, options)))
    return success();
  return machine.fail(instruction, error);
}

/// Of the pairs that come from a rank; empty for its own.
std::vector<ring::Part> Attending::getLayout(int64_t owner) const {
  int64_t rank = machine.run.options.rank;
  return owner == rank ? std::vector<ring::Part>()
                       : ring::neededKeys(schedule->sharded, {rank}, owner);
}

LogicalResult Attending::attend(int64_t owner,
                                const std::vector<ring::Part> &layout,
                                ArrayRef<Piece> pieces,
                                ArrayRef<ring::Edge> edges) {
  int64_t rank = machine.run.options.rank;
  Tensor4 keys = keysOf(owner, false), values = keysOf(owner, true);
  Tensor4 ownKeys = keysOf(rank, false), ownValues = keysOf(rank, true);
  int64_t pairs = ring::pairsOf(layout);
  int64_t batches = isOfBatch() ? keys.sizes[0] : 1;
  for (auto [piece, edge] : llvm::zip_equal(pieces, edges)) {
    if (piece.ofOwn) {
      int64_t calls = piece.whole ? 1 : batches;
      for (int64_t batch = 0; batch < calls; ++batch)
        if (failed(call(piece, edge, batch, ownKeys, ownValues)))
          return failure();
      continue;
    }
    // Each sequence of a batch alone: a chunk of its own.
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::vector<char> memory[2] = {gather(keys, layout, batch),
                                     gather(values, layout, batch)};
      Tensor4 chunk[2];
      for (int i = 0; i < 2; ++i) {
        const Tensor4 &from = i ? values : keys;
        int64_t dim = from.sizes[3];
        chunk[i] = {memory[i].data(),
                    from.dtype,
                    {piece.whole ? 1 : piece.heads.count, pairs,
                     piece.whole ? from.sizes[2] : 1, dim},
                    {piece.whole ? pairs * dim : piece.keyHeadStep * dim, dim,
                     piece.whole ? piece.keyHeadStep * dim : dim, 1}};
      }
      if (!piece.whole) {
        if (failed(call(piece, edge, batch, chunk[0], chunk[1])))
          return failure();
        continue;
      }
      if (batches != 1)
        return machine.fail(instruction,
                            "expected a batch of 1 on several ranks");
      if (failed(call(piece, edge, batch, chunk[0], chunk[1])))
        return failure();
    }
  }
  return success();
}

LogicalResult Attending::run() {
  if (failed(readShards()))
    return failure();
  int64_t rank = machine.run.options.rank, ranks = machine.run.options.ranks;
  std::vector<std::vector<ring::Part>> layouts;
  for (int64_t step = 0; step < ranks; ++step)
    layouts.push_back(getLayout(ring::ownerAt(*schedule, rank, step)));
  ring::RankPieces pieces(*schedule, rank, layouts,
                          /*mayEnd=*/bool(op.getOutput()));
  for (int64_t step = 0; step < ranks; ++step)
    if (failed(attend(ring::ownerAt(*schedule, rank, step), layouts[step],
                      pieces.pieces[step], pieces.edges[step])))
      return failure();
  return success();
}

} // namespace

static LogicalResult runExchange(Machine &machine,
                                 const Instruction &instruction) {
  auto op = cast<rplan::ExchangeOp>(instruction.op);
  Datum &result = machine[instruction.results[0]];
  result.parts.clear();
  result.ints.clear();
  for (unsigned i = 0; i < 3; ++i)
    result.parts.push_back(machine.operand(instruction, i).buffer);
  unsigned next = 3;
  if (op.getOffset())
    result.ints.assign(1, machine.scalar(instruction, next++));
  for (Value list : {op.getQueryStarts(), op.getKeyStarts(),
                     op.getQueryLengths(), op.getKeyLengths(), op.getOffsets()})
    if (list)
      result.parts.push_back(machine.operand(instruction, next++).buffer);
  return success();
}

static LogicalResult runAttend(Machine &machine,
                               const Instruction &instruction) {
  return machine.run.checking ? success()
                              : Attending(machine, instruction).run();
}

void interpreter::registerRing(HandlerTable &table) {
  table["rplan.exchange"] = runExchange;
  table["rplan.attend"] = runAttend;
}
