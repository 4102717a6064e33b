//===- trim-columns.mlir - Leave out keys that nobody sees ----*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows \
// RUN:   --rtile-pack-operands=level=x86-64-v4-amx --rtile-trim-columns \
// RUN:   | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows \
// RUN:   --rtile-pack-operands=level=x86-64-v4-amx --rtile-trim-columns \
// RUN:   --remarks-filter=rtile-trim-columns -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows \
// RUN:   --rtile-pack-operands=level=x86-64-v4-bf16 --rtile-trim-columns \
// RUN:   --rtile-assign-scratch --rtile-to-cpu=level=x86-64-v4-bf16 \
// RUN:   | FileCheck %s --check-prefix=CODE
// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows \
// RUN:   --rtile-pack-operands=level=x86-64-v4-amx --rtile-trim-columns \
// RUN:   --rtile-assign-scratch --rtile-to-cpu=level=x86-64-v4-amx \
// RUN:   | FileCheck %s --check-prefix=AMX

// Everything from the scores to their weights and the sum of those is trimmed;
// the decay of rows and the product with the values, which has columns of its
// own, are not.

// CHECK-LABEL: rtile.func @masked(
// CHECK:         rtile.dot %{{.+}} transposed {{.*}}rtile.trimmed = 8
// CHECK-NEXT:    arith.mulf {{.*}}rtile.trimmed
// CHECK-NEXT:    rtile.visible
// CHECK-NOT:     rtile.trimmed
// CHECK:         arith.select {{.*}}rtile.trimmed
// CHECK-NEXT:    rtile.reduce max {{.*}}rtile.trimmed
// CHECK-NEXT:    arith.maximumf
// CHECK-NOT:     rtile.trimmed
// CHECK:         arith.subf {{.*}}rtile.trimmed
// CHECK-NEXT:    math.exp2 {{.*}}rtile.trimmed
// CHECK-NEXT:    arith.subf
// CHECK-NOT:     rtile.trimmed
// CHECK:         rtile.reduce sum {{.*}}rtile.trimmed
// CHECK-NOT:     rtile.trimmed
// CHECK:         rtile.return
// REMARK:      [Passed] TrimColumns
// REMARK-SAME: masked steps of 64 keys leave out those that no row of a panel sees

// The least and the greatest column that a row of the panel sees are rounded to
// multiples of 8. They are the ends of the loops over columns and, in the
// second product, over the depth; register blocks begin at a whole one.

