//===- KeyStream.h - Keys of other ranks, step by step ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the actions of a schedule into messages: packs the rows that others
// need, posts exchanges, and hands out the chunk of each step when it is there.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_KEYSTREAM_H
#define RINGLET_RUNTIME_RING_KEYSTREAM_H

#include "KeyMemory.h"
#include "Ring.h"

#include "ringlet/abi/ring/Schedule.h"

namespace ringlet::rt::ring {

/// A tensor of a rank's own rows, K or V: `[rows, key heads, bytes]`, in the
/// stream's kind of memory. Strides are in bytes.
struct KeyRows {
  const char *data = nullptr;
  ptrdiff_t rowStride = 0;
  ptrdiff_t headStride = 0;
  size_t bytes = 0;
  /// Of axes that lie one behind the other for the schedule, but not in memory:
  /// the rows of each, and how far it is to the next one. 0: rows are at equal
  /// distances.
  int64_t axisRows = 0;
  ptrdiff_t axisStride = 0;
};

/// Keys of one rank, as they arrived. Pairs are numbered part by part, row by
/// row and, within a row, head by head, as `layout` has them; those of tensor k
/// begin at `tensors[k]` and follow each other without gaps.
struct Chunk {
  int64_t owner = 0;
  std::vector<ringlet::ring::Part> layout;
  /// What the queries of this rank see of them.
  std::vector<ringlet::ring::Part> seen;
  std::vector<const char *> tensors;
  /// In all.
  int64_t pairs = 0;
};

/// What one rank sends and receives for one shape. Made once, used by every
/// call.
class KeyPlan {
public:
  /// The schedule must have passed `validate`. `rowBytes`, of each tensor, is
  /// that of a row of one head.
  KeyPlan(ringlet::ring::Schedule schedule, int64_t rank,
          std::vector<size_t> rowBytes);

  int64_t rank() const { return ownRank; }
  int64_t steps() const { return static_cast<int64_t>(plans.size()); }
  /// Whether any are begun in a step, and travel while it is computed.
  bool hasMessages(int64_t step) const { return !plans[step].messages.empty(); }
  /// Of the chunk of a step; empty where there is none, and in step 0.
  const std::vector<ringlet::ring::Part> &layout(int64_t step) const {
    return plans[step].layout;
  }
  /// Room for chunks, in bytes.
  size_t bufferBytes() const;
  /// The most that is packed at a time to be sent, of such tensors.
  size_t packedBytes(const std::vector<KeyRows> &own) const;

private:
  friend class KeyStream;
  using Placements = std::vector<ringlet::ring::Placement>;
  struct Message {
    ringlet::ring::Action action;
    int64_t pairs = 0;
    /// Of own keys: the first row, if these are all heads of rows that follow
    /// each other in the tensor.
    std::optional<int64_t> inOrderFrom;
    /// Of a message that is forwarded: the pairs of the buffer that it comes
    /// from and, for each part and head, where its rows are there.
    int64_t sourcePairs = 0;
    std::vector<Placements> placements;
  };
  struct Step {
    std::vector<Message> messages;
    /// The step's own chunk; nothing where none of its keys is seen.
    std::optional<ringlet::ring::Action> compute;
    std::vector<ringlet::ring::Part> layout;
    int64_t pairs = 0;
  };
  /// Whether a tensor's part of a message lies as it is to travel.
  bool isInPlace(const Message &message, size_t tensor,
                 const KeyRows &from) const;
  /// Of a pair of all tensors in front of this one.
  size_t bytesBefore(size_t tensor) const;
  Placements forward(const std::vector<ringlet::ring::Part> &layout,
                     const ringlet::ring::Part &part, int64_t head) const;

  ringlet::ring::Schedule schedule;
  int64_t ownRank;
  std::vector<size_t> rowBytes;
  size_t pairBytes = 0;
  std::vector<Step> plans;
  std::map<ringlet::ring::Buffer, size_t> buffers; // Bytes.
};

/// One call: steps from 0 to the last one, each begun, used and ended.
class KeyStream {
public:
  /// The ring's call must have begun; plan, memory and tensors outlive the
  /// stream, which ends with the ring's `finish`.
  KeyStream(const KeyPlan &plan, Ring &ring, KeyMemory &memory,
            std::vector<KeyRows> own);
  ~KeyStream();

  /// Posts the messages of a step, then waits for its chunk, which is there
  /// until the next step. There is none in step 0, where a rank computes with
  /// its own keys, and where it sees none.
  Status step(int64_t step, std::optional<Chunk> &chunk);
  /// Waits until all messages are through; every rank must call it.
  Status finish();

private:
  /// Memory that goes back with it.
  class Block {
  public:
    Block() = default;
    Block(Block &&other) noexcept { *this = std::move(other); }
    Block &operator=(Block &&other) noexcept {
      std::swap(memory, other.memory);
      std::swap(data, other.data);
      std::swap(bytes, other.bytes);
      return *this;
    }
    ~Block() {
      if (data)
        memory->release(data, bytes);
    }
    Status allocate(KeyMemory &of, size_t size);
    char *get() const { return data; }

  private:
    KeyMemory *memory = nullptr;
    char *data = nullptr;
    size_t bytes = 0;
  };

  /// The exchanges of a step, one for each queue.
  struct Posting;
  Status pack(const KeyPlan::Message &message, size_t tensor, char *to) const;
  Status packOwn(const ringlet::ring::Part &part, size_t tensor,
                 char *to) const;
  /// Own rows from `place` on: of each run `of.step` places apart, and runs
  /// `stride` places. `form` says what is known of the copy beside its rows.
  Status copyOwn(const KeyRows &from, RowCopy form, ringlet::ring::Rows of,
                 int64_t place, int64_t stride) const;
  Status receive(const KeyPlan::Message &message, Posting &posting);
  Status send(const KeyPlan::Message &message, Posting &posting);
  Status post(int64_t step, Posting &posting);
  Status arrived(ringlet::ring::Buffer buffer);

  const KeyPlan &plan;
  Ring &ring;
  KeyMemory &memory;
  std::vector<KeyRows> own;
  std::map<ringlet::ring::Buffer, Block> buffers;
  std::map<ringlet::ring::Buffer, uint64_t> tickets; // Of what fills them.
  /// Memory of messages, until their tickets are done.
  std::deque<std::pair<uint64_t, Block>> sending;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_KEYSTREAM_H
