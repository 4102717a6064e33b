//===- ReadGraph.h - The meaning of IR --------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_READGRAPH_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_READGRAPH_H

#include "test/Run/differential/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringlet::differential {

/// Reads a function back, operation by operation. Nothing, and `*error` set,
/// for what the generator does not write.
std::optional<Graph> readGraph(mlir::func::FuncOp function, std::string *error);

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_READGRAPH_H
