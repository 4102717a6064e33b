//===- FakeNccl.cpp - A libnccl without GPUs ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"

#include "runtime/src/ring/Nccl.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ringlet::rt::ring;
using ringlet::test::FakeNccl;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

FakeNccl fake;
constexpr NcclResult internalError = 3, invalidArgument = 4, invalidUsage = 5;

int versionOf() {
  const char *text = std::getenv("RINGLET_FAKE_NCCL_VERSION");
  return text ? std::atoi(text) : 22809;
}

/// A message, or what is left of it.
struct Operation {
  int peer;
  char *data;
  size_t bytes;
};

struct Group {
  std::map<int, std::deque<Operation>> sends, receives; // By peer.
};

/// An address without a file, which goes with its socket.
socklen_t nameEar(const std::string &id, int rank, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::string name = "ringlet-fake-nccl-" + id + "-" + std::to_string(rank);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

class Comm {
public:
  Comm(std::string id, int rank, int ranks)
      : id(std::move(id)), rank(rank), ranks(ranks), out(size_t(ranks), -1),
        in(size_t(ranks), -1) {
    ++fake.made;
    thread = std::thread([this] { run(); });
  }
  ~Comm() {
    stopping = true;
    thread.join();
    for (auto *files : {&out, &in})
      for (int file : *files)
        if (file >= 0)
          close(file);
    if (ear >= 0)
      close(ear);
  }

  void queue(Group group) {
    std::lock_guard<std::mutex> lock(mutex);
    ++fake.groups;
    state = NcclResult(nccl::InProgress);
    groups.push_back(std::move(group));
  }
  NcclResult asyncError() {
    std::lock_guard<std::mutex> lock(mutex);
    return state;
  }
  std::string nextId() { return id + "." + std::to_string(splits++); }

  const std::string id;
  const int rank, ranks;

private:
  void run() {
    NcclResult result = connectAll();
    for (;;) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (result != nccl::Success)
          state = result;
        else if (groups.empty())
          state = nccl::Success;
      }
      Group group;
      while (!stopping) {
        std::unique_lock<std::mutex> lock(mutex);
        if (!groups.empty() && result == nccl::Success) {
          group = std::move(groups.front());
          groups.pop_front();
          break;
        }
        lock.unlock();
        usleep(50);
      }
      if (stopping)
        return;
      result = fake.failingRank == rank ? internalError : move(group);
    }
  }

  /// One connection to each peer and one from it.
  NcclResult connectAll() {
    sockaddr_un address;
    socklen_t size = nameEar(id, rank, address);
    ear = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(ear, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        listen(ear, 64) != 0)
      return invalidUsage; // The rank is there already.
    int missing = 2 * (ranks - 1);
    while (missing > 0 && !stopping) {
      for (int peer = 0; peer < ranks; ++peer)
        missing -= peer != rank && out[size_t(peer)] < 0 && reach(peer);
      pollfd file = {ear, POLLIN, 0};
      poll(&file, 1, 2);
      while (int connection = accept4(ear, nullptr, nullptr, SOCK_CLOEXEC)) {
        int peer = -1;
        if (connection < 0)
          break;
        if (recv(connection, &peer, sizeof peer, MSG_WAITALL) == sizeof peer) {
          in[size_t(peer)] = connection;
          --missing;
        }
      }
    }
    return nccl::Success;
  }
  bool reach(int peer) {
    sockaddr_un address;
    socklen_t size = nameEar(id, peer, address);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(made, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        send(made, &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) {
      close(made);
      return false;
    }
    out[size_t(peer)] = made;
    return true;
  }

  NcclResult move(Group &group) {
    while (!stopping) {
      std::vector<pollfd> files;
      for (bool sending : {true, false})
        for (auto &[peer, operations] :
             sending ? group.sends : group.receives) {
          int file = (sending ? out : in)[size_t(peer)];
          if (!moveSome(file, operations, sending))
            return nccl::RemoteError;
          if (!operations.empty())
            files.push_back({file, short(sending ? POLLOUT : POLLIN), 0});
        }
      if (files.empty() && !fake.hangs)
        return nccl::Success;
      poll(files.data(), files.size(), 1);
    }
    return nccl::Success;
  }
  /// False where the peer has gone.
  static bool moveSome(int file, std::deque<Operation> &operations,
                       bool sending) {
    while (!operations.empty()) {
      Operation &first = operations.front();
      ssize_t count = sending
                          ? ::send(file, first.data, first.bytes,
                                   MSG_NOSIGNAL | MSG_DONTWAIT)
                          : recv(file, first.data, first.bytes, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
      if (count <= 0)
        return false;
      first.data += count;
      first.bytes -= size_t(count);
      if (first.bytes == 0)
        operations.pop_front();
    }
    return true;
  }

  std::thread thread;
  std::atomic<bool> stopping{false};
  int ear = -1;
  std::vector<int> out, in; // By peer.
  int splits = 0;
  std::mutex mutex; // Guards what follows.
  NcclResult state = nccl::InProgress;
  std::deque<Group> groups;
};

Comm *toComm(NcclHandle handle) { return reinterpret_cast<Comm *>(handle); }
NcclHandle toHandle(Comm *comm) { return reinterpret_cast<NcclHandle>(comm); }

/// What a thread has begun and not ended.
thread_local std::map<Comm *, Group> begun;
thread_local int depth = 0;

bool isRight(const NcclConfig *config) {
  return config && config->magic == 0xcafebeef && config->blocking == 0;
}

NcclResult add(NcclHandle handle, bool sending, const void *data, size_t bytes,
               int type, int peer) {
  Comm *comm = toComm(handle);
  if (depth == 0 || type != nccl::Bytes || peer < 0 || peer >= comm->ranks ||
      peer == comm->rank || bytes == 0)
    return invalidArgument;
  Group &group = begun[comm];
  (sending ? group.sends : group.receives)[peer].push_back(
      {peer, static_cast<char *>(const_cast<void *>(data)), bytes});
  return nccl::Success;
}

} // namespace

