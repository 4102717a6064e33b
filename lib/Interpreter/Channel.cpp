//===- Channel.cpp - Slots of shared memory between roles -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Channel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace ringlet::interpreter;

/// A block has so many agents at most: each has a warp of 32 at least.
static constexpr unsigned kMaxAgents = 32;

static AgentMask bitOf(unsigned agent) { return AgentMask(1) << agent; }

Channel::Channel(int64_t number, int64_t count, int64_t elements,
                 AgentMask writers, AgentMask readers)
    : number(number), slots(count), writers(writers), readers(readers),
      nextWrite(kMaxAgents), nextRead(kMaxAgents) {
  for (auto [i, slot] : llvm::enumerate(slots)) {
    slot.content.resize(elements);
    slot.visit = static_cast<int64_t>(i) - count;
    poison(slot);
  }
}

void Channel::poison(TileSlot &slot) {
  std::fill(slot.content.begin(), slot.content.end(),
            std::numeric_limits<float>::quiet_NaN());
}

bool Channel::canAcquire(unsigned agent) const {
  int64_t visit = nextWrite[agent];
  const TileSlot &slot = slots[slotOf(visit)];
  // Another writer may have begun the visit.
  return slot.visit == visit ||
         (slot.isEmpty &&
          slot.visit + static_cast<int64_t>(slots.size()) == visit);
}

Visit Channel::acquire(unsigned agent) {
  Visit visit{number, nextWrite[agent]++, /*isRead=*/false};
  TileSlot &slot = slots[slotOf(visit.number)];
  if (slot.visit != visit.number) {
    slot.visit = visit.number;
    slot.isEmpty = slot.isFull = false;
    slot.acquired = slot.begun = slot.arrived = 0;
    slot.awaited = slot.released = 0;
    poison(slot);
  }
  slot.acquired |= bitOf(agent);
  return visit;
}

bool Channel::canAwait(unsigned agent) const {
  const TileSlot &slot = slots[slotOf(nextRead[agent])];
  return slot.isFull && slot.visit == nextRead[agent];
}

Visit Channel::await(unsigned agent) {
  Visit visit{number, nextRead[agent]++, /*isRead=*/true};
  slots[slotOf(visit.number)].awaited |= bitOf(agent);
  return visit;
}

std::string Channel::begin(const Visit &visit, unsigned agent) {
  TileSlot &slot = slots[slotOf(visit.number)];
  if (visit.isRead)
    return "expected an acquired slot to fill, found one that was awaited";
  if (slot.visit != visit.number || (slot.begun & bitOf(agent)))
    return "expected a slot to be filled once, found a second time";
  slot.begun |= bitOf(agent);
  return "";
}

void Channel::arrive(const Visit &visit, unsigned agent,
                     llvm::ArrayRef<float> content,
                     llvm::function_ref<bool(int64_t)> owns) {
  TileSlot &slot = slots[slotOf(visit.number)];
  for (auto [i, value] : llvm::enumerate(content))
    if (owns(static_cast<int64_t>(i)))
      slot.content[i] = value;
  slot.arrived |= bitOf(agent);
  slot.isFull = slot.arrived == writers;
}

std::string Channel::checkRead(const Visit &visit, unsigned agent) const {
  const TileSlot &slot = slots[slotOf(visit.number)];
  if (!visit.isRead)
    return "expected an awaited slot, found one that was acquired";
  if (slot.visit != visit.number || (slot.released & bitOf(agent)))
    return "expected a slot that the role has not released, found it released";
  return "";
}

void Channel::release(const Visit &visit, unsigned agent) {
  TileSlot &slot = slots[slotOf(visit.number)];
  slot.released |= bitOf(agent);
  if (slot.released != readers)
    return;
  slot.isEmpty = true;
  slot.isFull = false;
  poison(slot);
}

std::string Channel::checkEnd(unsigned agent) const {
  for (const TileSlot &slot : slots) {
    if (slot.acquired & ~slot.begun & bitOf(agent))
      return llvm::formatv("expected every acquired slot to be filled, found "
                           "one of channel {0} that is not",
                           number)
          .str();
    if (slot.awaited & ~slot.released & bitOf(agent))
      return llvm::formatv("expected every awaited slot to be released, found "
                           "one of channel {0} that is not",
                           number)
          .str();
  }
  return "";
}

bool Channel::isEmpty() const {
  return llvm::all_of(slots, [](const TileSlot &slot) { return slot.isEmpty; });
}

std::string Channel::describe() const {
  int64_t empty = 0, acquired = 0, full = 0, held = 0;
  for (const TileSlot &slot : slots) {
    if (slot.isEmpty)
      ++empty;
    else if (!slot.isFull)
      ++acquired;
    else if (!slot.awaited)
      ++full;
    else
      ++held;
  }
  std::string text =
      llvm::formatv("channel {0}: {1} empty, ", number, empty).str();
  if (acquired)
    text += llvm::formatv("{0} acquired and not full, ", acquired).str();
  text += llvm::formatv("{0} full, ", full).str();
  return llvm::formatv("{0}{1} awaited and not released", text, held).str();
}
