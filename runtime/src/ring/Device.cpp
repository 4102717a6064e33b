//===- ring/Device.cpp - A device whose memory messages move ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Failure.h"

#include <algorithm>

namespace ringlet::rt::ring {

Device::~Device() {
  for (const Kept &kept : blocks) {
    context->memory.release(kept.block, kept.bytes);
    context->account.give(kept.bytes);
  }
}

Status Device::take(uint64_t bytes, char *&block) {
  std::lock_guard<std::mutex> lock(mutex);
  Kept *best = nullptr;
  for (Kept &kept : blocks)
    if (kept.idle && kept.bytes >= bytes && (!best || kept.bytes < best->bytes))
      best = &kept;
  // A block much larger than asked for will be asked for itself.
  if (best && best->bytes / 2 <= bytes) {
    best->idle = false;
    block = best->block;
    return {};
  }
  RL_TRY(takeBytes(*context, bytes));
  Status status = context->memory.allocate(bytes, block);
  if (!status.ok()) {
    context->account.give(bytes);
    return status;
  }
  blocks.push_back({block, bytes, false});
  return {};
}

void Device::give(char *block) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Kept &kept : blocks)
    if (kept.block == block)
      kept.idle = true;
}

Status waitUntilIdle(MessageQueue &queue) {
  bool idle = false;
  for (int looks = 0;; ++looks) {
    RL_TRY(queue.isIdle(idle));
    if (idle)
      return {};
    pauseBetweenLooks(looks);
  }
}

Status DeviceKeys::create(Device &device, Stream runs,
                          std::unique_ptr<KeyMemory> &keys) {
  std::unique_ptr<DeviceKeys> made(new DeviceKeys(device, runs));
  RL_TRY(device.driver().openSide(made->side));
  keys = std::move(made);
  return {};
}

Status DeviceKeys::copy(const RowCopy &rows) {
  if (rows.heads == 0 || rows.count == 0 || rows.run == 0)
    return {};
  const auto bytes = static_cast<int64_t>(rows.bytes);
  TensorView from;
  from.dtype = abi::DType::U8;
  from.rank = 4;
  from.data = const_cast<char *>(rows.from);
  TensorView to = from;
  to.data = rows.to;
  // Heads that lie beside each other on both sides are as one row.
  const int64_t sizes[] = {rows.count, rows.run, rows.heads, bytes};
  const int64_t fromStrides[] = {rows.fromStride, rows.fromStep, rows.fromHead,
                                 1};
  const int64_t toStrides[] = {rows.run * rows.toStep, rows.toStep, rows.toHead,
                               1};
  std::copy_n(sizes, 4, from.sizes);
  std::copy_n(sizes, 4, to.sizes);
  std::copy_n(fromStrides, 4, from.strides);
  std::copy_n(toStrides, 4, to.strides);
  copies.push_back({from, to});
  return {};
}

Status DeviceKeys::mark(Condition &done) {
  done = nullptr;
  RL_TRY(device.driver().copyAll(copies, runs));
  copies.clear();
  if (!side)
    return {};
  uint32_t event = 0;
  RL_TRY(side->record(runs, event));
  done = [queue = side.get(), event](bool &reached) {
    return queue->query(event, reached);
  };
  return {};
}

} // namespace ringlet::rt::ring
