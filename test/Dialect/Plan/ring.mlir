//===- ring.mlir - Steps on a ring are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

!q = memref<?x?x4x8xf32, strided<[?, ?, ?, 1]>>
!k = memref<?x?x2x8xf32, strided<[?, ?, ?, 1]>>
!state = memref<?x4x?x1xf32, strided<[?, ?, ?, 1]>>

rplan.func @whole(%q: !q, %k: !k, %v: !k, %p: memref<i64>)
    outputs(%a: !q, %m: !state, %s: !state)
    names ["q", "k", "v", "p", "a", "m", "s"] {
  rplan.return
}

!q1 = memref<?x?x2x8xf32, strided<[?, ?, ?, 1]>>
!k1 = memref<?x?x1x8xf32, strided<[?, ?, ?, 1]>>
!state1 = memref<?x2x?x1xf32, strided<[?, ?, ?, 1]>>

rplan.func @part(%q: !q1, %k: !k1, %v: !k1, %p: memref<i64>)
    outputs(%a: !q1, %m: !state1, %s: !state1)
    names ["q", "k", "v", "p", "a", "m", "s"] {
  rplan.return
}

// CHECK-LABEL: rplan.func @batch(
// CHECK:         %[[C:.+]] = rplan.exchange keys(%{{[^,]+}}, %{{[^)]+}}) queries(%{{[^)]+}})
// CHECK-SAME:      ring(#rlayout.ring<?, striped, 128>)
// CHECK-SAME:      branches [#rplan.ring_branch<w = 64, rate = 2, offset = block, begin = 0, end = 4>, #rplan.ring_branch<constant = 3, begin = 2, end = 4>]
// CHECK-SAME:      rows = [-1, 4096] causal window = [5, -1] offset(%{{[^)]+}})
// CHECK:         rplan.attend %[[C]] queries(%{{.+}}) state(%{{.+}}, %{{.+}}, %{{.+}}) whole [@whole, @whole] part [@part, @part]
rplan.func @batch(%q: !q, %k: !k, %v: !k, %p: memref<i64>) outputs()
    names ["q", "k", "v", "p"] {
  %b = rplan.size %q[0] : !q
  %n = rplan.size %q[1] : !q
  %offset = rplan.read %p : memref<i64>
  %a = rplan.workspace(%b, %n) : memref<?x?x4x8xf32>
  %m = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %s = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %chunks = rplan.exchange keys(%k, %v) queries(%q)
      ring(#rlayout.ring<?, striped, 128>)
      branches [#rplan.ring_branch<w = 64, rate = 2, offset = block, begin = 0,
                                   end = 4>,
                #rplan.ring_branch<constant = 3, begin = 2, end = 4>]
      rows = [-1, 4096] causal window = [5, -1] offset(%offset) : !k, !k, !q
  rplan.attend %chunks queries(%q) state(%a, %m, %s) whole [@whole, @whole]
      part [@part, @part]
      : !q, memref<?x?x4x8xf32>, memref<?x4x?xf32>, memref<?x4x?xf32>
  rplan.return
}

!pq = memref<?x4x8xf32, strided<[?, ?, 1]>>
!pk = memref<?x2x8xf32, strided<[?, ?, 1]>>

// CHECK-LABEL: rplan.func @packed(
// CHECK:         rplan.exchange {{.+}} ring(#rlayout.ring<4, contiguous>) branches {{.+}} starts(%{{.+}} : memref<?xi64>, %{{.+}} : memref<?xi64>)
rplan.func @packed(%q: !pq, %k: !pk, %v: !pk, %qs: memref<?xi64>,
                   %ks: memref<?xi64>) outputs()
    names ["q", "k", "v", "qs", "ks"] {
  %n = rplan.size %q[0] : !pq
  %a = rplan.workspace(%n) : memref<?x4x8xf32>
  %m = rplan.workspace(%n) : memref<4x?xf32>
  %s = rplan.workspace(%n) : memref<4x?xf32>
  %chunks = rplan.exchange keys(%k, %v) queries(%q)
      ring(#rlayout.ring<4, contiguous>)
      branches [#rplan.ring_branch<begin = 0, end = 4>]
      starts(%qs : memref<?xi64>, %ks : memref<?xi64>) : !pk, !pk, !pq
  rplan.attend %chunks queries(%q) state(%a, %m, %s) whole [@whole]
      part [@part] : !pq, memref<?x4x8xf32>, memref<4x?xf32>, memref<4x?xf32>
  rplan.return
}

// CHECK-LABEL: rplan.func @padded(
// CHECK:         rplan.exchange {{.+}} ring(#rlayout.ring<4, contiguous>) branches {{.+}} lengths(%{{.+}} : memref<?xi64>, %{{.+}} : memref<?xi64>) offsets(%{{.+}} : memref<?xi64>)
rplan.func @padded(%q: !q, %k: !k, %v: !k, %ql: memref<?xi64>,
                   %kl: memref<?xi64>, %p: memref<?xi64>) outputs()
    names ["q", "k", "v", "ql", "kl", "p"] {
  %b = rplan.size %q[0] : !q
  %n = rplan.size %q[1] : !q
  %a = rplan.workspace(%b, %n) : memref<?x?x4x8xf32>
  %m = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %s = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %chunks = rplan.exchange keys(%k, %v) queries(%q)
      ring(#rlayout.ring<4, contiguous>)
      branches [#rplan.ring_branch<begin = 0, end = 4>]
      lengths(%ql : memref<?xi64>, %kl : memref<?xi64>)
      offsets(%p : memref<?xi64>) : !k, !k, !q
  rplan.attend %chunks queries(%q) state(%a, %m, %s) whole [@whole]
      part [@part]
      : !q, memref<?x?x4x8xf32>, memref<?x4x?xf32>, memref<?x4x?xf32>
  rplan.return
}

!o = memref<?x?x4x8xbf16, strided<[?, ?, ?, 1]>>
!rows = memref<?x4x?xf32, strided<[?, ?, 1]>>

rplan.func @ending(%q: !q, %k: !k, %v: !k, %p: memref<i64>, %edge: memref<i64>)
    outputs(%a: !q, %m: !state, %s: !state, %o: !o, %l: !state)
    names ["q", "k", "v", "p", "edge", "a", "m", "s", "o", "l"] {
  rplan.return
}

// What last pieces may write.

// CHECK-LABEL: rplan.func @ends(
// CHECK:         rplan.attend %{{.+}} state(%{{.+}}, %{{.+}}, %{{.+}}) ends(%{{.+}} : memref<?x?x4x8xbf16, strided<[?, ?, ?, 1]>>, %{{.+}} : memref<?x4x?xf32, strided<[?, ?, 1]>>) whole [@ending] part [@ending]
rplan.func @ends(%q: !q, %k: !k, %v: !k) outputs(%o: !o, %l: !rows)
    names ["q", "k", "v", "o", "l"] {
  %b = rplan.size %q[0] : !q
  %n = rplan.size %q[1] : !q
  %a = rplan.workspace(%b, %n) : memref<?x?x4x8xf32>
  %m = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %s = rplan.workspace(%b, %n) : memref<?x4x?xf32>
  %chunks = rplan.exchange keys(%k, %v) queries(%q)
      ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 4>] : !k, !k, !q
  rplan.attend %chunks queries(%q) state(%a, %m, %s) ends(%o : !o, %l : !rows)
      whole [@ending] part [@ending]
      : !q, memref<?x?x4x8xf32>, memref<?x4x?xf32>, memref<?x4x?xf32>
  rplan.return
}
