//===- Passes.h - Passes about host plans -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_PLANOPT_PASSES_H
#define RINGLET_PASSES_PLANOPT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ringlet {

#define GEN_PASS_DECL
#include "passes/PlanOpt/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/PlanOpt/Passes.h.inc"

} // namespace ringlet

#endif // RINGLET_PASSES_PLANOPT_PASSES_H
