//===- ring/CopyTransport.h - Messages copied between processes -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_COPYTRANSPORT_H
#define RINGLET_RUNTIME_RING_COPYTRANSPORT_H

#include "Device.h"
#include "SideChannel.h"
#include "Transport.h"

namespace ringlet::rt::ring {

/// A transport between devices of processes that share a host: the sender
/// copies to memory that the receiver has named. Only memory of the ring is
/// ever named, which lives as long as the ring. All ranks call it at once, and
/// each tries a copy to every other one; where one of these fails, none gets a
/// transport, and `whyNot` is the first reason. Control outlives the transport.
Status connectCopies(SideChannel &channel, Transport &control, Abort &abort,
                     const std::shared_ptr<Device> &device, int queues,
                     Deadline deadline, std::unique_ptr<Transport> &transport,
                     std::string &whyNot);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_COPYTRANSPORT_H
