//===- GPU.cpp - Table of NVIDIA architectures -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"

#include "lib/Arch/Rows.h"

using namespace ringlet;

const std::vector<arch::GPUArch> &arch::getGPUArchs() {
  // Sizes: CUDA C++ Programming Guide, "Compute Capabilities". A block may use
  // 1 KiB less than a multiprocessor has from sm_80 on. Instructions and the
  // PTX versions that brought them: PTX ISA, "ldmatrix", "mma", "cp.async",
  // "wgmma", "cp.async.bulk.tensor", "cvt", "griddepcontrol".
  constexpr int64_t k = 1024;
  static const std::vector<GPUArch> rows = {
      // name, PTX, ptxas, shared of block and SM, registers of SM and thread,
      // threads of SM, depth of f16, bf16 and tf32 mma, cp.async, products of
      // warp groups, copy engine, cvt of e4m3, early starts, registers of sums,
      // multiprocessors and megahertz of a card
      {"sm_60", "+ptx60", "sm_75", 48 * k, 64 * k, 65536, 255, 2048, 0, 0, 0,
       false, false, false, false, false, 224, 56, 1330},
      {"sm_61", "+ptx60", "sm_75", 48 * k, 96 * k, 65536, 255, 2048, 0, 0, 0,
       false, false, false, false, false, 224, 28, 1480},
      {"sm_70", "+ptx60", "sm_75", 96 * k, 96 * k, 65536, 255, 2048, 0, 0, 0,
       false, false, false, false, false, 224, 80, 1380},
      {"sm_75", "+ptx65", "sm_75", 64 * k, 64 * k, 65536, 255, 1024, 8, 0, 0,
       false, false, false, false, false, 144, 68, 1350},
      {"sm_80", "+ptx70", "sm_80", 163 * k, 164 * k, 65536, 255, 2048, 16, 16,
       8, true, false, false, false, false, 224, 108, 1410},
      {"sm_86", "+ptx71", "sm_86", 99 * k, 100 * k, 65536, 255, 1536, 16, 16, 8,
       true, false, false, false, false, 224, 82, 1695},
      {"sm_89", "+ptx81", "sm_89", 99 * k, 100 * k, 65536, 255, 1536, 16, 16, 8,
       true, false, false, true, false, 224, 128, 2235},
      {"sm_90a", "+ptx80", "sm_90a", 227 * k, 228 * k, 65536, 255, 2048, 16, 16,
       8, true, true, true, true, true, 160, 132, 1700},
      {"sm_100", "+ptx86", "sm_100", 227 * k, 228 * k, 65536, 255, 2048, 16, 16,
       8, true, false, true, true, true, 192, 148, 1850},
      {"sm_120", "+ptx87", "sm_120", 99 * k, 100 * k, 65536, 255, 1536, 16, 16,
       8, true, false, true, true, true, 224, 170, 2010},
  };
  return rows;
}

const arch::GPUArch *arch::lookupGPUArch(const std::string &name,
                                         std::string *error) {
  const GPUArch *row = findRow(getGPUArchs(), name);
  if (!row && error)
    *error = "expected a GPU architecture (" + listNames(getGPUArchs()) +
             "), found '" + name + "'";
  return row;
}
