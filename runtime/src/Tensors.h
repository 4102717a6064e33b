//===- Tensors.h - The caller's tensors, checked ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_TENSORS_H
#define RINGLET_RUNTIME_TENSORS_H

#include "Driver.h"
#include "Status.h"

#include "ringlet/abi/ArtifactGenerated.h"

#include <vector>

namespace ringlet::rt {

/// What bindTensors may rely on.
enum class Binding {
  Inputs,  ///< inputs only, for their sizes; data may be null
  Shapes,  ///< all arguments; data may be null
  Complete ///< all arguments, for a run: overlap is checked, too
};

/// Checks the caller's tensors against the arguments of an entry: count,
/// element type, rank, static sizes, strides, alignment, that no offset
/// overflows, that outputs do not overlap anything and that the driver, if
/// there is one, can reach them. A rank-0 i64 input is host memory and must be
/// there in every case.
Status bindTensors(const abi::Function &function, const rl_tensor *tensors,
                   uint32_t count, Binding binding, const Driver *driver,
                   std::vector<TensorView> &views);

/// A rank-0 i64 input is a number for the plan, in the host's memory whatever
/// the device.
bool isHostScalar(const abi::Argument &argument);

/// Sets row-major strides; false if an offset in bytes overflows 64 bits.
bool makeContiguous(TensorView &view);

/// Number of elements; -1 on overflow.
int64_t elementCount(const TensorView &view);

/// True if the two may have a byte in common. Exact for every layout that
/// occurs, slices of one buffer included; true where the search gets too long.
bool mayOverlap(const TensorView &a, const TensorView &b);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_TENSORS_H
