//===- TextGuard.h - Is this text safe to parse? ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser, verifier and printer recurse along the nesting of regions,
// types, attributes and affine expressions, and its number parser takes time
// quadratic in the number of digits: text of a few hundred kilobytes can
// overflow their stack or keep them busy for minutes. The guard reads the text
// once, before any of them sees it, and refuses what exceeds a limit, with the
// place and both numbers. It knows brackets, strings, comments and aliases and
// nothing else, so what it accepts may still be wrong; what it refuses nobody
// writes.
//
// No LLVM header: usable from anywhere.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_TEXTGUARD_H
#define RINGLET_LIB_COMPILER_TEXTGUARD_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringlet {

struct TextLimits {
  /// Bytes of the whole text, or of bytecode.
  uint64_t bytes = uint64_t(64) << 20;
  /// Brackets of any kind that are open at once. An alias counts with the
  /// brackets of its definition.
  uint64_t depth = 256;
  /// Bytes of one string: names, messages, hex blobs of constants.
  uint64_t string = uint64_t(32) << 20;
  /// Bytes of one word or number.
  uint64_t word = 4096;
  /// Operators in a row, without a comma, inside brackets: the length of an
  /// affine expression.
  uint64_t operators = 512;
  /// Bits of an integer type.
  uint64_t integerBits = 1024;
  /// Bytes of the text if each alias were replaced by what it stands for.
  uint64_t expanded = uint64_t(256) << 20;
};

struct TextError {
  /// Counted from 1, as editors do; columns are bytes. 0 where the error is
  /// about the text as a whole.
  size_t line = 0;
  size_t column = 0;
  std::string message;

  /// "NAME:LINE:COLUMN: error: MESSAGE".
  std::string format(std::string_view name) const;
};

/// Whether the bytes are MLIR bytecode rather than text.
bool isBytecode(std::string_view bytes);

/// Returns nothing if `text` keeps all limits. Bytecode is refused unless
/// `allowBytecode`, and then only its size is checked: `acceptSource` guards
/// what it says.
std::optional<TextError> guardText(std::string_view text,
                                   bool allowBytecode = false,
                                   const TextLimits &limits = {});

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_TEXTGUARD_H
