//===- SystemMemory.h - How much memory the system can give ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_SYSTEMMEMORY_H
#define RINGLET_RUNTIME_CPU_SYSTEMMEMORY_H

#include <cstdint>

namespace ringlet::rt::cpu {

/// Bytes that can be allocated without pushing anybody out: what the kernel
/// calls available, and what the control group's limit leaves. UINT64_MAX where
/// neither can be read.
uint64_t availableSystemMemory();

/// All that the system has; 0 if it does not say.
uint64_t totalSystemMemory();

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_SYSTEMMEMORY_H
