//===- Plot.h - Pictures of a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PLOT_H
#define RINGLET_LIB_COMPILER_PLOT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace ringlet {

/// Draws what `kind` names of a module: "order", "pattern" or "tiles"; for the
/// last one its attentions have their tilings. Sets `svg`, or emits an error.
mlir::LogicalResult plotModule(mlir::ModuleOp module, llvm::StringRef kind,
                               std::string &svg);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PLOT_H
