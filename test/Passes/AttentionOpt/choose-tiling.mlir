//===- choose-tiling.mlir - Tile shapes by the cost model ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-choose-tiling | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-choose-tiling --remarks-filter='ringlet-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=pentium' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: expected a CPU level (x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx) or a GPU architecture (sm_60, {{.*}}sm_120), found 'pentium'

// Every branch gets a tiling, and a remark says what it is expected to cost.

// REMARK: branch 0 on x86-64-v3: tiles of {{[0-9]+}} queries x {{[0-9]+}} keys: {{.+}} cycles a score
// REMARK: branch 1 on x86-64-v3

// CHECK-LABEL: func.func @all_branches(
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}>, #ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}>]
func.func @all_branches(%x: tensor<1x?x2x64xf32>)
    -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 4096, r = 2>, <w = *, r = 1>]
      : (tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>)
  return %o, %l : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>
}

// -----

// A segment of 16 rows is not worth a taller tile.

// CHECK-LABEL: func.func @short_segment(
// CHECK:         tilings = [#ringlet.tiling<query = 16, key = 16>]
func.func @short_segment(%x: tensor<1x?x2x64xf32>)
    -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 32, r = 2>]
      : (tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>)
  return %o, %l : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>
}

// -----

// A forced choice is honoured.

// CHECK-LABEL: func.func @forced(
// CHECK:         tilings = [#ringlet.tiling<query = 7, key = 9>]
func.func @forced(%x: tensor<1x?x2x64xf32>)
    -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 32, r = 2>]
      tilings = [#ringlet.tiling<query = 7, key = 9>]
      : (tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>)
  return %o, %l : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>
}

// -----

// Of sizes that only the call knows, those with the most work are taken: a
// segment of all 128 rows, no dilation.

// REMARK: branch 0 on x86-64-v3: tiles of 128 queries x {{.+}}; w of the call counted as the length; r of the call counted as 1
// REMARK: branch 1 on x86-64-v3: tiles of 32 queries x {{.+}} shapes; r of the call counted as 1

// CHECK-LABEL: func.func @runtime_sizes(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = {{[0-9]+}}>, #ringlet.tiling<query = 32, key = 32>]
func.func @runtime_sizes(%x: tensor<1x128x2x64xf32>, %w: tensor<i64>, %r: tensor<i64>)
    -> (tensor<1x128x2x64xf32>, tensor<1x2x128xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = ?, r = ?>, <w = 32, r = ?>] sizes(%w, %r, %r)
      : (tensor<1x128x2x64xf32>, tensor<1x128x2x64xf32>, tensor<1x128x2x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>)
      -> (tensor<1x128x2x64xf32>, tensor<1x2x128xf32>)
  return %o, %l : tensor<1x128x2x64xf32>, tensor<1x2x128xf32>
}
