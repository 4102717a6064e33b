//===- GPU.h - Table of NVIDIA architectures -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ARCH_GPU_H
#define RINGLET_LIB_ARCH_GPU_H

#include "lib/Tensor/Precision.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ringlet {
namespace arch {

/// What code generation may assume of a GPU. Everything that differs between
/// architectures is a column here: passes read columns and never ask for a
/// name.
struct GPUArch {
  /// Name of the architecture in LLVM's tables, in PTX and for ptxas.
  const char *name;
  /// The oldest PTX version with everything that is emitted for it, as an LLVM
  /// feature: the older it is, the more drivers take the text.
  const char *ptxFeature;
  /// What ptxas of CUDA 13.0 is asked to assemble for. It no longer makes code
  /// for the oldest architectures: their PTX is assembled for a newer one, as a
  /// check, and travels as text.
  const char *ptxasName;
  /// Largest shared memory of a block, opt-in included, and of a whole
  /// multiprocessor.
  int64_t sharedBytes;
  int64_t sharedBytesOfSM;
  /// Registers of 32 bits of a multiprocessor, and most of one thread.
  int registersOfSM;
  int registersOfThread;
  /// Most threads of a multiprocessor.
  int threadsOfSM;
  /// Depth of one mma.sync with f32 sums, 0 if there is none.
  int mmaDepthF16;
  int mmaDepthBF16;
  /// Depth of one of f32 that is rounded to 11 digits.
  int mmaDepthTF32;
  /// Copies from global to shared memory that bypass registers.
  bool hasCpAsync;
  /// wgmma and setmaxnreg: products of four warps with operands in shared
  /// memory, and registers that warps hand to each other.
  bool hasWgmma;
  /// cp.async.bulk.tensor: boxes copied by the tensor map of a buffer.
  bool hasTensorCopies;
  /// cvt from two e4m3 to two f16.
  bool hasE4M3;
  /// griddepcontrol: blocks that start before the launch in front has ended,
  /// and wait for it themselves.
  bool hasEarlyStart;
  /// Most registers of a thread that sums of matrix products and what is made
  /// of them may take before ptxas spills (measured, CUDA 13.0).
  int sumRegisters;
  /// Of a large card of the architecture, of which predicted times speak:
  /// multiprocessors, and millions of cycles a second under load.
  int multiprocessors;
  int megahertz;

  /// True if kernels in the scheduled form (rtile.role) can be lowered.
  bool hasScheduledForm() const { return hasWgmma && hasTensorCopies; }

  /// Registers that each of so many threads of a block begins with if the block
  /// takes all there are. They are given out in eights.
  int launchRegisters(int64_t threads) const {
    int64_t share = registersOfSM / threads;
    return int(share < registersOfThread ? share : registersOfThread) / 8 * 8;
  }

  /// Shared memory of a block if a multiprocessor holds so many at once, each
  /// beside a kilobyte of the system's.
  int64_t sharedOfBlock(int64_t blocks) const {
    int64_t share = sharedBytesOfSM / blocks - 1024;
    return share < sharedBytes ? share : sharedBytes;
  }

  /// True if matrix instructions multiply what factors of f32 become (R7).
  bool hasMmaOfParts(Precision precision) const {
    return precision == Precision::bf16x3
               ? mmaDepthBF16 == 16
               : precision != Precision::f32 && mmaDepthTF32 == 8;
  }

  /// True if ptxas makes code for the architecture itself.
  bool hasCubin() const { return std::string(name) == ptxasName; }
};

/// Most threads of a block, threads of a warp: the same everywhere.
inline constexpr int kMaxBlockThreads = 1024;
inline constexpr int kWarpThreads = 32;

/// Every architecture, the oldest first.
const std::vector<GPUArch> &getGPUArchs();

/// The row of that name. If there is none, null, and `error` (unless null)
/// lists the rows.
const GPUArch *lookupGPUArch(const std::string &name,
                             std::string *error = nullptr);

} // namespace arch
} // namespace ringlet

#endif // RINGLET_LIB_ARCH_GPU_H
