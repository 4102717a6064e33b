//===- CheckKernels.h - What no target lowers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT_CHECKKERNELS_H
#define RINGLET_PASSES_TILEOPT_CHECKKERNELS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Operation.h"

namespace ringlet {

/// Fails, with an error that ends in `uncovered`, unless the operation is a
/// constant or works element by element and has code, in plain kernels and in
/// roles alike. Which types its tiles have is not asked. `target` is as below.
mlir::LogicalResult checkElementwise(mlir::Operation *op,
                                     llvm::StringRef target,
                                     llvm::StringRef uncovered);

/// Fails, with an error at each operation, if a kernel below `root` has
/// something that code for a target cannot be made of. `target` is its name in
/// messages, "CPU" or "GPU".
mlir::LogicalResult checkKernels(mlir::Operation *root, llvm::StringRef target);

/// Fails, with an error, unless code can say which size is meant: that of an
/// axis of a parameter.
mlir::LogicalResult checkSize(mlir::memref::DimOp op);

} // namespace ringlet

#endif // RINGLET_PASSES_TILEOPT_CHECKKERNELS_H
