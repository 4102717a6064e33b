//===- IndexTables.cpp - Tables of indices, built once ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexTables.h"

#include <new>

using namespace ringlet;
using namespace ringlet::rt;

static std::vector<int64_t> toVector(const flatbuffers::Vector<int64_t> *list) {
  return list ? std::vector<int64_t>(list->begin(), list->end())
              : std::vector<int64_t>();
}

/// The order that an artefact describes, or why it is none.
static Status makeOrder(const abi::Order &order,
                        std::shared_ptr<const layout::Order> &made) {
  layout::OrderSpec spec;
  spec.curve = order.curve()->str();
  spec.rate = order.rate();
  spec.grid = toVector(order.grid());
  spec.chunk = order.chunk();
  spec.table = toVector(order.table());
  std::string error;
  made = layout::makeOrder(spec, &error);
  if (made)
    return {};
  return Status(RL_BAD_ARTIFACT, error);
}

static Status makePattern(const abi::TileIndex &tiles,
                          layout::TilePattern &pattern) {
  pattern.segment = tiles.w();
  pattern.rate = tiles.rate();
  pattern.residues = {0, pattern.rate};
  if (tiles.residues() >= 0)
    pattern.residues = {tiles.first_residue(), tiles.residues()};
  if (tiles.order())
    RL_TRY(makeOrder(*tiles.order(), pattern.order));
  pattern.causal = tiles.causal();
  pattern.setWindow(tiles.window_left(), tiles.window_right());
  pattern.grid = toVector(tiles.grid());
  pattern.reach = toVector(tiles.reach());
  pattern.queryRows = tiles.query_rows();
  pattern.keyRows = tiles.key_rows();
  return {};
}

Status rt::makeKey(const abi::Buffer &buffer, layout::IndexTable &key) {
  if (buffer.kind() == abi::BufferKind::TileIndex)
    return makePattern(*buffer.tiles(),
                       key.emplace<layout::TileTable>().pattern);
  std::shared_ptr<const layout::Order> order;
  RL_TRY(makeOrder(*buffer.order(), order));
  if (buffer.kind() == abi::BufferKind::OrderTable) {
    key = layout::OrderTable{order, 0, buffer.inverse()};
    return {};
  }
  if (order->period() == 0)
    return Status(RL_BAD_ARTIFACT, "expected an order with a volume (O2)");
  layout::OrdinalTable ordinals{order, 0, std::nullopt};
  if (buffer.rows()) {
    ordinals.rows.emplace();
    if (buffer.memory())
      RL_TRY(makeOrder(*buffer.memory(), ordinals.rows->memory));
  }
  key = ordinals;
  return {};
}

static Status measure(layout::TileTable &key) try {
  key.measure();
  return {};
} catch (const std::bad_alloc &) {
  return failure(RL_OUT_OF_MEMORY,
                 "the system refuses memory for a tile index "
                 "of ",
                 key.sizes.queryLength, " queries and ", key.sizes.keyLength,
                 " keys");
}

Status rt::setSizes(const abi::Buffer &buffer, const ExprValues &exprs,
                    layout::IndexTable &key) {
  if (auto *order = std::get_if<layout::OrderTable>(&key)) {
    RL_TRY(exprs.getSize(buffer.length(), "a length", order->length));
  } else if (auto *ordinals = std::get_if<layout::OrdinalTable>(&key)) {
    RL_TRY(exprs.get(buffer.first(), ordinals->first));
    if (ordinals->rows) {
      RL_TRY(
          exprs.getSize(buffer.length(), "a length", ordinals->rows->length));
      RL_TRY(exprs.get(buffer.offset(), ordinals->rows->offset));
    }
  }
  if (auto *tiles = std::get_if<layout::TileTable>(&key)) {
    const abi::TileIndex &from = *buffer.tiles();
    layout::TileSizes &sizes = tiles->sizes;
    RL_TRY(exprs.getSize(from.query_length(), "a length", sizes.queryLength));
    RL_TRY(exprs.get(from.query_offset(), sizes.queryOffset));
    RL_TRY(exprs.getSize(from.key_length(), "a length", sizes.keyLength));
    RL_TRY(exprs.getSize(from.tiles(), "a number of tiles", sizes.tiles));
    RL_TRY(
        exprs.getSize(from.segments(), "a number of segments", sizes.segments));
    RL_TRY(exprs.get(from.first_segment(), sizes.firstSegment));
  }
  std::string error =
      std::visit([](const auto &made) { return layout::validate(made); }, key);
  if (!error.empty())
    return invalid(error);
  if (auto *tiles = std::get_if<layout::TileTable>(&key))
    return measure(*tiles);
  return {};
}

int64_t rt::entryCount(const layout::IndexTable &key) {
  return std::visit([](const auto &made) { return layout::sizeOf(made); }, key);
}

IndexTableCache::~IndexTableCache() {
  for (const std::shared_ptr<Entry> &entry : entries)
    account.give(entry->bytes);
}

