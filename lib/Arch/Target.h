//===- Target.h - A row of one of the architecture tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ARCH_TARGET_H
#define RINGLET_LIB_ARCH_TARGET_H

#include "lib/Arch/CPU.h"
#include "lib/Arch/GPU.h"

namespace ringlet {
namespace arch {

/// What code is made for: a row of the table of CPU levels or of that of GPU
/// architectures, never both.
struct Target {
  const CPULevel *cpu = nullptr;
  const GPUArch *gpu = nullptr;

  explicit operator bool() const { return cpu || gpu; }
  const char *name() const { return cpu ? cpu->name : gpu->name; }
  bool operator==(const Target &other) const {
    return cpu == other.cpu && gpu == other.gpu;
  }
};

/// The row of that name. If there is none, an empty target, and `error` (unless
/// null) lists the rows.
Target lookupTarget(const std::string &name, std::string *error = nullptr);

} // namespace arch
} // namespace ringlet

#endif // RINGLET_LIB_ARCH_TARGET_H
