//===- Ptxas.cpp - NVIDIA's assembler as a child process ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Ptxas.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace ringlet;

static constexpr unsigned kSeconds = 300;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

const KernelReport *PtxasReport::find(StringRef kernel) const {
  for (const KernelReport &report : kernels)
    if (report.name == kernel)
      return &report;
  return nullptr;
}

/// The number right before `unit`, 0 if there is none.
static int64_t getNumber(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  size_t first = before.find_last_not_of("0123456789");
  int64_t number = 0;
  before.drop_front(first == StringRef::npos ? 0 : first + 1)
      .getAsInteger(10, number);
  return number;
}

PtxasReport ringlet::parsePtxasReport(StringRef text) {
  PtxasReport report;
  KernelReport *current = nullptr;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    // "(C7510) Potential Performance Loss: wgmma.mma_async instructions are
    // serialized due to ..." comes as information.
    if (line.contains("warning") || line.contains("(C75"))
      report.complaints.push_back(line.trim().str());
    StringRef rest = line;
    size_t at = rest.find("Compiling entry function '");
    if (at != StringRef::npos) {
      report.kernels.emplace_back();
      current = &report.kernels.back();
      current->name = rest.drop_front(at).split('\'').second.split('\'').first;
      continue;
    }
    if (!current)
      continue;
    if (line.contains("bytes stack frame")) {
      current->stackBytes = getNumber(line, "bytes stack frame");
      current->spillStores = getNumber(line, "bytes spill stores");
      current->spillLoads = getNumber(line, "bytes spill loads");
    }
    if (line.contains("Used "))
      current->registers = getNumber(line, "registers");
  }
  return report;
}

Error ringlet::checkPtxasReport(const PtxasReport &report, StringRef target) {
  for (const KernelReport &kernel : report.kernels)
    if (kernel.spillStores || kernel.spillLoads)
      return makeError(
          "expected kernel '" + kernel.name + "' to fit in registers on " +
          target + ", found " + Twine(kernel.spillStores) +
          " bytes of spill stores and " + Twine(kernel.spillLoads) +
          " of spill loads with " + Twine(kernel.registers) +
          " registers a thread; choose smaller tiles");
  if (!report.complaints.empty())
    return makeError("expected code that ptxas takes without complaint for " +
                     target + ", found: " + report.complaints.front());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

Expected<std::optional<std::string>> ringlet::findPtxas(StringRef option) {
  if (!option.empty()) {
    ErrorOr<std::string> path = sys::findProgramByName(option);
    if (path && sys::fs::can_execute(*path))
      return *path;
    return makeError("expected ptxas '" + option +
                     "' to be a program, found none");
  }
  SmallVector<std::string> folders;
  for (StringRef variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> home = sys::Process::GetEnv(variable);
        home && !home->empty())
      folders.push_back(*home + "/bin");
  for (const std::string &folder : folders)
    if (ErrorOr<std::string> path = sys::findProgramByName("ptxas", {folder}))
      return *path;
  if (ErrorOr<std::string> path = sys::findProgramByName("ptxas"))
    return *path;
  if (ErrorOr<std::string> path =
          sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *path;
  return std::nullopt;
}

Expected<Assembled> ringlet::runPtxas(StringRef program, StringRef ptx,
                                      StringRef arch) {
  SmallString<128> folder;
  if (std::error_code code =
          sys::fs::createUniqueDirectory("ringlet-ptxas", folder))
    return makeError("cannot create a folder for ptxas: " + code.message());
  scope_exit cleanup([&] { sys::fs::remove_directories(folder); });
  std::string base = (folder + sys::path::get_separator()).str();
  std::string input = base + "kernels.ptx", output = base + "kernels.cubin",
              messages = base + "messages";
  {
    std::error_code code;
    raw_fd_ostream stream(input, code);
    if (!code) {
      stream << ptx;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      return makeError("cannot write " + input + ": " + code.message());
  }
  std::string option = ("-arch=" + arch).str();
  SmallVector<StringRef> arguments = {program, option, "-v",
                                      "-o",    output, input};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages),
                                          StringRef(messages)};
  std::string error;
  int status = sys::ExecuteAndWait(program, arguments, std::nullopt, redirects,
                                   kSeconds, /*MemoryLimit=*/0, &error);
  std::string text = error;
  if (auto buffer = MemoryBuffer::getFile(messages))
    text += (*buffer)->getBuffer().trim();
  if (status != 0)
    return makeError(program + " failed with status " + Twine(status) + ": " +
                     text);
  auto cubin = MemoryBuffer::getFile(output);
  if (!cubin)
    return makeError("cannot read " + output + ": " +
                     cubin.getError().message());
  return Assembled{(*cubin)->getBuffer().str(), parsePtxasReport(text)};
}
