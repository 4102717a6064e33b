//===- IndexTables.h - Tables of indices, built once -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_INDEXTABLES_H
#define RINGLET_RUNTIME_INDEXTABLES_H

#include "Expr.h"
#include "Memory.h"
#include "Status.h"

#include "lib/Layout/IndexTable.h"

#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace ringlet::rt {

inline bool isTable(const abi::Buffer &buffer) {
  return buffer.kind() == abi::BufferKind::OrderTable ||
         buffer.kind() == abi::BufferKind::OrdinalTable ||
         buffer.kind() == abi::BufferKind::TileIndex;
}

/// What a buffer that is a table is made of, but for its sizes.
Status makeKey(const abi::Buffer &buffer, layout::IndexTable &key);

/// Completes the key with sizes, which make a table that can be built.
Status setSizes(const abi::Buffer &buffer, const ExprValues &exprs,
                layout::IndexTable &key);

/// A table in the driver's memory.
struct IndexTable {
  /// Empty where kernels do not read the host's memory.
  std::vector<int64_t> entries;
  Upload upload;
};

/// Entries of the table of a valid key, and their bytes.
int64_t entryCount(const layout::IndexTable &key);
inline uint64_t bytesOf(const layout::IndexTable &key) {
  return uint64_t(entryCount(key)) * sizeof(int64_t);
}

/// Tables by their whole key, shared by the runs of a context.
class IndexTableCache {
public:
  /// Unused tables that are kept for later.
  static constexpr uint64_t idleBytes = uint64_t(256) << 20;
  static constexpr size_t idleTables = 64;

  IndexTableCache(Driver &driver, MemorySource &source, Account &account)
      : driver(driver), source(source), account(account) {}
  ~IndexTableCache();

  /// The table, built now or before. Two threads that want the same one at
  /// once build it once. On failure, `overLimit` tells whether the account
  /// refused. Unless `mayFree`, tables that nobody uses stay, however many.
  /// `fill` is a kernel that may write it, or null; see Buffer in artifact.fbs.
  Status get(const layout::IndexTable &key,
             std::shared_ptr<const IndexTable> &table, bool &overLimit,
             bool mayFree = true, void *fill = nullptr);
  /// Frees all tables that no run uses.
  void trim() { evict(0, 0); }
  uint64_t held() const;
  uint64_t built() const;

private:
  struct Entry {
    layout::IndexTable key;
    std::mutex building;
    IndexTable table;
    bool ready = false; // Guarded by `building`.
    uint64_t bytes = 0; // Of the account; guarded by the cache's mutex.
  };
  Status build(Entry &entry, void *fill, bool &overLimit);
  Status write(const layout::IndexTable &key, void *fill, IndexTable &table);
  /// Frees unused tables, the longest unused first, until what remains unused
  /// is within both bounds.
  void evict(uint64_t maxBytes, size_t maxTables);

  Driver &driver;
  MemorySource &source;
  Account &account;
  mutable std::mutex mutex;
  std::list<std::shared_ptr<Entry>> entries; // Last used first.
  uint64_t total = 0, count = 0;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_INDEXTABLES_H
