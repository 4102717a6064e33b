//===- Maps.h - Buffers as a copy engine sees them ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_MAPS_H
#define RINGLET_RUNTIME_MAPS_H

#include "Driver.h"

#include <string>

namespace ringlet::rt {

/// What the map makes of a buffer, or which of the rules of TensorMap in
/// artifact.fbs the buffer's sizes and strides break.
Status shapeMap(const abi::TensorMap &map, const TensorView &view,
                MapShape &shape);

/// "input 'q'", "workspace 3"; for messages.
std::string nameOfBuffer(const abi::Function &function, const abi::Plan &plan,
                         uint32_t buffer);

/// Whether pieces of 16 bytes can be read at an address, and of every row of a
/// tensor.
bool isAligned(const char *address);
bool isAligned(const TensorView &view);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_MAPS_H
