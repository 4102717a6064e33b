//===- constants.mlir - Inputs that are known ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// What a graph knows is a constant of the plan, which kernels read as they read
// an argument. A number is the plan's own.

// CHECK-LABEL: rplan.func @lists(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x64x3x16xf32, {{.+}}>) outputs(
// CHECK-DAG:     %[[NQ:.+]] = rplan.constant dense<[64, 0]> : tensor<2xi64> as memref<2xi64>
// CHECK-DAG:     %[[NK:.+]] = rplan.constant dense<64> : tensor<2xi64> as memref<2xi64>
// CHECK-DAG:     %[[SINKS:.+]] = rplan.constant dense<[5.000000e-01, -1.000000e+00, 0.000000e+00]> : tensor<3xf32> as memref<3xf32>
// CHECK:         rplan.launch @lists_sinks0 {{.+}} args(%[[SINKS]], %[[S:[a-z0-9]+]])
// CHECK:         rplan.launch @lists_attention0_branch0 {{.+}} args(%[[Q]], %[[Q]], %[[Q]], %{{[a-z0-9]+}}, %[[S]], %[[NQ]], %[[NK]])
func.func @lists(%q: tensor<2x64x3x16xf32>) -> tensor<2x64x3x16xf32> {
  %nq = arith.constant dense<[64, 0]> : tensor<2xi64>
  %nk = arith.constant dense<64> : tensor<2xi64>
  %s = arith.constant dense<[0.5, -1.0, 0.0]> : tensor<3xf32>
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      sink(%s) lengths(%nq, %nk) tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<2xi64>, tensor<2xi64>, tensor<3xf32>) -> (tensor<2x64x3x16xf32>, tensor<2x3x64xf32>)
  return %o : tensor<2x64x3x16xf32>
}

// -----

// CHECK-LABEL: rplan.func @mask(
// CHECK:         %[[M:.+]] = rplan.constant dense<{{.+}}> : tensor<4x4xi1> as memref<4x4xi1>
// CHECK:         rplan.launch @mask_attention0_branch0 {{.+}} args({{.*}}%[[M]]{{.*}})
func.func @mask(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %m = arith.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [false, true, true, true]]> : tensor<4x4xi1>
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      block_mask(%m) of [16, 16] tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<4x4xi1>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}
