//===- RingApi.cpp - The C API of rings ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiSupport.h"
#include "Call.h"
#include "RingQueue.h"
#include "ring/Ring.h"

#include "ringlet/abi/ring/Shards.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

using namespace ringlet::rt;
namespace rings = ringlet::rt::ring;

struct rl_ring {
  std::unique_ptr<rings::Ring> impl;
  std::mutex calling; // One call at a time.
  RingQueue queue;    // Goes first, so that its calls end before the ring.
};

/// A number of seconds, or what stands for the default.
static Status checkSeconds(const char *name, double value, double &seconds) {
  if (!(value >= 0 && value <= 1e6))
    return invalid("expected rl_ring_options.", name, " from 0 to 1e6, found ",
                   value);
  if (value > 0)
    seconds = value;
  return {};
}

static Status readOptions(const rl_ring_options *given,
                          rl_ring_options &complete,
                          rings::RingOptions &options) {
  complete = RL_RING_OPTIONS_INIT;
  if (given)
    RL_TRY(readStruct("rl_ring_options", *given, complete));
  for (uint16_t word : complete.reserved)
    if (word != 0)
      return invalid("expected rl_ring_options.reserved to be 0, found ", word);
  RL_TRY(
      checkSeconds("wait_seconds", complete.wait_seconds, options.waitSeconds));
  options.communicator = complete.nccl_comm;
  options.transport = complete.transport ? complete.transport : "";
  if (!options.transport.empty() && options.transport != "p2p" &&
      options.transport != "nccl")
    return invalid("expected rl_ring_options.transport p2p or nccl, found '",
                   options.transport, "'");
  if (options.communicator && options.transport == "p2p")
    return invalid("expected rl_ring_options.nccl_comm to be NULL for p2p");
  return checkSeconds("silence_seconds", complete.silence_seconds,
                      options.channel.silence);
}

static Status readBootstrap(const rl_ring_options &options,
                            rings::BootstrapOptions &bootstrap) {
  if (options.ranks == 0) {
    RL_TRY(rings::optionsFromEnvironment(bootstrap));
  } else {
    bootstrap.rank = options.rank;
    bootstrap.ranks = options.ranks;
    if (options.address)
      bootstrap.root.host = options.address;
    bootstrap.root.port = options.port;
    const char *secret = std::getenv("RINGLET_RING_SECRET");
    bootstrap.secret = secret ? secret : "";
  }
  if (options.secret)
    bootstrap.secret = options.secret;
  if (options.id) {
    if (options.ranks == 0 || options.address || options.port || options.secret)
      return invalid("expected rl_ring_options.ranks and id, and neither "
                     "address, port nor secret beside an id");
    const char *text = options.id->text;
    size_t size = ::strnlen(text, sizeof options.id->text);
    RL_TRY(rings::useId(std::string(text, size), bootstrap));
  }
  if (options.listen)
    bootstrap.listen = options.listen;
  return checkSeconds("connect_seconds", options.connect_seconds,
                      bootstrap.seconds);
}

rl_status rl_ring_make_id(const char *address, rl_ring_id *out_id) {
  return guarded([&]() -> Status {
    RL_EXPECT(out_id);
    std::memset(out_id, 0, sizeof *out_id);
    std::string host = address ? address : "127.0.0.1", id;
    // A numeric address, with its zone.
    if (host.empty() || host.size() > 64)
      return invalid("expected an address of up to 64 characters, found ",
                     host.size());
    RL_TRY(rings::makeId(host, id));
    std::memcpy(out_id->text, id.data(), id.size());
    return {};
  });
}

rl_status rl_ring_create(const rl_ring_options *options, rl_ring **out_ring) {
  if (out_ring)
    *out_ring = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_ring);
    RL_EXPECT(options);
    rl_ring_options complete;
    rings::RingOptions ringOptions;
    rings::BootstrapOptions bootstrap;
    RL_TRY(readOptions(options, complete, ringOptions));
    RL_TRY(readBootstrap(complete, bootstrap));
    auto ring = std::make_unique<rl_ring>();
    RL_TRY(rings::Ring::create(bootstrap, ringOptions, ring->impl));
    *out_ring = ring.release();
    return {};
  });
}

