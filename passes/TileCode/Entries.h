//===- Entries.h - Code that writes entries of a list -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_ENTRIES_H
#define RINGLET_PASSES_TILECODE_ENTRIES_H

#include "passes/TileCode/ViewAddress.h"

namespace ringlet {
namespace code {

/// Which of the entries one thread writes: every `threads`-th from its own
/// number on, so that neighbours write what lies side by side. All of them,
/// where there is one thread.
struct Share {
  mlir::Value thread;
  int64_t threads = 1;
};

/// Writes the entries at those places from `begin` to `end` that lie in
/// `table`; `emitEntry` gives that of a place.
void emitEntries(CodeBuilder &b, const Buffer &table, mlir::Value begin,
                 mlir::Value end,
                 llvm::function_ref<mlir::Value(mlir::Value)> emitEntry,
                 const Share &share = {});

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_ENTRIES_H
