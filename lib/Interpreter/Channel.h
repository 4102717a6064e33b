//===- Channel.h - Slots of shared memory between roles ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Who may do what to a slot, and when. What a slot
// holds before it is full and after its release is poison: a wrong order that
// no rule here notices shows in the results.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_CHANNEL_H
#define RINGLET_LIB_INTERPRETER_CHANNEL_H

#include "lib/Interpreter/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ringlet::interpreter {

/// Of the agents of a block, those whose bits are set.
using AgentMask = uint32_t;

/// Room for one tile.
struct TileSlot {
  std::vector<float> content;
  /// The number of the visits, one by each agent, that it is used for now or
  /// was used for last.
  int64_t visit = 0;
  bool isEmpty = true;
  bool isFull = false;
  /// Those that have acquired it, and those of them that have begun to fill it
  /// and whose bytes have arrived.
  AgentMask acquired = 0, begun = 0, arrived = 0;
  AgentMask awaited = 0, released = 0;
};

/// A ring of slots. All agents visit them in turn.
class Channel {
public:
  Channel(int64_t number, int64_t slots, int64_t elements, AgentMask writers,
          AgentMask readers);

  /// True if the next slot of a writer is empty.
  bool canAcquire(unsigned agent) const;
  Visit acquire(unsigned agent);
  /// True if the next slot of a reader is full.
  bool canAwait(unsigned agent) const;
  Visit await(unsigned agent);

  /// An agent begins to fill a slot that it has acquired. Why it must not, or
  /// "".
  std::string begin(const Visit &visit, unsigned agent);
  /// The elements for which `owns` holds are in the slot, and all that the
  /// agent fills it with.
  void arrive(const Visit &visit, unsigned agent, llvm::ArrayRef<float> content,
              llvm::function_ref<bool(int64_t)> owns);
  /// Why an agent must not read a slot, or "".
  std::string checkRead(const Visit &visit, unsigned agent) const;
  /// Gives a slot back that `checkRead` allows to read.
  void release(const Visit &visit, unsigned agent);

  const std::vector<float> &contentOf(const Visit &visit) const {
    return slots[slotOf(visit.number)].content;
  }
  /// What an agent has left undone, or "".
  std::string checkEnd(unsigned agent) const;
  /// True if no agent has a slot.
  bool isEmpty() const;
  /// "channel 1: 1 empty, 0 full, 1 awaited and not released".
  std::string describe() const;

private:
  size_t slotOf(int64_t visit) const { return visit % slots.size(); }
  void poison(TileSlot &slot);

  int64_t number;
  std::vector<TileSlot> slots;
  AgentMask writers, readers;
  /// The next visit of each agent, as a writer and as a reader.
  std::vector<int64_t> nextWrite, nextRead;
};

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_CHANNEL_H
