//===- ring/KeyMemory.h - The memory that keys travel in ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_KEYMEMORY_H
#define RINGLET_RUNTIME_RING_KEYMEMORY_H

#include "../Context.h"
#include "Transport.h"

#include <cstddef>
#include <cstdint>

namespace ringlet::rt::ring {

/// Rows of several heads: of each head `count` times `run` rows. Distances are
/// in bytes.
struct RowCopy {
  char *to = nullptr;
  const char *from = nullptr;
  size_t bytes = 0; // Of a row.
  int64_t heads = 1, count = 1, run = 1;
  ptrdiff_t toHead = 0;
  ptrdiff_t fromHead = 0, fromStride = 0, fromStep = 0;
  /// From a row that is written to the next one of its head.
  ptrdiff_t toStep = 0;
};

/// Where keys lie while they travel, and who copies them. Copies, and the
/// computations that read what arrived, may be queued.
class KeyMemory {
public:
  virtual ~KeyMemory() = default;

  /// Blocks begin at multiples of 128 bytes.
  virtual Status allocate(size_t bytes, char *&block) = 0;
  virtual void release(char *block, size_t bytes) = 0;
  /// Until the next mark it may not have begun.
  virtual Status copy(const RowCopy &rows) = 0;
  /// What has been copied and computed so far. Null: it is done.
  virtual Status mark(Condition &done) = 0;
};

/// Counts bytes for keys to what a context holds, as far as its limit allows.
Status takeBytes(Context &context, uint64_t bytes);

/// Memory of the host, where everything is done on return. It counts to what a
/// context holds, if there is one.
class HostKeys final : public KeyMemory {
public:
  explicit HostKeys(Context *context = nullptr) : context(context) {}
  Status allocate(size_t bytes, char *&block) override;
  void release(char *block, size_t bytes) override;
  Status copy(const RowCopy &rows) override;
  Status mark(Condition &done) override {
    done = nullptr;
    return {};
  }

private:
  Context *const context;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_KEYMEMORY_H
