//===- Bytecode.cpp - What bytecode says, as text ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Bytecode.h"

#include "lib/Compiler/TextGuard.h"
#include "ringlet/InitAll.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"

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

/// What the reader may take: work, memory beside what the process has already,
/// and time on a machine that is busy with other things.
static constexpr rlim_t kSeconds = 10;
static constexpr rlim_t kBytes = rlim_t(2) << 30;
static constexpr auto kPatience = std::chrono::seconds(100);

//===----------------------------------------------------------------------===//
// The reading process
//===----------------------------------------------------------------------===//

/// Whoever has replaced these signals' actions is not meant.
static constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                        SIGABRT, SIGXCPU, SIGPIPE};

static void setLimit(int resource, rlim_t value) {
  rlimit limit{value, value};
  setrlimit(resource, &limit);
}

static void limitProcess() {
  for (int number : kFatalSignals)
    std::signal(number, SIG_DFL);
  setLimit(RLIMIT_CORE, 0);
  setLimit(RLIMIT_CPU, kSeconds);
  rlim_t pages = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    unsigned long count = 0;
    if (std::fscanf(file, "%lu", &count) == 1)
      pages = count;
    std::fclose(file);
  }
  setLimit(RLIMIT_AS, pages * static_cast<rlim_t>(getpagesize()) + kBytes);
}

/// Generic text of what the bytecode says, with its locations; or, and false,
/// what is wrong with it. Nothing is verified: who parses the text does so.
static bool print(llvm::MemoryBufferRef bytecode, std::string &text) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
  });
  Block block;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (failed(readBytecodeFile(bytecode, &block, config))) {
    text =
        error.empty() ? "expected MLIR bytecode, found something else" : error;
    return false;
  }
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo().printGenericOpForm().assumeVerified();
  for (Operation &op : block) {
    op.print(stream, flags);
    stream << "\n";
  }
  return true;
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

namespace {
struct Reading {
  std::string said;
  /// How the process ended, as waitpid says it; for hosts that have it say
  /// nothing, not well.
  int status = SIGABRT;
  bool wasTooLong = false;
};
} // namespace

/// Takes what the process says, up to a limit and for a time.
static Reading listen(pid_t process, int file) {
  Reading reading;
  auto end = std::chrono::steady_clock::now() + kPatience;
  const uint64_t most = TextLimits().bytes + 1;
  char buffer[1 << 16];
  while (reading.said.size() < most) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wanted{file, POLLIN, 0};
    int ready = left.count() <= 0
                    ? 0
                    : poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR)
      continue;
    reading.wasTooLong = ready == 0;
    if (ready <= 0)
      break;
    ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    reading.said.append(buffer, static_cast<size_t>(count));
  }
  close(file);
  if (reading.wasTooLong)
    kill(process, SIGKILL);
  while (waitpid(process, &reading.status, 0) < 0 && errno == EINTR) {
  }
  return reading;
}

/// The text, or nothing and what is wrong.
static std::optional<std::string> textOf(llvm::MemoryBufferRef bytecode,
                                         std::string &error) {
  int ends[2];
  // Other children of the host must not hold the pipe open.
  pid_t process = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
  if (process < 0) {
    error = std::string("no process can be started to read bytecode: ") +
            std::strerror(errno);
    return std::nullopt;
  }
  if (process == 0) {
    limitProcess();
    std::string text;
    bool isRead = print(bytecode, text);
    writeAll(ends[1], text);
    _exit(isRead ? 0 : 1);
  }
  close(ends[1]);
  Reading reading = listen(process, ends[0]);
  // One that has more to say than fits is stopped by its broken pipe; the text
  // is refused for its size.
  bool isWhole = WIFEXITED(reading.status) && WEXITSTATUS(reading.status) == 0;
  if (isWhole || reading.said.size() > TextLimits().bytes)
    return std::move(reading.said);
  int number = WIFSIGNALED(reading.status) ? WTERMSIG(reading.status) : 0;
  if (reading.wasTooLong || number == SIGXCPU || number == SIGKILL)
    error = "expected MLIR bytecode that is read within " +
            std::to_string(kSeconds) + " s, found some that takes longer";
  else if (number)
    error = "expected MLIR bytecode, found some that ends its reader with "
            "signal " +
            std::to_string(number);
  else
    error = reading.said;
  return std::nullopt;
}

std::unique_ptr<llvm::MemoryBuffer>
ringlet::acceptSource(std::unique_ptr<llvm::MemoryBuffer> source,
                      bool allowBytecode, std::string &error) {
  std::string name = source->getBufferIdentifier().str();
  auto refused = guardText(source->getBuffer(), allowBytecode);
  if (!refused && isBytecode(source->getBuffer())) {
    std::string problem;
    std::optional<std::string> text = textOf(*source, problem);
    if (!text) {
      error = TextError{0, 0, problem}.format(name);
      return nullptr;
    }
    refused = guardText(*text);
    source = llvm::MemoryBuffer::getMemBufferCopy(*text, name);
  }
  if (!refused)
    return source;
  error = refused->format(name);
  return nullptr;
}
