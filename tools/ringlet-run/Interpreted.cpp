//===- Interpreted.cpp - What kernels by hand should compute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Interpreted.h"

#include "lib/Tensor/AtomicFile.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ringlet;
using namespace ringlet::run;

extern char **environ;

namespace {

/// A folder of its own, for as long as this lives.
struct Folder {
  std::filesystem::path path;
  std::string error;

  Folder() {
    std::error_code code;
    std::filesystem::path parent = std::filesystem::temp_directory_path(code);
    std::string name = (parent / "ringlet-check-XXXXXX").string();
    if (code || !mkdtemp(name.data()))
      error = "cannot create a folder for temporary files";
    else
      path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (error.empty())
      std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
};

} // namespace

/// The status that it exits with; below 0, and `error` set, where it does not.
static int runProgram(std::vector<std::string> words, std::string &error) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  int failure = posix_spawnp(&process, arguments[0], nullptr, nullptr,
                             arguments.data(), environ);
  if (failure != 0) {
    error = formatText("cannot run '{}': {}", words[0], std::strerror(failure));
    return -1;
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  error = formatText("'{}' was ended by signal {}", words[0],
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return -1;
}

/// ringlet-interpret beside this program, or its name, for PATH.
static std::string findInterpreter() {
  std::error_code code;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", code);
  std::filesystem::path beside = self.parent_path() / "ringlet-interpret";
  return !code && access(beside.c_str(), X_OK) == 0 ? beside.string()
                                                    : "ringlet-interpret";
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// What compiled code may differ by: sums in another order, functions to within
/// their accuracy, results rounded the other way. A part of the element, and of
/// the greatest one beside it, from which it may come by cancellation.
static double tolerance(DType dtype, double exact, double greatest) {
  double ofElement = dtype == DType::bf16 ? 0x1p-6 : 0x1p-9;
  return ofElement * std::abs(exact) + 0x1p-10 * greatest;
}

static bool isInteger(DType dtype) {
  return dtype == DType::i1 || dtype == DType::i32 || dtype == DType::i64;
}

static void compare(const std::string &name, const Tensor &found,
                    const Tensor &wanted, bool isPart, CheckReport &report) {
  DType dtype = found.dtype();
  int64_t count = found.bytes() / sizeOf(dtype), compared = 0, wrong = 0;
  int64_t first = -1;
  double greatest = 0, worst = 0;
  auto at = [&](const Tensor &tensor, int64_t i) {
    return loadElement(tensor.data(), dtype, i);
  };
  for (int64_t i = 0; i < count; ++i)
    if (double value = std::abs(at(wanted, i)); std::isfinite(value))
      greatest = std::max(greatest, value);
  for (int64_t i = 0; i < count; ++i) {
    double exact = at(wanted, i), value = at(found, i);
    // Nothing says which integers were left out.
    if (isPart && (std::isnan(exact) || isInteger(dtype)))
      continue;
    ++compared;
    bool isRight = (std::isnan(exact) && std::isnan(value)) || exact == value;
    if (isInteger(dtype)) {
      isRight =
          loadInt(wanted.data(), dtype, i) == loadInt(found.data(), dtype, i);
    } else if (std::isfinite(exact) && std::isfinite(value)) {
      worst = std::max(worst, std::abs(exact - value));
      isRight = std::abs(exact - value) <= tolerance(dtype, exact, greatest);
    }
    if (!isRight && wrong++ == 0)
      first = i;
  }
  report.ok &= wrong == 0;
  std::string line =
      formatText("{}: {} of {} elements compared with the interpreter's, "
                 "differing by at most {:.3g} of {:.3g}: ",
                 name, compared, count, worst, greatest);
  if (wrong != 0)
    line += formatText("{} are wrong, the first at {}, expected {:.6g}, found "
                       "{:.6g}: ",
                       wrong, describeIndex(first, found.shape()),
                       at(wanted, first), at(found, first));
  report.lines.push_back(line + (wrong == 0 ? "ok" : "FAILED"));
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

std::string run::checkInterpreted(const InterpretedCheck &check,
                                  const std::vector<std::string> &names,
                                  const std::vector<Tensor> &tensors,
                                  CheckReport &report) {
  Folder folder;
  if (!folder.error.empty())
    return folder.error;
  std::string source = folder.path / "kernels.mlir",
              arguments = folder.path / "arguments.safetensors",
              results = folder.path / "results.safetensors", error;
  error =
      writeFileAtomically(source, {{check.source.data(), check.source.size()}});
  if (!error.empty())
    return error;
  Safetensors file;
  for (size_t i = 0; i < tensors.size(); ++i)
    file.tensors.push_back({names[i], Tensor::copyOf(tensors[i].view())});
  if (!writeSafetensors(arguments, file, &error))
    return error;

  std::string program =
      check.interpreter.empty() ? findInterpreter() : check.interpreter;
  int status = runProgram({program, source, "--in=" + arguments,
                           "--entry=" + check.entry, "--out=" + results,
                           formatText("--seconds={}", check.seconds)},
                          error);
  if (status == 1) {
    report.ok = false;
    report.lines.push_back("the interpreter refuses what was written: FAILED");
    return "";
  }
  if (status != 0)
    return error.empty()
               ? formatText("'{}' has exited with {}", program, status)
               : error;
  std::optional<Safetensors> wanted = readSafetensors(results, &error);
  if (!wanted)
    return error;
  bool isSampled = wanted->metadata.count("points") != 0;
  if (isSampled)
    report.lines.push_back(
        formatText("{} of {} grid points interpreted within {} s",
                   wanted->metadata["points_run"], wanted->metadata["points"],
                   check.seconds));
  for (size_t i = check.outputs; i < tensors.size(); ++i) {
    const Tensor *exact = wanted->find(names[i]);
    if (!exact || exact->dtype() != tensors[i].dtype() ||
        exact->shape() != tensors[i].shape())
      return formatText("expected '{}' among the interpreter's results, found "
                        "none like it",
                        names[i]);
    compare(names[i], tensors[i], *exact, isSampled || check.hasGaps, report);
  }
  return "";
}
