//===- LinkSharedObject.cpp - An object to a shared one ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitObject.h"

#include "lib/Compiler/BuiltinLinker.h"
#include "lib/Compiler/RunTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace ringlet;

static constexpr unsigned kLinkSeconds = 60;

Expected<std::string> ringlet::findLinker(StringRef option) {
  if (!option.empty())
    return findNamedTool("the linker", option);
  static int anchor;
  std::string self = sys::fs::getMainExecutable(nullptr, &anchor);
  StringRef folder = sys::path::parent_path(self);
  for (StringRef name : {"ld.lld-22", "ld.lld"}) {
    if (ErrorOr<std::string> path = sys::findProgramByName(name, {folder}))
      return *path;
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  }
  return createStringError(
      "expected a linker, found neither ld.lld-22 nor ld.lld "
      "beside this program or on PATH: install the package "
      "lld-22, or name an lld with --linker");
}

/// Names of the symbols that an object needs and does not define.
static Expected<SmallVector<std::string>> undefinedSymbols(StringRef bytes) {
  Expected<std::unique_ptr<object::ObjectFile>> object =
      object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "kernels.o"));
  if (!object)
    return object.takeError();
  SmallVector<std::string> names;
  for (const object::SymbolRef &symbol : (*object)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & object::SymbolRef::SF_Undefined))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    // Every ELF symbol table begins with a nameless undefined entry.
    if (!name->empty())
      names.push_back("'" + name->str() + "'");
  }
  llvm::sort(names);
  return names;
}

Expected<std::string> ringlet::linkSharedObject(StringRef object,
                                                StringRef linker) {
  Expected<SmallVector<std::string>> undefined = undefinedSymbols(object);
  if (!undefined)
    return undefined.takeError();
  if (!undefined->empty())
    return createStringError(
        "expected kernels that call nothing outside, found " +
        join(*undefined, ", "));
  auto *builtin = linker.empty() ? &ringlet_link_with_lld : nullptr;
  Expected<std::string> program =
      builtin ? std::string("ld.lld") : findLinker(linker);
  if (!program)
    return program.takeError();

  const StringRef options[] = {"-shared",
                               "--no-undefined",
                               "--hash-style=gnu",
                               "--build-id=none",
                               "--gc-sections",
                               "--strip-all",
                               "-Bsymbolic",
                               "-z",
                               "noexecstack",
                               "-z",
                               "relro",
                               "-z",
                               "now",
                               "--threads=1"};
  Expected<ToolResult> linked = runTool(
      {*program, options, "kernels.o", "kernels.so", kLinkSeconds, builtin},
      object);
  if (!linked)
    return linked.takeError();
  return std::move(linked->content);
}
