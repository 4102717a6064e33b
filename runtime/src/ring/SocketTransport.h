//===- SocketTransport.h - Messages between processes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A connection for each pair of ranks. Messages of an exchange go over all of
// them at once, so that no order of sending and receiving can block.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_SOCKETTRANSPORT_H
#define RINGLET_RUNTIME_RING_SOCKETTRANSPORT_H

#include "Bootstrap.h"
#include "Transport.h"

#include <memory>

namespace ringlet::rt::ring {

/// Connects all pairs of ranks; every rank calls it. The abort outlives the
/// transport.
Status connectSockets(const Peers &peers, Abort &abort, Deadline deadline,
                      std::unique_ptr<Transport> &transport);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_SOCKETTRANSPORT_H
