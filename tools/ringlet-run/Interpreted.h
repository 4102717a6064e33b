//===- Interpreted.h - What kernels by hand should compute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no graph describes is described by its own text: the artefact has it,
// and ringlet-interpret runs it, operation by operation, in a
// process of its own. It also finds what compiled code does in silence: races
// between grid points and accesses outside of buffers.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_INTERPRETED_H
#define RINGLET_TOOLS_RINGLET_RUN_INTERPRETED_H

#include "lib/Tensor/Safetensors.h"
#include "tools/ringlet-run/Reference.h"

#include <string>
#include <vector>

namespace ringlet::run {

/// Of an entry, on all of its arguments, of which those from `outputs` on are
/// to be compared.
struct InterpretedCheck {
  std::string source, entry;
  /// The program to run; empty: to be found.
  std::string interpreter;
  double seconds = 10;
  size_t outputs = 0;
  /// No kernel writes some elements of outputs, which are not compared then.
  bool hasGaps = false;
};

/// Empty, or why there is nothing to compare with.
std::string checkInterpreted(const InterpretedCheck &check,
                             const std::vector<std::string> &names,
                             const std::vector<Tensor> &tensors,
                             CheckReport &report);

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_INTERPRETED_H
