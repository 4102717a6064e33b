//===- Limits.h - Bounds that every artefact keeps ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writers check against these; readers refuse what exceeds them. They bound
// the time and memory that a hostile file can cost, not what a model may do.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_LIMITS_H
#define RINGLET_ABI_LIMITS_H

#include <cstdint>

namespace ringlet::abi {

inline constexpr uint32_t kMaxRank = 8;
inline constexpr uint32_t kMaxGridRank = 4;
inline constexpr uint32_t kMaxArguments = 256;
inline constexpr uint32_t kMaxParams = 256;
inline constexpr uint32_t kMaxExprs = 65536;
inline constexpr uint32_t kMaxExprTerms = 64;
inline constexpr uint32_t kMaxExprStack = 16;
inline constexpr uint32_t kMaxBuffers = 4096;
inline constexpr uint32_t kMaxSteps = 65536;
inline constexpr uint32_t kMaxFunctions = 4096;
inline constexpr uint32_t kMaxKernels = 4096;
inline constexpr uint32_t kMaxCodeObjects = 64;
inline constexpr uint32_t kMaxConstants = 4096;
inline constexpr uint32_t kMaxNodes = 65536;
inline constexpr uint32_t kMaxBranches = 1024;
inline constexpr uint32_t kMaxOrderRank = 8;
/// Rows of a page of keys and values (S4).
inline constexpr int64_t kMaxPageRows = int64_t(1) << 20;
/// Tensor maps of a kernel; their axes; rows, and bytes of each, of a box.
inline constexpr uint32_t kMaxMaps = 16;
inline constexpr uint32_t kMaxMapRank = 5;
inline constexpr uint32_t kMaxBoxRows = 256;
inline constexpr uint32_t kMaxBoxBytes = 128;
/// Of the rows of a map's buffer and of its address, in bytes.
inline constexpr uint32_t kMapAlignment = 16;
inline constexpr uint32_t kMaxBlocksPerMultiprocessor = 32;
/// Entries of an order table that an item of its kernel writes.
inline constexpr int64_t kTableItem = 256;
/// Bytes of a name; of any other string.
inline constexpr uint32_t kMaxName = 1024;
inline constexpr uint32_t kMaxText = 1u << 20;
/// Bytes of scratch for each thread.
inline constexpr uint64_t kMaxScratch = uint64_t(1) << 32;
/// Of a constant's data, from the start of the payload; the schema's
/// force_align, and the most that FlatBuffers grants.
inline constexpr uint32_t kConstantAlignment = 32;
/// FlatBuffers offsets are 32-bit and signed.
inline constexpr uint64_t kMaxPayload = (uint64_t(1) << 31) - 64;

} // namespace ringlet::abi

#endif // RINGLET_ABI_LIMITS_H
