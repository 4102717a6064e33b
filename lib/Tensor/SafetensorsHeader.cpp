//===- SafetensorsHeader.cpp - The JSON header of .safetensors --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/SafetensorsHeader.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace ringlet {

namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr size_t kMaxRank = 32;

struct DTypeSpelling {
  DType dtype;
  std::string_view text;
};

constexpr DTypeSpelling kSpellings[] = {
    {DType::f16, "F16"}, {DType::bf16, "BF16"},        {DType::f32, "F32"},
    {DType::f64, "F64"}, {DType::i1, "BOOL"},          {DType::i32, "I32"},
    {DType::i64, "I64"}, {DType::f8E4M3FN, "F8_E4M3"}, {DType::i8, "I8"},
};

std::string quote(std::string_view text) { return quoteForMessage(text); }

/// Receives the parser's events. It accepts one shape of document only, so it
/// needs no tree and no recursion, and nesting stops it at once:
///   { "__metadata__": { name: string, ... },
///     name: { "dtype": string, "shape": [n, ...],
///             "data_offsets": [n, n] }, ... }
class HeaderHandler {
public:
  SafetensorsHeader header;
  std::string error;

  bool null() { return unexpected("null"); }
  bool boolean(bool value) { return unexpected(value ? "true" : "false"); }
  bool number_integer(int64_t value) {
    return unexpected(formatText("the number {}", value));
  }
  bool number_unsigned(uint64_t value) {
    if (state != State::Shape && state != State::Offsets)
      return unexpected(formatText("the number {}", value));
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return fail(formatText("expected numbers below 2^63{}, found {}", where(),
                             value));
    numbers.push_back(static_cast<int64_t>(value));
    if (numbers.size() > kMaxRank)
      return fail(
          formatText("expected at most {} numbers{}", kMaxRank, where()));
    return true;
  }
  bool number_float(double, const std::string &text) {
    return unexpected("the number " + quote(text));
  }
  bool binary(std::vector<uint8_t> &) { return unexpected("binary data"); }

  bool string(std::string &value) {
    if (state == State::MetadataValue) {
      header.metadata[field] = value;
      state = State::Metadata;
      return true;
    }
    if (state != State::DType)
      return unexpected("the string " + quote(value));
    for (const DTypeSpelling &spelling : kSpellings)
      if (spelling.text == value) {
        entry.dtype = spelling.dtype;
        state = State::Entry;
        return true;
      }
    // One that nobody asks for may be of any type.
    entry.dtype = std::nullopt;
    entry.type = value;
    state = State::Entry;
    return true;
  }

  bool start_object(size_t) {
    switch (state) {
    case State::Start:
      state = State::Top;
      return true;
    case State::MetadataStart:
      state = State::Metadata;
      return true;
    case State::EntryStart:
      state = State::Entry;
      return true;
    default:
      return unexpected("an object");
    }
  }

  bool key(std::string &name) {
    field = name;
    switch (state) {
    case State::Top:
      if (!names.insert(name).second)
        return fail("expected each name once, found " + quote(name) + " twice");
      if (name == kMetadata) {
        state = State::MetadataStart;
        return true;
      }
      entry = SafetensorsHeader::Entry();
      entry.name = name;
      hasDType = hasShape = hasOffsets = false;
      state = State::EntryStart;
      return true;
    case State::Metadata:
      if (header.metadata.count(name))
        return fail("expected each metadata name once, found " + quote(name) +
                    " twice");
      state = State::MetadataValue;
      return true;
    case State::Entry:
      if (name == "dtype")
        return enterField(hasDType, State::DType);
      if (name == "shape")
        return enterField(hasShape, State::ShapeStart);
      if (name == "data_offsets")
        return enterField(hasOffsets, State::OffsetsStart);
      return fail("expected only dtype, shape and data_offsets in tensor " +
                  quote(entry.name) + ", found " + quote(name));
    default:
      return unexpected("the key " + quote(name));
    }
  }

  bool end_object() {
    switch (state) {
    case State::Metadata:
      state = State::Top;
      return true;
    case State::Top:
      state = State::End;
      return true;
    case State::Entry:
      if (!hasDType || !hasShape || !hasOffsets)
        return fail("expected dtype, shape and data_offsets in tensor " +
                    quote(entry.name) + ", found no " +
                    (!hasDType   ? "dtype"
                     : !hasShape ? "shape"
                                 : "data_offsets"));
      header.entries.push_back(std::move(entry));
      state = State::Top;
      return true;
    default:
      return unexpected("the end of an object");
    }
  }

  bool start_array(size_t) {
    numbers.clear();
    if (state == State::ShapeStart)
      state = State::Shape;
    else if (state == State::OffsetsStart)
      state = State::Offsets;
    else
      return unexpected("an array");
    return true;
  }

  bool end_array() {
    if (state == State::Shape) {
      entry.shape = numbers;
    } else if (state == State::Offsets) {
      if (numbers.size() != 2)
        return fail(formatText("expected 2 data_offsets in tensor {}, found {}",
                               quote(entry.name), numbers.size()));
      entry.begin = numbers[0];
      entry.end = numbers[1];
    } else {
      return unexpected("the end of an array");
    }
    state = State::Entry;
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t position, const std::string &, const Exception &) {
    return fail(formatText(
        "expected a JSON header, found a syntax error at its byte {}",
        position));
  }

private:
  enum class State {
    Start,
    Top,
    MetadataStart,
    Metadata,
    MetadataValue,
    EntryStart,
    Entry,
    DType,
    ShapeStart,
    Shape,
    OffsetsStart,
    Offsets,
    End,
  };

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  std::string where() const {
    return " in " + quote(field) + " of tensor " + quote(entry.name);
  }

