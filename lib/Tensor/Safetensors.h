//===- Safetensors.h - Reading and writing .safetensors ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .safetensors file is an 8-byte little-endian header length, a JSON header
// and the tensors' bytes. The reader is strict: a file is accepted whole or
// refused with one message that names the file, what was expected and what
// was found. It never allocates more than the file's own size plus a small
// multiple of the header's.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_SAFETENSORS_H
#define RINGLET_LIB_TENSOR_SAFETENSORS_H

#include "lib/Tensor/Tensor.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ringlet {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The contents of a file. The reader gives the tensors in the order of their
/// bytes in the file.
struct Safetensors {
  std::vector<NamedTensor> tensors;
  /// Names and types of tensors that were not read, as their type has no name
  /// here.
  std::map<std::string, std::string> others;
  std::map<std::string, std::string> metadata;

  /// Null when there is no tensor of that name.
  const Tensor *find(const std::string &name) const;
};

/// Nothing, and `*error` set, when the file cannot be read or is malformed.
std::optional<Safetensors> readSafetensors(const std::string &path,
                                           std::string *error);

/// Writes through a temporary file and a rename, so that `path` is either the
/// whole new file or what it was before. The bytes depend on the contents
/// alone: tensors are sorted by element size, greatest first (so that each is
/// aligned), else kept in order. Writing what was read from such a file gives
/// the same bytes.
bool writeSafetensors(const std::string &path, const Safetensors &contents,
                      std::string *error);

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_SAFETENSORS_H
