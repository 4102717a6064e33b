//===- Compiler.cpp - The compiler's C API ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet-c/Compiler.h"

#include "lib/Compiler/Version.h"
#include "ringlet/Compile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <new>

using namespace ringlet;

struct rlc_result {
  CompileResult content;
};

rlc_version rlc_abi_version(void) { return {RLC_ABI_MAJOR, RLC_ABI_MINOR}; }

const char *rlc_compiler_id(void) {
  static const std::string id = compilerId();
  return id.c_str();
}

/// The ringlet-compile that comes with this library, or the name to look for.
static std::string findReader() {
  Dl_info self;
  std::string name = "ringlet-compile";
  if (!dladdr(reinterpret_cast<const void *>(&rlc_compile), &self) ||
      !self.dli_fname)
    return name;
  llvm::StringRef folder = llvm::sys::path::parent_path(self.dli_fname);
  llvm::SmallString<128> beside(llvm::sys::path::parent_path(folder));
  llvm::sys::path::append(beside, "bin");
  auto found = llvm::sys::findProgramByName(name, {folder, beside});
  return found ? *found : name;
}

static MessageListener listenerOf(const rlc_options &options) {
  if (!options.diagnostic)
    return nullptr;
  return [=](const CompileMessage &heard) {
    static_assert(CompileMessage::Error == int(RLC_ERROR) &&
                  CompileMessage::Warning == int(RLC_WARNING) &&
                  CompileMessage::Remark == int(RLC_REMARK) &&
                  CompileMessage::Note == int(RLC_NOTE));
    rlc_diagnostic diagnostic = {sizeof(rlc_diagnostic),
                                 int32_t(heard.severity),
                                 heard.line,
                                 heard.column,
                                 0,
                                 heard.file.c_str(),
                                 heard.message.c_str()};
    options.diagnostic(options.diagnostic_user, &diagnostic);
  };
}

/// Reads as much of the caller's options as the caller's version had. Returns
/// an empty string, or what is wrong.
static std::string readOptions(const rlc_options *given,
                               CompileOptions &options) {
  rlc_options all = RLC_OPTIONS_INIT;
  if (given) {
    size_t size = given->struct_size;
    if (size < sizeof(size_t) || size > 4096)
      return llvm::formatv("expected struct_size to be set by "
                           "RLC_OPTIONS_INIT, found {0}",
                           size)
          .str();
    std::memcpy(&all, given, std::min(size, sizeof all));
    // Bytes of a later version are options that this one does not know.
    auto *bytes = reinterpret_cast<const unsigned char *>(given);
    if (std::any_of(bytes + std::min(size, sizeof all), bytes + size,
                    [](unsigned char byte) { return byte != 0; }))
      return "an option that this version of the library does not know";
    if (all.reserved != 0)
      return llvm::formatv("expected reserved to be 0, found {0}", all.reserved)
          .str();
  }
  std::string error = all.target ? parseTarget(all.target, options) : "";
  if (error.empty() && all.emit)
    error = parseEmit(all.emit, options);
  if (error.empty() && all.recipe)
    error = parseRecipe(all.recipe, options);
  if (error.empty() && all.order)
    error = parseOrder(all.order, options);
  if (all.input_name)
    options.inputName = all.input_name;
  if (all.linker)
    options.linker = all.linker;
  if (all.ptxas)
    options.ptxas = all.ptxas;
  options.allowBytecode = all.allow_bytecode != 0;
  if (options.allowBytecode)
    options.bytecodeReader = all.reader ? all.reader : findReader();
  options.listener = listenerOf(all);
  return error;
}

rlc_status rlc_compile(const char *text, size_t size,
                       const rlc_options *options, rlc_result **out_result) {
  if (!out_result)
    return RLC_INVALID_ARGUMENT;
  *out_result = new (std::nothrow) rlc_result;
  if (!*out_result)
    return RLC_OUT_OF_MEMORY;
  CompileResult &result = (*out_result)->content;
  CompileOptions compileOptions;
  std::string error = readOptions(options, compileOptions);
  if (error.empty() && !text && size != 0)
    error = "expected text, found NULL";
  if (!error.empty()) {
    result.diagnostics = "error: " + error + "\n";
    if (compileOptions.listener)
      compileOptions.listener({CompileMessage::Error, error, "", 0, 0});
    return RLC_INVALID_ARGUMENT;
  }
  result = compile(std::string_view(text ? text : "", size), compileOptions);
  return result.ok ? RLC_OK : RLC_REFUSED;
}

const void *rlc_result_bytes(const rlc_result *result) {
  return result && result->content.ok ? result->content.output.c_str()
                                      : nullptr;
}

size_t rlc_result_size(const rlc_result *result) {
  return result && result->content.ok ? result->content.output.size() : 0;
}

const char *rlc_result_diagnostics(const rlc_result *result) {
  return result ? result->content.diagnostics.c_str() : "";
}

const char *rlc_result_explanation(const rlc_result *result) {
  return result ? result->content.explanation.c_str() : "";
}

void rlc_result_destroy(rlc_result *result) { delete result; }
