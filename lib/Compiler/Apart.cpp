//===- Apart.cpp - Work in a process of its own ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Apart.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace ringlet;

//===----------------------------------------------------------------------===//
// The new process
//===----------------------------------------------------------------------===//

/// Whoever has replaced these signals' actions is not meant.
static constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                        SIGABRT, SIGXCPU, SIGPIPE};

static void setLimit(int resource, rlim_t value) {
  rlimit limit{value, value};
  setrlimit(resource, &limit);
}

static void limitProcess(const ApartLimits &limits) {
  for (int number : kFatalSignals)
    std::signal(number, SIG_DFL);
  if (int nothing = open("/dev/null", O_WRONLY);
      limits.isSilent && nothing >= 0)
    dup2(nothing, STDERR_FILENO);
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_CPU, limits.seconds);
  if (!limits.bytes)
    return;
  rlim_t pages = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    unsigned long count = 0;
    if (std::fscanf(file, "%lu", &count) == 1)
      pages = count;
    std::fclose(file);
  }
  setLimit(RLIMIT_AS,
           pages * static_cast<rlim_t>(getpagesize()) + limits.bytes);
}

static void writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR)
      return;
    bytes = bytes.drop_front(count < 0 ? 0 : static_cast<size_t>(count));
  }
}

//===----------------------------------------------------------------------===//
// The calling process
//===----------------------------------------------------------------------===//

/// Takes what the process says, up to a limit and for a time; on a machine that
/// is busy with other things it takes longer than its own.
static ApartResult listen(pid_t process, int file, const ApartLimits &limits) {
  ApartResult result;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(10 * limits.seconds);
  char buffer[1 << 16];
  while (result.said.size() < limits.said) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wanted{file, POLLIN, 0};
    int ready = left.count() <= 0
                    ? 0
                    : poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR)
      continue;
    result.wasTooLong = ready == 0;
    if (ready <= 0)
      break;
    ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    result.said.append(buffer, static_cast<size_t>(count));
  }
  close(file);
  if (result.wasTooLong)
    kill(process, SIGKILL);
  // For hosts in which waitpid says nothing: not well.
  int status = SIGABRT;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  result.isWhole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.wasTooLong |= result.signal == SIGXCPU || result.signal == SIGKILL;
  return result;
}

ApartResult ringlet::runApart(llvm::function_ref<bool(std::string &)> body,
                              const ApartLimits &limits) {
  int ends[2];
  // Other children of the host must not hold the pipe open.
  pid_t process = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (process < 0) {
    ApartResult result;
    result.error = std::strerror(errno);
    return result;
  }
  if (process == 0) {
    limitProcess(limits);
    std::string said;
    bool isRight = body(said);
    writeAll(ends[1], said);
    _exit(isRight ? 0 : 1);
  }
  close(ends[1]);
  return listen(process, ends[0], limits);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static void parseAndForget(std::string text, const DialectRegistry &registry,
                           bool allowUnregistered) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(allowUnregistered);
  ScopedDiagnosticHandler handler(&context, [](Diagnostic &) {});
  Block block;
  (void)parseSourceString(text, &block, ParserConfig(&context));
}

std::optional<TextError> ringlet::tryParsing(StringRef whole,
                                             const DialectRegistry &registry,
                                             const ParseApartOptions &options) {
  // Time is no fault of text that keeps its limits, nor is a lack of processes.
  ApartLimits limits;
  limits.seconds = 120;
  ApartResult result;
  auto ends = [&](StringRef part) {
    result = runApart(
        [&](std::string &said) {
          SmallVector<StringRef> inputs;
          if (options.splitMarker.empty())
            inputs.push_back(part);
          else
            part.split(inputs, options.splitMarker);
          for (StringRef input : inputs)
            parseAndForget(input.str(), registry,
                           options.allowUnregisteredDialects);
          said = "whole";
          return true;
        },
        limits);
    return !result.error.empty() || result.wasTooLong || result.said == "whole";
  };
  if (ends(whole))
    return std::nullopt;
  int signal = result.signal;
  // The first line that is one too many.
  SmallVector<size_t> lineEnds;
  for (size_t i = 0; i < whole.size(); ++i)
    if (whole[i] == '\n')
      lineEnds.push_back(i + 1);
  lineEnds.push_back(whole.size());
  size_t good = 0, bad = lineEnds.size();
  while (good + 1 < bad) {
    size_t middle = (good + bad) / 2;
    (ends(whole.take_front(lineEnds[middle - 1])) ? good : bad) = middle;
  }
  std::string how =
      signal ? llvm::formatv(" with signal {0}", signal).str() : "";
  return TextError{bad, 1,
                   "expected text that MLIR parses and verifies, found some "
                   "that ends it" +
                       how};
}