rl_status rl_ring_create_local(const rl_ring_options *options, int32_t ranks,
                               rl_ring **out_rings) {
  for (int32_t i = 0; out_rings && i < ranks; ++i)
    out_rings[i] = nullptr;
  return guarded([&]() -> Status {
    RL_EXPECT(out_rings);
    if (ranks < 1 || ranks > ringlet::ring::kMaxRanks)
      return invalid("expected 1 to ", ringlet::ring::kMaxRanks,
                     " ranks, found ", ranks);
    rl_ring_options complete;
    rings::RingOptions ringOptions;
    RL_TRY(readOptions(options, complete, ringOptions));
    std::shared_ptr<rings::Hub> hub = rings::Hub::create(ranks);
    std::vector<std::unique_ptr<rl_ring>> all(static_cast<size_t>(ranks));
    for (int32_t i = 0; i < ranks; ++i) {
      all[size_t(i)] = std::make_unique<rl_ring>();
      RL_TRY(rings::Ring::create(hub, i, ringOptions, all[size_t(i)]->impl));
    }
    for (int32_t i = 0; i < ranks; ++i)
      out_rings[i] = all[size_t(i)].release();
    return {};
  });
}

void rl_ring_destroy(rl_ring *ring) { delete ring; }

int32_t rl_ring_rank(const rl_ring *ring) {
  return ring ? int32_t(ring->impl->rank()) : -1;
}

int32_t rl_ring_ranks(const rl_ring *ring) {
  return ring ? int32_t(ring->impl->ranks()) : -1;
}

const char *rl_ring_transport(const rl_ring *ring) {
  if (!ring)
    return "";
  ring->queue.settle();
  return ring->impl->transportName();
}

static Status shardEvenly(const char *sharding, int64_t block, int64_t length,
                          int32_t ranks,
                          std::optional<ringlet::ring::Shards> &shards) {
  const char *names[] = {"contiguous", "zigzag", "striped"};
  std::string error;
  for (int kind = 0; kind < 3; ++kind)
    if (std::strcmp(sharding, names[kind]) == 0) {
      shards = ringlet::ring::Shards::even(
          static_cast<ringlet::ring::Sharding>(kind), length, ranks, block,
          &error);
      return shards ? Status() : invalid(error);
    }
  return invalid("expected a sharding contiguous, zigzag or striped, found '",
                 sharding, "' (G1)");
}

rl_status rl_ring_rows(const char *sharding, int64_t block, int64_t length,
                       int32_t rank, int32_t ranks, int64_t *out_rows,
                       int64_t *count) {
  return guarded([&]() -> Status {
    RL_EXPECT(sharding);
    RL_EXPECT(count);
    int64_t room = *count;
    *count = 0;
    if (ranks < 1 || ranks > ringlet::ring::kMaxRanks || rank < 0 ||
        rank >= ranks)
      return invalid("expected a rank below a number of ranks from 1 to ",
                     ringlet::ring::kMaxRanks, ", found ", rank, " of ", ranks);
    std::optional<ringlet::ring::Shards> shards;
    RL_TRY(shardEvenly(sharding, block, length, ranks, shards));
    *count = shards->size(rank);
    if (room == 0)
      return {};
    RL_EXPECT(out_rows);
    if (room < *count)
      return invalid("expected room for ", *count, " rows, found ", room);
    for (const ringlet::ring::Stretch &stretch : shards->of(rank))
      for (int64_t i = 0; i < stretch.rows.size(); ++i)
        out_rows[stretch.local + i % stretch.rows.run +
                 i / stretch.rows.run * stretch.localStride] =
            stretch.rows.at(i);
    return {};
  });
}

static Status takeTurn(rl_ring &ring, std::unique_lock<std::mutex> &lock) {
  lock = std::unique_lock<std::mutex>(ring.calling, std::try_to_lock);
  return lock ? Status()
              : invalid("expected one call at a time on a ring, found a second "
                        "one");
}

namespace {

/// A call that has been checked, and all that it needs until it has been made.
class RingCall {
public:
  RingCall(const rl_ring &ring, const rl_program &program, const Entry &entry)
      : ring(*ring.impl), program(program.impl),
        call(*program.impl, entry, ring.impl.get()) {}

  Status prepare(const rl_tensor *tensors, uint32_t count) {
    return call.prepare(tensors, count, Binding::Complete);
  }
  /// Lets it begin when what `run`'s stream has so far has ended.
  Status follow(const rl_run &run);
  /// Complete on return.
  Status make();

private:
  Status awaitBefore();

  rings::Ring &ring;
  std::shared_ptr<Program> program;
  Call call;
  rl_run run = RL_RUN_INIT;
  std::unique_ptr<SideQueue> side; // Null where nothing is queued.
  uint32_t before = 0;             // Its event.
};

} // namespace

Status RingCall::follow(const rl_run &given) {
  run = given;
  Driver &driver = *program->context->driver;
  bool isCaptured = false;
  RL_TRY(driver.isCaptured(run.stream, isCaptured));
  if (isCaptured)
    return invalid("expected a stream that is not in capture, found one whose "
                   "graph would have no messages of other ranks");
  RL_TRY(driver.openSide(side));
  return side ? side->record(run.stream, before) : Status();
}

