//===- Prepared.h - A call but for its addresses ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_PREPARED_H
#define RINGLET_RUNTIME_PREPARED_H

#include "IndexTables.h"
#include "Memory.h"
#include "PerQueue.h"

#include <memory>
#include <mutex>
#include <vector>

namespace ringlet::rt {

class Program;
struct Entry;

/// The launches of a queue as one, from its second run on: there may be none.
struct QueueBatch {
  bool hasRun = false, isMade = false;
  std::unique_ptr<Batch> batch; // Null where the driver has none.
};

/// What the runs of a shape leave to the next ones, for each queue.
class BatchCache {
public:
  using Use = PerQueue<QueueBatch>::Use;

  /// The batch of a queue for these launches, this thread's while `use` lives.
  /// Null in the first run of a queue and where it has none to itself.
  Batch *find(Driver &driver, const Queue &queue,
              const std::vector<LaunchCall> &launches, Use &use);

private:
  PerQueue<QueueBatch> queues;
};

/// All of a call that follows from the sizes and strides of its tensors, from
/// whether they are aligned and from the numbers that its plan reads. Calls
/// that agree in these share it.
struct Prepared {
  /// A kernel of the plan with its parameters in `words`.
  struct Launch {
    uint32_t kernel;
    uint32_t firstWord, wordCount;
    uint32_t firstMap, mapCount;
    int64_t items;
    /// The last word is the address of the workspace's counter.
    bool countsItems;
  };
  /// A word that receives the address of a buffer once it is known.
  struct Address {
    uint32_t word, buffer;
  };
  struct Copy {
    uint32_t source, destination;
  };
  struct Step {
    /// The last two are steps of the plan, by `index`.
    enum { LaunchStep, CopyStep, ExchangeStep, AttendStep } kind;
    uint32_t index;
    uint32_t queue;
    /// Of each queue, the steps of this list that come before.
    abi::QueueCounts before;
  };
  /// What an exchange reads of expressions.
  struct ExchangeUse {
    uint32_t step; // Of the plan.
    std::optional<int64_t> offset;
  };
  struct TableUse {
    uint32_t buffer;
    layout::IndexTable key;
    void *fill; // The code of a kernel that may write it, or null.
  };
  struct ArgumentUse {
    uint32_t buffer, argument;
  };

  /// One for each buffer of the plan; data is set for constants only.
  std::vector<TensorView> buffers;
  std::vector<int64_t> words;
  std::vector<Address> addresses;
  std::vector<EncodedMap> maps;
  std::vector<uint32_t> mapBuffers; // One for each of maps.
  std::vector<Launch> launches;
  std::vector<Copy> copies;
  std::vector<ExchangeUse> exchanges;
  std::vector<Step> steps;
  /// Launches that stand in for others.
  uint64_t fallbacks = 0;
  std::vector<ArgumentUse> argumentUses;
  std::vector<TableUse> tableUses;
  std::vector<uint32_t> workspaceBuffers;
  std::vector<Lifetime> lifetimes; // One for each of workspaceBuffers.
  uint64_t workspaceBytes = 0, scratchPerThread = 0, scratchBytes = 0;
  uint64_t counterBytes = 0, tableBytes = 0, totalBytes = 0;
  /// One block for workspace and, behind it, scratch; and with the counter.
  uint64_t scratchOffset = 0, blockBytes = 0, runBytes = 0;
  /// Of its launches, where all steps are launches.
  std::unique_ptr<BatchCache> batches = std::make_unique<BatchCache>();
  /// Workspace holds inputs that lie badly.
  bool copiesInputs = false;
};

/// Whether inputs that lie badly may be copied (BufferKind::Aligned).
enum class InputCopies { Allowed, None };

/// The place of this process in a ring.
struct RingPlace {
  int64_t rank = 0, ranks = 1;
};

/// Checks the plan's requirements of these arguments and works out the rest.
Status prepare(const Program &program, const Entry &entry,
               const std::vector<TensorView> &arguments, RingPlace place,
               InputCopies copies, std::shared_ptr<const Prepared> &prepared);

/// What an entry was last called with.
class PreparedCache {
public:
  static constexpr size_t most = 64;

  std::shared_ptr<const Prepared> find(const std::vector<int64_t> &key);
  void insert(std::vector<int64_t> key,
              std::shared_ptr<const Prepared> prepared);

private:
  struct Item {
    std::vector<int64_t> key;
    std::shared_ptr<const Prepared> prepared;
  };
  std::mutex mutex;
  std::vector<Item> items; // Last used first.
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_PREPARED_H
