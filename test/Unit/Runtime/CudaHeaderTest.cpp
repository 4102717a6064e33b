//===- CudaHeaderTest.cpp - Our declarations against cuda.h ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where there is a CUDA toolkit; nothing to run.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Driver.h"
#include "runtime/src/cuda/Types.h"

#include <cstddef>
#include <cuda.h>
#include <type_traits>

namespace ringlet::rt::cuda {

/// True if two functions take as many parameters of the same sizes: pointers of
/// whatever kind for pointers, numbers for numbers.
template <typename Ours, typename Theirs>
struct SameShape : std::false_type {};
template <typename A, typename B>
inline constexpr bool sameParameter =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <typename R, typename... A, typename S, typename... B>
struct SameShape<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return sizeof(R) == sizeof(S) && (sameParameter<A, B> && ...);
    return false;
  }();
};

#define RL_CUDA(member, symbol, parameters)                                    \
  static_assert(SameShape<Result parameters, decltype(::symbol)>::value,       \
                #symbol " has other parameters");
#include "runtime/src/cuda/Symbols.def"

static_assert(result::Success == CUDA_SUCCESS &&
              result::OutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              result::InvalidPtx == CUDA_ERROR_INVALID_PTX &&
              result::NotFound == CUDA_ERROR_NOT_FOUND &&
              result::NotReady == CUDA_ERROR_NOT_READY);
static_assert(pointer::MemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              pointer::IsManaged == CU_POINTER_ATTRIBUTE_IS_MANAGED &&
              pointer::Ordinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL &&
              pointer::HostMemory == CU_MEMORYTYPE_HOST &&
              pointer::DeviceMemory == CU_MEMORYTYPE_DEVICE);
static_assert(attribute::MaxThreadsPerBlock ==
                  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              attribute::MaxGridX == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X &&
              attribute::MaxPitch == CU_DEVICE_ATTRIBUTE_MAX_PITCH &&
              attribute::Multiprocessors ==
                  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              attribute::CapabilityMajor ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              attribute::CapabilityMinor ==
                  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              attribute::MaxSharedOptIn ==
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN &&
              attribute::MemoryPools ==
                  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(function::MaxThreads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              function::StaticShared == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              function::MaxDynamicShared ==
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(pool::ReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD &&
              pool::ReservedNow == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(jit::ErrorLog == CU_JIT_ERROR_LOG_BUFFER &&
              jit::ErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(tensor::U16 == CU_TENSOR_MAP_DATA_TYPE_UINT16 &&
              tensor::F16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
              tensor::BF16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 &&
              tensor::NotInterleaved == CU_TENSOR_MAP_INTERLEAVE_NONE &&
              tensor::Swizzle128 == CU_TENSOR_MAP_SWIZZLE_128B &&
              tensor::Promote128 == CU_TENSOR_MAP_L2_PROMOTION_L2_128B &&
              tensor::ZerosOutside == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
// cuda.h 13 aligns it to 128 bytes; the functions ask for 64.
static_assert(sizeof(EncodedMap) == sizeof(CUtensorMap) &&
              alignof(EncodedMap) >= 64);
static_assert(capture::None == CU_STREAM_CAPTURE_STATUS_NONE &&
              capture::Relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(CU_LAUNCH_PARAM_END_AS_INT == 0 &&
              CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1 &&
              CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2);
static_assert(NonBlockingStream == CU_STREAM_NON_BLOCKING &&
              DeviceMemory == CU_MEMORYTYPE_DEVICE);

static_assert(
    sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D) &&
    offsetof(Copy2D, sourceDevice) == offsetof(CUDA_MEMCPY2D, srcDevice) &&
    offsetof(Copy2D, targetDevice) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
    offsetof(Copy2D, targetPitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
    offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height));
static_assert(
    sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
    offsetof(LaunchAttribute, allowed) == offsetof(CUlaunchAttribute, value) &&
    sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
    offsetof(LaunchConfig, threadsX) == offsetof(CUlaunchConfig, blockDimX) &&
    offsetof(LaunchConfig, sharedBytes) ==
        offsetof(CUlaunchConfig, sharedMemBytes) &&
    offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
    offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
    offsetof(LaunchConfig, attributeCount) ==
        offsetof(CUlaunchConfig, numAttrs));
static_assert(launch::EarlyStart ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(EdgeData) == sizeof(CUgraphEdgeData) &&
              offsetof(EdgeData, toPort) ==
                  offsetof(CUgraphEdgeData, to_port) &&
              offsetof(EdgeData, type) == offsetof(CUgraphEdgeData, type) &&
              edge::OfBlocks == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
              edge::EarlyStart == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(sizeof(PoolProps) == sizeof(CUmemPoolProps) &&
              offsetof(PoolProps, handleTypes) ==
                  offsetof(CUmemPoolProps, handleTypes) &&
              offsetof(PoolProps, locationType) ==
                  offsetof(CUmemPoolProps, location));
static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == 1 &&
              CU_MEM_LOCATION_TYPE_DEVICE == 1);

} // namespace ringlet::rt::cuda
