//===- cuda/MessageStream.cpp - A stream for messages of a ring -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageStream.h"

#include <cstring>

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
  if (!current.ok())
    return;
  for (const auto &[name, address] : shared)
    (void)api.ipcClose(address);
  if (handle)
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

//===----------------------------------------------------------------------===//
// Memory of other processes
//===----------------------------------------------------------------------===//

static Status checkShares(const Api &api) {
  return api.addressRange && api.ipcGet && api.ipcOpen && api.ipcClose
             ? Status()
             : failure(RL_UNAVAILABLE,
                       "libcuda has no memory that processes share");
}

Status SharedName::make(const Device &device, Address data, std::string &name) {
  const Api &api = device.api;
  RL_TRY(checkShares(api));
  OutsideCapture outside(api);
  Current current(api, device.context());
  RL_TRY(current.status());
  Address base = 0;
  size_t bytes = 0;
  RL_TRY(api.check(api.addressRange(&base, &bytes, data), "find a block"));
  SharedName made = {};
  RL_TRY(api.check(api.ipcGet(&made.handle, base),
                   "share memory with other processes"));
  made.offset = data - base;
  name.assign(reinterpret_cast<const char *>(&made), sizeof made);
  return {};
}

Status SharedName::parse(const std::string &name, SharedName &shared) {
  if (name.size() != sizeof shared)
    return failure(RL_PEER_ERROR, "expected a name of memory of ",
                   sizeof shared, " bytes, found ", name.size());
  std::memcpy(&shared, name.data(), sizeof shared);
  return {};
}

Status MessageStream::openShared(const SharedName &name, Address &address) {
  std::string key(name.handle.bytes, sizeof name.handle.bytes);
  auto known = shared.find(key);
  if (known == shared.end()) {
    RL_TRY(checkShares(api));
    Address opened = 0;
    RL_TRY(api.check(api.ipcOpen(&opened, name.handle, ipc::EnablePeer),
                     "open memory of another process"));
    known = shared.emplace(std::move(key), opened).first;
  }
  address = known->second + name.offset;
  return {};
}

Status MessageStream::push(const std::string &name, const void *from,
                           uint64_t bytes, uint64_t offset) {
  SharedName target;
  RL_TRY(SharedName::parse(name, target));
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Address address = 0;
  RL_TRY(openShared(target, address));
  return api.check(api.copyOnDevice(address + offset,
                                    Address(reinterpret_cast<uintptr_t>(from)),
                                    bytes, handle),
                   text("copy ", bytes, " bytes to another process"));
}

Status MessageStream::isIdle(bool &idle) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Result code = api.streamQuery(handle);
  idle = code == result::Success;
  return code == result::NotReady ? Status() : api.check(code, "move messages");
}
