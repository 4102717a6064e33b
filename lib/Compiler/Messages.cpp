//===- Messages.cpp - Diagnostics as text ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Messages.h"

#include "mlir/IR/Location.h"

using namespace mlir;
using namespace ringlet;

/// One message is cut after this many bytes: it may print a type or an
/// attribute of any size.
static constexpr size_t kMaxMessage = 16384;

MessageCollector::MessageCollector(MLIRContext *context,
                                   llvm::SourceMgr &sources, std::string &text,
                                   MessageListener listener)
    : ScopedDiagnosticHandler(context), sources(sources), text(text),
      listener(std::move(listener)) {
  setHandler([this](Diagnostic &diagnostic) {
    print(diagnostic.getLocation(), diagnostic.getSeverity(), diagnostic.str());
    for (Diagnostic &note : diagnostic.getNotes())
      print(note.getLocation(), note.getSeverity(), note.str());
    return success();
  });
}

void MessageCollector::print(Location loc, DiagnosticSeverity severity,
                             StringRef message) {
  std::string cut;
  if (message.size() > kMaxMessage) {
    cut = message.take_front(kMaxMessage).str() + "...";
    message = cut;
  }
  auto kind = llvm::SourceMgr::DK_Error;
  CompileMessage heard;
  if (severity == DiagnosticSeverity::Warning) {
    kind = llvm::SourceMgr::DK_Warning;
    heard.severity = CompileMessage::Warning;
  } else if (severity == DiagnosticSeverity::Note) {
    kind = llvm::SourceMgr::DK_Note;
    heard.severity = CompileMessage::Note;
  } else if (severity == DiagnosticSeverity::Remark) {
    kind = llvm::SourceMgr::DK_Remark;
    heard.severity = CompileMessage::Remark;
  }

  FileLineColLoc file;
  loc->walk([&](Location inner) {
    file = dyn_cast<FileLineColLoc>(inner);
    return file ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (listener) {
    heard.message = message.str();
    if (file) {
      heard.file = file.getFilename().str();
      heard.line = file.getLine();
      heard.column = file.getColumn();
    }
    listener(heard);
  }
  llvm::raw_string_ostream stream(text);
  unsigned main = sources.getNumBuffers() ? sources.getMainFileID() : 0;
  llvm::SMLoc place;
  if (main && file &&
      file.getFilename() ==
          sources.getMemoryBuffer(main)->getBufferIdentifier())
    place =
        sources.FindLocForLineAndColumn(main, file.getLine(), file.getColumn());
  if (place.isValid()) {
    sources.PrintMessage(stream, place, kind, message, {}, {},
                         /*ShowColors=*/false);
    return;
  }
  if (file)
    stream << file.getFilename().getValue() << ':' << file.getLine() << ':'
           << file.getColumn() << ": ";
  const char *names[] = {"error", "warning", "remark", "note"};
  stream << names[kind] << ": " << message << '\n';
}
