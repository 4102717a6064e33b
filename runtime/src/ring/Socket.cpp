//===- Socket.cpp - TCP with deadlines ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ringlet::rt::ring {

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

Status resolve(const Address &address, bool passive, Addresses &result) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo *list = nullptr;
  int code = getaddrinfo(address.host.c_str(), text(address.port).c_str(),
                         &hints, &list);
  if (code != 0)
    return failure(RL_UNAVAILABLE, "no address for ", address.text(), ": ",
                   gai_strerror(code));
  result = Addresses(list, freeaddrinfo);
  return {};
}

File openSocket(const addrinfo &at) {
  return File(socket(at.ai_family,
                     at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                     at.ai_protocol));
}

/// Messages are small or complete: none waits to be joined by another.
void sendAtOnce(const File &connection) {
  int one = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

bool waitFor(const File &connection, short events, Deadline deadline) {
  pollfd file = {connection.get(), events, 0};
  while (Clock::now() < deadline)
    if (poll(&file, 1, millisecondsUntil(deadline)) > 0)
      return true;
  return false;
}

} // namespace

void File::reset() {
  if (number >= 0)
    close(number);
  number = -1;
}

std::string Address::text() const {
  bool isV6 = host.find(':') != std::string::npos;
  return rt::text(isV6 ? "[" : "", host, isV6 ? "]:" : ":", port);
}

Status listenOn(const Address &address, File &listener, uint16_t &port) {
  Addresses addresses(nullptr, freeaddrinfo);
  RL_TRY(resolve(address, true, addresses));
  int code = 0;
  for (addrinfo *at = addresses.get(); at; at = at->ai_next) {
    File file = openSocket(*at);
    int one = 1;
    // A port whose last connections still linger can be taken again.
    if (!file ||
        setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) !=
            0 ||
        bind(file.get(), at->ai_addr, at->ai_addrlen) != 0 ||
        listen(file.get(), 128) != 0) {
      code = errno;
      continue;
    }
    sockaddr_storage taken = {};
    socklen_t size = sizeof taken;
    getsockname(file.get(), reinterpret_cast<sockaddr *>(&taken), &size);
    port = ntohs(taken.ss_family == AF_INET6
                     ? reinterpret_cast<sockaddr_in6 *>(&taken)->sin6_port
                     : reinterpret_cast<sockaddr_in *>(&taken)->sin_port);
    listener = std::move(file);
    return {};
  }
  return failure(RL_UNAVAILABLE, "cannot listen on ", address.text(), ": ",
                 std::strerror(code));
}

File acceptFrom(const File &listener) {
  File connection(
      accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection)
    sendAtOnce(connection);
  return connection;
}

Status connectTo(const Address &address, Deadline deadline, File &connection) {
  Addresses addresses(nullptr, freeaddrinfo);
  RL_TRY(resolve(address, false, addresses));
  int code = ETIMEDOUT;
  do {
    for (addrinfo *at = addresses.get(); at; at = at->ai_next) {
      File file = openSocket(*at);
      if (!file) {
        code = errno;
        continue;
      }
      if (connect(file.get(), at->ai_addr, at->ai_addrlen) != 0) {
        code = errno;
        if (code != EINPROGRESS || !waitFor(file, POLLOUT, deadline))
          continue;
        socklen_t size = sizeof code;
        getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &code, &size);
        if (code != 0)
          continue;
      }
      sendAtOnce(file);
      connection = std::move(file);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  return failure(RL_PEER_ERROR, "no connection to ", address.text(), ": ",
                 std::strerror(code));
}

std::string localHost(const File &connection) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = "";
  if (getsockname(connection.get(), reinterpret_cast<sockaddr *>(&address),
                  &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof host,
                nullptr, 0, NI_NUMERICHOST);
  return host;
}

ptrdiff_t sendSome(const File &connection, const void *bytes, size_t size) {
  for (;;) {
    ptrdiff_t count = send(connection.get(), bytes, size, MSG_NOSIGNAL);
    if (count >= 0)
      return count;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return 0;
    if (errno != EINTR)
      return -1;
  }
}

ptrdiff_t receiveSome(const File &connection, void *bytes, size_t size) {
  for (;;) {
    ptrdiff_t count = recv(connection.get(), bytes, size, 0);
    if (count > 0)
      return count;
    if (count == 0)
      return size == 0 ? 0 : -1;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
      return 0;
    if (errno != EINTR)
      return -1;
  }
}

namespace {

template <typename Byte, typename Move>
Status moveAll(const File &connection, Byte *bytes, size_t size, short events,
               Deadline deadline, Move move) {
  while (size > 0) {
    ptrdiff_t count = move(connection, bytes, size);
    if (count < 0)
      return Status(RL_PEER_ERROR, "connection closed");
    bytes += count;
    size -= static_cast<size_t>(count);
    if (size > 0 && count == 0 && !waitFor(connection, events, deadline))
      return Status(RL_PEER_ERROR, "no answer in time");
  }
  return {};
}

} // namespace

Status sendAll(const File &connection, const void *bytes, size_t size,
               Deadline deadline) {
  return moveAll(connection, static_cast<const char *>(bytes), size, POLLOUT,
                 deadline, sendSome);
}

Status receiveAll(const File &connection, void *bytes, size_t size,
                  Deadline deadline) {
  return moveAll(connection, static_cast<char *>(bytes), size, POLLIN, deadline,
                 receiveSome);
}

} // namespace ringlet::rt::ring
