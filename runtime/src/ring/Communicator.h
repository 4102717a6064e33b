//===- ring/Communicator.h - A communicator of NCCL ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_COMMUNICATOR_H
#define RINGLET_RUNTIME_RING_COMMUNICATOR_H

#include "Device.h"
#include "Nccl.h"
#include "Transport.h"

namespace ringlet::rt::ring {

/// A communicator that is this ring's own, with a queue of the device. None of
/// its functions waits beyond a deadline. For one thread at a time.
class Communicator {
public:
  /// That messages take at most.
  static constexpr int multiprocessors = 4;

  Communicator(const NcclApi &api, std::shared_ptr<Device> device, Abort &abort)
      : api(api), device(std::move(device)), abort(abort) {}
  Communicator(const Communicator &) = delete;
  ~Communicator();

  /// A new one: the ranks with the same id find each other.
  Status create(int64_t rank, int64_t ranks, const NcclId &id,
                Deadline deadline);
  /// The ranks of another one, which belongs to somebody else.
  Status split(NcclHandle from, int64_t rank, Deadline deadline);

  /// Moves messages that both ends have come to, in this order between any two
  /// ranks. Returns when memory can be used again, as after trouble.
  std::optional<Trouble> exchange(int64_t rank, int64_t step,
                                  const std::vector<Outgoing> &sends,
                                  const std::vector<Incoming> &receives,
                                  Deadline begin, Deadline deadline);

private:
  /// Calls with the device current.
  Status call(const std::string &what,
              const std::function<NcclResult()> &function);
  /// Whether what was begun last has been done, or at least queued.
  Status look(bool &done);
  Status open(const std::string &what, Deadline deadline,
              const std::function<NcclResult(NcclConfig &)> &begin);
  Status queueAll(const std::vector<Outgoing> &sends,
                  const std::vector<Incoming> &receives);
  /// Ends whatever is under way. Nothing is left of the communicator then.
  void end();

  const NcclApi &api;
  const std::shared_ptr<Device> device;
  Abort &abort;
  NcclHandle handle = nullptr;
  std::unique_ptr<MessageQueue> queue;
  NcclResult last = nccl::Success;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_COMMUNICATOR_H
