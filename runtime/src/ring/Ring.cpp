//===- Ring.cpp - Exchanges of one rank, queued ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ring.h"

#include "CopyTransport.h"
#include "NcclTransport.h"
#include "ringlet/abi/Format.h"

#include <cstring>

namespace ringlet::rt::ring {

std::string describe(const MessageId &id) {
  return formatText("step {} of call {}, kind {:08x}", id.use,
                    id.call & 0xffffffffu, id.call >> 32);
}

Status Ring::create(const BootstrapOptions &bootstrapOptions,
                    const RingOptions &options, std::unique_ptr<Ring> &ring,
                    const std::function<void(uint16_t)> &bound) {
  Deadline deadline = after(bootstrapOptions.seconds);
  Peers peers;
  RL_TRY(bootstrap(bootstrapOptions, peers, bound));
  std::unique_ptr<Ring> made(new Ring(options));
  RL_TRY(TcpChannel::create(peers.rank, peers.ranks, std::move(peers.control),
                            options.channel, made->abort, made->channel));
  Status connected = connectSockets(peers, made->abort, deadline, made->ofHost);
  if (!connected.ok()) {
    made->channel->fail({peers.rank, -1, connected.message()});
    return connected;
  }
  made->connect = [ring = made.get()](const std::shared_ptr<Device> &device,
                                      int levels, Deadline deadline,
                                      std::unique_ptr<Transport> &transport) {
    return ring->connectDevice(device, levels, deadline, transport);
  };
  RL_TRY(made->start());
  ring = std::move(made);
  return {};
}

Status Ring::create(const std::shared_ptr<Hub> &hub, int64_t rank,
                    const RingOptions &options, std::unique_ptr<Ring> &ring) {
  if (rank < 0 || rank >= hub->ranks())
    return invalid("expected a rank from 0 to ", hub->ranks() - 1, ", found ",
                   rank);
  std::unique_ptr<Ring> made(new Ring(options));
  made->channel = hub->channel(rank, made->abort);
  made->ofHost = hub->transport(rank, made->abort);
  made->connect = [hub, ring = made.get()](
                      const std::shared_ptr<Device> &device, int levels,
                      Deadline, std::unique_ptr<Transport> &transport) {
    return hub->transport(ring->rank(), ring->abort, device, levels, transport);
  };
  RL_TRY(made->start());
  ring = std::move(made);
  return {};
}

/// Copies where all ranks are on one host whose devices reach each other, else
/// NCCL.
Status Ring::connectDevice(const std::shared_ptr<Device> &device, int levels,
                           Deadline deadline,
                           std::unique_ptr<Transport> &transport) {
  const std::string &wanted = options.transport;
  std::string own = wanted.empty() ? "any" : wanted;
  if (options.communicator)
    own = "nccl";
  RL_TRY(agree(*channel, {{"transport between devices", own}}, deadline));
  std::string whyNot;
  if (own != "nccl") {
    RL_TRY(connectCopies(*channel, *ofHost, abort, device, levels, deadline,
                         transport, whyNot));
    if (transport)
      return {};
    if (own == "p2p")
      return rt::failure(RL_UNAVAILABLE,
                         "p2p between processes is not possible: ", whyNot);
    device->context->logger.log(
        RL_LOG_INFO, "messages of a ring go by NCCL, not by copies: ", whyNot);
  }
  return connectNccl(*channel, *ofHost, abort, device, levels,
                     options.communicator, deadline, transport);
}

Status Ring::start() {
  transport = ofHost.get();
  try {
    for (int queue = 0; queue < kQueues; ++queue)
      queues[queue].worker = std::thread(&Ring::work, this, queue);
  } catch (const std::exception &) {
    channel->fail({rank(), -1, "no thread left for a ring"});
    return abort.status();
  }
  return {};
}

Ring::~Ring() {
  bool busy;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    busy = !open.empty();
  }
  if (busy && !abort.raised())
    fail(computing, "left with messages under way");
  changed.notify_all();
  for (Queue &queue : queues)
    if (queue.worker.joinable())
      queue.worker.join();
  // Others hear that this rank has left before they find its connections
  // closed.
  if (channel)
    channel->leave();
  channel.reset();
  ofDevice.reset();
  ofHost.reset();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status Ring::begin(const Facts &given, const std::shared_ptr<Context> &context,
                   int levels) {
  if (abort.raised())
    return abort.status();
  Facts facts = given;
  // Devices find each other in calls that begin alike on all ranks.
  bool changes = context && (!known || known->context != context);
  facts.emplace_back("memory",
                     context ? text(context->driver->name(), " device number ",
                                    deviceChanges + changes)
                             : "of the host");
  std::string words;
  for (const auto &[name, value] : facts)
    words += text(name.size(), ":", name, value.size(), ":", value);
  auto found = agreed.find(words);
  if (found == agreed.end()) {
    Facts numbered = facts;
    numbered.emplace_back("number of the call", text(callCount));
    RL_TRY(agree(*channel, numbered, after(options.waitSeconds)));
    Digest digest = abi::sha256(words.data(), words.size());
    uint32_t half = 0;
    std::memcpy(&half, digest.data(), sizeof half);
    found = agreed.emplace(std::move(words), half).first;
  }
  RL_TRY(use(context, levels));
  call = uint64_t(found->second) << 32 | (++callCount & 0xffffffffu);
  return {};
}

Status Ring::use(const std::shared_ptr<Context> &context, int levels) {
  if (!context) {
    current = nullptr;
    transport = ofHost.get();
    return {};
  }
  if (!known || known->context != context) {
    ++deviceChanges;
    // Nothing is under way between calls.
    ofDevice.reset();
    known = std::make_shared<Device>(context);
    Status status;
    if (ranks() > 1)
      status = connect(known, levels, after(options.deviceSeconds), ofDevice);
    if (!status.ok()) {
      known = nullptr;
      return status;
    }
  }
  current = known;
  transport = ofDevice ? ofDevice.get() : ofHost.get();
  return {};
}

Status Ring::gather(const std::string &own, std::vector<std::string> &all) {
  if (abort.raised())
    return abort.status();
  return channel->gather(own, all, after(options.waitSeconds));
}

void Ring::fail(int64_t step, const std::string &reason) {
  channel->fail({rank(), step, reason});
}

void Ring::computes(int64_t step) {
  std::unique_lock<std::mutex> lock(mutex);
  computing = step;
  Activity activity = {step, -1};
  for (const Queue &queue : queues)
    if (queue.activity.waitsFor >= 0)
      activity.waitsFor = queue.activity.waitsFor;
  lock.unlock();
  channel->report(activity);
}

void Ring::reportActivity(int queue, Activity activity) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    queues[queue].activity = activity;
    activity.step = std::max(activity.step, computing);
  }
  channel->report(activity);
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

