//===- Transport.h - How messages travel ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface for threads, processes and devices. A transport moves bytes by
// a deadline or says whom it waited for; who is to blame is found out
// elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_TRANSPORT_H
#define RINGLET_RUNTIME_RING_TRANSPORT_H

#include "Failure.h"

#include <cmath>

namespace ringlet::rt::ring {

/// What a message is, the same on both ends: of which call on the ring, in
/// which step it is used, and what of it.
struct MessageId {
  uint64_t call = 0;
  int64_t use = 0;
  int64_t part = 0;
};

inline bool operator==(const MessageId &a, const MessageId &b) {
  return a.call == b.call && a.use == b.use && a.part == b.part;
}

struct Outgoing {
  int64_t to = 0;
  MessageId id;
  const void *data = nullptr;
  size_t size = 0;
};

struct Incoming {
  int64_t from = 0;
  MessageId id;
  void *data = nullptr;
  size_t size = 0;
};

/// Whether what has been queued somewhere is done. Waits for nothing; any
/// thread may ask.
using Condition = std::function<Status(bool &done)>;

/// Messages of one step that travel at the same time.
struct Exchange {
  int64_t step = 0;
  /// Set by the ring: exchanges of one queue follow each other.
  int queue = 0;
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  /// What must be done before: until then, data is being written that is to be
  /// sent, and read what is to be overwritten. Null: nothing.
  Condition ready;
};

/// Why an exchange has ended before its end.
struct Trouble {
  Failure what;
  /// The rank was waited for; it may wait for others itself.
  bool suspicion = false;
};

class Transport {
public:
  virtual ~Transport() = default;

  /// "inprocess", "socket", "p2p", "nccl".
  virtual const char *name() const = 0;
  /// Of a device, that it takes while messages travel.
  virtual uint32_t multiprocessors() const { return 0; }

  /// Returns when all messages are there and all own ones are on their way,
  /// which frees their memory; after trouble nothing touches it any more,
  /// either, and what has arrived is unspecified. Ends early once the ring's
  /// abort is raised. Several threads may call it at once for different peers.
  /// `waitsFor` hears from which rank something is outstanding.
  virtual std::optional<Trouble>
  exchange(const Exchange &exchange, Deadline deadline,
           const std::function<void(int64_t)> &waitsFor) = 0;
};

/// "step 2 of call 3, kind 9f2ab001": the lower half of a call is its number,
/// the upper one tells calls of other shapes or programs apart.
std::string describe(const MessageId &id);

/// The trouble of a message that nobody expects.
inline Trouble otherMessage(int64_t peer, int64_t step, const MessageId &wanted,
                            const MessageId &found) {
  return {{peer, step,
           text("expected a message for ", describe(wanted), ", found one for ",
                describe(found))}};
}

/// The trouble of a wait that took too long: so long, but for the milliseconds
/// that it took to begin it.
inline Trouble tooLate(int64_t peer, int64_t step, double seconds) {
  double rounded = std::ceil(seconds * 100) / 100;
  return {{peer, step, text("no message within ", rounded, " s")}, true};
}

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_TRANSPORT_H