Status RingCall::awaitBefore() {
  constexpr std::chrono::microseconds pause(20);
  bool isReached = false;
  while (true) {
    RL_TRY(side->query(before, isReached));
    if (isReached)
      return {};
    if (std::optional<rings::Failure> failure = ring.failure())
      return Status(RL_PEER_ERROR, failure->text());
    std::this_thread::sleep_for(pause);
  }
}

Status RingCall::make() {
  if (Status status = side ? awaitBefore() : Status(); !status.ok()) {
    ring.fail(0, status.message());
    return status;
  }
  Driver &driver = *program->context->driver;
  Status status =
      call.execute(driver.ownStream(), static_cast<char *>(run.workspace),
                   run.workspace_bytes);
  // Also of a call that has failed: its kernels use memory of the ring's.
  Status waited = driver.wait(driver.ownStream());
  return status.ok() ? waited : status;
}

rl_status rl_ring_run(rl_ring *ring, const rl_program *program, uint32_t entry,
                      const rl_tensor *tensors, uint32_t count) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_ring_run", program, entry, found));
    std::unique_lock<std::mutex> lock;
    RL_TRY(takeTurn(*ring, lock));
    RL_TRY(ring->queue.wait());
    RingCall call(*ring, *program, *found);
    RL_TRY(call.prepare(tensors, count));
    return call.make();
  });
}

rl_status rl_ring_enqueue(rl_ring *ring, const rl_program *program,
                          uint32_t entry, const rl_tensor *tensors,
                          uint32_t count, const rl_run *run) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_ring_enqueue", program, entry, found));
    rl_run complete;
    RL_TRY(readRun(run, complete));
    std::unique_lock<std::mutex> lock;
    RL_TRY(takeTurn(*ring, lock));
    auto call = std::make_shared<RingCall>(*ring, *program, *found);
    RL_TRY(call->prepare(tensors, count));
    RL_TRY(call->follow(complete));
    return ring->queue.add([call] { return call->make(); });
  });
}

rl_status rl_ring_wait(rl_ring *ring) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    return ring->queue.wait();
  });
}

rl_status rl_ring_estimate(rl_ring *ring, const rl_program *program,
                           uint32_t entry, const rl_tensor *tensors,
                           uint32_t count, rl_estimate *out_estimate) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    RL_EXPECT(out_estimate);
    RL_TRY(clearStruct("rl_estimate", out_estimate));
    const Entry *found = nullptr;
    RL_TRY(needEntry("rl_ring_estimate", program, entry, found));
    std::unique_lock<std::mutex> lock;
    RL_TRY(takeTurn(*ring, lock));
    RL_TRY(ring->queue.wait());
    Call call(*program->impl, *found, ring->impl.get());
    RL_TRY(call.prepare(tensors, count, Binding::Shapes));
    rl_estimate estimate = RL_ESTIMATE_INIT;
    call.fill(estimate);
    RL_TRY(call.fillRing(estimate));
    writeStruct(estimate, out_estimate);
    return {};
  });
}

rl_status rl_ring_abort(rl_ring *ring, const char *reason) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    ring->impl->fail(-1, reason && *reason ? reason : "aborted");
    return {};
  });
}

rl_status rl_ring_status(rl_ring *ring) {
  return guarded([&]() -> Status {
    RL_EXPECT(ring);
    std::optional<rings::Failure> failure = ring->impl->failure();
    return failure ? Status(RL_PEER_ERROR, failure->text()) : Status();
  });
}

rl_status rl_ring_records(rl_ring *ring, rl_ring_record *out_records,
                          uint32_t *count) {
  return guarded([&]() -> Status {
    RL_EXPECT(count);
    uint32_t room = *count;
    *count = 0;
    RL_EXPECT(ring);
    std::vector<rings::Record> records = ring->impl->records();
    size_t first = records.size() - std::min<size_t>(records.size(), room);
    for (size_t i = first; i < records.size(); ++i) {
      RL_EXPECT(out_records);
      const rings::Record &from = records[i];
      RL_TRY(clearStruct("rl_ring_record", &out_records[i - first]));
      rl_ring_record record = RL_RING_RECORD_INIT;
      record.call = from.call;
      record.step = from.step;
      record.begin = from.begin;
      record.seconds = from.seconds;
      record.sent = from.sent;
      record.received = from.received;
      record.queue = from.queue;
      record.complete = from.complete;
      writeStruct(record, &out_records[i - first]);
    }
    *count = uint32_t(records.size() - first);
    return {};
  });
}
