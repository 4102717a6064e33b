//===- Context.h - A device with its memory ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CONTEXT_H
#define RINGLET_RUNTIME_CONTEXT_H

#include "Driver.h"
#include "IndexTables.h"
#include "Log.h"
#include "Memory.h"

#include <atomic>
#include <memory>
#include <string>

namespace ringlet::rt {

/// Shared by the handle of the embedder and all programs loaded into it.
class Context {
public:
  static Status create(const rl_context_options &options,
                       const rl_allocator &allocator,
                       std::shared_ptr<Context> &context);

  const Logger logger;
  const std::unique_ptr<Driver> driver;
  /// Code for this target only; empty: the best.
  const std::string target;
  MemorySource memory;
  Account account;
  WorkspacePool workspaces;
  IndexTableCache tables;
  std::atomic<uint64_t> runs{0}, launches{0};

  /// Gives idle memory back to the system.
  void trim();
  void fill(rl_stats &stats) const;

private:
  Context(const rl_context_options &options, const rl_allocator &allocator,
          std::unique_ptr<Driver> driver);
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CONTEXT_H