uint64_t Ring::post(int queue, Exchange exchange) {
  for (Outgoing &send : exchange.sends)
    send.id.call = call;
  for (Incoming &receive : exchange.receives)
    receive.id.call = call;
  std::lock_guard<std::mutex> lock(mutex);
  exchange.queue = queue;
  uint64_t ticket = nextTicket++;
  open.insert(ticket);
  queues[queue].jobs.push_back(
      {ticket, callCount, transport, std::move(exchange)});
  changed.notify_all();
  return ticket;
}

Status Ring::wait(uint64_t ticket) {
  // Exchanges end by their deadlines, so this does, too.
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !open.count(ticket); });
  return abort.status();
}

bool Ring::isDone(uint64_t ticket) {
  std::lock_guard<std::mutex> lock(mutex);
  return !open.count(ticket);
}

Status Ring::finish() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return open.empty(); });
  return abort.status();
}

bool Ring::awaitReady(const Exchange &exchange) {
  for (int looks = 0; exchange.ready; ++looks) {
    bool done = false;
    Status status = exchange.ready(done);
    if (!status.ok())
      channel->fail({rank(), exchange.step, status.message()});
    if (abort.raised())
      return false;
    if (done)
      break;
    pauseBetweenLooks(looks);
  }
  return true;
}

void Ring::run(Job &job) {
  const Exchange &exchange = job.exchange;
  Record record;
  record.call = job.call;
  record.step = exchange.step;
  record.queue = exchange.queue;
  for (const Outgoing &send : exchange.sends)
    record.sent += send.size;
  for (const Incoming &receive : exchange.receives)
    record.received += receive.size;
  bool ready = !abort.raised() && awaitReady(exchange);
  Deadline begin = Clock::now();
  if (ready) {
    std::optional<Trouble> trouble = job.transport->exchange(
        exchange, after(options.waitSeconds), [&](int64_t peer) {
          reportActivity(exchange.queue, {exchange.step, peer});
        });
    reportActivity(exchange.queue, {exchange.step, -1});
    record.complete = !trouble;
    if (trouble && !abort.raised()) {
      if (trouble->suspicion)
        channel->suspect(trouble->what.rank, trouble->what.step,
                         trouble->what.reason);
      else
        channel->fail(trouble->what);
    }
  }
  keep(record, begin);
}

void Ring::keep(Record record, Deadline begin) {
  record.begin = std::chrono::duration<double>(begin - born).count();
  record.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::lock_guard<std::mutex> lock(mutex);
  history.push_back(record);
  if (history.size() > kRecords)
    history.pop_front();
}

void Ring::computed(int64_t step, Deadline begin) {
  Record record;
  record.call = callCount;
  record.step = step;
  record.queue = -1;
  record.complete = true;
  keep(record, begin);
}

void Ring::work(int queue) {
  std::unique_lock<std::mutex> lock(mutex);
  std::deque<Job> &jobs = queues[queue].jobs;
  for (;;) {
    changed.wait(lock, [&] { return stopping || !jobs.empty(); });
    if (jobs.empty())
      return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    run(job);
    lock.lock();
    open.erase(job.ticket);
    changed.notify_all();
  }
}

std::vector<Record> Ring::records() {
  std::lock_guard<std::mutex> lock(mutex);
  return {history.begin(), history.end()};
}

} // namespace ringlet::rt::ring
