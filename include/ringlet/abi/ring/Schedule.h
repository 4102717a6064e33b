//===- Schedule.h - Who sends what to whom, and when ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of a ring is a function of rank, step and direction: every rank
// computes its own part and what its peers do with it, and nothing is
// negotiated.
//
// In step t a rank computes with the keys of one owner, its own ones first,
// while those of the next step are under way, straight from their owner. Where
// ranks share hosts, what several of a host need travels to the host once: to
// the rank of the owner's number there, which forwards it.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_SCHEDULE_H
#define RINGLET_ABI_RING_SCHEDULE_H

#include "ringlet/abi/ring/Attention.h"

namespace ringlet::ring {

/// Backward, keys travel as they do forward, and their gradients return to the
/// owner the same way, each summed up once a host.
enum class Direction : uint8_t { Forward, Backward };

struct Schedule {
  ShardedAttention sharded;
  /// Ranks i * ranksPerHost to (i + 1) * ranksPerHost - 1 share a host. It
  /// divides the number of ranks; where it is that number, there is one level.
  int64_t ranksPerHost = 1;
  /// Chunks of keys that a rank has room for at a time, on each level: 2 for
  /// the ring form, which receives one while it computes with the other; from
  /// `ranks()` on the gathering form, which receives all of them at once.
  int64_t slots = 2;

  int64_t ranks() const { return sharded.ranks(); }
  int64_t hosts() const { return ranks() / ranksPerHost; }
};

/// True if the rules allow it; else `*error` says why not.
bool validate(const Schedule &schedule, std::string *error);

/// What an action reads or writes. Keys are pairs of rows of K and V as they
/// are, gradients their partial sums in f32.
enum class Place : uint8_t {
  OwnKeys,
  NearKeys, ///< From a rank of the same host; slots.
  FarKeys,  ///< From another host, for ranks of this one; slots.
  OwnGradients,
  NearGradients, ///< For keys of another rank, to be sent within the host;
                 ///< slots.
  NearArrivals,  ///< Received within the host, to be added; slots.
  FarGradients,  ///< Sums for keys of another host; slots.
  FarArrivals,   ///< Received from another host, to be added.
};

struct Buffer {
  Place place = Place::OwnKeys;
  int64_t slot = 0;
};

inline bool operator==(Buffer a, Buffer b) {
  return a.place == b.place && a.slot == b.slot;
}
inline bool operator<(Buffer a, Buffer b) {
  return a.place != b.place ? a.place < b.place : a.slot < b.slot;
}

/// Messages within a host and between hosts do not wait for each other.
enum class Level : uint8_t { Host, Network };

struct Action {
  enum class Kind : uint8_t {
    Send,       ///< Sends `parts` of `source` to `peer`.
    Receive,    ///< Receives `parts` from `peer` to `target`.
    Clear,      ///< Sets `target` to zero.
    Compute,    ///< Attention of all own queries to `parts` of `source`;
                ///< backward, gradients of these keys are added to `target`.
    Accumulate, ///< Adds `parts` of `source` to `target`.
  };
  Kind kind = Kind::Compute;
  /// Of a message: its queue.
  Level level = Level::Host;
  /// The other rank of a message.
  int64_t peer = 0;
  /// The rank that holds the keys that this is about.
  int64_t owner = 0;
  /// The step in which these keys are computed with: a message is known by its
  /// ends, this step and whether it holds gradients.
  int64_t use = 0;
  bool gradients = false;
  Buffer source;
  Buffer target;
  /// All rows of the shard if the keys are the rank's own.
  std::vector<Part> parts;

  bool isMessage() const { return kind == Kind::Send || kind == Kind::Receive; }
};

/// Steps of a direction: step numbers are below it.
int64_t countSteps(const Schedule &schedule, Direction direction);

/// The rank whose keys `rank` computes with in `step`, and the rank that
/// computes with those of `rank` then.
int64_t ownerAt(const Schedule &schedule, int64_t rank, int64_t step);
int64_t readerAt(const Schedule &schedule, int64_t rank, int64_t step);

/// What a rank does in a step. Messages of one level start together, in the
/// order of steps; all else happens one after the other. Beyond that, an action
/// waits for those of this list and of earlier steps that write what it reads
/// or use what it writes, and for nothing else.
std::vector<Action> actionsAt(const Schedule &schedule, int64_t rank,
                              int64_t step, Direction direction);

/// The rows that a buffer holds once its message is there, in their order: what
/// `place` takes as a layout. `use` is the step of the message.
std::vector<Part> layoutOf(const Schedule &schedule, int64_t rank, Place place,
                           int64_t use);

/// Pairs of a key and a key head.
struct Traffic {
  /// Received straight from the owner, or for the whole host.
  int64_t direct = 0;
  /// Of these, what this rank itself does not need.
  int64_t staged = 0;
  /// Received from another rank of the host than the owner.
  int64_t forwarded = 0;
  /// Room for keys of other ranks.
  int64_t buffered = 0;
};
Traffic trafficOf(const Schedule &schedule, int64_t rank);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_SCHEDULE_H
