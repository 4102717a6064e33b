//===- Ring.h - Exchanges of one rank, queued ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank's end of a ring. Exchanges are queued and go on by themselves;
// whoever needs what they bring waits for their ticket. After the first failure
// of any rank every wait ends, with one and the same reason on all ranks (G3).
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_RING_H
#define RINGLET_RUNTIME_RING_RING_H

#include "Device.h"
#include "InProcess.h"
#include "SocketTransport.h"
#include "TcpChannel.h"

#include <deque>
#include <map>
#include <set>

namespace ringlet::rt::ring {

struct RingOptions {
  /// The longest that anything is waited for, once there is a ring.
  double waitSeconds = 60;
  /// Until the ranks' devices have found each other.
  double deviceSeconds = 60;
  /// An ncclComm_t of the same ranks, for devices; null: one is made.
  void *communicator = nullptr;
  /// Of devices of processes: "p2p" or "nccl"; empty: the first that works.
  std::string transport;
  TcpChannelOptions channel;
};

/// What one exchange or computation was, for those who ask after a failure.
struct Record {
  uint64_t call = 0;
  int64_t step = 0;
  int queue = 0;    // -1: a computation.
  double begin = 0; // Seconds since the ring began.
  double seconds = 0;
  uint64_t sent = 0, received = 0; // Bytes.
  bool complete = false;
};

class Ring {
public:
  /// Exchanges of one queue follow each other; those of two queues, as within a
  /// host and between hosts, do not wait for each other and have other peers.
  static constexpr int kQueues = 2;
  static constexpr size_t kRecords = 128;

  /// Waits for the other ranks.
  static Status create(const BootstrapOptions &bootstrap,
                       const RingOptions &options, std::unique_ptr<Ring> &ring,
                       const std::function<void(uint16_t)> &bound = {});
  static Status create(const std::shared_ptr<Hub> &hub, int64_t rank,
                       const RingOptions &options, std::unique_ptr<Ring> &ring);
  /// A ring with exchanges under way fails on the other ranks.
  ~Ring();

  int64_t rank() const { return channel->rank(); }
  int64_t ranks() const { return channel->ranks(); }
  /// Of the messages of the last call; before the first one, of the host's.
  const char *transportName() const { return transport->name(); }

  /// That messages of the last call take from kernels while they travel.
  uint32_t multiprocessors() const { return transport->multiprocessors(); }

  /// Begins a call. All ranks must mean the same one: the first time, they
  /// compare what they know of it; from then on messages carry its number and a
  /// digest. Its messages move memory of the context's device, null: of the
  /// host. Devices find each other in the first call with them; `levels`, the
  /// most queues that exchanges are posted to, counts then.
  Status begin(const Facts &facts,
               const std::shared_ptr<Context> &context = nullptr,
               int levels = 1);
  /// Of the last call; null: the host.
  const std::shared_ptr<Device> &device() const { return current; }
  /// Gives every rank the words of all, by rank; each calls it as often.
  Status gather(const std::string &own, std::vector<std::string> &all);

  /// Queues an exchange of the call, whose messages are known by their steps
  /// and parts. The memory belongs to the ring until the ticket has been waited
  /// for.
  uint64_t post(int queue, Exchange exchange);
  Status wait(uint64_t ticket);
  /// True once its exchange has ended, in whatever way.
  bool isDone(uint64_t ticket);
  /// Waits for all that was posted.
  Status finish();

  /// The step that this rank computes, which others then see.
  void computes(int64_t step);
  /// Records the computation of a step that began then and ends now.
  void computed(int64_t step, Deadline begin);
  /// Ends the ring on all ranks, because of this one.
  void fail(int64_t step, const std::string &reason);
  std::optional<Failure> failure() const { return abort.failure(); }
  /// The last exchanges, the oldest first.
  std::vector<Record> records();

private:
  struct Job {
    uint64_t ticket;
    uint64_t call;
    Transport *transport;
    Exchange exchange;
  };
  struct Queue {
    std::deque<Job> jobs;
    std::thread worker;
    Activity activity;
  };

  /// Makes a transport for a device, on all ranks at once.
  using Connect = std::function<Status(const std::shared_ptr<Device> &device,
                                       int levels, Deadline deadline,
                                       std::unique_ptr<Transport> &transport)>;

  explicit Ring(const RingOptions &options) : options(options) {}
  /// Of processes.
  Status connectDevice(const std::shared_ptr<Device> &device, int levels,
                       Deadline deadline,
                       std::unique_ptr<Transport> &transport);
  Status start();
  Status use(const std::shared_ptr<Context> &context, int levels);
  void work(int queue);
  void run(Job &job);
  /// False once the ring has failed.
  bool awaitReady(const Exchange &exchange);
  /// With the time since `begin`.
  void keep(Record record, Deadline begin);
  void reportActivity(int queue, Activity activity);

  const RingOptions options;
  const Deadline born = Clock::now();
  Abort abort;
  std::unique_ptr<SideChannel> channel;
  std::unique_ptr<Transport> ofHost;
  Connect connect;
  std::shared_ptr<Device> known; // The one that ofDevice is for.
  std::unique_ptr<Transport> ofDevice;
  int64_t deviceChanges = 0;
  /// Of the last call.
  std::shared_ptr<Device> current;
  Transport *transport = nullptr;
  std::map<std::string, uint32_t> agreed; // With their digests.
  uint64_t call = 0; // Digest of its facts, and its number.
  uint64_t callCount = 0;

  std::mutex mutex; // Guards what follows.
  std::condition_variable changed;
  Queue queues[kQueues];
  uint64_t nextTicket = 1;
  std::set<uint64_t> open; // Tickets whose exchange is not done.
  std::deque<Record> history;
  int64_t computing = -1;
  bool stopping = false;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_RING_H
