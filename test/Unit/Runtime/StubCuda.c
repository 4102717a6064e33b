//===- StubCuda.c - A libcuda with one function ---*- C -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

__attribute__((visibility("default"))) int cuDriverGetVersion(int *version) {
  *version = RINGLET_TEST_CUDA_VERSION;
  return RINGLET_TEST_CUDA_VERSION == 0 ? 35 : 0;
}
