//===- InitAll.h - Every dialect, pass and pipeline, once -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_INITALL_H
#define RINGLET_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace ringlet {

/// The dialects of what `ringlet::compile` takes.
void registerCompiledDialects(mlir::DialectRegistry &registry);

/// Registers the dialects of Ringlet and the upstream ones that they use. The
/// only list: every tool and embedder calls it.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and every named pipeline.
void registerAllPasses();

} // namespace ringlet

#endif // RINGLET_INITALL_H
