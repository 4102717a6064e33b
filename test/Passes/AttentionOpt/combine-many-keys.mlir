//===- combine-many-keys.mlir - Unions whose sums would be long -*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-combine=level=sm_90a | FileCheck %s
// RUN: ringlet-opt %s --ringlet-choose-combine=level=sm_90a -o /dev/null \
// RUN:   --remarks-filter=ringlet-choose-combine --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Kernels of branches move sums to memory at the end of 16384 keys, a union does
// not: its sums have at most twice as many.

// CHECK-LABEL: func.func @many_keys(
// CHECK-NOT:     combine
// CHECK-LABEL: func.func @fewer_keys(
// CHECK:         combine = union
// REMARK: chain {{.+}}; union is not possible: expected at most 32768 keys a query, whose weights are one sum in registers, found 49152 (R4)
func.func @many_keys(%q: tensor<1x?x16x64xbf16>) -> tensor<1x?x16x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 16384, r = 1>, <w = 32768, r = 2>, <w = 65536, r = 4>]
      : (tensor<1x?x16x64xbf16>, tensor<1x?x16x64xbf16>, tensor<1x?x16x64xbf16>) -> (tensor<1x?x16x64xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x64xbf16>
}

func.func @fewer_keys(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 8192, r = 1>, <w = 16384, r = 2>, <w = 32768, r = 4>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}