EXPORT FakeNccl *fakeNccl() { return &fake; }

EXPORT NcclResult ncclGetVersion(int *version) {
  *version = versionOf();
  return nccl::Success;
}
EXPORT const char *ncclGetErrorString(NcclResult) { return "a fake failure"; }
EXPORT const char *ncclGetLastError(NcclHandle) { return "as planned\n"; }

EXPORT NcclResult ncclGetUniqueId(NcclId *id) {
  static std::atomic<int> count{0};
  std::string text = std::to_string(getpid()) + "-" + std::to_string(count++);
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::memcpy(id->bytes, text.data(), text.size());
  return nccl::Success;
}
EXPORT NcclResult ncclCommInitRankConfig(NcclHandle *handle, int ranks,
                                         NcclId id, int rank,
                                         NcclConfig *config) {
  if (!isRight(config) || rank < 0 || rank >= ranks)
    return invalidArgument;
  *handle = toHandle(new Comm(id.bytes, rank, ranks));
  return nccl::InProgress;
}
EXPORT NcclResult ncclCommSplit(NcclHandle from, int, int key, NcclHandle *made,
                                NcclConfig *config) {
  Comm *of = toComm(from);
  if (!isRight(config) || key != of->rank)
    return invalidArgument;
  *made = toHandle(new Comm(of->nextId(), of->rank, of->ranks));
  return nccl::InProgress;
}
EXPORT NcclResult ncclCommFinalize(NcclHandle handle) {
  return toComm(handle) ? nccl::Success : invalidArgument;
}
EXPORT NcclResult ncclCommDestroy(NcclHandle handle) {
  ++fake.destroyed;
  delete toComm(handle);
  return nccl::Success;
}
EXPORT NcclResult ncclCommAbort(NcclHandle handle) {
  ++fake.aborted;
  delete toComm(handle);
  return nccl::Success;
}
EXPORT NcclResult ncclCommGetAsyncError(NcclHandle handle, NcclResult *state) {
  *state = toComm(handle)->asyncError();
  return nccl::Success;
}
EXPORT NcclResult ncclCommCount(NcclHandle handle, int *count) {
  *count = toComm(handle)->ranks;
  return nccl::Success;
}
EXPORT NcclResult ncclCommUserRank(NcclHandle handle, int *rank) {
  *rank = toComm(handle)->rank;
  return nccl::Success;
}
EXPORT NcclResult ncclCommCuDevice(NcclHandle, int *device) {
  *device = 0;
  return nccl::Success;
}

EXPORT NcclResult ncclGroupStart() {
  ++depth;
  return nccl::Success;
}
EXPORT NcclResult ncclGroupEnd() {
  if (depth == 0)
    return invalidUsage;
  if (--depth > 0)
    return nccl::Success;
  for (auto &[comm, group] : begun)
    comm->queue(std::move(group));
  begun.clear();
  return nccl::InProgress;
}
EXPORT NcclResult ncclSend(const void *data, size_t bytes, int type, int peer,
                           NcclHandle handle, void *) {
  return add(handle, true, data, bytes, type, peer);
}
EXPORT NcclResult ncclRecv(void *data, size_t bytes, int type, int peer,
                           NcclHandle handle, void *) {
  return add(handle, false, data, bytes, type, peer);
}
