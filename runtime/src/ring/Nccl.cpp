//===- ring/Nccl.cpp - libnccl, looked up at run time ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>

namespace ringlet::rt::ring {

namespace {

constexpr char kName[] = "libnccl.so.2";
/// Communicators that do not block came with 2.14, those of a part of another's
/// ranks with 2.18.
constexpr int kOldest = 21800, kTooNew = 30000;

std::string versionText(int version) {
  return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// One library, looked at once.
struct Loaded {
  std::once_flag once;
  NcclApi api;
  Status status;
};

} // namespace

std::string NcclApi::versionName() const { return versionText(version); }

Status NcclApi::load(void *library, const std::string &name, NcclApi &api) {
  auto find = [&](const char *symbol, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        ::dlsym(library, symbol));
    return function != nullptr;
  };
  NcclResult (*getVersion)(int *) = nullptr;
  if (!find("ncclGetVersion", getVersion) ||
      getVersion(&api.version) != nccl::Success)
    return failure(RL_UNAVAILABLE, "'", name,
                   "' is no NCCL: it does not tell its version");
  if (api.version < kOldest || api.version >= kTooNew)
    return failure(RL_UNAVAILABLE, "expected NCCL ", versionText(kOldest),
                   " or later of version 2, '", name, "' is ",
                   api.versionName());
  const char *missing = nullptr;
#define RL_NCCL(member, symbol, parameters)                                    \
  if (!find(#symbol, api.member))                                              \
    missing = #symbol;
#include "NcclSymbols.def"
  if (!find("ncclGetErrorString", api.errorString))
    missing = "ncclGetErrorString";
  if (!find("ncclGetLastError", api.lastError))
    missing = "ncclGetLastError";
  if (missing)
    return failure(RL_UNAVAILABLE, "'", name, "', NCCL ", api.versionName(),
                   ", has no ", missing);
  return {};
}

Status NcclApi::get(const NcclApi *&api) {
  static Loaded loaded;
  std::call_once(loaded.once, [] {
    const char *other = ::secure_getenv("RINGLET_NCCL_LIBRARY");
    std::string name = other && *other ? other : kName;
    void *library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      loaded.status = load(library, name, loaded.api);
      return;
    }
    const char *reason = ::dlerror();
    loaded.status =
        failure(RL_UNAVAILABLE, "a ring of GPUs needs NVIDIA's library '", name,
                "': ", reason ? reason : "unknown error");
  });
  RL_TRY(loaded.status);
  api = &loaded.api;
  return {};
}

Status NcclApi::getLoaded(const NcclApi *&api) {
  const char *other = ::secure_getenv("RINGLET_NCCL_LIBRARY");
  std::string name = other && *other ? other : kName;
  void *library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!library)
    return failure(RL_UNAVAILABLE,
                   "expected a communicator of the NCCL that this process has "
                   "loaded, found no '",
                   name, "' loaded");
  // It is the same library from now on.
  return get(api);
}

Status NcclApi::check(NcclResult code, const std::string &what,
                      NcclHandle of) const {
  if (code == nccl::Success || code == nccl::InProgress)
    return {};
  const char *error = errorString(code);
  const char *last = lastError(of);
  std::string more = last && *last ? text(", ", last) : "";
  while (!more.empty() && (more.back() == '\n' || more.back() == ' '))
    more.pop_back();
  return failure(RL_DEVICE_ERROR, "nccl cannot ", what, ": ",
                 error ? error : "unknown error", " (", code, ")", more);
}

} // namespace ringlet::rt::ring