  bool enterField(bool &seen, State next) {
    if (seen)
      return fail("expected " + field + " once in tensor " + quote(entry.name) +
                  ", found it twice");
    seen = true;
    state = next;
    return true;
  }

  bool unexpected(const std::string &found) {
    std::string expected;
    switch (state) {
    case State::Start:
      expected = "an object as the whole header";
      break;
    case State::MetadataStart:
      expected = "an object as __metadata__";
      break;
    case State::MetadataValue:
      expected = "a string as metadata " + quote(field);
      break;
    case State::EntryStart:
      expected = "an object as tensor " + quote(entry.name);
      break;
    case State::DType:
      expected = "a string" + where();
      break;
    case State::ShapeStart:
    case State::OffsetsStart:
      expected = "an array of numbers" + where();
      break;
    case State::Shape:
    case State::Offsets:
      expected = "an integer of at least 0" + where();
      break;
    default:
      expected = "names and values";
      break;
    }
    return fail("expected " + expected + ", found " + found);
  }

  State state = State::Start;
  SafetensorsHeader::Entry entry;
  std::string field;
  Shape numbers;
  std::set<std::string> names;
  bool hasDType = false;
  bool hasShape = false;
  bool hasOffsets = false;
};

/// The ranges must tile the data exactly: an overlap would make two tensors
/// out of the same bytes, and a hole can hide anything.
std::string checkRanges(const std::vector<SafetensorsHeader::Entry> &entries,
                        int64_t dataSize) {
  int64_t next = 0;
  for (const SafetensorsHeader::Entry &entry : entries) {
    std::string range = formatText("[{}, {})", entry.begin, entry.end);
    std::optional<int64_t> bytes = entry.end - entry.begin;
    if (entry.dtype)
      bytes = numBytes(entry.shape, *entry.dtype);
    if (!bytes)
      return "expected a size below 2^63 bytes of tensor " + quote(entry.name) +
             ", found shape " + toString(entry.shape);
    if (entry.end < entry.begin || entry.end - entry.begin != *bytes)
      return formatText(
          "expected {} bytes for tensor {} of shape {} and type {}, found "
          "data_offsets {}",
          *bytes, quote(entry.name), toString(entry.shape),
          (entry.dtype ? std::string(nameOf(*entry.dtype)) : quote(entry.type)),
          range);
    if (entry.end > dataSize)
      return formatText("expected data_offsets of tensor {} within the {} "
                        "bytes of data in the file, found {}",
                        quote(entry.name), dataSize, range);
    if (entry.begin != next)
      return formatText(
          "expected the data of tensor {} to begin at byte {}, the end of the "
          "data before it, found data_offsets {}{}",
          quote(entry.name), next, range,
          (entry.begin < next ? " (overlap)" : " (gap)"));
    next = entry.end;
  }
  if (next != dataSize)
    return formatText("expected {} bytes of data as the header says, found {}",
                      next, dataSize);
  return "";
}

} // namespace

std::string quoteForMessage(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string result = "'";
  for (char character : text.substr(0, kShown)) {
    auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte >= 0x7f || byte == '\'' || byte == '\\') {
      result += formatText("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result + (text.size() > kShown ? "...'" : "'");
}

std::optional<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                        int64_t dataSize,
                                                        std::string *error) {
  auto fail = [&](std::string message) {
    if (error)
      *error = std::move(message);
    return std::nullopt;
  };
  if (text.empty() || text[0] != '{')
    return fail("expected a header that begins with '{', found " +
                (text.empty() ? "an empty one" : quote(text.substr(0, 1))));
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler))
    return fail(std::move(handler.error));
  std::sort(handler.header.entries.begin(), handler.header.entries.end(),
            [](const auto &left, const auto &right) {
              return std::tie(left.begin, left.end, left.name) <
                     std::tie(right.begin, right.end, right.name);
            });
  std::string wrong = checkRanges(handler.header.entries, dataSize);
  if (!wrong.empty())
    return fail(std::move(wrong));
  return std::move(handler.header);
}

std::optional<std::string>
printSafetensorsHeader(const SafetensorsHeader &header, std::string *error) {
  auto fail = [&](std::string message) {
    if (error)
      *error = std::move(message);
    return std::nullopt;
  };
  // `dump` throws on text that is not UTF-8; nothing else here does.
  try {
    std::set<std::string_view> names;
    std::string text = "{";
    auto key = [&](std::string_view name) {
      text += text.size() > 1 ? "," : "";
      text += nlohmann::json(name).dump() + ":";
    };
    if (!header.metadata.empty()) {
      key(kMetadata);
      text += nlohmann::json(header.metadata).dump();
    }
    for (const SafetensorsHeader::Entry &entry : header.entries) {
      if (entry.name == kMetadata)
        return fail("expected a tensor name other than __metadata__");
      if (!names.insert(entry.name).second)
        return fail("expected each name once, found " + quote(entry.name) +
                    " twice");
      key(entry.name);
      text += "{\"dtype\":\"";
      for (const DTypeSpelling &spelling : kSpellings)
        if (spelling.dtype == entry.dtype)
          text += spelling.text;
      text += formatText("\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                         nlohmann::json(entry.shape).dump(), entry.begin,
                         entry.end);
    }
    text += "}";
    text.resize((text.size() + 7) / 8 * 8, ' ');
    if (static_cast<int64_t>(text.size()) > kMaxSafetensorsHeader)
      return fail(formatText("expected a header of at most {} bytes, found {}",
                             kMaxSafetensorsHeader, text.size()));
    return text;
  } catch (const nlohmann::json::exception &) {
    return fail("expected names and metadata in UTF-8");
  }
}

} // namespace ringlet