// CODE-LABEL: llvm.func @masked(
// CODE:         llvm.intr.vector.reduce.smin
// CODE:         llvm.intr.vector.reduce.smax
// CODE:         %[[BEGIN:.+]] = arith.andi
// CODE:         %[[END:.+]] = arith.andi
// CODE:         %[[FROM:.+]] = arith.subi %[[BEGIN]]
// CODE:         %[[AT:.+]] = arith.maxsi %[[FROM]]
// CODE:         arith.divui %[[AT]]
// CODE:         arith.minsi %[[END]]
// CODE:         scf.for %{{.+}} = %[[BEGIN]] to %[[END]]
// CODE-SAME:      vector<32xf32>
// CODE:         scf.for %{{.+}} = %[[BEGIN]] to %[[END]]
// CODE-SAME:      vector<32xf32>
// CODE:         scf.for %{{.+}} = %[[BEGIN]] to %[[END]]
// CODE-SAME:      vector<32xf32>, vector<32xf32>, vector<32xf32>
rtile.func @masked(%Q: memref<?x16xf32, strided<[?, 1]>>,
                   %K: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = rtile.view %Q[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %k = rtile.view %K[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<64x16xf32>
  %state:3 = scf.for %row = %c0 to %i step %c64 iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xf32>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
    %scores = arith.mulf %product, %scale : tensor<64x64xf32>
    %seen = rtile.visible %q[%i], %k[%row] causal : !rtile.view<64x16xf32>, !rtile.view<64x16xf32> -> tensor<64x64xi1>
    %masked = arith.select %seen, %scores, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x64xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x64xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x64xf32>
    %p = math.exp2 %below : tensor<64x64xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x64xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %v_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xf32>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p, %v_tile init(%decayed) : tensor<64x64xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %state#2, %q[%i, %c0] : !rtile.view<64x16xf32>
  rtile.return
}

// -----

// Weights of bf16 are trimmed, too, and so are the steps of their pairs. With
// products by AMX that happens by 32, which is what these take at once: blocks of
// 32 keys of the first, 16 pairs of weights of the second.

// CHECK-LABEL: rtile.func @pairs(
// CHECK:         rtile.dot {{.*}}rtile.amx{{.*}} rtile.trimmed = 32
// CHECK:         math.exp2 {{.*}}rtile.trimmed = 32
// CHECK-NEXT:    arith.subf
// CHECK:         arith.truncf {{.*}}rtile.trimmed = 32
// CHECK:         rtile.return
// REMARK:      [Passed] TrimColumns
// AMX-LABEL:   llvm.func @pairs(
// AMX:           llvm.intr.vector.reduce.smax
// AMX:           %[[BEGIN:.+]] = arith.andi
// AMX:           %[[END:.+]] = arith.andi
// AMX:           scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step %c32
// AMX:             "llvm.x86.tdpbf16ps"
// AMX:           %[[FIRST:.+]] = arith.divui %[[BEGIN]]
// AMX:           %[[LAST:.+]] = arith.divui %[[END]]
// AMX:           scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c16
// AMX:             "llvm.x86.tdpbf16ps"
// CODE-LABEL:  llvm.func @pairs(
// CODE:          llvm.intr.vector.reduce.smax
// CODE:          %[[BEGIN:.+]] = arith.andi
// CODE:          %[[END:.+]] = arith.andi
// CODE:          %[[FIRST:.+]] = arith.divui %[[BEGIN]]
// CODE:          %[[LAST:.+]] = arith.divui %[[END]]
// CODE:          scf.for %{{.+}} = %[[FIRST]] to %[[LAST]]
// CODE:          dpbf16ps
rtile.func @pairs(%Q: memref<?x16xbf16, strided<[?, 1]>>,
                  %K: memref<?x16xbf16, strided<[?, 1]>>) grid(%i: index) {
  %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = rtile.view %Q[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<64x16xbf16>
  %k = rtile.view %K[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<64x16xbf16>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<64x16xbf16>
  %state:3 = scf.for %row = %c0 to %i step %c64 iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x16xbf16>, tensor<64x16xbf16> -> tensor<64x64xf32>
    %seen = rtile.visible %q[%i], %k[%row] causal : !rtile.view<64x16xbf16>, !rtile.view<64x16xbf16> -> tensor<64x64xi1>
    %masked = arith.select %seen, %product, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x64xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x64xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x64xf32>
    %p = math.exp2 %below : tensor<64x64xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x64xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %v_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xbf16>
    %rounded = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %rounded, %v_tile init(%decayed) : tensor<64x64xbf16>, tensor<64x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  %out = arith.truncf %state#2 : tensor<64x16xf32> to tensor<64x16xbf16>
  rtile.store %out, %q[%i, %c0] : !rtile.view<64x16xbf16>
  rtile.return
}

// -----

// Nothing is left out of a tile of 12 keys, which is no multiple of 8.

// CHECK-LABEL: rtile.func @ragged(
// CHECK-NOT:     rtile.trimmed
// CHECK:         rtile.return
// REMARK-NOT:  TrimColumns
rtile.func @ragged(%Q: memref<?x16xf32, strided<[?, 1]>>,
                   %K: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %hidden = arith.constant dense<0xFF800000> : tensor<64x12xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  %q = rtile.view %Q[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %k = rtile.view %K[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<12x16xf32>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<64x16xf32>
  %state:3 = scf.for %row = %c0 to %i step %c12 iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%row, %c0] : !rtile.view<12x16xf32>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x16xf32>, tensor<12x16xf32> -> tensor<64x12xf32>
    %seen = rtile.visible %q[%i], %k[%row] causal : !rtile.view<64x16xf32>, !rtile.view<12x16xf32> -> tensor<64x12xi1>
    %masked = arith.select %seen, %product, %hidden : tensor<64x12xi1>, tensor<64x12xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x12xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x12xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x12xf32>
    %p = math.exp2 %below : tensor<64x12xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x12xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %v_tile = rtile.load %k[%row, %c0] : !rtile.view<12x16xf32>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p, %v_tile init(%decayed) : tensor<64x12xf32>, tensor<12x16xf32> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %state#2, %q[%i, %c0] : !rtile.view<64x16xf32>
  rtile.return
}

// -----

// With positions, the keys that a row sees need not stand together.

// CHECK-LABEL: rtile.func @positions(
// CHECK-NOT:     rtile.trimmed
// CHECK:         rtile.return
rtile.func @positions(%Q: memref<?x16xf32, strided<[?, 1]>>,
                      %K: memref<?x16xf32, strided<[?, 1]>>,
                      %at: memref<?xi64>) grid(%i: index) {
  %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = rtile.view %Q[*, *] positions(%at : memref<?xi64>) : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %k = rtile.view %K[*, *] positions(%at : memref<?xi64>) : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<64x16xf32>
  %state:3 = scf.for %row = %c0 to %i step %c64 iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xf32>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
    %seen = rtile.visible %q[%i], %k[%row] causal : !rtile.view<64x16xf32>, !rtile.view<64x16xf32> -> tensor<64x64xi1>
    %masked = arith.select %seen, %product, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x64xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x64xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x64xf32>
    %p = math.exp2 %below : tensor<64x64xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x64xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %v_tile = rtile.load %k[%row, %c0] : !rtile.view<64x16xf32>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p, %v_tile init(%decayed) : tensor<64x64xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %state#2, %q[%i, %c0] : !rtile.view<64x16xf32>
  rtile.return
}
