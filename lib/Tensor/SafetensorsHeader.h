//===- SafetensorsHeader.h - The JSON header of .safetensors ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: parsing, checking and printing the header, apart
// from the files that hold it.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_SAFETENSORSHEADER_H
#define RINGLET_LIB_TENSOR_SAFETENSORSHEADER_H

#include "lib/Tensor/Tensor.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringlet {

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    /// Nothing for a type without a name here, which `type` names.
    std::optional<DType> dtype = DType::f32;
    Shape shape;
    /// Half-open range of bytes, counted from the end of the header.
    int64_t begin = 0;
    int64_t end = 0;
    std::string type;
  };
  /// Sorted by `begin`.
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

/// Longest header that is accepted, as in the format's own reader.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

/// Parses `text` and checks it against `dataSize`, the number of bytes that
/// follow the header: sizes, of types that have a name here, and ranges that
/// tile the data exactly.
std::optional<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                        int64_t dataSize,
                                                        std::string *error);

/// Text of a file as it may stand in a message: in quotes, short, on one line.
std::string quoteForMessage(std::string_view text);

/// The header as text, padded with spaces to a multiple of 8 bytes; nothing
/// when a name is repeated, reserved or not UTF-8.
std::optional<std::string>
printSafetensorsHeader(const SafetensorsHeader &header, std::string *error);

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_SAFETENSORSHEADER_H
