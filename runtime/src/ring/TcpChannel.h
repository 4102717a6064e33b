//===- TcpChannel.h - The side channel between processes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A star around rank 0, which passes on what concerns all. One thread a rank
// sends signs of life and watches for those of others.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_TCPCHANNEL_H
#define RINGLET_RUNTIME_RING_TCPCHANNEL_H

#include "SideChannel.h"
#include "Socket.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <thread>

namespace ringlet::rt::ring {

struct TcpChannelOptions {
  /// Between signs of life.
  double interval = 0.2;
  /// A rank that gives none for so long has failed.
  double silence = 10;
};

class TcpChannel final : public SideChannel {
public:
  /// `control` as bootstrap() leaves it. The abort outlives the channel.
  static Status create(int64_t rank, int64_t ranks, std::vector<File> control,
                       const TcpChannelOptions &options, Abort &abort,
                       std::unique_ptr<SideChannel> &channel);
  /// Leaves.
  ~TcpChannel() override;

  int64_t rank() const override { return ownRank; }
  int64_t ranks() const override { return rankCount; }
  void report(Activity activity) override;
  void fail(const Failure &failure) override;
  void suspect(int64_t peer, int64_t step, const std::string &reason) override;
  Status gather(const std::string &own, std::vector<std::string> &all,
                Deadline deadline) override;
  void leave() override;

private:
  enum class Kind : uint32_t { Alive, Fail, Suspect, Words, AllWords, Leave };
  struct Peer {
    int64_t rank;
    File connection;
    std::string received, sending;
    Deadline heard;
    bool gone = false; // Left, or failed.
  };
  using Words = std::map<int64_t, std::string>;

  TcpChannel(int64_t rank, int64_t ranks, const TcpChannelOptions &options,
             Abort &abort);
  void run();
  bool isRoot() const { return ownRank == 0; }
  // All of these with the mutex held.
  void send(Peer &peer, Kind kind, const std::string &payload);
  void sendToAll(Kind kind, const std::string &payload, int64_t but = -1);
  void flush(Peer &peer);
  void hear(Peer &peer);
  void understand(Peer &peer, Kind kind, const std::string &payload);
  void end(const Failure &failure, int64_t from);
  void judge(int64_t peer, int64_t step, const std::string &reason);
  void collect(int64_t serial, int64_t from, const std::string &words);
  void lose(Peer &peer, const std::string &reason);
  std::string sign() const;
  /// Does the watchdog's work for a moment, without its pauses: ranks gather at
  /// the beginning of each call, at about the same time.
  void attend(std::unique_lock<std::mutex> &lock,
              const std::function<bool()> &done);
  void wake();

  const int64_t ownRank, rankCount;
  const TcpChannelOptions options;
  Abort &abort;
  int event = -1;
  std::mutex mutex; // Guards what follows.
  std::condition_variable changed;
  std::vector<Peer> peers;
  std::vector<Activity> activities;
  std::map<int64_t, Words> heard;    // Rank 0: by the number of the gathering.
  std::map<int64_t, Words> complete; // Until they are asked for.
  int64_t gatherings = 0;
  bool leaving = false, stopping = false;
  std::thread watchdog;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_TCPCHANNEL_H
