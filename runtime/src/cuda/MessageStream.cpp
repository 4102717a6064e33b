//===- cuda/MessageStream.cpp - A stream for messages of a ring -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageStream.h"

using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

Status MessageStream::open() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  int least = 0, greatest = 0;
  RL_TRY(api.check(api.ctxPriorities(&least, &greatest),
                   "tell the priorities of streams"));
  return api.check(api.streamCreateBefore(&handle, NonBlockingStream, greatest),
                   "create a stream");
}

MessageStream::~MessageStream() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (current.ok() && handle)
    (void)api.streamDestroy(handle);
}

Status MessageStream::findPeer(int ordinal, const Device *&peer) {
  std::shared_ptr<const Device> &known = peers[ordinal];
  if (!known) {
    RL_TRY(Device::open(api, ordinal, known));
    // Refused where it is enabled already or not possible: then copies go by
    // the host.
    (void)api.ctxEnablePeer(known->context(), 0);
  }
  peer = known.get();
  return {};
}

Status MessageStream::copy(void *to, const void *from, uint64_t bytes,
                           const Driver &owner) {
  if (bytes == 0)
    return {};
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  auto target = Address(reinterpret_cast<uintptr_t>(to));
  auto source = Address(reinterpret_cast<uintptr_t>(from));
  if (owner.ordinal() == device->ordinal)
    return api.check(api.copyOnDevice(target, source, bytes, handle),
                     text("copy ", bytes, " bytes"));
  const Device *peer = nullptr;
  RL_TRY(findPeer(owner.ordinal(), peer));
  return api.check(api.copyToPeer(target, device->context(), source,
                                  peer->context(), bytes, handle),
                   text("copy ", bytes, " bytes from GPU ", owner.ordinal()));
}

Status MessageStream::isIdle(bool &idle) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Result code = api.streamQuery(handle);
  idle = code == result::Success;
  return code == result::NotReady ? Status() : api.check(code, "move messages");
}
