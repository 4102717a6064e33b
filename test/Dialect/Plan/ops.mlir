//===- ops.mlir - Plans are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// CHECK-LABEL: rtile.func @kernel(
rtile.func @kernel(%x: memref<?x64xf32, strided<[?, 1]>>, %w: memref<?x64xf32>,
                   %table: memref<?xi64>, %n: index)
    grid(%i: index, %j: index) {
  rtile.return
}

rtile.func @other(%w: memref<?x64xf32>, %n: index) grid(%i: index) {
  rtile.return
}

// Inputs come before outputs, and each has the name that a caller sees.

// CHECK-LABEL: rplan.func @main(
// CHECK-SAME:    %[[X:[^:]+]]: memref<?x64xf32, strided<[?, 1]>>, %[[N:[^:]+]]: memref<i64>)
// CHECK-SAME:    outputs(%[[Y:[^:]+]]: memref<?x64xf32, strided<[?, 1]>>)
// CHECK-SAME:    names ["x", "n", "result0"]
// CHECK-SAME:    attributes {note = "kept"}
// CHECK:         %[[S:.+]] = rplan.size %[[X]][0] : memref<?x64xf32, strided<[?, 1]>>
// CHECK:         %[[V:.+]] = rplan.read %[[N]] : memref<i64>
// CHECK:         rplan.require eq %[[S]], %[[V]], "expected n rows" rule "S2"
// CHECK:         rplan.require ne %[[S]], %[[V]], "a"
// CHECK:         rplan.require lt %[[S]], %[[V]], "b"
// CHECK:         rplan.require le %[[S]], %[[V]], "c"
// CHECK:         %[[W:.+]] = rplan.workspace(%[[S]]) : memref<?x64xf32>
// CHECK:         rplan.workspace() : memref<4xf32>
// CHECK:         %[[T:.+]] = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%[[S]]) : memref<?xi64>
// CHECK:         rplan.order_table #rlayout.order<residue<4>, chunk = 4096> length(%[[S]]) inverse : memref<?xi64>
// CHECK:         rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[V]]) : memref<?xi64>
// CHECK:         rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[V]]) rows(%[[S]] from %[[V]]) : memref<?xi64>
// CHECK:         rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[V]]) rows(%[[S]] from %[[V]]) memory(#rlayout.order<residue<4>>) : memref<?xi64>
// CHECK:         rplan.tile_index queries(%[[S]] from %[[V]]) keys(%[[S]]) lists(%[[S]], %[[V]] from %[[V]]) tile = [16, 32] rate = 1 : memref<?xi64>
// CHECK:         rplan.tile_index queries(%[[S]] from %[[V]]) keys(%[[S]]) lists(%[[S]], %[[V]] from %[[V]]) tile = [16, 32] w = 64 rate = 4 residues = [3, 2] order(#rlayout.order<hilbert, grid = [8, 8]>) causal window = [3, -1] grid = [8, 8] reach = [1, 2] : memref<?xi64>
// CHECK:         rplan.launch @kernel grid(%[[S]], %[[V]]) args(%[[X]], %[[W]], %[[T]], %[[S]]) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>, memref<?xi64>, index
// CHECK:         %[[A:.+]] = rplan.launch @kernel grid(%[[S]], %[[V]]) args(%[[X]], %[[W]], %[[T]], %[[S]]) otherwise launch @other grid(%[[V]]) args(%[[W]], %[[S]] : memref<?x64xf32>, index) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>, memref<?xi64>, index -> !rplan.event
// CHECK:         %[[B:.+]] = rplan.launch @other grid(%[[V]]) args(%[[W]], %[[S]]) on exchange after(%[[A]]) : memref<?x64xf32>, index -> !rplan.event
// CHECK:         rplan.launch @other grid(%[[V]]) args(%[[W]], %[[S]]) after(%[[A]], %[[B]]) otherwise launch @nothing grid(%[[V]]) args() : memref<?x64xf32>, index
// CHECK:         rplan.copy %[[X]] to %[[W]] : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
// CHECK:         %[[C:.+]] = rplan.copy %[[X]] to %[[Y]] on exchange after(%[[B]]) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32, strided<[?, 1]>> -> !rplan.event
// CHECK:         rplan.constant dense<[3, 1, 2]> : tensor<3xi64> as memref<?xi64>
// CHECK:         rplan.machine multiprocessors
// CHECK:         rplan.machine rank
// CHECK:         rplan.machine ranks
// CHECK:         rplan.return
rplan.func @main(%x: memref<?x64xf32, strided<[?, 1]>>, %n: memref<i64>)
    outputs(%y: memref<?x64xf32, strided<[?, 1]>>) names ["x", "n", "result0"]
    attributes {note = "kept"} {
  %s = rplan.size %x[0] : memref<?x64xf32, strided<[?, 1]>>
  %v = rplan.read %n : memref<i64>
  rplan.require eq %s, %v, "expected n rows" rule "S2"
  rplan.require ne %s, %v, "a"
  rplan.require lt %s, %v, "b"
  rplan.require le %s, %v, "c"
  %w = rplan.workspace(%s) : memref<?x64xf32>
  %u = rplan.workspace() : memref<4xf32>
  %t = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%s)
      : memref<?xi64>
  %i = rplan.order_table #rlayout.order<residue<4>, chunk = 4096> length(%s)
      inverse : memref<?xi64>
  %positions = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]>
      first(%v) : memref<?xi64>
  %rows = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%v)
      rows(%s from %v) : memref<?xi64>
  %slots = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%v)
      rows(%s from %v) memory(#rlayout.order<residue<4>>) : memref<?xi64>
  %f = rplan.tile_index queries(%s from %v) keys(%s) lists(%s, %v from %v)
      tile = [16, 32] rate = 1 : memref<?xi64>
  %g = rplan.tile_index queries(%s from %v) keys(%s) lists(%s, %v from %v)
      tile = [16, 32] w = 64 rate = 4 residues = [3, 2]
      order(#rlayout.order<hilbert, grid = [8, 8]>) causal window = [3, -1]
      grid = [8, 8] reach = [1, 2] : memref<?xi64>
  rplan.launch @kernel grid(%s, %v) args(%x, %w, %t, %s)
      : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>, memref<?xi64>,
        index
  %a = rplan.launch @kernel grid(%s, %v) args(%x, %w, %t, %s)
      otherwise launch @other grid(%v) args(%w, %s : memref<?x64xf32>, index)
      : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>, memref<?xi64>,
        index -> !rplan.event
  %b = rplan.launch @other grid(%v) args(%w, %s) on exchange after(%a)
      : memref<?x64xf32>, index -> !rplan.event
  rplan.launch @other grid(%v) args(%w, %s) on compute after(%a, %b)
      otherwise launch @nothing grid(%v) args() : memref<?x64xf32>, index
  rplan.copy %x to %w : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
  %c = rplan.copy %x to %y on exchange after(%b)
      : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32, strided<[?, 1]>>
      -> !rplan.event
  %k = rplan.constant dense<[3, 1, 2]> : tensor<3xi64> as memref<?xi64>
  %mp = rplan.machine multiprocessors
  %rank = rplan.machine rank
  %ranks = rplan.machine ranks
  rplan.return
}

// An input, or its copy where that pays.

rtile.func @copy(%x: memref<4x8xf32>, %y: memref<4x8xf32>) grid(%i: index) {
  rtile.return
}

// CHECK-LABEL: rplan.func @aligned(
// CHECK-SAME:    %[[X:[^:]+]]: memref<4x8xf32>
// CHECK:         %[[WORTH:.+]] = arith.cmpi sge
// CHECK:         %[[Y:.+]] = rplan.aligned %[[X]] by @copy grid(%[[N:.+]]) if %[[WORTH]] : memref<4x8xf32>
// CHECK:         rplan.launch @copy grid(%[[N]]) args(%[[Y]], %[[X]])
rplan.func @aligned(%x: memref<4x8xf32>, %n: memref<i64>)
    outputs() names ["x", "n"] {
  %v = rplan.read %n : memref<i64>
  %c4 = arith.constant 4 : index
  %worth = arith.cmpi sge, %v, %c4 : index
  %y = rplan.aligned %x by @copy grid(%v) if %worth : memref<4x8xf32>
  rplan.launch @copy grid(%v) args(%y, %x) : memref<4x8xf32>, memref<4x8xf32>
  rplan.return
}

// A kernel without parameters; a plan without arguments.

// CHECK-LABEL: rtile.func @nothing() grid(%{{.+}}: index)
rtile.func @nothing() grid(%i: index) { rtile.return }

// CHECK-LABEL: rplan.func @empty() outputs() names []
// CHECK:         rplan.launch @nothing grid(%{{.+}}) args(){{$}}
rplan.func @empty() outputs() names [] {
  %c1 = arith.constant 1 : index
  rplan.launch @nothing grid(%c1) args()
  rplan.return
}
