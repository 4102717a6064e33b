//===- sequences.mlir - Sequences and sinks in scheduled kernels ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// REQUIRES: thorough
// REQUIRES: ptxas
// RUN: ringlet-compile %s --target=sm_90a --explain -o %t.rla > %t 2> %t.warnings
// RUN: count 0 < %t.warnings
// RUN: FileCheck %s < %t
// RUN: ringlet-compile %s --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=PTX

// Kernels that read lists and sinks get roles and fit in registers, and so do those
// that redo their rows. Points without rows are skipped where sequences end.

// CHECK-DAG: rtile-skip-empty-points: padded_attention0_branch0: roles skip points whose tile has no row
// CHECK-DAG: rtile-skip-empty-points: packed_attention0_branch0: roles skip points whose tile has no row
// CHECK-DAG: ptxas gives rl_sunk_attention0_branch0_redo {{[0-9]+}} registers
// CHECK-DAG: ptxas gives rl_moved_attention0_branch0_redo {{[0-9]+}} registers
// CHECK-DAG: ptxas gives rl_padded_attention0_branch0_redo {{[0-9]+}} registers
// CHECK-DAG: ptxas gives rl_packed_attention0_branch0_redo {{[0-9]+}} registers

// Each role reads the lists. One thread copies: it takes what it reads. The warps
// of the others take what lane 0 reads, 64 bits in two halves, so that what they
// decide by it is the same for all lanes. The sink of a row is read behind the last
// product.

// PTX-LABEL: .entry rl_sunk_attention0_branch0(
// PTX:         wgmma.wait_group.sync.aligned 0
// PTX:         ld.global.b32
// PTX:         st.global
// PTX-LABEL: .entry rl_moved_attention0_branch0(
// PTX:         ld.global.b64
// PTX:         cp.async.bulk.tensor
// PTX:         ld.global.b64
// PTX:         shfl.sync.idx.b32
// PTX:         shfl.sync.idx.b32
// PTX:         wgmma.mma_async
func.func @sunk(%x: tensor<2x?x4x128xbf16>, %s: tensor<4xf32>) -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] sink(%s)
      : (tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<4xf32>)
      -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>)
  return %o, %l : tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>
}

func.func @moved(%x: tensor<2x?x4x128xbf16>, %p: tensor<2xi64>) -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal q_offset(%p)
      : (tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2xi64>)
      -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>)
  return %o, %l : tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>
}

func.func @padded(%x: tensor<2x?x4x128xbf16>, %n: tensor<2xi64>) -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal lengths(%n, %n)
      : (tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2x?x4x128xbf16>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>)
  return %o, %l : tensor<2x?x4x128xbf16>, tensor<2x4x?xf32>
}

func.func @packed(%x: tensor<?x4x128xbf16>, %n: tensor<?xi64>) -> (tensor<?x4x128xbf16>, tensor<4x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal packed(%n, %n)
      : (tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<?xi64>, tensor<?xi64>)
      -> (tensor<?x4x128xbf16>, tensor<4x?xf32>)
  return %o, %l : tensor<?x4x128xbf16>, tensor<4x?xf32>
}
