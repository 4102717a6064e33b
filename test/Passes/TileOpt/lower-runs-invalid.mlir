//===- lower-runs-invalid.mlir - Views that are not known ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --verify-diagnostics --rtile-lower-runs

rtile.func @chosen(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %i, %c0 : index
  %a = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %b = rtile.view %X[*] origin(%i) : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %v = arith.select %first, %a, %b : !rtile.view<8xf32>
  // expected-error @below {{expected views made by rtile.view, found arith.select}}
  %begin, %end = rtile.bounds %v : !rtile.view<8xf32>
  rtile.return
}
