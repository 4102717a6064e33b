//===- invalid-points.mlir - Ways to the next point that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// One way to begin, and one to go on.

rtile.func @alone() grid(%i: index) scheduled walk = <strided> {
  // expected-error@+1 {{expected one rtile.first_point and one rtile.next_point, or neither, found 1 and 0}}
  rtile.role "a" warps = 4 {
    rtile.first_point {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// In this order.

rtile.func @order() grid(%i: index) scheduled walk = <strided> {
  // expected-error@+1 {{expected rtile.first_point in front of rtile.next_point}}
  rtile.role "a" warps = 4 {
    rtile.next_point (%next: index) {
      rtile.yield
    } else {
      rtile.yield
    }
    rtile.first_point {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// A block that takes points as they come does not know the next one.

rtile.func @dynamic() grid(%i: index) scheduled walk = <dynamic> {
  rtile.role "a" warps = 4 {
    rtile.first_point {
      rtile.yield
    }
    // expected-error@+1 {{expected a kernel with a strided walk, found dynamic}}
    rtile.next_point (%next: index) {
      rtile.yield
    } else {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// What has effects would happen for the first point twice.

rtile.func @effects(%X: memref<?xf32>) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*] : memref<?xf32> to !rtile.view<64xf32>
  rtile.role "a" warps = 4 {
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    rtile.store %zero, %x[%c0] : !rtile.view<64xf32>
    // expected-error@+1 {{expected nothing in front of it that has effects, found rtile.store}}
    rtile.first_point {
      rtile.yield
    }
    rtile.next_point (%next: index) {
      rtile.yield
    } else {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// A point has an index on each axis of the grid.

rtile.func @indices() grid(%i: index, %j: index) scheduled walk = <strided> {
  rtile.role "a" warps = 4 {
    rtile.first_point {
      rtile.yield
    }
    // expected-error@+1 {{expected 2 indices of a point, found 'index'}}
    rtile.next_point (%next: index) {
      rtile.yield
    } else {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// The next point begins with what the first one began with.

rtile.func @begun() grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  rtile.role "a" warps = 4 {
    %begun = rtile.first_point -> index {
      rtile.yield %c0 : index
    }
    // expected-error@+1 {{expected a body that yields 'index', found}}
    rtile.next_point (%next: index) {
      rtile.yield
    } else {
      rtile.yield
    }
  }
  rtile.return
}
