//===- ringlet-lsp.cpp - Ringlet IR in editors -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A language server on standard input and output: errors as one types, where a
// value is defined and used, the description of an operation under the cursor.
// In VS Code's MLIR extension, set `mlir.server_path` to it.
//
//===----------------------------------------------------------------------===//

#include "ringlet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
