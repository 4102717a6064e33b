//===- invalid-ring.mlir - Refused steps on a ring ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a rate of at least 1, found 0 (B1)}}
func.func private @rate() attributes {a = #rplan.ring_branch<rate = 0, begin = 0, end = 1>}

// -----

// expected-error@+1 {{expected heads from 0 on, found 2 to 1 (B3)}}
func.func private @heads() attributes {a = #rplan.ring_branch<begin = 2, end = 1>}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @unused(%q: !x, %k: !x, %v: !x) outputs() names ["q", "k", "v"] {
  // expected-error@+1 {{expected chunks that one rplan.attend waits for}}
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @head_count(%q: !x, %k: !x, %v: !x) outputs() names ["q", "k", "v"] {
  // expected-error@+1 {{expected query heads up to 2, found 3 (B3)}}
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 3>] : !x, !x, !x
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
!y = memref<?x2x8xf32>
rplan.func @axes(%q: !y, %k: !x, %v: !x) outputs() names ["q", "k", "v"] {
  // expected-error@+1 {{expected keys, values and queries of 4 axes, found 'memref<?x2x8xf32>'}}
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !y
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
!q = memref<?x?x3x8xf32>
rplan.func @group(%q: !q, %k: !x, %v: !x) outputs() names ["q", "k", "v"] {
  // expected-error@+1 {{expected a multiple of 2 key heads, found 3 query heads (section 1)}}
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !q
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @plans(%q: !x, %k: !x, %v: !x) outputs(%a: !x, %m: memref<?x2x?xf32>)
    names ["q", "k", "v", "a", "m"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected a plan for each of the 1 branches, found 0}}
  rplan.attend %c queries(%q) state(%a, %m, %m) whole [] part []
      : !x, !x, memref<?x2x?xf32>, memref<?x2x?xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @state(%q: !x, %k: !x, %v: !x) outputs(%a: !x)
    names ["q", "k", "v", "a"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected a state in f32, of 4, 3 and 3 axes}}
  rplan.attend %c queries(%q) state(%a, %a, %a) whole [@p] part [@p]
      : !x, !x, !x, !x
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @symbol(%q: !x, %k: !x, %v: !x)
    outputs(%a: !x, %m: memref<?x2x?xf32>) names ["q", "k", "v", "a", "m"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected a plan, found no rplan.func @p}}
  rplan.attend %c queries(%q) state(%a, %m, %m) whole [@p] part [@p]
      : !x, !x, memref<?x2x?xf32>, memref<?x2x?xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
!state = memref<?x2x?x1xf32>
rplan.func @p(%q: !x, %k: !x, %v: !x, %p: memref<i64>)
    outputs(%a: !x, %m: !state, %s: !state)
    names ["q", "k", "v", "p", "a", "m", "s"] {
  rplan.return
}
rplan.func @no_edge(%q: !x, %k: !x, %v: !x)
    outputs(%a: !x, %m: memref<?x2x?xf32>, %o: !x)
    names ["q", "k", "v", "a", "m", "o"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected @p to have inputs of 4, 4, 4, 0 and 0 axes and 4 outputs of 4, with 2 query and 2 key heads}}
  rplan.attend %c queries(%q) state(%a, %m, %m) ends(%o : !x)
      whole [@p] part [@p] : !x, !x, memref<?x2x?xf32>, memref<?x2x?xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @axes_of_output(%q: !x, %k: !x, %v: !x)
    outputs(%a: !x, %m: memref<?x2x?xf32>) names ["q", "k", "v", "a", "m"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected an output of 4 axes, found 'memref<?x2x?xf32>'}}
  rplan.attend %c queries(%q) state(%a, %m, %m) ends(%m : memref<?x2x?xf32>)
      whole [@p] part [@p] : !x, !x, memref<?x2x?xf32>, memref<?x2x?xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @axes_of_lse(%q: !x, %k: !x, %v: !x)
    outputs(%a: !x, %m: memref<?x2x?xf32>) names ["q", "k", "v", "a", "m"] {
  %c = rplan.exchange keys(%k, %v) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] : !x, !x, !x
  // expected-error@+1 {{expected an lse in f32 of 3 axes, beside an output, found 'memref<?x?x2x8xf32>'}}
  rplan.attend %c queries(%q) state(%a, %m, %m) ends(%a : !x, %a : !x)
      whole [@p] part [@p] : !x, !x, memref<?x2x?xf32>, memref<?x2x?xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @starts_and_lengths(%q: memref<?x2x8xf32>, %n: memref<?xi64>)
    outputs() names ["q", "n"] {
  // expected-error@+1 {{expected starts or lengths, found both (S2)}}
  %c = rplan.exchange keys(%q, %q) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>]
      starts(%n : memref<?xi64>, %n : memref<?xi64>)
      lengths(%n : memref<?xi64>, %n : memref<?xi64>)
      : memref<?x2x8xf32>, memref<?x2x8xf32>, memref<?x2x8xf32>
  rplan.return
}

// -----

!x = memref<?x?x2x8xf32>
rplan.func @offset_and_offsets(%q: !x, %p: memref<i64>, %n: memref<?xi64>)
    outputs() names ["q", "p", "n"] {
  %o = rplan.read %p : memref<i64>
  // expected-error@+1 {{expected one position of the first query, or one for each sequence, found both (S1)}}
  %c = rplan.exchange keys(%q, %q) queries(%q) ring(#rlayout.ring<?, zigzag>)
      branches [#rplan.ring_branch<begin = 0, end = 2>] offset(%o)
      offsets(%n : memref<?xi64>) : !x, !x, !x
  rplan.return
}
