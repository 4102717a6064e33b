//===- Status.h - How a call inside the runtime fails ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_STATUS_H
#define RINGLET_RUNTIME_STATUS_H

#include "ringlet/runtime.h"

#include <sstream>
#include <string>
#include <utility>

namespace ringlet::rt {

/// All arguments one after the other.
template <typename... Parts>
std::string text(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Success, or a code with a message for people.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(rl_status code, std::string message)
      : statusCode(code), statusMessage(std::move(message)) {}

  bool ok() const { return statusCode == RL_OK; }
  rl_status code() const { return statusCode; }
  const std::string &message() const { return statusMessage; }

private:
  rl_status statusCode = RL_OK;
  std::string statusMessage;
};

template <typename... Parts>
Status failure(rl_status code, const Parts &...parts) {
  return Status(code, text(parts...));
}

/// The common case: the caller's mistake.
template <typename... Parts>
Status invalid(const Parts &...parts) {
  return Status(RL_INVALID_ARGUMENT, text(parts...));
}

/// Returns from the enclosing function if `expr` is a failure.
#define RL_TRY(expr)                                                           \
  do {                                                                         \
    if (::ringlet::rt::Status tried = (expr); !tried.ok())                     \
      return tried;                                                            \
  } while (false)

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_STATUS_H
