//===- ringlet-reduce.cpp - Make a failing input smaller -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes operations from a module for as long as a script says that what is
// left still fails (it exits with 1 then):
//
//   ringlet-reduce bad.mlir -reduction-tree="traversal-mode=0 test=fails.sh"
//
// `opt-reduction` tries passes instead of removals.
//
//===----------------------------------------------------------------------===//

#include "ringlet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  ringlet::registerAllPasses();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
