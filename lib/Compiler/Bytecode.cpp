//===- Bytecode.cpp - What bytecode says, as text ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Bytecode.h"

#include "lib/Compiler/Apart.h"
#include "lib/Compiler/TextGuard.h"
#include "ringlet/InitAll.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

/// What the reader may take: work, memory beside what the process has already.
static constexpr uint64_t kReadSeconds = 10;
static constexpr uint64_t kReadBytes = uint64_t(2) << 30;

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

/// The text, or nothing and what is wrong.
static std::optional<std::string> textOf(llvm::MemoryBufferRef bytecode,
                                         std::string &error) {
  ApartResult reading =
      runApart([&](std::string &text) { return print(bytecode, text); },
               {kReadSeconds, kReadBytes, TextLimits().bytes + 1});
  // One that has more to say than fits is stopped by its broken pipe; the text
  // is refused for its size.
  if (reading.isWhole || reading.said.size() > TextLimits().bytes)
    return std::move(reading.said);
  if (!reading.error.empty())
    error = "no process can be started to read bytecode: " + reading.error;
  else if (reading.wasTooLong)
    error = llvm::formatv("expected MLIR bytecode that is read within {0} s, "
                          "found some that takes longer",
                          kReadSeconds)
                .str();
  else if (reading.signal)
    error = llvm::formatv("expected MLIR bytecode, found some that ends its "
                          "reader with signal {0}",
                          reading.signal)
                .str();
  else
    error = reading.said;
  return std::nullopt;
}

std::unique_ptr<llvm::MemoryBuffer>
ringlet::acceptSource(std::unique_ptr<llvm::MemoryBuffer> source,
                      bool allowBytecode, TextError &error) {
  auto refused = guardText(source->getBuffer(), allowBytecode);
  if (!refused && isBytecode(source->getBuffer())) {
    std::string problem;
    std::optional<std::string> text = textOf(*source, problem);
    if (!text) {
      error = TextError{0, 0, problem};
      return nullptr;
    }
    refused = guardText(*text);
    source = llvm::MemoryBuffer::getMemBufferCopy(
        *text, source->getBufferIdentifier());
  }
  if (!refused)
    return source;
  error = *refused;
  return nullptr;
}

std::unique_ptr<llvm::MemoryBuffer>
ringlet::acceptSource(std::unique_ptr<llvm::MemoryBuffer> source,
                      bool allowBytecode, std::string &error) {
  std::string name = source->getBufferIdentifier().str();
  TextError refused;
  source = acceptSource(std::move(source), allowBytecode, refused);
  if (!source)
    error = refused.format(name);
  return source;
}
