//===- Lists.h - Lists of an artefact that may be absent ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ABI_LISTS_H
#define RINGLET_RUNTIME_ABI_LISTS_H

#include "flatbuffers/flatbuffers.h"

#include <cstdint>

namespace ringlet::abi {

/// FlatBuffers has no empty lists, only null ones.
template <typename T>
uint32_t sizeOf(const flatbuffers::Vector<T> *list) {
  return list ? list->size() : 0;
}

} // namespace ringlet::abi

#endif // RINGLET_RUNTIME_ABI_LISTS_H
