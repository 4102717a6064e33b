//===- Version.h - Who compiled this? ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_VERSION_H
#define RINGLET_LIB_COMPILER_VERSION_H

#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace ringlet {

/// "ringlet 0.1.0 (LLVM 22.1.8)": part of artefacts and cache keys.
std::string compilerId();

/// What `--version` prints: the above, the artefact format, the C ABIs.
void printVersion(llvm::raw_ostream &stream);

/// What a crash asks for.
extern const char *const kBugReportMessage;

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_VERSION_H
