//===- Container.h - The file around an artefact's payload ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artefact file is a header of 56 bytes and a FlatBuffers payload of the
// schema artifact.fbs. All numbers are little-endian.
//
//   offset  bytes
//        0      8  magic "RINGLET\0"
//        8      4  format version
//       12      4  flags, 0 in all versions
//       16      8  length of the payload
//       24     32  SHA-256 of the payload
//       56         payload, to the end of the file
//
// Version 2 has tensor maps, kernels that run several items a block, and
// launches with a fallback; all else is as in version 1. Since version 4,
// kernels that count items leave their counter as it was, at 0, maps may be of
// some residues only, and there are ordinal tables, tile indices and aligned
// inputs. Since version 8, steps have queues and wait for each other, the
// lifetimes of workspaces follow from that, expressions read numbers of the
// machine, and in place of a kernel another one is launched; in artefacts of
// before, nothing takes its place. Since version 16, exchanges have lengths and
// positions of sequences. Versions are powers of two: a flipped bit makes none
// of another.
//
// The digest catches damage, not malice: an artefact is code, and whoever may
// write it may do anything that the process that runs it may do.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_CONTAINER_H
#define RINGLET_ABI_CONTAINER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ringlet::abi {

/// The version that this library writes, and the newest that it reads.
inline constexpr uint32_t kFormatVersion = 16;
inline constexpr size_t kHeaderSize = 56;

using Sha256Digest = std::array<uint8_t, 32>;
Sha256Digest sha256(const void *bytes, size_t size);

/// The payload of a container, inside the caller's bytes.
struct Payload {
  const uint8_t *data = nullptr;
  size_t size = 0;
  uint32_t version = 0;
};

/// Finds the payload of the container in `bytes` and checks its digest.
/// Returns an empty string, or what is wrong; `payload` is then untouched.
std::string openContainer(const void *bytes, size_t size, Payload &payload);

/// Puts a header in front of a payload. `version` is for tests of readers.
std::vector<uint8_t> makeContainer(const void *payload, size_t size,
                                   uint32_t version = kFormatVersion);

/// Reads a whole file. Returns an empty string, or what went wrong.
std::string readFile(const std::string &path, std::vector<uint8_t> &bytes);

} // namespace ringlet::abi

#endif // RINGLET_ABI_CONTAINER_H
