//===- schedule-ops.mlir - Scheduled kernels are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// Every operation of a role; a tile has no encoding until one is chosen.

// CHECK-LABEL: rtile.func @roles(
// CHECK-SAME:    grid(%[[I:[^:]+]]: index, %[[J:[^:]+]]: index) scheduled recipe = "fa_fwd_lazy" walk = <strided, order = [1, 0], reversed = [1], section = 4> blocks = 2 attributes {note = "kept"} {
// CHECK:         %[[V:.+]] = rtile.view
// CHECK:         %[[C:.+]] = rtile.channel slots = 2 offset = 1024 barriers = 16 : !rtile.channel<64x64xbf16>
// CHECK:         %[[D:.+]] = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
// CHECK:         rtile.role "load" warps = 1 {
// CHECK:           %[[S:.+]] = rtile.acquire %[[C]] : !rtile.channel<64x64xbf16>
// CHECK:           rtile.copy %[[V]][%[[I]], %[[J]]] to %[[S]] : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
// CHECK:         rtile.role "compute" warps = 8 registers = 232 attributes {note = "kept"} {
// CHECK:           %[[A:.+]]:2 = rtile.await %[[C]], %[[D]] : !rtile.channel<64x64xbf16>, !rtile.channel<64x64xbf16>
// CHECK:           %[[T:.+]] = rtile.read %[[A]]#0 : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
// CHECK:           %[[U:.+]] = rtile.read %[[A]]#1 : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.fragment<8>>
// CHECK:           rtile.read %[[A]]#1 : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16>
// CHECK:           %[[P:.+]] = rtile.in_turn -> !rtile.pending<tensor<64x64xf32, #rtile.fragment<8>>> {
// CHECK:             %[[P0:.+]] = rtile.start_dot %[[U]], %[[T]] transposed : tensor<64x64xbf16, #rtile.fragment<8>>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<8>>
// CHECK:             rtile.yield %[[P0]] : !rtile.pending<tensor<64x64xf32, #rtile.fragment<8>>>
// CHECK:           %[[L:.+]] = rtile.load %[[V]][%[[I]], %[[J]]] : !rtile.view<64x64xbf16> -> tensor<64x64xbf16, #rtile.fragment<8>>
// CHECK:           %[[M:.+]] = arith.extf %[[L]]
// CHECK:           %[[F:.+]] = rtile.finish_dot %[[P]] after(%[[M]] : tensor<64x64xf32, #rtile.fragment<8>>) : tensor<64x64xf32, #rtile.fragment<8>>
// CHECK:           %[[Q:.+]] = rtile.start_dot %[[T]], %[[T]] init(%[[F]]) : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<8>>
// CHECK:           rtile.finish_dot %[[Q]] : tensor<64x64xf32, #rtile.fragment<8>>
// CHECK:           rtile.release %[[A]]#0 : !rtile.slot<64x64xbf16>
// CHECK:           rtile.store %[[L]], %[[V]][%[[I]], %[[J]]] : tensor<64x64xbf16, #rtile.fragment<8>>, !rtile.view<64x64xbf16>
// CHECK:         rtile.return
rtile.func @roles(%x: memref<?x64xbf16>) grid(%i: index, %j: index) scheduled
    recipe = "fa_fwd_lazy"
    walk = <strided, order = [1, 0], reversed = [1], section = 4> blocks = 2
    attributes {note = "kept"} {
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 offset = 1024 barriers = 16
      : !rtile.channel<64x64xbf16>
  %d = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 1 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    rtile.copy %v[%i, %j] to %s
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
    %t = rtile.acquire %d : !rtile.channel<64x64xbf16>
    rtile.copy %v[%i, %j] to %t
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 8 registers = 232 attributes {note = "kept"} {
    %s, %t = rtile.await %c, %d
        : !rtile.channel<64x64xbf16>, !rtile.channel<64x64xbf16>
    %a = rtile.read %s : !rtile.slot<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.swizzled>
    %b = rtile.read %t : !rtile.slot<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<8>>
    %undecided = rtile.read %t : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16>
    %p = rtile.in_turn
        -> !rtile.pending<tensor<64x64xf32, #rtile.fragment<8>>> {
      %started = rtile.start_dot %b, %a transposed
          : tensor<64x64xbf16, #rtile.fragment<8>>,
            tensor<64x64xbf16, #rtile.swizzled>
          -> tensor<64x64xf32, #rtile.fragment<8>>
      rtile.yield %started
          : !rtile.pending<tensor<64x64xf32, #rtile.fragment<8>>>
    }
    %l = rtile.load %v[%i, %j] : !rtile.view<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<8>>
    %m = arith.extf %l : tensor<64x64xbf16, #rtile.fragment<8>>
        to tensor<64x64xf32, #rtile.fragment<8>>
    %sum = rtile.finish_dot %p
        after(%m : tensor<64x64xf32, #rtile.fragment<8>>)
        : tensor<64x64xf32, #rtile.fragment<8>>
    %q = rtile.start_dot %a, %a init(%sum)
        : tensor<64x64xbf16, #rtile.swizzled>,
          tensor<64x64xbf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<8>>
    %last = rtile.finish_dot %q : tensor<64x64xf32, #rtile.fragment<8>>
    rtile.release %s : !rtile.slot<64x64xbf16>
    rtile.release %t : !rtile.slot<64x64xbf16>
    rtile.store %l, %v[%i, %j]
        : tensor<64x64xbf16, #rtile.fragment<8>>, !rtile.view<64x64xbf16>
  }
  rtile.return
}

