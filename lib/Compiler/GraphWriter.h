//===- GraphWriter.h - The reference graph of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_GRAPHWRITER_H
#define RINGLET_LIB_COMPILER_GRAPHWRITER_H

#include "ringlet/abi/ArtifactGenerated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringlet {

/// What `function` computes, as a tool can recompute it; its constants are
/// appended to those of `artifact`. Null where a graph has no word for it
/// (sharded tensors, foreign operations): such an entry cannot be checked.
std::unique_ptr<abi::GraphT> makeGraph(mlir::func::FuncOp function,
                                       abi::ArtifactT &artifact);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_GRAPHWRITER_H
