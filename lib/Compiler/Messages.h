//===- Messages.h - Diagnostics as text ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_MESSAGES_H
#define RINGLET_LIB_COMPILER_MESSAGES_H

#include "ringlet/Compile.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/SourceMgr.h"

namespace ringlet {

/// While it lives, the diagnostics of a context become text, with the source
/// line where they are about the main buffer of `sources`. Unlike MLIR's own
/// handler it opens no file that a location names: the input may name any. Who
/// listens hears of each as it comes.
class MessageCollector : public mlir::ScopedDiagnosticHandler {
public:
  MessageCollector(mlir::MLIRContext *context, llvm::SourceMgr &sources,
                   std::string &text, MessageListener listener = nullptr);

private:
  void print(mlir::Location loc, mlir::DiagnosticSeverity severity,
             llvm::StringRef message);

  llvm::SourceMgr &sources;
  std::string &text;
  const MessageListener listener;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_MESSAGES_H
