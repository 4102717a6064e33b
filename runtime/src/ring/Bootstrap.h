//===- Bootstrap.h - How ranks find each other ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 listens where it is told, by default on this machine alone; the others
// connect, prove that they know the secret, and learn where everybody listens.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_BOOTSTRAP_H
#define RINGLET_RUNTIME_RING_BOOTSTRAP_H

#include "Proof.h"

#include <memory>

namespace ringlet::rt::ring {

struct BootstrapOptions {
  int64_t rank = 0;
  int64_t ranks = 1;
  /// Where rank 0 listens and the others connect.
  Address root{"127.0.0.1", 0};
  /// On rank 0: where that is listened already, as for an id.
  std::shared_ptr<File> ear;
  /// Where this rank listens for messages of others: an address of this
  /// machine, empty for that by which it reaches rank 0.
  std::string listen;
  std::string secret;
  /// Until everybody is there.
  double seconds = 60;
};

/// RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them, and
/// the secret of RINGLET_RING_SECRET. Where torchrun's agent keeps MASTER_PORT
/// for itself (TORCHELASTIC_USE_AGENT_STORE), the next port is taken.
Status optionsFromEnvironment(BootstrapOptions &options);

/// What ranks have to know of each other but their numbers, as one text without
/// a zero byte: where rank 0 listens, from now on, and a secret. Rank 0 is made
/// in this process.
Status makeId(const std::string &host, std::string &id);
/// Puts it into the options. Of those of one id, the first rank 0 has its ear.
Status useId(const std::string &id, BootstrapOptions &options);

struct Peers {
  int64_t rank = 0;
  int64_t ranks = 1;
  std::string secret;
  /// By rank; on any other rank than 0, only the first one, to rank 0.
  std::vector<File> control;
  /// Where each rank listens for messages, and this one's ear.
  std::vector<Address> addresses;
  File listener;
};

/// Waits for all ranks. A failure names those that are missing. `bound`, if
/// given, hears the port on which rank 0 listens, before it waits.
Status bootstrap(const BootstrapOptions &options, Peers &peers,
                 const std::function<void(uint16_t)> &bound = {});

/// Text with its length before it, at most a mebibyte.
Status sendText(const File &connection, const std::string &text,
                Deadline deadline);
Status receiveText(const File &connection, std::string &text,
                   Deadline deadline);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_BOOTSTRAP_H
