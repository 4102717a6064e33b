//===- Parse.h - From text to a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PARSE_H
#define RINGLET_LIB_COMPILER_PARSE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/SourceMgr.h"

namespace ringlet {

/// Parses the main buffer of `sources`, which has passed `acceptSource`, and
/// names the arguments of each `func.func`: an argument without a
/// `ringlet.name` attribute gets the name that it has in the text, or `argN`
/// where that is a number. Errors go to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::SourceMgr &sources,
                                              mlir::MLIRContext *context);

/// Gives every argument of every `func.func` a `ringlet.name`, `argN` where it
/// has none, and refuses two of one name in a function, and the names of
/// results, `resultN`.
mlir::LogicalResult nameArguments(mlir::ModuleOp module);

/// Refuses operations that no pass of the pipelines takes, by name.
mlir::LogicalResult verifyVocabulary(mlir::ModuleOp module);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PARSE_H
