//===- Verify.h - Is this payload a well-formed artefact? ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two passes over bytes that may come from anywhere: the FlatBuffers verifier
// (every offset inside the payload), then the rules that the schema cannot say:
// every index in range, every expression leaves one value, every launch fits
// its kernel, no two queues use memory at once that one of them writes, no node
// has an operand before its definition. After success, every accessor of
// ArtifactGenerated.h may be followed without further checks, except that lists
// and tables that are not `(required)` may be null.
//
// What is not checked is the machine code: an artefact is trusted code.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_VERIFY_H
#define RINGLET_ABI_VERIFY_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace ringlet::abi {

struct Artifact;
enum class DType : uint8_t;

/// Returns an empty string and the root, or what is wrong and null. The payload
/// must lie at a multiple of 8 bytes, as it does behind the header of a file
/// that was read into allocated memory.
std::string verifyArtifact(const uint8_t *payload, size_t size,
                           const Artifact *&artifact);

/// "f32"; "none" for anything unknown.
const char *dtypeName(DType dtype);
/// Bytes of one element; 0 for anything unknown.
size_t dtypeSize(DType dtype);

} // namespace ringlet::abi

#endif // RINGLET_ABI_VERIFY_H
