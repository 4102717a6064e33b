//===- verify-orders.mlir - Passes are run against what was before -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --verify-orders --canonicalize -o /dev/null \
// RUN:   --remarks-filter=verify-orders --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:

// Nested pipelines are seen pass by pass.
// RUN: ringlet-opt %s -o /dev/null --verify-orders=draws=5,seed=3 \
// RUN:   --pass-pipeline='builtin.module(func.func(cse,canonicalize))' \
// RUN:   --remarks-filter=verify-orders --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NESTED --implicit-check-not=remark:

// Functions that become something else than a graph are not compared with it.
// RUN: ringlet-opt %root/test/Examples/longnet.mlir -o /dev/null \
// RUN:   --verify-orders --ringlet-lower-to-rtile

// RUN: not ringlet-opt %s --verify-orders=draws=0 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DRAWS
// DRAWS: --verify-orders: expected a list of seed=<number> and draws=<number of at least 1>, found 'draws=0'

// The compiler does the same.
// RUN: ringlet-compile %root/test/Examples/branches.mlir --emit=rtile -o - \
// RUN:   --verify-orders=seed=4 --explain 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COMPILE
// COMPILE: computes the same after {{.*}}, on 3 inputs
// RUN: not ringlet-compile %root/test/Examples/branches.mlir \
// RUN:   --verify-orders=seeds=4 2>&1 | FileCheck %s --check-prefix=SEEDS
// SEEDS: error: --verify-orders: expected a list of seed=<number> and draws=<number of at least 1>, found 'seeds=4'

#r = #rlayout.layout<order = #rlayout.order<residue<2>>>
#s = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 4], chunk = 8>>

// CHECK: remark: {{.*}}'chain' computes the same after canonicalize, on 3 inputs: [[N:[0-9]+]] numbers, of which [[N]] are finite
// NESTED: remark: {{.*}}'chain' computes the same after canonicalize, on 5 inputs
func.func @chain(%x: tensor<2x?x3xf32>) -> tensor<2x?x3xf32, #s> {
  %y = ringlet.reorder %x : tensor<2x?x3xf32> to tensor<2x?x3xf32, #r>
  %z = ringlet.reorder %y : tensor<2x?x3xf32, #r> to tensor<2x?x3xf32, #s>
  return %z : tensor<2x?x3xf32, #s>
}

// What a pass leaves as it is costs nothing, and may hold anything.
func.func @unchanged(%x: tensor<4xf32>) -> tensor<2xf32> {
  %y = tensor.extract_slice %x[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// What canonicalize folds is a second opinion about the arithmetic here.
// CHECK: remark: {{.*}}'folds' computes the same after canonicalize, on 3 inputs: 54 numbers
// NESTED: remark: {{.*}}'folds'
func.func @folds() -> (i8, i32, i32, i32, i32, i1, i1, f64, f64, f64, f64, f64,
                       f64, f64, f64, f64, i32, i32) {
  %a8 = arith.constant 100 : i8
  %b8 = arith.constant -77 : i8
  %a = arith.constant -7 : i32
  %b = arith.constant 3 : i32
  %x = arith.constant 2.25 : f64
  %y = arith.constant -0.5 : f64
  %0 = arith.subi %a8, %b8 : i8
  %1 = arith.divsi %a, %b : i32
  %2 = arith.remsi %a, %b : i32
  %3 = arith.xori %a, %b : i32
  %4 = arith.extui %b8 : i8 to i32
  %5 = arith.cmpi ult, %a, %b : i32
  %6 = arith.cmpf ugt, %x, %y : f64
  %7 = arith.divf %x, %y : f64
  %8 = arith.minimumf %x, %y : f64
  %9 = math.sqrt %x : f64
  %10 = math.exp2 %y : f64
  %11 = math.tanh %y : f64
  %12 = math.copysign %x, %y : f64
  %13 = arith.sitofp %a8 : i8 to f64
  %14 = arith.uitofp %b8 : i8 to f64
  %15 = arith.select %5, %x, %y : f64
  %16 = arith.fptosi %x : f64 to i32
  %17 = arith.maxsi %a, %b : i32
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,
         %16, %17
      : i8, i32, i32, i32, i32, i1, i1, f64, f64, f64, f64, f64, f64, f64, f64,
        f64, i32, i32
}
