//===- Document.h - The text of an editor's document ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Editors count columns in units of UTF-16, as the protocol says; MLIR's server
// counts bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_LSP_DOCUMENT_H
#define RINGLET_TOOLS_RINGLET_LSP_DOCUMENT_H

#include "lib/Compiler/TextGuard.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace ringlet::lsp {

class Document {
public:
  explicit Document(std::string text = "") : text(std::move(text)) {}

  llvm::StringRef getText() const { return text; }
  void setText(llvm::StringRef whole) { text = whole.str(); }

  /// A change of the protocol, its places beyond the text taken to its end.
  void apply(const llvm::json::Object &change);

  /// The column of a line (counted from 0) in bytes, and back. A column within
  /// a character is its beginning; one beyond the line stays beyond it.
  int64_t toBytes(int64_t line, int64_t units) const;
  int64_t toUnits(int64_t line, int64_t bytes) const;

  /// Why the server does not see this text.
  std::optional<TextError> refused;

private:
  llvm::StringRef getLine(int64_t line) const;
  size_t offsetOf(const llvm::json::Object &position) const;

  std::string text;
};

} // namespace ringlet::lsp

#endif // RINGLET_TOOLS_RINGLET_LSP_DOCUMENT_H