static Status refuseBytes(const layout::IndexTable &key) {
  return failure(RL_OUT_OF_MEMORY, "the system refuses ", bytesOf(key),
                 " bytes");
}

/// Writes the table out; the caller has taken its bytes from the account.
static Status makeEntries(const layout::IndexTable &key,
                          IndexTable &table) try {
  table.entries =
      std::visit([](const auto &made) { return layout::build(made); }, key);
  return {};
} catch (const std::bad_alloc &) {
  return refuseBytes(key);
}

/// Makes room for it.
static Status allocate(const layout::IndexTable &key, IndexTable &table) try {
  table.entries.resize(size_t(entryCount(key)));
  return {};
} catch (const std::bad_alloc &) {
  return refuseBytes(key);
}

/// The table as the product of a kernel that knows whole periods of its order:
/// the kernel's launch, but for the address.
static bool makeLaunch(const layout::IndexTable &key, void *fill,
                       int64_t words[3], LaunchCall &call) {
  const auto *order = std::get_if<layout::OrderTable>(&key);
  if (!fill || !order || order->length == 0)
    return false;
  int64_t period = order->order->period();
  if (period == 0 || order->length % period != 0)
    return false;
  call = {};
  call.kernel = fill;
  call.items = (order->length + abi::kTableItem - 1) / abi::kTableItem;
  words[0] = 0;
  words[1] = order->length;
  words[2] = call.items;
  call.params = words;
  call.paramCount = 3;
  return true;
}

Status IndexTableCache::write(const layout::IndexTable &key, void *fill,
                              IndexTable &table) {
  int64_t words[3];
  LaunchCall call;
  bool hasKernel = makeLaunch(key, fill, words, call) &&
                   call.items <= driver.mostItems(/*blocksThatStay=*/0);
  if (hasKernel && !driver.usesHostMemory())
    return table.upload.generate(driver, source, call, bytesOf(key));
  if (hasKernel) {
    RL_TRY(allocate(key, table));
    words[0] = reinterpret_cast<int64_t>(table.entries.data());
    RL_TRY(driver.launch(call));
  } else {
    RL_TRY(makeEntries(key, table));
  }
  return table.upload.make(driver, source, table.entries.data(), bytesOf(key));
}

Status IndexTableCache::build(Entry &entry, void *fill, bool &overLimit) {
  std::lock_guard<std::mutex> lock(entry.building);
  if (entry.ready)
    return {};
  uint64_t bytes = bytesOf(entry.key);
  if (!account.take(bytes)) {
    overLimit = true;
    return failure(RL_OUT_OF_MEMORY, "over the memory limit");
  }
  uint64_t available = source.freeBytes();
  IndexTable &table = entry.table;
  Status status = bytes <= available
                      ? write(entry.key, fill, table)
                      : failure(RL_OUT_OF_MEMORY, "the system has ", available,
                                " bytes free");
  if (!driver.usesHostMemory() || !status.ok())
    std::vector<int64_t>().swap(table.entries);
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  entry.ready = true;
  std::lock_guard<std::mutex> totals(mutex);
  entry.bytes = bytes;
  total += bytes;
  ++count;
  return {};
}

Status IndexTableCache::get(const layout::IndexTable &key,
                            std::shared_ptr<const IndexTable> &table,
                            bool &overLimit, bool mayFree, void *fill) {
  overLimit = false;
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = entries.begin();
    while (found != entries.end() && !((*found)->key == key))
      ++found;
    if (found == entries.end()) {
      entries.push_front(std::make_shared<Entry>());
      entries.front()->key = key;
      found = entries.begin();
    }
    entries.splice(entries.begin(), entries, found);
    entry = entries.front();
  }
  RL_TRY(build(*entry, fill, overLimit));
  table = std::shared_ptr<const IndexTable>(entry, &entry->table);
  entry.reset();
  if (mayFree)
    evict(idleBytes, idleTables);
  return {};
}

void IndexTableCache::evict(uint64_t maxBytes, size_t maxTables) {
  std::list<std::shared_ptr<Entry>> dead; // Freed after the lock.
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t bytes = 0;
  size_t tables = 0;
  for (auto it = entries.begin(); it != entries.end();) {
    auto next = std::next(it);
    // References are only taken under the lock: an unused entry stays unused.
    if (it->use_count() == 1) {
      bytes += (*it)->bytes;
      if (bytes > maxBytes || ++tables > maxTables) {
        bytes -= (*it)->bytes;
        account.give((*it)->bytes);
        total -= (*it)->bytes;
        dead.splice(dead.end(), entries, it);
      }
    }
    it = next;
  }
}

uint64_t IndexTableCache::held() const {
  std::lock_guard<std::mutex> lock(mutex);
  return total;
}

uint64_t IndexTableCache::built() const {
  std::lock_guard<std::mutex> lock(mutex);
  return count;
}
