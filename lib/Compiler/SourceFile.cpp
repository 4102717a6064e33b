//===- SourceFile.cpp - Input files of the tools ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/SourceFile.h"

#include "lib/Compiler/TextGuard.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

static Expected<std::string> readFile(StringRef path) {
  bool isStdin = path == "-";
  sys::fs::file_t file = sys::fs::getStdinHandle();
  if (!isStdin) {
    if (sys::fs::is_directory(path))
      return errorCodeToError(make_error_code(errc::is_a_directory));
    Expected<sys::fs::file_t> opened = sys::fs::openNativeFileForRead(path);
    if (!opened)
      return opened.takeError();
    file = *opened;
  }
  scope_exit closer([&] {
    if (!isStdin)
      sys::fs::closeFile(file);
  });
  std::string content;
  const uint64_t limit = ringlet::TextLimits().bytes + 1;
  constexpr size_t chunk = 1 << 16;
  while (content.size() < limit) {
    size_t size = content.size();
    content.resize(size + chunk);
    Expected<size_t> count = sys::fs::readNativeFile(
        file, MutableArrayRef<char>(content.data() + size, chunk));
    if (!count)
      return count.takeError();
    content.resize(size + *count);
    if (*count == 0)
      break;
  }
  return content;
}

std::unique_ptr<MemoryBuffer> ringlet::readSource(StringRef path,
                                                  std::string &error) {
  Expected<std::string> content = readFile(path);
  if (content)
    return MemoryBuffer::getMemBufferCopy(*content,
                                          path == "-" ? "<stdin>" : path);
  error = "error: cannot read '" + path.str() +
          "': " + toString(content.takeError());
  return nullptr;
}
