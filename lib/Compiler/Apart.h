//===- Apart.h - Work in a process of its own ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers, verifiers and readers of other projects trust what they read: some
// input ends them. What may do so is tried in a process of its own first.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_APART_H
#define RINGLET_LIB_COMPILER_APART_H

#include "lib/Compiler/TextGuard.h"

#include "mlir/IR/DialectRegistry.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ringlet {

/// What a process may take.
struct ApartLimits {
  uint64_t seconds = 10;
  /// Beside what the caller has already; 0 sets no limit.
  uint64_t bytes = 0;
  /// Of what it says.
  uint64_t said = 1 << 16;
  /// Whether its standard error says nothing.
  bool isSilent = true;
};

struct ApartResult {
  std::string said;
  /// It came to its end, and its body returned true.
  bool isWhole = false;
  bool wasTooLong = false;
  /// That ended it; 0 if none did.
  int signal = 0;
  /// With which it ended otherwise.
  int status = 0;
  /// Why there was no process.
  std::string error;
};

/// Runs `body` in a copy of this process, to which signals that crashes raise
/// are the end. It gives back what `body` puts into its argument. For programs
/// of one thread at that time: others' locks stay locked in the copy.
ApartResult runApart(llvm::function_ref<bool(std::string &said)> body,
                     const ApartLimits &limits);

struct ParseApartOptions {
  bool allowUnregisteredDialects = false;
  /// Between inputs of one file; "" for none.
  std::string splitMarker;
};

/// Nothing if MLIR's parser and verifier come to an end on text that has passed
/// `acceptSource`, be it good or wrong; otherwise what is wrong, and the line
/// whose parser does not.
std::optional<TextError> tryParsing(llvm::StringRef text,
                                    const mlir::DialectRegistry &registry,
                                    const ParseApartOptions &options = {});

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_APART_H
