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

/// An input that does not lie at multiples of 16 bytes can be read by GPU
/// kernels element by element, 11 ps each on an H200 (D128, 97 ms for 8.6e9 of
/// them), or be copied first, which reads each element once in that way. So a
/// copy pays for itself with the second reading of a row.
constexpr int64_t fewestReadings = 2;

/// Rows beyond that whose reading takes as long as the launch of the copy does,
/// 3 us (128 columns).
constexpr int64_t rowsOfLaunch = 2048;

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_INPUTCOPIES_H
