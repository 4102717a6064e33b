//===- Entries.cpp - Code that writes entries of a list -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Entries.h"

using namespace mlir;
using namespace ringlet;

void code::emitEntries(CodeBuilder &b, const Buffer &table, Value begin,
                       Value end, function_ref<Value(Value)> emitEntry,
                       const Share &share) {
  Value size = table.sizes[0];
  // Of the size at most, it leaves room for the number of a thread.
  Value first = b.min(b.max(begin, b.i64(0)), size);
  if (share.thread)
    first = b.add(first, share.thread);
  Value stop = b.min(end, size);
  auto writeEntry = [&](Value place) {
    Value entry = emitEntry(place);
    b.store(entry, getElementAddress(b, table, entry.getType(), place),
            entry.getType().getIntOrFloatBitWidth() / 8);
  };
  b.loop(first, stop, b.i64(share.threads), writeEntry, Unroll::ByLLVM);
}
