//===- amx.mlir - Products by tile registers ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands=level=x86-64-v4-amx --rtile-assign-scratch --rtile-to-cpu=level=x86-64-v4-amx | FileCheck %s

// A kernel sets the registers up before its first point and releases them after
// the last. Four sums belong to 32 keys and the 32 rows of a panel; a step of 32
// along the depth loads each part of an operand once for two products. The words
// of a register's rows lie at the distance of keys (320 bytes) or of columns of a
// panel (128).

// CHECK-LABEL: llvm.func @scores(
// CHECK-SAME:    ["target-features", "+avx512bf16,+amx-tile,+amx-bf16"]
// CHECK:         %[[CONFIG:.+]] = llvm.alloca %{{.+}} x vector<64xi8>
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"(%[[CONFIG]])
// CHECK:         scf.for
// CHECK:           scf.for %{{.+}} = %{{.+}} to %c64{{.*}} step %c32
// CHECK-COUNT-4:     "llvm.x86.tilezero"
// CHECK-NOT:         "llvm.x86.tilezero"
// CHECK:             scf.for %{{.+}} = %c0{{.*}} to %c64{{.*}} step %c16
// CHECK:               "llvm.x86.tileloadd64"(%[[L0:c6_i8[^,]*]], %{{.+}}, %[[PANEL:c128_[^)]+]])
// CHECK:               "llvm.x86.tileloadd64"(%[[L1:c7_i8[^,]*]], %{{.+}}, %[[PANEL]])
// CHECK:               "llvm.x86.tileloadd64"(%[[R0:c4_i8[^,]*]], %{{.+}}, %[[KEYS:c320_[^)]+]])
// CHECK:               "llvm.x86.tdpbf16ps"(%{{c0_i8[^,]*}}, %{{c4_i8[^,]*}}, %{{c6_i8[^,)]*}})
// CHECK:               "llvm.x86.tdpbf16ps"(%{{c1_i8[^,]*}}, %{{c4_i8[^,]*}}, %{{c7_i8[^,)]*}})
// CHECK:               "llvm.x86.tileloadd64"(%[[R1:c5_i8[^,]*]], %{{.+}}, %[[KEYS]])
// CHECK:               "llvm.x86.tdpbf16ps"(%{{c2_i8[^,]*}}, %{{c5_i8[^,]*}}, %{{c6_i8[^,)]*}})
// CHECK:               "llvm.x86.tdpbf16ps"(%{{c3_i8[^,]*}}, %{{c5_i8[^,]*}}, %{{c7_i8[^,)]*}})
// CHECK-NOT:           "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4:     "llvm.x86.tilestored64"(%{{.+}}, %{{.+}}, %[[PANEL]])
// CHECK:         "llvm.x86.tilerelease"()
// CHECK-NEXT:    llvm.return
rtile.func @scores(%X: memref<?x128xbf16, strided<[?, 1]>>, %S: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x128xbf16, strided<[?, 1]>> to !rtile.view<64x128xbf16>
  %sv = rtile.view %S[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %q = rtile.load %xv[%i, %c0] : !rtile.view<64x128xbf16>
  %k = rtile.load %xv[%c0, %c0] : !rtile.view<64x128xbf16>
  %s = rtile.dot %q, %k transposed : tensor<64x128xbf16>, tensor<64x128xbf16> -> tensor<64x64xf32>
  rtile.store %s, %sv[%i, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// A panel of one vector and 16 columns take one register of each. A product with
// an initial value finds it where the result will be. What is read of the depth
// beyond its 40 steps, 20 words of 32, is zero: here the rest of the queries'
// pairs, 12 words, and rows of the values, which are copied as they are. Their
// pairs are woven when they are turned round: two squares of 8 x 8 words from 16
// rows.

// CHECK-LABEL: llvm.func @ragged(
// CHECK:         llvm.store %{{.+}} {alignment = 4 : i64} : vector<12xf32>
// CHECK:         scf.for %{{.+}} = %c40{{.*}} to %c64{{.*}} step %c1
// CHECK:         llvm.shufflevector %{{.+}}, %{{.+}} [0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27] : vector<16xi16>
// CHECK:         llvm.shufflevector %{{.+}}, %{{.+}} [4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31] : vector<16xi16>
// CHECK:         "llvm.x86.tileloadd64"(%c0_i8
// CHECK:         "llvm.x86.tileloadd64"(%c6_i8
// CHECK:         "llvm.x86.tileloadd64"(%c4_i8
// CHECK:         "llvm.x86.tdpbf16ps"(%{{c0_i8[^,]*}}, %{{c4_i8[^,]*}}, %{{c6_i8[^,)]*}})
// CHECK-NOT:     "llvm.x86.tdpbf16ps"
// CHECK:         "llvm.x86.tilestored64"(%c0_i8
// CHECK-NOT:     "llvm.x86.tilestored64"
// CHECK:         "llvm.x86.tilerelease"()
rtile.func @ragged(%X: memref<?x40xbf16, strided<[?, 1]>>, %V: memref<?x12xbf16, strided<[?, 1]>>,
                   %O: memref<?x12xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x40xbf16, strided<[?, 1]>> to !rtile.view<16x40xbf16>
  %vv = rtile.view %V[*, *] : memref<?x12xbf16, strided<[?, 1]>> to !rtile.view<40x12xbf16>
  %ov = rtile.view %O[*, *] : memref<?x12xf32, strided<[?, 1]>> to !rtile.view<16x12xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<16x40xbf16>
  %v = rtile.load %vv[%c0, %c0] : !rtile.view<40x12xbf16>
  %o = rtile.load %ov[%i, %c0] : !rtile.view<16x12xf32>
  %d = rtile.dot %x, %v init(%o) : tensor<16x40xbf16>, tensor<40x12xbf16> -> tensor<16x12xf32>
  rtile.store %d, %ov[%i, %c0] : !rtile.view<16x12xf32>
  rtile.return
}

// A kernel without such a product leaves the registers alone.

// CHECK-LABEL: llvm.func @other(
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         llvm.return
rtile.func @other(%X: memref<?x64xf16, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x64xf16, strided<[?, 1]>> to !rtile.view<64x64xf16>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<64x64xf16>
  %s = rtile.dot %x, %x transposed : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %r = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
  rtile.store %r, %xv[%i, %c0] : !rtile.view<64x64xf16>
  rtile.return
}
