//===- ringlet-reduce.cpp - Make a failing input smaller -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes operations from a module for as long as a script says that what is
// left still fails (it exits with 1 then):
//
//   ringlet-reduce bad.mlir -reduction-tree="traversal-mode=0 test=fails.sh"
//
// `opt-reduction` tries passes instead of removals.
//
// The work is MLIR's, which is silent about input that is not interesting, ends
// where there is no script, and removes the output where it fails: all of that
// is looked after here, from outside.
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Apart.h"
#include "lib/Compiler/Bytecode.h"
#include "lib/Compiler/SourceFile.h"
#include "lib/Compiler/ToolExit.h"
#include "lib/Tensor/AtomicFile.h"
#include "ringlet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

/// What of the command line matters here.
struct CommandLine {
  std::vector<std::string> arguments;
  std::string input;
  /// The place of the output's name in `arguments`, 0 for standard output, and
  /// what stands before the name.
  size_t outputAt = 0;
  std::string outputPrefix, output;
  std::string script;
  std::vector<std::string> scriptArguments;
  bool reduces = false;
};

} // namespace

/// The options of a pass, as "traversal-mode=0 test=fails.sh".
static void readPassOptions(StringRef text, CommandLine &line) {
  SmallVector<StringRef> words;
  text.trim("{}'\"").split(words, ' ', -1, /*KeepEmpty=*/false);
  line.reduces = true;
  for (StringRef word : words) {
    if (word.consume_front("test="))
      line.script = word.str();
    else if (word.consume_front("test-arg="))
      line.scriptArguments.push_back(word.str());
  }
}

static CommandLine readCommandLine(int argc, char **argv) {
  CommandLine line;
  line.arguments.assign(argv, argv + argc);
  for (size_t i = 1; i < line.arguments.size(); ++i) {
    StringRef word = line.arguments[i];
    if (word == "-" || !word.starts_with("-")) {
      line.input = word.str();
      continue;
    }
    auto [name, value] = word.ltrim('-').split('=');
    if (name == "reduction-tree" || name == "opt-reduction-pass" ||
        name == "opt-reduction") {
      readPassOptions(value, line);
    } else if (name == "o") {
      bool isNext = !word.contains('=');
      line.outputAt = isNext ? ++i : i;
      line.outputPrefix = isNext ? "" : (word.split('=').first + "=").str();
      if (line.outputAt < line.arguments.size())
        line.output = isNext ? line.arguments[i] : value.str();
    }
  }
  if (line.output == "-" || line.output.empty())
    line.outputAt = 0;
  return line;
}

/// Whether the script finds the input interesting; else what is wrong, and the
/// status to end with.
static std::string checkScript(const CommandLine &line, int &status) {
  status = ringlet::kUsageError;
  if (line.script.empty())
    return "expected test=SCRIPT among the options of the reduction, found "
           "none: a program that exits with 1 for a module that fails";
  if (!sys::fs::can_execute(line.script))
    return "test=" + line.script +
           ": expected a program that can be run, found none";
  std::vector<StringRef> arguments = {line.script};
  arguments.insert(arguments.end(), line.scriptArguments.begin(),
                   line.scriptArguments.end());
  arguments.push_back(line.input);
  std::optional<StringRef> quiet[] = {StringRef(""), StringRef(""),
                                      StringRef("")};
  std::string error;
  int found = sys::ExecuteAndWait(line.script, arguments, std::nullopt, quiet,
                                  /*SecondsToWait=*/0, 0, &error);
  if (found == 1)
    return "";
  status = ringlet::kRefused;
  if (found < 0)
    return "test=" + line.script + ": " + error;
  return llvm::formatv(
             "the input is not interesting: expected '{0}' to exit with 1 for "
             "'{1}', found status {2}; there is nothing to reduce",
             line.script, line.input, found)
      .str();
}

static int fail(const std::string &message, int status) {
  errs() << "error: " << message << "\n";
  return status;
}

/// Input and script, before anything is reduced; 0 if they will do.
static int checkInput(const CommandLine &line,
                      const mlir::DialectRegistry &registry) {
  if (!line.reduces || line.input.empty() || line.input == "-")
    return 0;
  std::string error;
  std::unique_ptr<MemoryBuffer> source = ringlet::readSource(line.input, error);
  int status = ringlet::kUsageError;
  if (source) {
    status = ringlet::kRefused;
    source = ringlet::acceptSource(std::move(source), false, error);
    if (source) {
      auto refused = ringlet::tryParsing(source->getBuffer(), registry);
      if (!refused) {
        error = checkScript(line, status);
        return error.empty() ? 0 : fail(error, status);
      }
      error = refused->format(line.input);
    }
  }
  errs() << error << "\n";
  return status;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  CommandLine line = readCommandLine(argc, argv);
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  ringlet::registerAllPasses();
  if (int status = checkInput(line, registry))
    return status;

  // What is reduced goes to a file beside, and that to its place.
  std::string beside;
  if (line.outputAt) {
    std::string error = ringlet::checkWritable(line.output);
    if (!error.empty())
      return fail(error, ringlet::kUsageError);
    beside =
        llvm::formatv("{0}.tmp{1}", line.output, sys::Process::getProcessId())
            .str();
    line.arguments[line.outputAt] = line.outputPrefix + beside;
  }
  scope_exit remove([&] {
    if (!beside.empty())
      sys::fs::remove(beside);
  });
  std::vector<char *> arguments;
  for (std::string &each : line.arguments)
    arguments.push_back(each.data());
  arguments.push_back(nullptr);
  mlir::MLIRContext context(registry);
  bool isDone;
  {
    ringlet::ParsingOptions parsing;
    isDone = succeeded(mlir::mlirReduceMain(
        static_cast<int>(arguments.size()) - 1, arguments.data(), context));
  }
  if (!isDone) {
    bool isThere = line.input == "-" || sys::fs::exists(line.input);
    return fail("the reduction failed; the input stays as it is",
                isThere ? ringlet::kRefused : ringlet::kUsageError);
  }
  if (beside.empty())
    return 0;
  auto reduced = MemoryBuffer::getFile(beside);
  if (!reduced)
    return fail("cannot read '" + beside + "': " + reduced.getError().message(),
                ringlet::kUsageError);
  std::string error =
      ringlet::writeOutput(line.output, (*reduced)->getBuffer());
  return error.empty() ? 0 : fail(error, ringlet::kUsageError);
}
