//===- OrderTables.h - Order tables, built once ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ORDERTABLES_H
#define RINGLET_RUNTIME_ORDERTABLES_H

#include "Memory.h"
#include "Status.h"

#include "lib/Layout/Order.h"

#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace ringlet::rt {

/// The order that an artefact describes, or why it is none.
Status makeOrder(const abi::Order &order,
                 std::shared_ptr<const layout::Order> &made);

/// An order written out for one length: entry m is the token of slot m or,
/// inverse, the slot of token m.
struct OrderTable {
  /// Empty where kernels do not read the host's memory.
  std::vector<int64_t> entries;
  Upload upload;
};

struct OrderTableKey {
  std::shared_ptr<const layout::Order> order;
  int64_t length = 0;
  bool inverse = false;

  bool operator==(const OrderTableKey &other) const {
    return length == other.length && inverse == other.inverse &&
           (order == other.order || order->spec() == other.order->spec());
  }
  /// Of the table; the caller has checked that the length is legal.
  uint64_t bytes() const { return uint64_t(length) * sizeof(int64_t); }
};

/// Tables by their whole key, shared by the runs of a context.
class OrderTableCache {
public:
  /// Unused tables that are kept for later.
  static constexpr uint64_t idleBytes = uint64_t(256) << 20;
  static constexpr size_t idleTables = 64;

  OrderTableCache(Driver &driver, Account &account)
      : driver(driver), account(account) {}
  ~OrderTableCache();

  /// The table, built now or before. Two threads that want the same one at
  /// once build it once. On failure, `overLimit` tells whether the account
  /// refused. Unless `mayFree`, tables that nobody uses stay, however many.
  Status get(const OrderTableKey &key, std::shared_ptr<const OrderTable> &table,
             bool &overLimit, bool mayFree = true);
  /// Frees all tables that no run uses.
  void trim() { evict(0, 0); }
  uint64_t held() const;
  uint64_t built() const;

private:
  struct Entry {
    OrderTableKey key;
    std::mutex building;
    OrderTable table;
    bool ready = false; // Guarded by `building`.
    uint64_t bytes = 0; // Of the account; guarded by the cache's mutex.
  };
  Status build(Entry &entry, bool &overLimit);
  /// Frees unused tables, the longest unused first, until what remains unused
  /// is within both bounds.
  void evict(uint64_t maxBytes, size_t maxTables);

  Driver &driver;
  Account &account;
  mutable std::mutex mutex;
  std::list<std::shared_ptr<Entry>> entries; // Last used first.
  uint64_t total = 0, count = 0;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_ORDERTABLES_H
