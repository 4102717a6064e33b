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

/// Says why a launch is left to its fallback.
void logFallback(const Logger &logger, const Status &reason);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_MAPS_H
