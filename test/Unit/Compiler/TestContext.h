//===- TestContext.h - A context that keeps its messages ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_COMPILER_TESTCONTEXT_H
#define RINGLET_TEST_UNIT_COMPILER_TESTCONTEXT_H

#include "lib/Compiler/Messages.h"
#include "lib/Compiler/Parse.h"
#include "ringlet/InitAll.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"

namespace ringlet {

/// Parses text; what goes wrong is in `messages`.
class TestContext {
public:
  TestContext() : context(makeRegistry()) {}

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    sources = llvm::SourceMgr();
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "test.mlir"), llvm::SMLoc());
    return parseModule(sources, &context);
  }

  std::string messages;

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    registry.insert<mlir::LLVM::LLVMDialect>();
    return registry;
  }

public:
  mlir::MLIRContext context;

private:
  llvm::SourceMgr sources;
  MessageCollector collector{&context, sources, messages};
};

} // namespace ringlet

#endif // RINGLET_TEST_UNIT_COMPILER_TESTCONTEXT_H
