//===- Devices.cpp - Devices and tensors on them ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Devices.h"

#include "ringlet/abi/Format.h"
#include "tools/ringlet-run/Options.h"

#include <cstdio>
#include <cstring>

using namespace ringlet::run;

std::string ringlet::run::describe(const rl_device &device) {
  bool isGpu = std::strncmp(device.architecture, "sm_", 3) == 0;
  return formatText("{} ({}, {} {}, {:.1f} GiB)", device.name,
                    device.architecture, device.multiprocessors,
                    isGpu ? "multiprocessors" : "cores",
                    double(device.memory_bytes) / (1 << 30));
}

int ringlet::run::listDevices() {
  for (const char *driver : {"cpu", "cuda"}) {
    uint32_t count = 0;
    // A driver that is not there is no failure: the list says so.
    if (rl_device_count(driver, &count) != RL_OK) {
      std::printf("%-5s -  none: %s\n", driver, rl_last_error());
      continue;
    }
    if (count == 0)
      std::printf("%-5s -  none\n", driver);
    for (uint32_t i = 0; i < count; ++i) {
      rl_device device = RL_DEVICE_INIT;
      if (rl_device_describe(driver, i, &device) != RL_OK) {
        std::fprintf(stderr, "error: %s device %u: %s\n", driver, i,
                     rl_last_error());
        return kRefused;
      }
      std::printf("%-5s %u  %s\n", driver, i, describe(device).c_str());
    }
  }
  return kOk;
}
