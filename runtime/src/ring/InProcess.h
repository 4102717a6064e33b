//===- InProcess.h - Rings of threads ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that share an address space: a message is copied once, by its receiver,
// within memory of the host or from device to device.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_INPROCESS_H
#define RINGLET_RUNTIME_RING_INPROCESS_H

#include "Device.h"
#include "SideChannel.h"
#include "Transport.h"

#include <condition_variable>
#include <list>
#include <map>

namespace ringlet::rt::ring {

/// What the ranks of such a ring share. Each rank takes one transport and one
/// side channel from it.
class Hub : public std::enable_shared_from_this<Hub> {
public:
  static std::shared_ptr<Hub> create(int64_t ranks);
  int64_t ranks() const { return static_cast<int64_t>(aborts.size()); }

  /// The abort outlives both.
  std::unique_ptr<Transport> transport(int64_t rank, Abort &abort);
  /// One for memory of a device.
  Status transport(int64_t rank, Abort &abort,
                   const std::shared_ptr<Device> &device, int queues,
                   std::unique_ptr<Transport> &transport);
  std::unique_ptr<SideChannel> channel(int64_t rank, Abort &abort);

private:
  friend class InProcessTransport;
  friend class InProcessChannel;
  struct Offer {
    int64_t from, to;
    MessageId id;
    const void *data;
    size_t size;
    const Driver *owner; // Of the memory; null: the host.
    enum { Waiting, Copying, Taken } state = Waiting;
  };
  explicit Hub(int64_t ranks) : aborts(ranks), activities(ranks) {}

  std::mutex ending; // Held while aborts are raised; taken before the other.
  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::list<Offer> offers;
  std::vector<Abort *> aborts; // Null before a rank is there, and after.
  std::vector<Activity> activities;
  std::map<int64_t, std::map<int64_t, std::string>> words;
  std::map<int64_t, int64_t> readers; // Of words: ranks that have them.
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_INPROCESS_H
