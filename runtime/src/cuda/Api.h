//===- cuda/Api.h - libcuda, looked up at run time ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_API_H
#define RINGLET_RUNTIME_CUDA_API_H

#include "../Status.h"
#include "Types.h"

namespace ringlet::rt::cuda {

/// The functions of Symbols.def.
struct Api {
  /// As the library tells it: 1000 * major + 10 * minor.
  int version = 0;

#define RL_CUDA(member, symbol, parameters)                                    \
  Result(*member) parameters = nullptr;
#include "Symbols.def"

  /// Opens a library; it is never closed, for what it starts does not end.
  static Status load(const char *path, Api &api);
  /// The library of this process, loaded and initialised by the first call:
  /// libcuda.so.1, or the one that RINGLET_CUDA_LIBRARY names.
  static Status get(const Api *&api);

  /// "12.8".
  std::string versionName() const;
  /// A failure of `what` ("allocate 64 bytes"), or success.
  Status check(Result code, const std::string &what) const;
  bool hasPools() const { return allocFromPool != nullptr; }
};

/// Makes a context current and, at its end, what was current before.
class Current {
public:
  Current(const Api &api, CtxHandle context) : api(api) {
    // Mostly it is current already, and to look takes less than to change.
    CtxHandle before = nullptr;
    if (api.ctxGetCurrent(&before) == result::Success && before == context)
      return;
    code = api.ctxPush(context);
    pushed = code == result::Success;
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    CtxHandle popped;
    if (pushed)
      (void)api.ctxPop(&popped);
  }
  Status status() const { return api.check(code, "make the device current"); }
  bool ok() const { return code == result::Success; }

private:
  const Api &api;
  Result code = result::Success;
  bool pushed = false;
};

/// Lets this thread allocate and wait while some stream is captured. Only for
/// work that has no part in the capture.
class OutsideCapture {
public:
  explicit OutsideCapture(const Api &api) : api(api) {
    (void)api.exchangeCaptureMode(&mode);
  }
  OutsideCapture(const OutsideCapture &) = delete;
  OutsideCapture &operator=(const OutsideCapture &) = delete;
  ~OutsideCapture() { (void)api.exchangeCaptureMode(&mode); }

private:
  const Api &api;
  int mode = capture::Relaxed; // Then the mode before.
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_API_H
