//===- explain-memory.mlir - What tiles of keys touch ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// --explain=memory has a table for each branch: what the kernel's tiles of K and
// V touch, in the order that they have, then in others.

// RUN: ringlet-compile %s --emit=ringlet --order=linear --explain=memory 2>&1 \
// RUN:   >/dev/null | FileCheck %s
// RUN: not ringlet-compile %s --explain=lines 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TOPIC
// RUN: not ringlet-compile %s --order=peano 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ORDER
// Without it nothing is counted.
// RUN: ringlet-compile %s --emit=ringlet --explain 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=OFF

// TOPIC: error: --explain: expected memory or nothing, found 'lines'
// ORDER: error: --order: expected one of auto, linear, hilbert, morton, snake, {{.*}}residue, found 'peano'
// OFF-NOT: memory:
// OFF:     ringlet-choose-tiling: branch 0
// OFF-NOT: memory:

// Rows of whole lines take as many of them in every order; one that gathers the
// rows of the branch has them on fewer pages, and others need a table beside.
// CHECK:      memory: @dilated: branch 0, w = *, r = 4: [[#Q:]] tiles of
// CHECK-SAME: queries load [[#K:]] tiles of
// CHECK:      order
// CHECK-NEXT: [[#%u,LINES:]].0 {{.*}} 128.0 {{.*}} linear, as it is
// CHECK-NEXT: [[#TABLE:LINES+32]].0 {{.*}} hilbert, grid = [64, 64], chunk = 4096
// CHECK-NEXT: [[#TABLE]].0 {{.*}} morton, grid = [64, 64], chunk = 4096
// CHECK-NEXT: [[#TABLE]].0 {{.*}} snake, grid = [64, 64], chunk = 4096
// CHECK-NEXT: [[#LINES]].0 {{.*}} 32.0 {{.*}} residue<4>
func.func @dilated(%q: tensor<1x8192x4x64xf32>) -> tensor<1x8192x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 4>] causal
      : (tensor<1x8192x4x64xf32>, tensor<1x8192x4x64xf32>, tensor<1x8192x4x64xf32>)
      -> (tensor<1x8192x4x64xf32>, tensor<1x4x8192xf32>)
  return %o : tensor<1x8192x4x64xf32>
}

// The order of the operands comes first, and its grid is that of the others.
// Rows of 16 elements of one head share lines: here an order changes the count.
// CHECK:      memory: @short: branch 0, w = *, r = 2:
// CHECK:      order
// CHECK-NEXT: [[#%u,OWN:]].0 {{.*}} residue<2>, as it is
// CHECK-NEXT: [[#mul(2,OWN)]].0 {{.*}} linear
// CHECK-NEXT: {{.*}} hilbert, grid = [64, 64]
#residue = #rlayout.layout<order = #rlayout.order<residue<2>>>
func.func @short(%q: tensor<1x4096x1x16xf16>,
                 %k: tensor<1x4096x1x16xf16, #residue>) -> tensor<1x4096x1x16xf16> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 2>]
      : (tensor<1x4096x1x16xf16>, tensor<1x4096x1x16xf16, #residue>,
         tensor<1x4096x1x16xf16, #residue>)
      -> (tensor<1x4096x1x16xf16>, tensor<1x1x4096xf32>)
  return %o : tensor<1x4096x1x16xf16>
}

// Tiles of a list: 8 x 8 cells along a Hilbert curve see 9 tiles or fewer, 64 in
// a row see 17 rows.
// CHECK: memory: @rows: {{.*}} 64 tiles of 64 queries load 1016 tiles
// CHECK: memory: @curve: {{.*}} 64 tiles of 64 queries load 484 tiles
func.func @rows(%q: tensor<1x4096x1x64xf32>) -> tensor<1x4096x1x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      grid_window = <grid = [64, 64], reach = [8, 8]>
      tilings = [#ringlet.tiling<query = 64, key = 64>]
      : (tensor<1x4096x1x64xf32>, tensor<1x4096x1x64xf32>, tensor<1x4096x1x64xf32>)
      -> (tensor<1x4096x1x64xf32>, tensor<1x1x4096xf32>)
  return %o : tensor<1x4096x1x64xf32>
}
func.func @curve(%q: tensor<1x4096x1x64xf32>) -> tensor<1x4096x1x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      grid_window = <grid = [64, 64], reach = [8, 8]>
      pattern_order = <hilbert, grid = [64, 64]>
      tilings = [#ringlet.tiling<query = 64, key = 64>]
      : (tensor<1x4096x1x64xf32>, tensor<1x4096x1x64xf32>, tensor<1x4096x1x64xf32>)
      -> (tensor<1x4096x1x64xf32>, tensor<1x1x4096xf32>)
  return %o : tensor<1x4096x1x64xf32>
}

// What cannot be counted is said, and the rest goes on.
// CHECK: memory: @dynamic: expected sequences of a static length to count, found ?
// CHECK: memory: @long: branch 0, {{.*}}expected keys of at most 2^36 bytes
func.func @dynamic(%q: tensor<1x?x1x64xf32>) -> tensor<1x?x1x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>)
      -> (tensor<1x?x1x64xf32>, tensor<1x1x?xf32>)
  return %o : tensor<1x?x1x64xf32>
}
func.func @long(%q: tensor<1x1099511627776x1x64xf32>)
    -> tensor<1x1099511627776x1x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 64, r = 1>]
      : (tensor<1x1099511627776x1x64xf32>, tensor<1x1099511627776x1x64xf32>, tensor<1x1099511627776x1x64xf32>)
      -> (tensor<1x1099511627776x1x64xf32>, tensor<1x1x1099511627776xf32>)
  return %o : tensor<1x1099511627776x1x64xf32>
}
