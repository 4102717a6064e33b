//===- Target.cpp - A row of one of the architecture tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/Target.h"

using namespace ringlet;

arch::Target arch::lookupTarget(const std::string &name, std::string *error) {
  Target target;
  target.cpu = lookupCPULevel(name);
  if (!target.cpu)
    target.gpu = lookupGPUArch(name);
  if (target || !error)
    return target;
  *error = "expected a CPU level (";
  const char *separator = "";
  for (const CPULevel &level : getCPULevels()) {
    *error += std::string(separator) + level.name;
    separator = ", ";
  }
  *error += ") or a GPU architecture (";
  separator = "";
  for (const GPUArch &row : getGPUArchs()) {
    *error += std::string(separator) + row.name;
    separator = ", ";
  }
  *error += "), found '" + name + "'";
  return target;
}
