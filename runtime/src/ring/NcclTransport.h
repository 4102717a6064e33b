//===- ring/NcclTransport.h - Messages between GPUs by NCCL ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_NCCLTRANSPORT_H
#define RINGLET_RUNTIME_RING_NCCLTRANSPORT_H

#include "Device.h"
#include "SideChannel.h"
#include "Transport.h"

namespace ringlet::rt::ring {

/// A transport for memory of this rank's device. All ranks call it at once.
/// Before messages travel, the two ends of each tell each other over `control`
/// what it is, and that they have come to it: so NCCL, whose messages have
/// neither names nor sizes, waits for nobody for long, and a multiprocessor
/// that it takes has something to do. One communicator for each of `queues`:
/// parts of the user's, which is never used itself, or new ones. Control
/// outlives the transport.
Status connectNccl(SideChannel &channel, Transport &control, Abort &abort,
                   const std::shared_ptr<Device> &device, int queues,
                   void *userCommunicator, Deadline deadline,
                   std::unique_ptr<Transport> &transport);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_NCCLTRANSPORT_H
