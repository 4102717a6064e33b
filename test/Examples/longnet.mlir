//===- longnet.mlir - Dilated attention over a long text ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LongNet attention with three branches, on four heads of 32 and any number of
// tokens: every key within 512 tokens, every second one within 1024, every
// fourth one within 4096. The branches are mixed by one softmax over all keys
// that a query sees (rule R1).
//
//   build/bin/ringlet-compile test/Examples/longnet.mlir -o longnet.rla
//   build/bin/ringlet-run longnet.rla --check
//       --in=test/Data/minilm_qkv.safetensors --out=result.safetensors
//
//===----------------------------------------------------------------------===//

func.func @longnet(%query: tensor<1x?x4x32xf16>,
                   %key: tensor<1x?x4x32xf16>,
                   %value: tensor<1x?x4x32xf16>)
    -> (tensor<1x?x4x32xf16>, tensor<1x4x?xf32>) {
  %output, %lse = ringlet.attention %query, %key, %value
      branches [<w = 512, r = 1>, <w = 1024, r = 2>, <w = 4096, r = 4>]
      : (tensor<1x?x4x32xf16>, tensor<1x?x4x32xf16>, tensor<1x?x4x32xf16>)
      -> (tensor<1x?x4x32xf16>, tensor<1x4x?xf32>)
  return %output, %lse : tensor<1x?x4x32xf16>, tensor<1x4x?xf32>
}
