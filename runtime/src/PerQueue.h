//===- PerQueue.h - What queues keep from run to run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_PERQUEUE_H
#define RINGLET_RUNTIME_PERQUEUE_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace ringlet::rt {

/// A value of each of the first queues, by its number, for one thread at a
/// time. A queue that many runs were not for gives way to another.
template <typename T>
class PerQueue {
  struct Item {
    T value;
    uint64_t lastUse = 0;
    bool isBusy = false;
  };

public:
  static constexpr size_t mostQueues = 16;
  /// Uses of other queues after which one gives way.
  static constexpr uint64_t mostIdle = 1024;

  /// Holds the value of a queue, if it could be had.
  class Use {
  public:
    Use() = default;
    Use(Use &&other) { *this = std::move(other); }
    Use &operator=(Use &&other) {
      std::swap(owner, other.owner);
      std::swap(item, other.item);
      return *this;
    }
    ~Use() {
      if (!item)
        return;
      std::lock_guard<std::mutex> lock(owner->mutex);
      item->isBusy = false;
    }
    explicit operator bool() const { return item; }
    T &operator*() const { return item->value; }
    T *operator->() const { return &item->value; }

  private:
    friend class PerQueue;
    Use(PerQueue &owner, Item &item) : owner(&owner), item(&item) {}
    PerQueue *owner = nullptr;
    Item *item = nullptr;
  };

  /// The value of queue `number`, a new one in its first use. `evicted`: that
  /// of the queue which gave way.
  Use use(uint64_t number, std::optional<T> &evicted) {
    std::lock_guard<std::mutex> lock(mutex);
    ++uses;
    auto found = items.find(number);
    if (found == items.end() && !makeRoom(evicted))
      return {};
    Item &item = items[number];
    item.lastUse = uses;
    if (item.isBusy)
      return {};
    item.isBusy = true;
    return Use(*this, item);
  }

  /// Takes a value that is not in use away from its queue.
  std::optional<T> takeIdle() {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = items.begin(); it != items.end(); ++it)
      if (!it->second.isBusy)
        return take(it);
    return std::nullopt;
  }

private:
  using Items = std::map<uint64_t, Item>; // Their places stay.

  T take(typename Items::iterator it) {
    T value = std::move(it->second.value);
    items.erase(it);
    return value;
  }

  bool makeRoom(std::optional<T> &evicted) {
    if (items.size() < mostQueues)
      return true;
    auto rank = [](const auto &entry) {
      return std::pair(entry.second.isBusy, entry.second.lastUse);
    };
    auto oldest = std::min_element(
        items.begin(), items.end(),
        [&](const auto &a, const auto &b) { return rank(a) < rank(b); });
    if (oldest->second.isBusy || uses - oldest->second.lastUse < mostIdle)
      return false;
    evicted = take(oldest);
    return true;
  }

  std::mutex mutex;
  Items items;
  uint64_t uses = 0;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_PERQUEUE_H
