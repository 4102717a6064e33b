//===- Ptxas.cpp - NVIDIA's assembler as a child process ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Ptxas.h"

#include "lib/Compiler/RunTool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace ringlet;

static constexpr unsigned kAssembleSeconds = 300;

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

static std::string complain(StringRef complaint, StringRef target) {
  return ("expected code that ptxas takes without complaint for " + target +
          ", found: " + complaint)
      .str();
}

std::string PtxasReport::whyUnfit(StringRef kernel, StringRef target) const {
  const KernelReport *report = find(kernel);
  if (report && (report->spillStores || report->spillLoads))
    return ("expected kernel '" + kernel + "' to fit in registers on " +
            target + ", found " + Twine(report->spillStores) +
            " bytes of spill stores and " + Twine(report->spillLoads) +
            " of spill loads with " + Twine(report->registers) +
            " registers a thread; choose smaller tiles")
        .str();
  for (const std::string &complaint : complaints)
    if (none_of(kernels, [&](const KernelReport &other) {
          return other.name != kernel &&
                 StringRef(complaint).contains("'" + other.name + "'");
        }))
      return complain(complaint, target);
  return "";
}

Error ringlet::checkPtxasReport(const PtxasReport &report, StringRef target) {
  for (const KernelReport &kernel : report.kernels)
    if (kernel.spillStores || kernel.spillLoads)
      return createStringError(report.whyUnfit(kernel.name, target));
  if (!report.complaints.empty())
    return createStringError(complain(report.complaints.front(), target));
  return Error::success();
}

Expected<std::optional<std::string>> ringlet::findPtxas(StringRef option) {
  if (!option.empty()) {
    Expected<std::string> named = findNamedTool("ptxas", option);
    if (!named)
      return named.takeError();
    return *named;
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
  std::string option = ("-arch=" + arch).str();
  // Kernels are many, and each is compiled by itself. What comes out depends on
  // this number, but not on how many processors there are.
  const StringRef options[] = {option, "-v", "-split-compile=4"};
  Expected<ToolResult> assembled = runTool(
      {program, options, "kernels.ptx", "kernels.cubin", kAssembleSeconds},
      ptx);
  if (!assembled)
    return assembled.takeError();
  return Assembled{std::move(assembled->content),
                   parsePtxasReport(assembled->messages)};
}
