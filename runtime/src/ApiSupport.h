//===- ApiSupport.h - What functions of the C API share ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_APISUPPORT_H
#define RINGLET_RUNTIME_APISUPPORT_H

#include "Context.h"
#include "Program.h"
#include "Status.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

struct rl_context {
  std::shared_ptr<ringlet::rt::Context> impl;
};

struct rl_program {
  std::shared_ptr<ringlet::rt::Program> impl; // Calls that are queued have one.
};

namespace ringlet::rt {

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Remembers the message of a failure for rl_last_error.
rl_status report(const Status &status) noexcept;
/// The same where there is no memory for a message.
void reportLost() noexcept;

/// Runs the body of an API function. No exception may reach C.
template <typename Body>
rl_status guarded(Body body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc &) {
    reportLost();
    return RL_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    try {
      return report(Status(RL_INTERNAL_ERROR, error.what()));
    } catch (...) {
    }
  } catch (...) {
  }
  reportLost();
  return RL_INTERNAL_ERROR;
}

#define RL_EXPECT(argument)                                                    \
  do {                                                                         \
    if (!(argument))                                                           \
      return invalid("expected " #argument ", found a null pointer");          \
  } while (false)

//===----------------------------------------------------------------------===//
// Structs that grow
//===----------------------------------------------------------------------===//

/// Larger than any struct will ever be: a size that was never set.
inline constexpr size_t absurdStruct = 4096;

inline Status checkStructSize(const char *name, size_t size) {
  if (size >= sizeof(size_t) && size <= absurdStruct)
    return {};
  return invalid("expected ", name, ".struct_size from ", sizeof(size_t),
                 " to ", absurdStruct, ", found ", size,
                 "; initialise the struct with its _INIT macro");
}

/// The fields that the caller has, over the defaults for the rest.
template <typename Struct>
Status readStruct(const char *name, const Struct &given, Struct &complete) {
  RL_TRY(checkStructSize(name, given.struct_size));
  std::memcpy(static_cast<void *>(&complete), &given,
              std::min(given.struct_size, sizeof(Struct)));
  // Fields that we do not know must ask for nothing.
  const auto *bytes = reinterpret_cast<const unsigned char *>(&given);
  for (size_t i = sizeof(Struct); i < given.struct_size; ++i)
    if (bytes[i] != 0)
      return failure(RL_UNSUPPORTED, "this library knows ", sizeof(Struct),
                     " bytes of ", name, ", byte ", i,
                     " of the caller's is not 0");
  return {};
}

/// Zeroes what the caller has room for, but for the size.
template <typename Struct>
Status clearStruct(const char *name, Struct *out) {
  RL_TRY(checkStructSize(name, out->struct_size));
  std::memset(reinterpret_cast<char *>(out) + sizeof(size_t), 0,
              out->struct_size - sizeof(size_t));
  return {};
}

template <typename Struct>
void writeStruct(Struct complete, Struct *out) {
  complete.struct_size = out->struct_size;
  std::memcpy(static_cast<void *>(out), &complete,
              std::min(out->struct_size, sizeof(Struct)));
}

/// The entry for an API function, or a message with its name.
Status needEntry(const char *caller, const rl_program *program, uint32_t index,
                 const Entry *&entry);

/// What a caller says of a run, null: nothing.
Status readRun(const rl_run *given, rl_run &complete);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_APISUPPORT_H
