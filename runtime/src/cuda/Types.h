//===- cuda/Types.h - What is used of NVIDIA's driver API ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declared here so that building the runtime takes no CUDA toolkit. A test
// compares sizes and values with cuda.h where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_TYPES_H
#define RINGLET_RUNTIME_CUDA_TYPES_H

#include <cstddef>
#include <cstdint>

namespace ringlet::rt {
struct EncodedMap; // A CUtensorMap.
} // namespace ringlet::rt

namespace ringlet::rt::cuda {

using Result = int;
using DeviceId = int;
using Address = uint64_t;
using CtxHandle = struct CtxHandleTag *;
using ModuleHandle = struct ModuleHandleTag *;
using FunctionHandle = struct FunctionHandleTag *;
using StreamHandle = void *;
using EventHandle = struct EventHandleTag *;
using PoolHandle = struct PoolHandleTag *;
using GraphHandle = struct GraphHandleTag *;
using GraphExecHandle = struct GraphExecHandleTag *;
using NodeHandle = struct NodeHandleTag *;

/// Of memory, for other processes.
struct IpcHandle {
  char bytes[64];
};

namespace ipc {
inline constexpr unsigned EnablePeer = 1; // When it is opened, as needed.
} // namespace ipc

namespace result {
inline constexpr Result Success = 0, OutOfMemory = 2, InvalidPtx = 218,
                        NotFound = 500, NotReady = 600;
} // namespace result

namespace attribute {
inline constexpr int MaxThreadsPerBlock = 1, MaxGridX = 5, MaxPitch = 11,
                     Multiprocessors = 16, CapabilityMajor = 75,
                     CapabilityMinor = 76, MaxSharedOptIn = 97,
                     MemoryPools = 115;
} // namespace attribute

namespace function {
inline constexpr int MaxThreads = 0, StaticShared = 1, MaxDynamicShared = 8;
} // namespace function

namespace pointer {
inline constexpr int MemoryType = 2, IsManaged = 8, Ordinal = 9;
inline constexpr uint64_t HostMemory = 1, DeviceMemory = 2; // Memory types.
} // namespace pointer

namespace pool {
inline constexpr int ReleaseThreshold = 4, ReservedNow = 5;
} // namespace pool

namespace jit {
inline constexpr int ErrorLog = 5, ErrorLogBytes = 6;
} // namespace jit

namespace capture {
inline constexpr int None = 0;    // A stream's status.
inline constexpr int Relaxed = 2; // A thread's mode.
} // namespace capture

namespace tensor {
inline constexpr int U16 = 1, F16 = 6, F32 = 7, BF16 = 9; // Element types.
inline constexpr int NotInterleaved = 0;
inline constexpr int Swizzle128 = 3;
inline constexpr int Promote128 = 2; // L2 reads at least so many bytes.
inline constexpr int ZerosOutside = 0;
} // namespace tensor

namespace launch {
inline void *const End = nullptr;
inline void *const Buffer = reinterpret_cast<void *>(1);
inline void *const BufferBytes = reinterpret_cast<void *>(2);
inline constexpr int EarlyStart = 6; // An attribute of a launch.
} // namespace launch

namespace edge {
inline constexpr unsigned char OfBlocks = 1, EarlyStart = 1; // Port and type.
} // namespace edge

inline constexpr unsigned NonBlockingStream = 1;
inline constexpr unsigned EventWithoutTime = 2;
inline constexpr int DeviceMemory = 2;

struct Copy2D {
  size_t sourceX, sourceY;
  int sourceType;
  const void *sourceHost;
  Address sourceDevice;
  void *sourceArray;
  size_t sourcePitch;
  size_t targetX, targetY;
  int targetType;
  void *targetHost;
  Address targetDevice;
  void *targetArray;
  size_t targetPitch;
  size_t width, height;
};

/// A node of a graph that starts a kernel.
struct KernelNode {
  FunctionHandle function;
  unsigned gridX, gridY, gridZ;
  unsigned threadsX, threadsY, threadsZ;
  unsigned sharedBytes;
  void **list, **extra; // One of them is null, as for launchKernel.
};

struct LaunchAttribute {
  int id;
  int padding;
  union {
    int allowed;
    unsigned char bytes[64];
  };
};

struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned threadsX, threadsY, threadsZ;
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// How one node of a graph waits for another.
struct EdgeData {
  unsigned char fromPort, toPort, type;
  unsigned char reserved[5];
};

struct PoolProps {
  int allocationType = 1; // The only one there is.
  int handleTypes = 0;
  int locationType = 1; // A device, by its number.
  int location = 0;
  void *security = nullptr;
  unsigned char reserved[64] = {};
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_TYPES_H
