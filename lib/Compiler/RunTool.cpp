//===- RunTool.cpp - Programs that make a file of a file --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/RunTool.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace ringlet;

Expected<std::string> ringlet::findNamedTool(StringRef role, StringRef option) {
  ErrorOr<std::string> path = sys::findProgramByName(option);
  if (path && sys::fs::can_execute(*path))
    return *path;
  return createStringError("expected " + role + " '" + option +
                           "' to be a program, found none");
}

static Error writeFile(StringRef path, StringRef content) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (!code) {
    stream << content;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return createStringError("cannot write " + path + ": " + code.message());
  return Error::success();
}

/// Runs `builtin` and returns its exit status.
static int callBuiltin(decltype(ToolRun::builtin) builtin,
                       ArrayRef<StringRef> arguments, std::string &messages) {
  SmallVector<std::string> copies;
  for (StringRef argument : arguments)
    copies.push_back(argument.str());
  SmallVector<const char *> pointers;
  for (const std::string &copy : copies)
    pointers.push_back(copy.c_str());
  raw_string_ostream stream(messages);
  return builtin(pointers, stream);
}

Expected<ToolResult> ringlet::runTool(const ToolRun &run, StringRef input) {
  SmallString<128> folder;
  if (std::error_code code =
          sys::fs::createUniqueDirectory("ringlet-tool", folder))
    return createStringError("cannot create a folder for " + run.program +
                             ": " + code.message());
  scope_exit cleanup([&] { sys::fs::remove_directories(folder); });
  std::string base = (folder + sys::path::get_separator()).str();
  std::string inputPath = base + run.inputName.str();
  std::string outputPath = base + run.outputName.str();
  std::string messagesPath = base + "messages";
  if (Error error = writeFile(inputPath, input))
    return error;

  SmallVector<StringRef> arguments = {run.program};
  arguments.append(run.options.begin(), run.options.end());
  arguments.append({"-o", outputPath, inputPath});
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messagesPath),
                                          StringRef(messagesPath)};
  ToolResult result;
  int status = run.builtin
                   ? callBuiltin(run.builtin, arguments, result.messages)
                   : sys::ExecuteAndWait(run.program, arguments, std::nullopt,
                                         redirects, run.seconds,
                                         /*MemoryLimit=*/0, &result.messages);
  if (auto buffer = MemoryBuffer::getFile(messagesPath))
    result.messages += (*buffer)->getBuffer().trim();
  if (status != 0)
    return createStringError(run.program + " failed with status " +
                             Twine(status) + ": " + result.messages);
  auto output = MemoryBuffer::getFile(outputPath);
  if (!output)
    return createStringError("cannot read " + outputPath + ": " +
                             output.getError().message());
  result.content = (*output)->getBuffer().str();
  return result;
}
