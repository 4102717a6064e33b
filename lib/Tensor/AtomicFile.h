//===- AtomicFile.h - Files that are whole or absent ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_ATOMICFILE_H
#define RINGLET_LIB_TENSOR_ATOMICFILE_H

#include <cstddef>
#include <string>
#include <vector>

namespace ringlet {

/// A piece of a file's contents, in memory that the caller keeps alive.
struct FileChunk {
  const void *data;
  size_t size;
};

/// Writes the chunks one after the other to a new file beside `path`, forces
/// it to the disk and renames it to `path`, or to the file that links at `path`
/// lead to. Whatever goes wrong - a full disk above all - `path` is as it was
/// before and nothing is left beside it. A file that is replaced keeps its
/// mode. Devices and pipes, which a rename would replace, are written to.
/// Returns an empty string, or what went wrong.
std::string writeFileAtomically(const std::string &path,
                                const std::vector<FileChunk> &chunks);

/// What of that can be told before there is anything to write: an empty string,
/// or why it will fail.
std::string checkWritable(const std::string &path);

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_ATOMICFILE_H
