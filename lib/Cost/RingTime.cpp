//===- RingTime.cpp - How long a ring would take ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/RingTime.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ringlet::cost {

using namespace ring;

double LinkTime::seconds(double bytes) const {
  if (points.empty())
    return 0;
  size_t next = 0;
  while (next < points.size() && points[next].first < bytes)
    ++next;
  if (next == 0)
    return points[0].second;
  if (points.size() == 1)
    return points[0].second * bytes / points[0].first;
  next = std::min(next, points.size() - 1);
  auto [low, lowSeconds] = points[next - 1];
  auto [high, highSeconds] = points[next];
  return lowSeconds + (bytes - low) / (high - low) * (highSeconds - lowSeconds);
}

namespace {

/// A rank's clock: when its computations and its queues are done, and when a
/// buffer was last filled and last used.
struct Clock {
  double computed = 0;
  double queues[2] = {0, 0};
  std::map<Buffer, double> filled, used;
  double waiting = 0, computing = 0, scores = 0;
  double bytes[2] = {0, 0}, forwarded = 0;
  std::map<Buffer, double> sizes;
};

/// A message of the step at hand.
struct Message {
  int64_t from, to;
  Action receive;
  double bytes;
};

class Simulation {
public:
  Simulation(const Schedule &schedule, const RingMachine &machine)
      : schedule(schedule), machine(machine), clocks(schedule.ranks()) {}

  void step(int64_t step);
  RingTime result() const;

private:
  void exchange(std::vector<Message> &messages);
  void compute(int64_t rank, const Action &action);
  Buffer sourceOf(const Message &message) const;

  const Schedule &schedule;
  const RingMachine &machine;
  std::vector<Clock> clocks;
};

/// What a message is read from. Both ends are known by its receiver.
Buffer Simulation::sourceOf(const Message &message) const {
  if (message.from == message.receive.owner)
    return {Place::OwnKeys, 0};
  int64_t phase = message.receive.use / schedule.ranksPerHost;
  return {Place::FarKeys, phase % schedule.slots};
}

/// Messages of one step and level: those of a rank follow each other on its
/// link in each direction, and its queue goes on when all are done.
void Simulation::exchange(std::vector<Message> &messages) {
  std::map<std::pair<int64_t, int>, double> starts, ends;
  for (const Message &message : messages) {
    int level = static_cast<int>(message.receive.level);
    Clock &from = clocks[message.from], &to = clocks[message.to];
    double &sends = starts[{message.from, level}];
    double &receives = starts[{message.to, level}];
    sends =
        std::max({sends, from.queues[level], from.filled[sourceOf(message)]});
    receives =
        std::max({receives, to.queues[level], to.used[message.receive.target]});
  }
  // Bytes that went before on a link.
  std::map<std::pair<int64_t, int>, double> sent, received;
  for (const Message &message : messages) {
    int level = static_cast<int>(message.receive.level);
    std::pair<int64_t, int> from = {message.from, level},
                            to = {message.to, level};
    sent[from] += message.bytes;
    received[to] += message.bytes;
    const LinkTime &link = level == 0 ? machine.host : machine.network;
    double end = std::max(starts[from], starts[to]) +
                 link.seconds(std::max(sent[from], received[to]));
    clocks[message.to].filled[message.receive.target] = end;
    double &used = clocks[message.from].used[sourceOf(message)];
    used = std::max(used, end);
    ends[from] = std::max(ends[from], end);
    ends[to] = std::max(ends[to], end);
  }
  for (const auto &[queue, end] : ends)
    clocks[queue.first].queues[queue.second] = end;
}

void Simulation::compute(int64_t rank, const Action &action) {
  Clock &clock = clocks[rank];
  double scores = countScores(schedule.sharded, rank, action.owner);
  double arrived = clock.filled[action.source];
  double start = std::max(clock.computed, arrived);
  double seconds = scores / machine.scoresPerSecond +
                   (scores > 0 ? machine.launchSeconds : 0);
  clock.waiting += start - clock.computed;
  clock.computing += seconds;
  clock.scores += scores;
  clock.computed = start + seconds;
  double &used = clock.used[action.source];
  used = std::max(used, clock.computed);
}

void Simulation::step(int64_t step) {
  std::vector<Message> messages;
  std::vector<std::pair<int64_t, Action>> computations;
  for (int64_t rank = 0; rank < schedule.ranks(); ++rank)
    for (Action &action : actionsAt(schedule, rank, step, Direction::Forward)) {
      if (action.kind == Action::Kind::Compute)
        computations.emplace_back(rank, std::move(action));
      if (action.kind != Action::Kind::Receive)
        continue;
      double bytes =
          static_cast<double>(pairsOf(action.parts)) * machine.bytesPerPair;
      action.parts.clear();
      Clock &clock = clocks[rank];
      clock.bytes[static_cast<int>(action.level)] += bytes;
      if (action.peer != action.owner)
        clock.forwarded += bytes;
      double &size = clock.sizes[action.target];
      size = std::max(size, bytes);
      messages.push_back({action.peer, rank, std::move(action), bytes});
    }
  // A rank sends first what is used first.
  std::sort(
      messages.begin(), messages.end(), [](const Message &a, const Message &b) {
        return std::tie(a.receive.use, a.to) < std::tie(b.receive.use, b.to);
      });
  exchange(messages);
  for (const auto &[rank, action] : computations)
    compute(rank, action);
}

RingTime Simulation::result() const {
  RingTime time;
  double scores = 0;
  for (const Clock &clock : clocks) {
    scores += clock.scores;
    if (clock.computed >= time.seconds) {
      time.seconds = clock.computed;
      time.waiting = clock.waiting;
      time.computing = clock.computing;
    }
    time.hostBytes = std::max(time.hostBytes, clock.bytes[0]);
    time.networkBytes = std::max(time.networkBytes, clock.bytes[1]);
    time.forwardedBytes = std::max(time.forwardedBytes, clock.forwarded);
    double sizes = 0;
    for (const auto &[buffer, size] : clock.sizes)
      sizes += size;
    time.bufferBytes = std::max(time.bufferBytes, sizes);
  }
  time.oneRankSeconds =
      scores / machine.scoresPerSecond + machine.launchSeconds;
  return time;
}

} // namespace

RingTime predictRing(const Schedule &schedule, const RingMachine &machine,
                     const std::function<void(int64_t)> &progress) {
  Simulation simulation(schedule, machine);
  for (int64_t step = 0; step < schedule.ranks(); ++step) {
    simulation.step(step);
    if (progress)
      progress(step);
  }
  return simulation.result();
}

} // namespace ringlet::cost
