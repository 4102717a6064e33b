//===- cpu/Features.h - What this processor can execute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_FEATURES_H
#define RINGLET_RUNTIME_CPU_FEATURES_H

#include "ringlet/abi/ArtifactGenerated.h"

#include <string>

namespace ringlet::rt::cpu {

/// True if processor and operating system support the feature, by LLVM's name
/// for it ("avx2", "avx512bf16"), and this process may use it: for AMX it asks.
/// A name that this library does not know is not supported.
bool hasFeature(const std::string &name);

/// What the processor calls itself, "unknown processor" if it does not.
std::string processorName();

/// The best x86-64 level that this processor has ("x86-64-v3"); for messages.
std::string bestLevel();

/// Position of the code object's target among the levels that this processor
/// runs, better ones higher; -1 and the reason if it does not run it.
int rankTarget(const abi::CodeObject &code, std::string &why);

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_FEATURES_H
