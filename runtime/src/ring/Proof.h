//===- Proof.h - Peers prove that they know a secret ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever connects to a ring is asked for a keyed digest of random numbers of
// both ends. Without the secret nobody gets further, and the secret never
// travels. It keeps strangers out; it does not encrypt what follows.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_PROOF_H
#define RINGLET_RUNTIME_RING_PROOF_H

#include "Socket.h"

#include "ringlet/abi/Container.h"

#include <array>
#include <map>

namespace ringlet::rt::ring {

/// A secret of random digits.
std::string makeSecret();

using Digest = abi::Sha256Digest;

/// HMAC of RFC 2104 with SHA-256.
Digest keyedDigest(const std::string &key, const std::string &message);

/// Who connects: a rank that expects a ring of `ranks`, where it listens for
/// others, and on which connection of the ring.
struct Claim {
  int64_t rank = 0;
  int64_t ranks = 0;
  uint16_t port = 0;
  std::string host; ///< Empty: as the connection shows it.
};

/// The connecting end. `refusal` is what the other one says against it.
Status introduce(const File &connection, const std::string &secret,
                 const std::string &purpose, const Claim &claim,
                 Deadline deadline, std::string &refusal);

/// The accepting end, for many connections at once: silent and false ones cost
/// nobody else any time.
class Doorman {
public:
  Doorman(const File &listener, std::string secret, std::string purpose)
      : listener(listener), secret(std::move(secret)),
        purpose(std::move(purpose)) {}

  /// Judges a claim that is proven: an empty string lets it in, anything else
  /// is sent as the refusal.
  using Judge = std::function<std::string(const Claim &)>;

  /// Lets in who comes until `enough()` or the deadline. False by the deadline.
  bool admit(Deadline deadline, const Judge &judge,
             const std::function<bool()> &enough,
             const std::function<void(const Claim &, File)> &admitted);

private:
  struct Visitor {
    File connection;
    std::string nonce;
    std::string received;
    Deadline until;
  };
  void welcome();
  /// False when the visitor is done with.
  bool hear(Visitor &visitor, const Judge &judge,
            const std::function<void(const Claim &, File)> &admitted);

  const File &listener;
  std::string secret, purpose;
  std::vector<Visitor> visitors;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_PROOF_H
