//===- Native.h - Compiled code through the runtime -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_NATIVE_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_NATIVE_H

#include "lib/Tensor/Tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace ringlet::differential {

/// The levels of lib/Arch that this machine can run.
std::vector<std::string> nativeLevels();

/// An artefact, loaded once for each instruction-set level.
class NativeProgram {
public:
  /// Compiles IR text. Null, and `*error` set, if that fails.
  static std::unique_ptr<NativeProgram>
  create(const std::string &text, const std::vector<std::string> &levels,
         std::string *error);
  ~NativeProgram();

  /// Calls an entry at a level of `create`'s list. Empty, or what went wrong.
  std::string run(size_t level, const std::string &entry,
                  const std::vector<MutableTensorView> &arguments);

private:
  NativeProgram() = default;
  struct Loaded;
  std::vector<std::unique_ptr<Loaded>> loaded;
};

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_NATIVE_H
