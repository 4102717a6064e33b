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

#include "lib/Compiler/ToolExit.h"
#include "lib/Tensor/StandardOutput.h"
#include "ringlet/InitAll.h"
#include "tools/ringlet-lsp/Filter.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include "llvm/ADT/StringRef.h"

/// MLIR's server with the arguments but for that of tests, which is ours.
static int serve(std::vector<char *> arguments,
                 mlir::DialectRegistry &registry) {
  arguments.push_back(nullptr);
  ringlet::ParsingOptions parsing;
  return failed(mlir::MlirLspServerMain(static_cast<int>(arguments.size()) - 1,
                                        arguments.data(), registry));
}

int main(int argc, char **argv) {
  ringlet::requireStandardOutput();
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  std::vector<char *> arguments;
  bool isTest = false, isServer = true;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef word = llvm::StringRef(argv[i]).ltrim('-');
    if (i && word == "lit-test") {
      isTest = true;
      continue;
    }
    isServer &= !word.starts_with("help") && word != "version";
    arguments.push_back(argv[i]);
  }
  if (!isServer)
    return serve(arguments, registry);
  return ringlet::lsp::Filter(
             registry, [&] { return serve(arguments, registry); }, isTest)
      .run();
}
