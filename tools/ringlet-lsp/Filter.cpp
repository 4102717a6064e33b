//===- Filter.cpp - Between an editor and MLIR's server ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-lsp/Filter.h"

#include "lib/Compiler/Apart.h"

#include "llvm/Support/LSP/Transport.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace ringlet::lsp;

static std::string textOf(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return text;
}

static void write(std::FILE *file, StringRef text) {
  std::fprintf(file, "Content-Length: %zu\r\n\r\n", text.size());
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

void Filter::sendToServer(const json::Value &message) {
  write(toServer, textOf(message));
}

void Filter::sendToEditor(const json::Value &message) {
  std::string text;
  raw_string_ostream stream(text);
  if (isTest)
    stream << formatv("{0:2}", message);
  else
    stream << message;
  write(stdout, text);
  if (isTest)
    std::fputs("\n", stdout), std::fflush(stdout);
}

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

void Filter::start() {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC) ||
      (process = fork()) < 0) {
    errs() << "error: no process can be started for the language server\n";
    _exit(2);
  }
  if (process == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    // Other ends would keep the pipes open.
    for (int end : {down[0], down[1], up[0], up[1]})
      close(end);
    int result = serve();
    outs().flush();
    _exit(result);
  }
  close(down[0]);
  close(up[1]);
  toServer = fdopen(down[1], "w");
  fromServer = fdopen(up[0], "r");
}

void Filter::openAgain(const std::string &uri) {
  const Document &document = documents[uri];
  sendToServer(json::Object{
      {"jsonrpc", "2.0"},
      {"method", "textDocument/didOpen"},
      {"params",
       json::Object{
           {"textDocument",
            json::Object{
                {"uri", uri},
                {"languageId", "mlir"},
                {"version", 1},
                {"text", document.refused ? "" : document.getText()}}}}}});
}

/// The server has ended by itself.
void Filter::restart() {
  std::fclose(toServer);
  std::fclose(fromServer);
  start();
  for (auto &[number, request] : pending)
    sendToEditor(json::Object{
        {"jsonrpc", "2.0"},
        {"id", request.first},
        {"error", json::Object{{"code", -32603},
                               {"message", "the language server has ended "
                                           "and was started anew"}}}});
  pending.clear();
  if (initialize) {
    known.insert(textOf(*initialize->getAsObject()->get("id")));
    sendToServer(*initialize);
    sendToServer(json::Object{{"jsonrpc", "2.0"},
                              {"method", "initialized"},
                              {"params", json::Object{}}});
  }
  if (auto found = documents.find(touched); found != documents.end())
    found->second.refused =
        TextError{1, 1,
                  "expected text that MLIR's language server reads, found "
                  "some that ends it"};
  for (auto &[uri, document] : documents)
    openAgain(uri);
}

void Filter::readAll(llvm::lsp::JSONTransportInputOverFile &input,
                     void (Filter::*take)(json::Object)) {
  std::string text;
  while (!input.isEndOfInput() && !input.hasError()) {
    if (failed(input.readMessage(text)))
      continue;
    Expected<json::Value> message = json::parse(text);
    std::lock_guard<std::mutex> lock(mutex);
    if (!message)
      consumeError(message.takeError());
    else if (json::Object *object = message->getAsObject())
      (this->*take)(std::move(*object));
  }
}

void Filter::relayAnswers() {
  for (;;) {
    llvm::lsp::JSONTransportInputOverFile input(fromServer);
    readAll(input, &Filter::takeFromServer);
    int ended = 0;
    while (waitpid(process, &ended, 0) < 0 && errno == EINTR) {
    }
    std::lock_guard<std::mutex> lock(mutex);
    if (isEnding) {
      status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
      return;
    }
    restart();
  }
}

//===----------------------------------------------------------------------===//
// What passes by
//===----------------------------------------------------------------------===//

