//===- Filter.h - Between an editor and MLIR's server ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server parses what an editor sends, in its own process, and
// counts columns in bytes. It runs as a child here. What passes by is looked
// at:
//
//   * text that breaks a limit of the tools, or that would end MLIR's parser,
//   is
//     kept from the server, which is told that the document is empty, and the
//     editor gets the reason as a diagnostic;
//   * columns are counted as either side does;
//   * a server that ends by itself is started anew, with the documents that are
//     open, but for the one that was touched last.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_LSP_FILTER_H
#define RINGLET_TOOLS_RINGLET_LSP_FILTER_H

#include "tools/ringlet-lsp/Document.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/LSP/Transport.h"

#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>

namespace ringlet::lsp {

class Filter {
public:
  /// `serve` is the server, on standard input and output. `isTest` takes
  /// messages between lines of `// -----` and writes them for readers.
  Filter(const mlir::DialectRegistry &registry, std::function<int()> serve,
         bool isTest)
      : registry(registry), serve(std::move(serve)), isTest(isTest) {}

  /// Until the editor is done; the exit status.
  int run();

private:
  void start();
  void restart();
  void relayAnswers();
  /// Gives each message of `input` to `take`, until it ends.
  void readAll(llvm::lsp::JSONTransportInputOverFile &input,
               void (Filter::*take)(llvm::json::Object));
  void takeFromEditor(llvm::json::Object message);
  void takeFromServer(llvm::json::Object message);
  void changeDocument(llvm::StringRef method, llvm::json::Object &params);
  void check(Document &document);
  void sendToServer(const llvm::json::Value &message);
  void sendToEditor(const llvm::json::Value &message);
  void openAgain(const std::string &uri);
  enum class Way { ToServer, ToEditor };
  void convert(llvm::json::Value &value, std::string uri, Way way);

  const mlir::DialectRegistry &registry;
  std::function<int()> serve;
  bool isTest;

  /// Of all below.
  std::mutex mutex;
  std::map<std::string, Document> documents;
  /// Of requests under way, by the text of their number: the document.
  std::map<std::string, std::pair<llvm::json::Value, std::string>> pending;
  std::string touched;
  std::optional<llvm::json::Value> initialize;
  /// Answers that a server gives a second time.
  std::set<std::string> known;
  bool isEnding = false;

  pid_t process = -1;
  std::FILE *toServer = nullptr, *fromServer = nullptr;
  int status = 0;
};

} // namespace ringlet::lsp

#endif // RINGLET_TOOLS_RINGLET_LSP_FILTER_H
