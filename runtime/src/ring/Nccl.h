//===- ring/Nccl.h - libnccl, looked up at run time ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared here so that building the runtime takes no NCCL. A test compares
// sizes and values with nccl.h where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_NCCL_H
#define RINGLET_RUNTIME_RING_NCCL_H

#include "../Status.h"

#include <climits>
#include <cstddef>

namespace ringlet::rt::ring {

using NcclResult = int;
using NcclHandle = struct NcclHandleTag *;

struct NcclId {
  char bytes[128];
};

/// What version 2.18 knows; later ones take it as it is.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN; // Of this and what follows: not said.
  int clusterSize = INT_MIN;
  int fewestBlocks = INT_MIN;
  int mostBlocks = INT_MIN;
  const char *network = nullptr;
  int sharesResources = INT_MIN;
  int laterField = INT_MIN; // Where this version has nothing.
};

namespace nccl {
inline constexpr NcclResult Success = 0, SystemError = 2, RemoteError = 6,
                            InProgress = 7;
inline constexpr int Bytes = 1; // An element type.
} // namespace nccl

/// The functions of NcclSymbols.def.
struct NcclApi {
  int version = 0; // 22809: 2.28.9.

#define RL_NCCL(member, symbol, parameters)                                    \
  NcclResult(*member) parameters = nullptr;
#include "NcclSymbols.def"
  const char *(*errorString)(NcclResult) = nullptr;
  const char *(*lastError)(NcclHandle) = nullptr;

  /// From `library`, as dlopen names it; `name` is for messages.
  static Status load(void *library, const std::string &name, NcclApi &api);
  /// The library of this process: the one that is loaded, else libnccl.so.2, or
  /// what RINGLET_NCCL_LIBRARY names. It is never closed.
  static Status get(const NcclApi *&api);
  /// The one that the process has loaded, to which its communicators belong.
  static Status getLoaded(const NcclApi *&api);

  std::string versionName() const;
  /// "nccl cannot ...: ..."; `of` may be null.
  Status check(NcclResult code, const std::string &what, NcclHandle of) const;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_NCCL_H
