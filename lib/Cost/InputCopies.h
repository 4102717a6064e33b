//===- InputCopies.h - When an input is worth a copy -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_INPUTCOPIES_H
#define RINGLET_LIB_COST_INPUTCOPIES_H

#include <cstdint>

namespace ringlet::cost {

/// Rows beyond those of an input that a launch must read for a copy to pay. GPU
/// kernels read what does not lie at multiples of 16 bytes element by element,
/// 11 ps each on an H200 (D128, 97 ms for 8.6e9 of them); a copy takes 2 ps, so
/// that it costs less than reading each row once. These rows take as long as
/// its launch, 3 us (128 columns).
constexpr int64_t rowsOfLaunch = 2048;

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_INPUTCOPIES_H
