//===- ring/Communicator.cpp - A communicator of NCCL ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <future>
#include <thread>

namespace ringlet::rt::ring {

namespace {

/// For the end of a communicator, on top of any deadline.
constexpr double kEndSeconds = 3;

/// Calls in a thread of its own, which is left alone if it does not come back.
void callWithin(double seconds, std::function<void()> function) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> end = done->get_future();
  try {
    std::thread thread([done, function = std::move(function)] {
      function();
      done->set_value();
    });
    if (end.wait_for(std::chrono::duration<double>(seconds)) ==
        std::future_status::ready)
      thread.join();
    else
      thread.detach();
  } catch (const std::exception &) {
    // No thread: nothing that could wait for ever is called.
  }
}

} // namespace

Status Communicator::call(const std::string &what,
                          const std::function<NcclResult()> &function) {
  RL_TRY(device->driver().callBack([&] { last = function(); }));
  return api.check(last, what, handle);
}

Status Communicator::look(bool &done) {
  NcclResult state = nccl::InProgress;
  RL_TRY(
      call("tell its state", [&] { return api.asyncError(handle, &state); }));
  last = state;
  done = state == nccl::Success;
  return api.check(state, "go on", handle);
}

Status
Communicator::open(const std::string &what, Deadline deadline,
                   const std::function<NcclResult(NcclConfig &)> &begin) {
  RL_TRY(device->driver().openMessages(queue));
  NcclConfig config;
  config.blocking = 0;
  config.mostBlocks = multiprocessors;
  Status status = call(what, [&] { return begin(config); });
  bool done = false;
  for (int looks = 0; status.ok() && !done; ++looks) {
    if (looks > 0)
      pauseBetweenLooks(looks);
    status = look(done);
    if (status.ok() && !done && abort.raised())
      status = abort.status();
    else if (status.ok() && !done && Clock::now() >= deadline)
      status = failure(RL_PEER_ERROR, "nccl cannot ", what, " in time");
  }
  if (!status.ok())
    end();
  return status;
}

Status Communicator::create(int64_t rank, int64_t ranks, const NcclId &id,
                            Deadline deadline) {
  return open("make a communicator", deadline, [&](NcclConfig &config) {
    return api.initRank(&handle, static_cast<int>(ranks), id,
                        static_cast<int>(rank), &config);
  });
}

Status Communicator::split(NcclHandle from, int64_t rank, Deadline deadline) {
  return open("split a communicator", deadline, [&](NcclConfig &config) {
    return api.split(from, /*color=*/0, static_cast<int>(rank), &handle,
                     &config);
  });
}

Status Communicator::queueAll(const std::vector<Outgoing> &sends,
                              const std::vector<Incoming> &receives) {
  RL_TRY(call("begin messages", [&] { return api.groupStart(); }));
  Status status;
  for (const Outgoing &send : sends)
    if (status.ok())
      status = call(text("send to rank ", send.to), [&] {
        return api.send(send.data, send.size, nccl::Bytes,
                        static_cast<int>(send.to), handle, queue->stream());
      });
  for (const Incoming &receive : receives)
    if (status.ok())
      status = call(text("receive from rank ", receive.from), [&] {
        return api.receive(receive.data, receive.size, nccl::Bytes,
                           static_cast<int>(receive.from), handle,
                           queue->stream());
      });
  Status ended = call("queue messages", [&] { return api.groupEnd(); });
  return status.ok() ? ended : status;
}

std::optional<Trouble> Communicator::exchange(
    int64_t rank, int64_t step, const std::vector<Outgoing> &sends,
    const std::vector<Incoming> &receives, Deadline begin, Deadline deadline) {
  if (!handle)
    return Trouble{{rank, step, "the communicator has ended"}};
  const int64_t peer =
      receives.empty() ? sends.front().to : receives.front().from;
  Status status = queueAll(sends, receives);
  std::optional<Trouble> trouble;
  bool queued = false;
  for (int looks = 0; status.ok() && !trouble; ++looks) {
    // What is queued may meet an error of the network long after.
    if (!queued || looks % 16 == 0)
      status = look(queued);
    bool idle = false;
    if (status.ok() && queued)
      status = queue->isIdle(idle);
    if (idle)
      return std::nullopt;
    if (abort.raised())
      trouble = Trouble{*abort.failure()};
    else if (Clock::now() >= deadline)
      trouble = tooLate(
          peer, step, std::chrono::duration<double>(deadline - begin).count());
    pauseBetweenLooks(looks);
  }
  if (!trouble) {
    // The other end of a connection that broke is rather to blame.
    bool remote = last == nccl::RemoteError || last == nccl::SystemError;
    trouble = abort.raisedWithin(kReasonGrace)
                  ? Trouble{*abort.failure()}
                  : Trouble{{remote ? peer : rank, step, status.message()},
                            /*suspicion=*/remote};
  }
  end();
  return trouble;
}

void Communicator::end() {
  // From here on nobody else has the handle.
  if (NcclHandle ended = std::exchange(handle, nullptr))
    callWithin(kEndSeconds, [&api = api, device = device, ended] {
      (void)device->driver().callBack([&] { (void)api.abort(ended); });
    });
  if (!queue)
    return;
  // Kernels of messages end with the communicator; memory is free then.
  bool idle = false;
  const Deadline deadline = after(kEndSeconds);
  for (int looks = 0; queue->isIdle(idle).ok() && !idle; ++looks) {
    if (Clock::now() >= deadline)
      return;
    pauseBetweenLooks(looks);
  }
}

Communicator::~Communicator() {
  if (!handle)
    return;
  if (abort.raised()) {
    end();
    return;
  }
  // Nothing is under way. Others may have gone, and are not waited for.
  bool done = false;
  Status status = call("finish", [&] { return api.finalize(handle); });
  const Deadline deadline = after(kEndSeconds);
  for (int looks = 0; status.ok() && !done; ++looks) {
    status = look(done);
    if (!done && (abort.raised() || Clock::now() >= deadline))
      break;
    pauseBetweenLooks(looks);
  }
  if (!done) {
    end();
    return;
  }
  NcclHandle ended = std::exchange(handle, nullptr);
  callWithin(kEndSeconds, [&api = api, device = device, ended] {
    (void)device->driver().callBack([&] { (void)api.destroy(ended); });
  });
}

} // namespace ringlet::rt::ring
