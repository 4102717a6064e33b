//===- Program.h - A loaded artefact ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_PROGRAM_H
#define RINGLET_RUNTIME_PROGRAM_H

#include "Context.h"
#include "Prepared.h"

#include "ringlet/abi/Container.h"

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace ringlet::rt {

class RingShapeCache;

/// One function of the artefact, with the plan of the chosen code object.
struct Entry {
  const abi::Function *function = nullptr;
  /// Null in a program that can be inspected only.
  const abi::Plan *plan = nullptr;
  /// For each buffer of the plan that is a table: its key without sizes.
  std::vector<layout::IndexTable> tables;
  std::string explanation;
  std::unique_ptr<PreparedCache> prepared = std::make_unique<PreparedCache>();
  /// What its exchanges make of given sizes.
  std::shared_ptr<RingShapeCache> ringShapes;
};

/// Code of one kernel in the chosen code object.
struct KernelEntry {
  void *code = nullptr;
  uint64_t scratchBytes = 0;
  const abi::KernelCode *description = nullptr;
};

/// Immutable after load, but for what it keeps alive: any number of threads may
/// run it.
class Program {
public:
  /// `context` may be null: to inspect only.
  static Status load(std::shared_ptr<Context> context, const void *bytes,
                     size_t size, std::unique_ptr<Program> &program);

  const std::shared_ptr<Context> context;

  const abi::Artifact &artifact() const { return *root; }
  const std::vector<Entry> &entries() const { return entryList; }
  /// The first of them, which callers know; the others are for steps to call.
  uint32_t publicCount() const;
  /// Of the artefact's content, as text.
  const std::string &digest() const { return digestText; }
  const KernelEntry &kernel(uint32_t index) const { return kernels[index]; }
  const std::string &target() const { return targetName; }
  /// A constant of the artefact, where kernels can read it.
  const char *constant(uint32_t index) const { return constants[index].data(); }
  /// Keeps order tables for graphs that hold their addresses.
  void keep(const std::vector<std::shared_ptr<const IndexTable>> &tables) const;

private:
  explicit Program(std::shared_ptr<Context> context)
      : context(std::move(context)) {}

  Status read(const void *bytes, size_t size);
  Status chooseCode(uint32_t &object) const;
  Status loadCode(uint32_t object);
  std::string explain(const Entry &entry, int64_t object, size_t budget) const;

  /// Storage of the payload. FlatBuffers and constants want it aligned.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> storage;
  const abi::Artifact *root = nullptr;
  // Before the entries: what they prepared goes before the code does.
  std::shared_ptr<Module> module;
  std::vector<Entry> entryList;
  std::vector<KernelEntry> kernels;
  std::deque<Upload> constants;
  mutable std::mutex keeping;
  mutable std::set<std::shared_ptr<const IndexTable>> kept;
  std::string targetName, digestText;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_PROGRAM_H
