//===- choose-combine.mlir - How kernels compute branches ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-combine=level=x86-64-v3 | FileCheck %s
// RUN: ringlet-opt %s --ringlet-choose-combine=level=x86-64-v3 -o /dev/null \
// RUN:   --remarks-filter=ringlet-choose-combine --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --ringlet-choose-combine=level=sm_90a \
// RUN:   | FileCheck %s --check-prefix=CHAIN
// RUN: ringlet-opt %s --ringlet-choose-combine=combine=chain \
// RUN:   | FileCheck %s --check-prefix=CHAIN
// RUN: ringlet-opt %s --ringlet-choose-combine=level=sm_90a -o /dev/null \
// RUN:   --remarks-filter=ringlet-choose-combine --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GPU
// RUN: ringlet-opt %S/Inputs/longnet-bf16.mlir --ringlet-choose-combine=level=sm_90a \
// RUN:   | FileCheck %S/Inputs/longnet-bf16.mlir
// RUN: not ringlet-opt %s --ringlet-choose-combine=combine=union 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REFUSED
// RUN: not ringlet-opt %s --ringlet-choose-combine=combine=sum 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTION

// CHAIN-NOT: combine = union
// CHAIN: ringlet.attention
// CHAIN-NOT: combine = union
// OPTION: error: expected one of auto, chain, union, found 'sum'
// REFUSED: error: 'ringlet.attention' op combine = union is not possible: expected one softmax for all branches, or branches of different heads, found mix = sum and heads of several (R2)

// CHECK-LABEL: func.func @longnet(
// CHECK:         combine = union
// REMARK: union of 2816 scores a row, {{.+}} thousand cycles by the cost model; chain {{.+}}
func.func @longnet(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// GPU: no union: expected elements of f16 or bf16, found f32

// Two rows of each residue in a segment fill no tile.

// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT:     combine
// REMARK: no union: union of {{.+}}; chain {{.+}}
func.func @few_rows(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = 256, r = 16>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// CHECK-LABEL: func.func @unbounded(
// CHECK-NOT:     combine
// REMARK: no union: expected branches with segments whose keys can be counted
func.func @unbounded(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = *, r = 16>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// CHECK-LABEL: func.func @sum(
// CHECK-NOT:     combine
// REMARK: no union: expected one softmax for all branches, or branches of different heads, found mix = sum and heads of several (R2)
func.func @sum(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>] mix = sum
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<2x1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}
