//===- TextGuard.cpp - Is this text safe to parse? --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/TextGuard.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

using namespace ringlet;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/// The characters that MLIR's words, numbers and dimension lists are made of.
static bool isWord(char c) {
  return isLetter(c) || isDigit(c) || c == '$' || c == '.';
}

/// Bits of the integer type at the end of a word such as `i32`, `ui8` or
/// `4x?xi64`; 0 if it is none. Saturates.
static uint64_t integerTypeBits(std::string_view word) {
  size_t digits = word.size();
  while (digits > 0 && isDigit(word[digits - 1]))
    --digits;
  if (digits == word.size() || digits == 0 || word[digits - 1] != 'i')
    return 0;
  size_t begin = digits - 1;
  if (begin > 0 && (word[begin - 1] == 's' || word[begin - 1] == 'u'))
    --begin;
  if (begin > 0 && word[begin - 1] != 'x')
    return 0;
  uint64_t bits = 0;
  for (char c : word.substr(digits))
    bits = std::min<uint64_t>(bits * 10 + uint64_t(c - '0'), UINT32_MAX);
  return bits;
}

static uint64_t saturatingAdd(uint64_t a, uint64_t b) {
  return a + b < a ? UINT64_MAX : a + b;
}

namespace {

/// One pass over the text. `fail` records the first error and its place.
class Scanner {
public:
  Scanner(std::string_view text, const TextLimits &limits)
      : text(text), limits(limits) {}

  std::optional<TextError> run() {
    while (at < text.size() && !error)
      step();
    return error;
  }

private:
  /// What an alias stands for, all aliases in it replaced.
  struct Alias {
    uint64_t depth = 0;
    uint64_t bytes = 0;
  };
  struct Bracket {
    char open;
    uint64_t operators = 0;
  };

  void step();
  void scanString();
  void scanWord();
  void scanSigil();
  void open(char c);
  void close(char c);
  void countOperator();
  void countLine();
  void noteDepth(uint64_t depth, size_t place);
  void finishAlias();
  void fail(size_t place, std::string message);

  std::string_view text;
  const TextLimits &limits;
  size_t at = 0;
  std::vector<Bracket> brackets;
  std::optional<TextError> error;

  std::unordered_map<std::string_view, Alias> aliases;
  /// The alias whose definition the scanner is in; empty outside of one.
  std::string_view defining;
  Alias definition;
  size_t definitionBegin = 0;
  /// The last character that was neither space nor comment.
  char last = 0;
  /// Bytes that the aliases used so far add to the text.
  uint64_t expansion = 0;
};

} // namespace

void Scanner::fail(size_t place, std::string message) {
  if (error)
    return;
  std::string_view before = text.substr(0, place);
  size_t newline = before.rfind('\n');
  error =
      TextError{size_t(std::count(before.begin(), before.end(), '\n')) + 1,
                newline == std::string_view::npos ? place + 1 : place - newline,
                std::move(message)};
}

void Scanner::noteDepth(uint64_t depth, size_t place) {
  definition.depth = std::max(definition.depth, depth);
  if (depth > limits.depth)
    fail(place,
         formatText("expected at most {} brackets open at once, found {}",
                    limits.depth, depth));
}

void Scanner::open(char c) {
  brackets.push_back({c});
  noteDepth(brackets.size(), at);
  ++at;
}

void Scanner::close(char c) {
  char open = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '<';
  // A '>' may also be half of an arrow or a comparison.
  if (!brackets.empty() && brackets.back().open == open)
    brackets.pop_back();
  else if (c != '>')
    // Unbalanced text is for the parser to report; close what may match.
    while (!brackets.empty()) {
      bool match = brackets.back().open == open;
      brackets.pop_back();
      if (match)
        break;
    }
  ++at;
}

void Scanner::countOperator() {
  // Regions hold statements, not expressions.
  if (!brackets.empty() && brackets.back().open != '{' &&
      ++brackets.back().operators > limits.operators)
    fail(at, formatText("expected an expression of at most {} operators",
                        limits.operators));
  ++at;
}

void Scanner::scanString() {
  size_t begin = at++;
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
  at = std::min(at + 1, text.size());
  if (at - begin > limits.string)
    fail(begin, formatText("expected a string of at most {} bytes, found {}",
                           limits.string, at - begin));
}

