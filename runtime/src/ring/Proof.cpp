//===- Proof.cpp - Peers prove that they know a secret ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proof.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <sys/random.h>

namespace ringlet::rt::ring {

namespace {

/// Version of what is said here and in Bootstrap.cpp.
constexpr char kMagic[] = "RLRING01";
constexpr size_t kMagicSize = 8;
constexpr size_t kNonce = 32;
constexpr size_t kHost = 64;
constexpr size_t kClaim = kMagicSize + kNonce + 8 + 8 + 2 + kHost;
constexpr size_t kDigest = 32;
constexpr size_t kRefusal = 256;
/// A visitor says who it is in this time, or is sent away; so many wait at
/// once.
constexpr double kPatience = 5;
constexpr size_t kMostVisitors = 1024;

std::string makeNonce() {
  std::string nonce(kNonce, '\0');
  size_t done = 0;
  while (done < kNonce) {
    ssize_t count = getrandom(&nonce[done], kNonce - done, 0);
    if (count > 0)
      done += static_cast<size_t>(count);
  }
  return nonce;
}

void append(std::string &to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    to.push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t read(const std::string &from, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(from[at + i]))
             << (8 * i);
  return value;
}

std::string padded(const std::string &text, size_t size) {
  std::string result = text.substr(0, size);
  result.resize(size, '\0');
  return result;
}

std::string textOf(const Digest &digest) {
  return std::string(digest.begin(), digest.end());
}

/// Equal in a time that does not tell where they differ.
bool same(const std::string &a, const std::string &b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]);
  return difference == 0;
}

} // namespace

std::string makeSecret() {
  std::string secret;
  for (char each : makeNonce()) {
    secret += "0123456789abcdef"[(each >> 4) & 15];
    secret += "0123456789abcdef"[each & 15];
  }
  return secret;
}

Digest keyedDigest(const std::string &key, const std::string &message) {
  constexpr size_t block = 64;
  std::string padded = key;
  if (padded.size() > block)
    padded = textOf(abi::sha256(padded.data(), padded.size()));
  padded.resize(block, '\0');
  std::string inner = padded, outer = padded;
  for (char &c : inner)
    c ^= 0x36;
  for (char &c : outer)
    c ^= 0x5c;
  inner += message;
  outer += textOf(abi::sha256(inner.data(), inner.size()));
  return abi::sha256(outer.data(), outer.size());
}

Status introduce(const File &connection, const std::string &secret,
                 const std::string &purpose, const Claim &claim,
                 Deadline deadline, std::string &refusal) {
  std::string hello(kMagicSize + kNonce, '\0');
  RL_TRY(receiveAll(connection, hello.data(), hello.size(), deadline));
  if (hello.compare(0, kMagicSize, kMagic) != 0)
    return Status(RL_PEER_ERROR, "expected a rank of a ring of this version, "
                                 "found something else");
  std::string body = kMagic + makeNonce();
  append(body, static_cast<uint64_t>(claim.rank), 8);
  append(body, static_cast<uint64_t>(claim.ranks), 8);
  append(body, claim.port, 2);
  body += padded(claim.host, kHost);
  std::string proof =
      textOf(keyedDigest(secret, "claim" + purpose + hello + body));
  std::string sent = body + proof;
  RL_TRY(sendAll(connection, sent.data(), sent.size(), deadline));

  std::string answer(kDigest + kRefusal, '\0');
  Status received =
      receiveAll(connection, answer.data(), answer.size(), deadline);
  if (!received.ok())
    return failure(received.code(), received.message(),
                   ", where a proof of the secret was checked");
  std::string said = answer.substr(kDigest);
  if (!same(answer.substr(0, kDigest),
            textOf(
                keyedDigest(secret, "answer" + purpose + hello + body + said))))
    return Status(RL_PEER_ERROR,
                  "expected a rank with the same secret, found another");
  refusal = said.c_str();
  return {};
}

void Doorman::welcome() {
  while (File connection = acceptFrom(listener)) {
    if (visitors.size() >= kMostVisitors)
      continue;
    Visitor visitor;
    visitor.connection = std::move(connection);
    visitor.nonce = makeNonce();
    visitor.until = after(kPatience);
    std::string hello = kMagic + visitor.nonce;
    if (sendSome(visitor.connection, hello.data(), hello.size()) ==
        static_cast<ptrdiff_t>(hello.size()))
      visitors.push_back(std::move(visitor));
  }
}

bool Doorman::hear(Visitor &visitor, const Judge &judge,
                   const std::function<void(const Claim &, File)> &admitted) {
  std::string &received = visitor.received;
  size_t before = received.size();
  received.resize(kClaim + kDigest);
  ptrdiff_t count = receiveSome(visitor.connection, &received[before],
                                received.size() - before);
  received.resize(before + static_cast<size_t>(std::max<ptrdiff_t>(count, 0)));
  if (count < 0 || received.compare(0, kMagicSize, kMagic,
                                    std::min(kMagicSize, received.size())) != 0)
    return false;
  if (received.size() < kClaim + kDigest)
    return true;

  std::string body = received.substr(0, kClaim);
  std::string hello = kMagic + visitor.nonce;
  if (!same(received.substr(kClaim),
            textOf(keyedDigest(secret, "claim" + purpose + hello + body))))
    return false;
  Claim claim;
  size_t at = kMagicSize + kNonce;
  claim.rank = static_cast<int64_t>(read(body, at, 8));
  claim.ranks = static_cast<int64_t>(read(body, at + 8, 8));
  claim.port = static_cast<uint16_t>(read(body, at + 16, 2));
  claim.host = body.substr(at + 18).c_str();
  std::string said = padded(judge(claim), kRefusal);
  said.back() = '\0';
  std::string answer =
      textOf(keyedDigest(secret, "answer" + purpose + hello + body + said)) +
      said;
  Status sent =
      sendAll(visitor.connection, answer.data(), answer.size(), after(1));
  if (sent.ok() && said[0] == '\0')
    admitted(claim, std::move(visitor.connection));
  return false;
}

bool Doorman::admit(Deadline deadline, const Judge &judge,
                    const std::function<bool()> &enough,
                    const std::function<void(const Claim &, File)> &admitted) {
  while (!enough()) {
    if (Clock::now() >= deadline)
      return false;
    std::vector<pollfd> files = {{listener.get(), POLLIN, 0}};
    for (const Visitor &visitor : visitors)
      files.push_back({visitor.connection.get(), POLLIN, 0});
    poll(files.data(), files.size(), millisecondsUntil(deadline, 200));
    std::vector<Visitor> staying;
    for (size_t i = 0; i < visitors.size(); ++i) {
      bool spoke = files[i + 1].revents != 0;
      if (spoke ? hear(visitors[i], judge, admitted)
                : Clock::now() < visitors[i].until)
        staying.push_back(std::move(visitors[i]));
    }
    visitors.swap(staying);
    if (files[0].revents != 0)
      welcome();
  }
  return true;
}

} // namespace ringlet::rt::ring
