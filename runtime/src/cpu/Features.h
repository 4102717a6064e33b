//===- cpu/Features.h - What this processor can execute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_FEATURES_H
#define RINGLET_RUNTIME_CPU_FEATURES_H

#include "Levels.h"

#include <string>

namespace ringlet::rt::cpu {

/// What the processor calls itself, "unknown processor" if it does not.
std::string processorName();

/// The processor that this runs on. It has what processor and operating system
/// support and this process may use: for AMX it asks the first time that one
/// wants to know.
const Machine &thisMachine();

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_FEATURES_H