void Scanner::scanWord() {
  size_t begin = at;
  while (at < text.size() && isWord(text[at]))
    ++at;
  std::string_view word = text.substr(begin, at - begin);
  if (word.size() > limits.word)
    return fail(
        begin,
        formatText("expected a word or number of at most {} bytes, found {}",
                   limits.word, word.size()));
  uint64_t bits = integerTypeBits(word);
  if (bits > limits.integerBits)
    fail(begin,
         formatText("expected an integer type of at most {} bits, found {}",
                    limits.integerBits,
                    std::string(word.substr(word.rfind('i')))));
  // `mod`, `floordiv` and `ceildiv` chain like + does.
  if (word == "mod" || word == "floordiv" || word == "ceildiv") {
    countOperator();
    --at;
  }
}

/// `!name` or `#name`: an alias's definition at the start of a statement, or a
/// use of one.
void Scanner::scanSigil() {
  size_t begin = at++;
  size_t nameBegin = at;
  while (at < text.size() && (isWord(text[at]) || text[at] == '-'))
    ++at;
  // The dash of `#a->` belongs to the arrow.
  if (at > nameBegin && text[at - 1] == '-')
    --at;
  std::string_view name = text.substr(begin, at - begin);
  if (name.size() > limits.word)
    return fail(begin,
                formatText("expected a name of at most {} bytes, found {}",
                           limits.word, name.size()));
  if (brackets.empty()) {
    size_t next = text.find_first_not_of(" \t\r\n", at);
    if (next != std::string_view::npos && text[next] == '=') {
      finishAlias();
      defining = name;
      definition = {};
      definitionBegin = begin;
      at = next + 1;
      last = '=';
      return;
    }
  }
  auto alias = aliases.find(name);
  if (alias == aliases.end())
    return;
  noteDepth(brackets.size() + alias->second.depth, begin);
  definition.bytes = saturatingAdd(definition.bytes, alias->second.bytes);
  expansion = saturatingAdd(expansion, alias->second.bytes);
  if (expansion > limits.expanded)
    fail(begin, formatText("expected at most {} bytes once aliases are "
                           "replaced by what they stand for",
                           limits.expanded));
}

void Scanner::finishAlias() {
  if (defining.empty())
    return;
  definition.bytes =
      saturatingAdd(definition.bytes, uint64_t(at - definitionBegin));
  aliases[defining] = definition;
  defining = {};
}

/// Outside brackets, a new line that begins with a letter, a quote or a value
/// begins an operation, which ends the definition of an alias, unless that is
/// still waiting for a type.
void Scanner::countLine() {
  ++at;
  if (defining.empty() || !brackets.empty() || last == '=' || last == ':' ||
      last == '-')
    return;
  size_t next = text.find_first_not_of(" \t\r\n", at);
  if (next != std::string_view::npos &&
      (isLetter(text[next]) || text[next] == '"' || text[next] == '%'))
    finishAlias();
}

void Scanner::step() {
  char c = text[at];
  if (c != ' ' && c != '\t' && c != '\r' && c != '\n' &&
      text.substr(at, 2) != "//")
    last = c;
  switch (c) {
  case '\0':
    return fail(at, "expected text, found a zero byte");
  case '\n':
    return countLine();
  case '"':
    return scanString();
  case '/':
    if (text.substr(at, 2) == "//")
      at = std::min(text.find('\n', at), text.size());
    else
      ++at;
    return;
  case '(':
  case '[':
  case '{':
  case '<':
    return open(c);
  case ')':
  case ']':
  case '}':
  case '>':
    return close(c);
  case ',':
    if (!brackets.empty())
      brackets.back().operators = 0;
    ++at;
    return;
  case '-':
    if (text.substr(at, 2) == "->")
      at += 2; // `last` stays '-': the arrow waits for a type
    else
      countOperator();
    return;
  case '+':
  case '*':
    return countOperator();
  case '!':
  case '#':
    return scanSigil();
  default:
    if (isWord(c))
      scanWord();
    else
      ++at;
  }
}

std::string TextError::format(std::string_view name) const {
  std::string result(name);
  if (line)
    result += formatText(":{}:{}", line, column);
  return result + ": error: " + message;
}

bool ringlet::isBytecode(std::string_view bytes) {
  return bytes.substr(0, 4) == "ML\xefR";
}

std::optional<TextError> ringlet::guardText(std::string_view text,
                                            bool allowBytecode,
                                            const TextLimits &limits) {
  if (text.size() > limits.bytes)
    return TextError{0, 0,
                     formatText("expected at most {} bytes, found {}",
                                limits.bytes, text.size())};
  if (isBytecode(text)) {
    if (allowBytecode)
      return std::nullopt;
    return TextError{0, 0,
                     "expected text, found MLIR bytecode, which is read only "
                     "with --allow-bytecode"};
  }
  return Scanner(text, limits).run();
}