/// The columns of every position in a message, in the document that the nearest
/// object around it names.
void Filter::convert(json::Value &value, std::string uri, Way way) {
  if (json::Array *array = value.getAsArray()) {
    for (json::Value &item : *array)
      convert(item, uri, way);
    return;
  }
  json::Object *object = value.getAsObject();
  if (!object)
    return;
  if (auto name = object->getString("uri"))
    uri = name->str();
  if (json::Object *document = object->getObject("textDocument"))
    if (auto name = document->getString("uri"))
      uri = name->str();
  auto found = documents.find(uri);
  auto line = object->getInteger("line");
  auto column = object->getInteger("character");
  if (line && column && found != documents.end())
    (*object)["character"] = way == Way::ToServer
                                 ? found->second.toBytes(*line, *column)
                                 : found->second.toUnits(*line, *column);
  for (auto &field : *object)
    convert(field.second, uri, way);
}

void Filter::check(Document &document) {
  document.refused = guardText(document.getText());
  if (document.refused)
    return;
  ParseApartOptions options;
  options.allowUnregisteredDialects = true;
  options.splitMarker = "// -----";
  document.refused = tryParsing(document.getText(), registry, options);
}

void Filter::changeDocument(StringRef method, json::Object &params) {
  json::Object *target = params.getObject("textDocument");
  std::string uri = target ? target->getString("uri").value_or("").str() : "";
  touched = uri;
  if (method == "textDocument/didClose") {
    documents.erase(uri);
    return;
  }
  Document &document = documents[uri];
  if (method == "textDocument/didOpen")
    document.setText(target ? target->getString("text").value_or("") : "");
  else if (json::Array *changes = params.getArray("contentChanges"))
    for (json::Value &change : *changes)
      if (json::Object *object = change.getAsObject())
        document.apply(*object);
  check(document);
  StringRef seen = document.refused ? "" : document.getText();
  if (method == "textDocument/didOpen" && target)
    (*target)["text"] = seen;
  else
    params["contentChanges"] = json::Array{json::Object{{"text", seen}}};
}

void Filter::takeFromEditor(json::Object message) {
  std::string method = message.getString("method").value_or("").str();
  json::Object *params = message.getObject("params");
  isEnding |= method == "exit";
  if (method == "initialize" && message.get("id"))
    initialize = json::Value(json::Object(message));
  if (params &&
      (method == "textDocument/didOpen" || method == "textDocument/didChange" ||
       method == "textDocument/didClose")) {
    changeDocument(method, *params);
  } else if (json::Value *all = message.get("params")) {
    convert(*all, "", Way::ToServer);
  }
  if (const json::Value *id = message.get("id"); id && !method.empty()) {
    std::string uri;
    if (params)
      if (json::Object *document = params->getObject("textDocument"))
        uri = document->getString("uri").value_or("").str();
    pending.insert_or_assign(textOf(*id), std::pair(*id, uri));
  }
  sendToServer(std::move(message));
}

void Filter::takeFromServer(json::Object message) {
  std::string uri;
  if (const json::Value *id = message.get("id"); id && !message.get("method")) {
    if (known.erase(textOf(*id)))
      return;
    if (auto found = pending.find(textOf(*id)); found != pending.end()) {
      uri = found->second.second;
      pending.erase(found);
    }
  }
  json::Object *params = message.getObject("params");
  if (params &&
      message.getString("method") == "textDocument/publishDiagnostics") {
    uri = params->getString("uri").value_or("").str();
    auto found = documents.find(uri);
    if (found != documents.end() && found->second.refused) {
      const TextError &error = *found->second.refused;
      int64_t line = std::max<int64_t>(int64_t(error.line) - 1, 0);
      int64_t bytes = std::max<int64_t>(int64_t(error.column) - 1, 0);
      json::Object place{{"line", line}, {"character", bytes}};
      (*params)["diagnostics"] = json::Array{
          json::Object{{"range", json::Object{{"start", json::Object(place)},
                                              {"end", json::Object(place)}}},
                       {"severity", 1},
                       {"source", "ringlet"},
                       {"message", error.message}}};
    }
  }
  json::Value whole(std::move(message));
  convert(whole, uri, Way::ToEditor);
  sendToEditor(whole);
}

int Filter::run() {
  std::signal(SIGPIPE, SIG_IGN);
  start();
  std::thread answers([this] { relayAnswers(); });
  llvm::lsp::JSONTransportInputOverFile input(
      stdin, isTest ? llvm::lsp::Delimited : llvm::lsp::Standard);
  readAll(input, &Filter::takeFromEditor);
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
    std::fclose(toServer);
  }
  answers.join();
  return status;
}
