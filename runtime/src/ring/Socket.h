//===- Socket.h - TCP with deadlines ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here waits longer than it is told. Files are closed by their owners
// and are not inherited by other programs.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_SOCKET_H
#define RINGLET_RUNTIME_RING_SOCKET_H

#include "Failure.h"

#include <utility>

namespace ringlet::rt::ring {

/// An open file, or none.
class File {
public:
  File() = default;
  explicit File(int descriptor) : number(descriptor) {}
  File(File &&other) noexcept : number(std::exchange(other.number, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~File() { reset(); }

  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }
  void reset();

private:
  int number = -1;
};

struct Address {
  std::string host;
  uint16_t port = 0;

  std::string text() const;
};

/// Listens on an address; port 0 takes a free one. `port` is the one taken.
Status listenOn(const Address &address, File &listener, uint16_t &port);

/// Takes a connection that waits, or none. It does not block afterwards.
File acceptFrom(const File &listener);

/// Connects, trying again until the deadline: the other end may not be there
/// yet.
Status connectTo(const Address &address, Deadline deadline, File &connection);

/// The address of this machine as the other end sees it.
std::string localHost(const File &connection);

/// Whole messages, or a failure by the deadline. RL_PEER_ERROR says that the
/// connection is closed.
Status sendAll(const File &connection, const void *bytes, size_t size,
               Deadline deadline);
Status receiveAll(const File &connection, void *bytes, size_t size,
                  Deadline deadline);

/// As much as there is room for, or as has arrived, at once: the number of
/// bytes, 0 if that is none now, -1 if the connection is closed.
ptrdiff_t sendSome(const File &connection, const void *bytes, size_t size);
ptrdiff_t receiveSome(const File &connection, void *bytes, size_t size);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_SOCKET_H
