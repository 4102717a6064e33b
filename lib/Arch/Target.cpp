//===- Target.cpp - A row of one of the architecture tables -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/Target.h"

#include "lib/Arch/Rows.h"

using namespace ringlet;

arch::Target arch::lookupTarget(const std::string &name, std::string *error) {
  Target target;
  target.cpu = lookupCPULevel(name);
  if (!target.cpu)
    target.gpu = lookupGPUArch(name);
  if (!target && error)
    *error = "expected a CPU level (" + listNames(getCPULevels()) +
             ") or a GPU architecture (" + listNames(getGPUArchs()) +
             "), found '" + name + "'";
  return target;
}
