//===- cuda/Api.cpp - libcuda, looked up at run time ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

/// Before CUDA 11.0, a graph capture had no relaxed mode that is of use.
static const int oldestVersion = 11000;

static std::string nameOf(int version) {
  return text(version / 1000, ".", version % 1000 / 10);
}

std::string Api::versionName() const { return nameOf(version); }

static const char *systemError() {
  const char *reason = ::dlerror();
  return reason ? reason : "unknown error of the dynamic loader";
}

Status Api::load(const char *path, Api &api) {
  void *library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failure(RL_UNAVAILABLE, "the cuda driver needs NVIDIA's library '",
                   path, "': ", systemError());
  // The version first: where it is too old, symbols are missing for a reason.
  auto getVersion = reinterpret_cast<Result (*)(int *)>(
      ::dlsym(library, "cuDriverGetVersion"));
  if (!getVersion)
    return failure(RL_UNAVAILABLE, "'", path,
                   "' is no CUDA library: it has no cuDriverGetVersion");
  Result code = getVersion(&api.version);
  if (code != result::Success)
    return failure(RL_UNAVAILABLE, "'", path,
                   "' does not tell its version: error ", code);
  if (api.version < oldestVersion)
    return failure(RL_UNAVAILABLE, "expected an NVIDIA driver for CUDA ",
                   nameOf(oldestVersion), " or later, '", path,
                   "' is for CUDA ", api.versionName());
  auto find = [&](const char *symbol, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        ::dlsym(library, symbol));
    return function != nullptr;
  };
#define RL_CUDA(member, symbol, parameters)                                    \
  if (!find(#symbol, api.member))                                              \
    return failure(RL_UNAVAILABLE, "'", path, "' for CUDA ",                   \
                   api.versionName(), " has no " #symbol);
#define RL_CUDA_OPTIONAL(member, symbol, parameters)                           \
  (void)find(#symbol, api.member);
#include "Symbols.def"
  // All of a group or none.
  if (!api.poolCreate || !api.poolDestroy || !api.poolSetAttribute ||
      !api.poolGetAttribute || !api.poolTrimTo || !api.freeAsync)
    api.allocFromPool = nullptr;
  if (!api.mapReplaceAddress)
    api.mapEncode = nullptr;
  if (!api.graphCreate || !api.graphDestroy || !api.graphAddKernel ||
      !api.graphSetKernel || !api.graphLaunch || !api.graphExecDestroy)
    api.graphInstantiate = nullptr;
  return {};
}

Status Api::get(const Api *&api) {
  static Api loaded;
  static const Status status = [] {
    const char *other = ::secure_getenv("RINGLET_CUDA_LIBRARY");
    RL_TRY(load(other && *other ? other : "libcuda.so.1", loaded));
    Status started = loaded.check(loaded.init(0), "start");
    if (started.ok())
      return Status();
    return failure(RL_UNAVAILABLE, started.message());
  }();
  RL_TRY(status);
  api = &loaded;
  return {};
}

Status Api::check(Result code, const std::string &what) const {
  if (code == result::Success)
    return {};
  const char *name = nullptr, *description = nullptr;
  if (getErrorName(code, &name) != result::Success || !name)
    name = "unknown error";
  if (getErrorString(code, &description) != result::Success || !description)
    description = "no description";
  return failure(
      code == result::OutOfMemory ? RL_OUT_OF_MEMORY : RL_DEVICE_ERROR,
      "cuda cannot ", what, ": ", name, " (", code, "), ", description);
}
