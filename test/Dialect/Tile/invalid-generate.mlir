//===- invalid-generate.mlir - Entries that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics \
// RUN:   --allow-unregistered-dialect

// The kernel reads nothing of the table: entries are written in no order.

rtile.func @reads_table(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  // expected-error@+1 {{expected a kernel that reads nothing of the table, found memref.load on it}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  %r = memref.load %t[%n] : memref<?xi64>
  rtile.return
}

// -----

// Nor do entries depend on each other.

rtile.func @reads_itself(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  // expected-error@+1 {{expected a kernel that reads nothing of the table, found memref.load on it}}
  rtile.generate %t[%p = %n to %n] {
    %e = memref.load %t[%p] : memref<?xi64>
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// As a table of rows it would be read, too.

rtile.func @views_table(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  %v = rtile.view %x[*, *] rows(%t : memref<?xi64>) : memref<?x8xf32> to !rtile.view<8x8xf32, indexed>
  // expected-error@+1 {{expected a kernel that reads nothing of the table, found rtile.view on it}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// A tile belongs to all threads, an entry to one.

rtile.func @tile(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<8x8xf32>
  rtile.generate %t[%p = %n to %n] {
    // expected-error@+1 {{'rtile.load' op expected scalars in the body of rtile.generate, found 'tensor<8x8xf32>'}}
    %l = rtile.load %v[%p, %p] : !rtile.view<8x8xf32>
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// Nor can threads look at a tile one by one.

rtile.func @tile_operand(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  %m = arith.constant dense<true> : tensor<8xi1>
  rtile.generate %t[%p = %n to %n] {
    // expected-error@+1 {{'rtile.any' op expected scalars in the body of rtile.generate, found 'tensor<8xi1>'}}
    %a = rtile.any %m : tensor<8xi1>
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// What the body does is to yield: it writes nothing.

rtile.func @stores(%t: memref<?xi64>, %u: memref<?xi64>) grid(%n: index) {
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    // expected-error@+1 {{'memref.store' op expected operations without effects in the body of rtile.generate}}
    memref.store %e, %u[%p] : memref<?xi64>
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// Not even another list.

rtile.func @nested(%t: memref<?xi64>, %u: memref<?xi64>) grid(%n: index) {
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    // expected-error@+1 {{'rtile.generate' op expected operations without effects in the body of rtile.generate}}
    rtile.generate %u[%q = %n to %p] {
      rtile.yield %e : i64
    } : memref<?xi64>
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// An operation that does not say what it does may do anything.

func.func private @unknown() -> i64

rtile.func @calls(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  rtile.generate %t[%p = %n to %n] {
    // expected-error@+1 {{'func.call' op expected operations without effects in the body of rtile.generate}}
    %e = func.call @unknown() : () -> i64
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// An entry is one number,

rtile.func @no_entry(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  // expected-error@+1 {{expected a body that yields one entry, found 0}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield
  } : memref<?xi64>
  rtile.return
}

// -----

// of 64 bits.

rtile.func @narrow(%t: memref<?xi64>, %x: memref<?x8xf32>) grid(%n: index) {
  // expected-error@+1 {{expected a body that yields an entry of 'i64', found 'index'}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %p : index
  } : memref<?xi64>
  rtile.return
}

// -----

// The place of an entry is an index.

rtile.func @place(%t: memref<?xi64>) grid(%n: index) {
  // expected-error@+1 {{expected a body of one index, the place of its entry, found 'i64'}}
  "rtile.generate"(%t, %n, %n) ({
  ^bb0(%p: i64):
    rtile.yield %p : i64
  }) : (memref<?xi64>, index, index) -> ()
  rtile.return
}

// -----

// There is one place.

rtile.func @places(%t: memref<?xi64>) grid(%n: index) {
  // expected-error@+1 {{expected a body of one index, the place of its entry, found 2 arguments}}
  "rtile.generate"(%t, %n, %n) ({
  ^bb0(%p: index, %q: index):
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  }) : (memref<?xi64>, index, index) -> ()
  rtile.return
}

// -----

// The body ends where it yields.

rtile.func @no_yield(%t: memref<?xi64>) grid(%n: index) {
  // expected-error@+1 {{expected a body that ends in rtile.yield}}
  rtile.generate %t[%p = %n to %n] {
    "test.end"() : () -> ()
  } : memref<?xi64>
  rtile.return
}

// -----

// Tables are lists of one axis,

rtile.func @rank(%t: memref<?x?xi64>) grid(%n: index) {
  // expected-error@+1 {{operand #0 must be 1D memref of 64-bit signless integer or 32-bit float values, but got 'memref<?x?xi64>'}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?x?xi64>
  rtile.return
}

// -----

// that the kernel is given.

rtile.func @part_of_table(%list: memref<8xi64>) grid(%n: index) {
  %t = memref.cast %list : memref<8xi64> to memref<?xi64>
  // expected-error@+1 {{expected a table that is a parameter of the kernel}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  rtile.return
}

// -----

// Outside of kernels there is nobody to share the entries out to.

func.func @no_kernel(%t: memref<?xi64>, %n: index) {
  // expected-error@+1 {{expected a kernel (rtile.func) around it}}
  rtile.generate %t[%p = %n to %n] {
    %e = arith.index_cast %p : index to i64
    rtile.yield %e : i64
  } : memref<?xi64>
  return
}

// -----

// Roles have no entries to share out.

rtile.func @scheduled(%t: memref<?xi64>) grid(%n: index) scheduled {
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected a plain kernel around it, found the scheduled one 'scheduled'}}
    rtile.generate %t[%p = %n to %n] {
      %e = arith.index_cast %p : index to i64
      rtile.yield %e : i64
    } : memref<?xi64>
  }
  rtile.return
}

// -----

// What ends a body ends that of rtile.generate or rtile.in_turn.

rtile.func @elsewhere(%t: memref<?xi64>) grid(%n: index) {
  %c1 = arith.constant 1 : index
  scf.for %k = %n to %n step %c1 {
    // expected-error@+1 {{expects parent op to be one of 'rtile.generate, rtile.in_turn'}}
    rtile.yield
  }
  rtile.return
}
