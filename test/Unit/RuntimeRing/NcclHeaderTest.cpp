//===- NcclHeaderTest.cpp - Our declarations beside nccl.h ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compared by the compiler, where there is a toolkit with NCCL.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/ring/Nccl.h"

#if __has_include(<cuda_runtime.h>) && __has_include(<nccl.h>)
#include <nccl.h>

using namespace ringlet::rt::ring;

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(sizeof(NcclResult) == sizeof(ncclResult_t));
static_assert(nccl::Success == ncclSuccess);
static_assert(nccl::SystemError == ncclSystemError);
static_assert(nccl::RemoteError == ncclRemoteError);
static_assert(nccl::InProgress == ncclInProgress);
static_assert(nccl::Bytes == ncclUint8);
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) ==
              offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, network) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, sharesResources) ==
              offsetof(ncclConfig_t, splitShare));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
#endif