// The parts of a walk that say nothing are not printed; a plain kernel may say
// how it is to be scheduled.

// CHECK-LABEL: rtile.func @plain() grid(%{{.+}}: index) recipe = "fa_fwd_overlap" walk = <each> {
rtile.func @plain() grid(%i: index) recipe = "fa_fwd_overlap"
    walk = <each, order = [], section = 0> {
  rtile.return
}

// CHECK-LABEL: rtile.func @dynamic() grid(%{{.+}}: index) walk = <dynamic, reversed = [0]> {
rtile.func @dynamic() grid(%i: index) walk = <dynamic, reversed = [0]> {
  rtile.return
}

// Operations on columns and rows, in both forms.

// CHECK-LABEL: rtile.func @columns(
// CHECK:         rtile.fold %{{.+}} : tensor<16x64xf32> -> tensor<16x8xf32>
// CHECK:         rtile.slice %{{.+}}[32] : tensor<16x64xf32> -> tensor<16x32xf32>
// CHECK:         rtile.join %{{.+}}, %{{.+}} : tensor<16x32xf32>, tensor<16x64xf32> -> tensor<16x96xf32>
// CHECK:         rtile.rebase %{{.+}}, %{{.+}} bound = 40 tiles(%{{.+}}, %{{.+}}) : tensor<16xf32>, tensor<16x8xf32>, tensor<16x64xf32>, tensor<16x32xf32>
// CHECK:         rtile.rebase %{{.+}}, %{{.+}} bound = 0 limit = 16 : tensor<16xf32>, tensor<16xf32>
// CHECK:         rtile.any %{{.+}} : tensor<16xi1>
// CHECK:         rtile.any %{{.+}} : tensor<16x64xi1>
rtile.func @columns() grid(%i: index) {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  %l = rtile.fold %a : tensor<16x64xf32> -> tensor<16x8xf32>
  %s = rtile.slice %a[32] : tensor<16x64xf32> -> tensor<16x32xf32>
  %j = rtile.join %s, %a : tensor<16x32xf32>, tensor<16x64xf32>
      -> tensor<16x96xf32>
  %m1, %l1, %a1, %s1 = rtile.rebase %m, %l bound = 40 tiles(%a, %s)
      : tensor<16xf32>, tensor<16x8xf32>, tensor<16x64xf32>, tensor<16x32xf32>
  %m2, %l2 = rtile.rebase %m, %m bound = 0 limit = 16 : tensor<16xf32>, tensor<16xf32>
  %rows = arith.cmpf ogt, %m1, %m2 : tensor<16xf32>
  %both = arith.cmpf ogt, %a1, %a : tensor<16x64xf32>
  %any = rtile.any %rows : tensor<16xi1>
  %some = rtile.any %both : tensor<16x64xi1>
  rtile.return
}

// The recipe of a tensor map.

// CHECK-LABEL: rtile.func @maps()
// CHECK-SAME:    maps = [#rtile.map<buffer = 1, rows = 1, columns = 3, fixed = [0, 2], rate = 1, box = [128, 64]>, #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 4, box = [64, 64], residues = longer>]
rtile.func @maps() grid(%i: index) attributes {maps = [
    #rtile.map<buffer = 1, rows = 1, columns = 3, fixed = [0, 2], rate = 1, box = [128, 64]>,
    #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 4, box = [64, 64], residues = longer>]} {
  rtile.return
}

// What is decided about a plain kernel before it has roles: any number of them,
// under names of their own.

// CHECK-LABEL: rtile.func @schedule(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"store", warps = 1>, <"compute", warps = 8, registers = 232>], blocks = 2, slots = 2, walk = <each, reversed = [0]>, operands = [<buffer = 0, left = registers>, <buffer = 1, slots = 3>]> attributes {note = "kept"} {
rtile.func @schedule(%x: memref<?x64xbf16>, %y: memref<?x64xbf16>) grid(%i: index)
    recipe = "fa_fwd_lazy"
    schedule = #rtile.schedule<
      roles = [<"load", warps = 4, registers = 40>, <"store", warps = 1>,
               <"compute", warps = 8, registers = 232>],
      blocks = 2, slots = 2, walk = <each, reversed = [0]>,
      operands = [<buffer = 0, left = registers>, <buffer = 1, slots = 3>]>
    attributes {note = "kept"} {
  rtile.return
}
