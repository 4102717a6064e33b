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
// OPTION: error: expected one of auto, apart, chain, union, found 'sum'
// REFUSED: error: 'ringlet.attention' op combine = union is not possible: expected one softmax for all branches, or branches of different heads, found mix = sum and heads of several (R2)

// CHECK-LABEL: func.func @longnet(
// CHECK:         combine = union
// REMARK: union {{.+}} thousand cycles a row, 2816 scores a row, the least that the cost model predicts; apart is not possible: expected branches of different heads, found heads of several; chain {{.+}} thousand cycles a row
func.func @longnet(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// GPU: chain {{.+}} ms, the least that the cost model predicts for 5.24e+05 rows of heads on 132 multiprocessors; apart is not possible: expected branches of different heads, found heads of several; union is not possible: expected elements of f16 or bf16, found f32

// Two rows of each residue in a segment fill no tile.

// CHECK-LABEL: func.func @few_rows(
// CHECK-NOT:     combine
// REMARK: chain {{.+}} thousand cycles a row, the least that the cost model predicts; apart is not possible: {{.+}}; union {{.+}} thousand cycles a row
func.func @few_rows(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = 256, r = 16>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// CHECK-LABEL: func.func @unbounded(
// CHECK-NOT:     combine
// REMARK: chain; union is not taken: expected branches with segments whose keys can be counted; apart is not possible
func.func @unbounded(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = *, r = 16>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// CHECK-LABEL: func.func @sum(
// CHECK-NOT:     combine
// REMARK: chain {{.+}}; union is not possible: expected one softmax for all branches, or branches of different heads, found mix = sum and heads of several (R2)
func.func @sum(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>] mix = sum
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<2x1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// Where each head has one branch, kernels for each need not wait for another.

// CHECK-LABEL: func.func @groups(
// CHECK:         combine = apart
// REMARK: apart {{.+}} thousand cycles a row, the least that the cost model predicts; union {{.+}} thousand cycles a row; chain {{.+}} thousand cycles a row
func.func @groups(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1, heads = [0, 4]>,
                <w = 8192, r = 8, heads = [4, 8]>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// Keys that cannot be counted are no obstacle.

// CHECK-LABEL: func.func @unbounded_groups(
// CHECK:         combine = apart
// REMARK: apart; union is not taken: expected branches with segments whose keys can be counted
func.func @unbounded_groups(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1, heads = [0, 4]>, <w = *, r = 8, heads = [4, 8]>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>) -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}
