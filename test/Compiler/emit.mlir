//===- emit.mlir - Each form of one graph ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every form that ringlet-compile prints, of one graph with a static length.

// RUN: ringlet-compile %s --emit=ringlet | FileCheck %s --check-prefix=RINGLET
// RUN: ringlet-compile %s --emit=rplan | FileCheck %s --check-prefix=RPLAN
// RUN: ringlet-compile %s --emit=rtile | FileCheck %s --check-prefix=RTILE
// RUN: ringlet-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: ringlet-compile %s --emit=asm | FileCheck %s --check-prefix=ASM
// RUN: ringlet-compile %s --emit=obj -o %t.o
// RUN: llvm-readelf -h %t.o | FileCheck %s --check-prefix=OBJ
// RUN: ringlet-compile %s -o %t.rla && head -c 7 %t.rla \
// RUN:   | FileCheck %s --check-prefix=RLA

// The tile programs are input again, and give the same artefact but for the
// graph that they were made from.
// RUN: ringlet-compile %s --emit=rtile | ringlet-compile - --emit=rtile \
// RUN:   | FileCheck %s --check-prefix=RTILE

// Choices are in the graph: the segment holds everything, and tiles are given.
// RINGLET:      func.func @attend(%q: tensor<1x96x2x16xf32>
// RINGLET-SAME:   ringlet.name = "q"
// RINGLET:      ringlet.attention
// RINGLET-SAME:   branches [<w = *, r = 1>]
// RINGLET-SAME:   tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}>]

// RPLAN-NOT:   rtile.func
// RPLAN:       rplan.func @attend(%q:
// RPLAN-SAME:    names ["q", "keys", "result0"]
// RPLAN:       rplan.launch @[[KERNEL:[a-z0-9_]+]]
// RPLAN-NOT:   rtile.func

// RTILE:       rplan.func @attend
// RTILE:       rtile.func @
// RTILE:       scf.for

// LLVM:        target triple = "x86_64-unknown-linux-gnu"
// LLVM:        define void @rl_attend
// LLVM-NOT:    declare {{.*}}@mem

// ASM:         .globl rl_attend

// OBJ:         Type: REL

// RLA:         RINGLET

func.func @attend(%q: tensor<1x96x2x16xf32>,
                  %k: tensor<1x96x2x16xf32> {ringlet.name = "keys"})
    -> tensor<1x96x2x16xf32> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = 128, r = 1>]
      : (tensor<1x96x2x16xf32>, tensor<1x96x2x16xf32>, tensor<1x96x2x16xf32>)
      -> (tensor<1x96x2x16xf32>, tensor<1x2x96xf32>)
  return %o : tensor<1x96x2x16xf32>
}
