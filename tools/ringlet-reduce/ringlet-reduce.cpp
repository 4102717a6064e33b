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
// where there is no script, may end where an operation whose results nobody
// uses is what matters, and removes the output where it fails: all of that is
// looked after here, from outside.
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

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

/// What of the command line matters here.
struct CommandLine {
  std::vector<std::string> arguments;
  /// The place of the input's name in `arguments`, 0 for none.
  size_t inputAt = 0;
  /// The place of the output's name in `arguments`, 0 for none, and what stands
  /// before the name.
  size_t outputAt = 0;
  std::string outputPrefix, output = "-";
  std::string script;
  std::vector<std::string> scriptArguments;
  bool reduces = false;
  /// Nothing is to be read.
  bool asksForHelp = false;
  ringlet::ParseApartOptions parse;

  const std::string &getInput() const { return arguments[inputAt]; }
};

/// A file in the system's folder for such, for as long as this lives.
struct TemporaryFile {
  SmallString<128> path;
  std::string error;

  TemporaryFile() {
    if (std::error_code code =
            sys::fs::createTemporaryFile("ringlet-reduce", "mlir", path))
      error = "cannot create a temporary file: " + code.message();
  }
  ~TemporaryFile() {
    if (error.empty())
      sys::fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
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

/// Those of the reductions in the text of a pipeline, as
/// "builtin.module(reduction-tree{traversal-mode=0 test=fails.sh})".
static void readPipeline(StringRef text, CommandLine &line) {
  for (StringRef pass : {"reduction-tree", "opt-reduction-pass"})
    if (size_t at = text.find(pass); at != StringRef::npos) {
      StringRef rest = text.drop_front(at + pass.size());
      bool hasOptions = rest.consume_front("{");
      readPassOptions(hasOptions ? rest.split('}').first : "", line);
    }
}

static CommandLine readCommandLine(int argc, char **argv) {
  CommandLine line;
  line.arguments.assign(argv, argv + argc);
  for (size_t i = 1; i < line.arguments.size(); ++i) {
    StringRef word = line.arguments[i];
    if (word == "-" || !word.starts_with("-")) {
      line.inputAt = i;
      continue;
    }
    auto [name, value] = word.ltrim('-').split('=');
    if (name == "reduction-tree" || name == "opt-reduction-pass" ||
        name == "opt-reduction") {
      readPassOptions(value, line);
    } else if (name == "o" || name == "pass-pipeline") {
      bool isNext = !word.contains('=');
      i += isNext;
      if (i == line.arguments.size())
        break;
      std::string found = isNext ? line.arguments[i] : value.str();
      if (name == "pass-pipeline") {
        readPipeline(found, line);
        continue;
      }
      line.outputAt = i;
      line.outputPrefix = isNext ? "" : (word.split('=').first + "=").str();
      line.output = found;
    } else if (name.starts_with("help") || name == "h" || name == "version") {
      line.asksForHelp = true;
    } else if (name == "allow-unregistered-dialect") {
      line.parse.allowUnregisteredDialects = value != "false";
    }
  }
  return line;
}

/// Whether the script finds the input interesting, which is `name` to the user;
/// else what is wrong, and the status to end with.
static std::string checkScript(const CommandLine &line, StringRef name,
                               int &status) {
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
  arguments.push_back(line.getInput());
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
             line.script, name, found)
      .str();
}

static int fail(const std::string &message, int status) {
  errs() << "error: " << message << "\n";
  return status;
}

/// Input and script, before anything is reduced; 0 if they will do. What comes
/// from standard input goes to `copy`, which the script can read.
static int checkInput(CommandLine &line, const TemporaryFile &copy,
                      const mlir::DialectRegistry &registry) {
  if (!line.inputAt)
    return fail("expected an input file, or - for standard input, found none",
                ringlet::kUsageError);
  std::string name = line.getInput(), error;
  std::unique_ptr<MemoryBuffer> source = ringlet::readSource(name, error);
  if (source && name == "-") {
    error = ringlet::writeOutput(copy.path, source->getBuffer());
    line.arguments[line.inputAt] = copy.path.str().str();
    if (!error.empty())
      return fail(error, ringlet::kUsageError);
  }
  int status = ringlet::kUsageError;
  if (source) {
    status = ringlet::kRefused;
    source = ringlet::acceptSource(std::move(source), false, error);
    if (source) {
      auto refused =
          ringlet::tryParsing(source->getBuffer(), registry, line.parse);
      if (!refused) {
        error = line.reduces ? checkScript(line, name, status) : "";
        return error.empty() ? 0 : fail(error, status);
      }
      error = refused->format(name == "-" ? "<stdin>" : name);
    }
  }
  errs() << error << "\n";
  return status;
}

/// MLIR's tool, in a process of its own. What it says of wrong options and
/// modules is on standard error.
static ringlet::ApartResult reduce(CommandLine &line,
                                   const mlir::DialectRegistry &registry) {
  std::vector<char *> arguments;
  for (std::string &each : line.arguments)
    arguments.push_back(each.data());
  arguments.push_back(nullptr);
  ringlet::ApartLimits limits;
  limits.seconds = 1 << 20;
  limits.isSilent = false;
  return ringlet::runApart(
      [&](std::string &said) {
        mlir::MLIRContext context(registry);
        ringlet::ParsingOptions parsing;
        bool isDone = succeeded(mlir::mlirReduceMain(
            static_cast<int>(arguments.size()) - 1, arguments.data(), context));
        said = "came back";
        return isDone;
      },
      limits);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  CommandLine line = readCommandLine(argc, argv);
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  ringlet::registerAllPasses();
  TemporaryFile copy, reduced;
  if (!copy.error.empty() || !reduced.error.empty())
    return fail(copy.error + reduced.error, ringlet::kUsageError);
  if (!line.asksForHelp) {
    if (int status = checkInput(line, copy, registry))
      return status;
    std::string error = ringlet::checkWritable(line.output);
    if (line.output != "-" && !error.empty())
      return fail(error, ringlet::kUsageError);
  }

  // What is reduced goes to a file of our own, and that to its place.
  if (!line.outputAt) {
    line.outputAt = line.arguments.size() + 1;
    line.arguments.insert(line.arguments.end(), {"-o", ""});
  }
  line.arguments[line.outputAt] = line.outputPrefix + reduced.path.str().str();
  ringlet::ApartResult result = reduce(line, registry);
  if (!result.error.empty())
    return fail("cannot start a process: " + result.error,
                ringlet::kUsageError);
  if (result.signal)
    return fail(llvm::formatv("MLIR's reduction ended with signal {0}; the "
                              "input stays as it is. Where an operation whose "
                              "results are not used is what fails, return them",
                              result.signal)
                    .str(),
                ringlet::kRefused);
  if (result.said.empty()) // Options are wrong, or help was asked for.
    return result.status;
  if (!result.isWhole)
    return fail("the reduction failed; the input stays as it is",
                ringlet::kRefused);
  auto content = MemoryBuffer::getFile(reduced.path);
  if (!content)
    return fail("cannot read '" + reduced.path.str().str() +
                    "': " + content.getError().message(),
                ringlet::kUsageError);
  std::string error =
      ringlet::writeOutput(line.output, (*content)->getBuffer());
  return error.empty() ? 0 : fail(error, ringlet::kUsageError);
}
