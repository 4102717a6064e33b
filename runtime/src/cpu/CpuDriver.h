//===- CpuDriver.h - The host's processor as a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_CPUDRIVER_H
#define RINGLET_RUNTIME_CPU_CPUDRIVER_H

#include "../Driver.h"

namespace ringlet::rt {

Status makeCpuDriver(const rl_context_options &options,
                     std::unique_ptr<Driver> &driver);
Status describeCpu(uint32_t index, rl_device &device);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CPU_CPUDRIVER_H
