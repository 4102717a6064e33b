//===- planted-orders.mlir - Rewrites of orders, right and wrong ----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module is a mistake by name: a function as it was before a pass, as a right
// pass leaves it behind and as a pass with that mistake does. All of them
// verify. A tensor.cast to another order moves nothing: it is how data gets a
// wrong label.
//
//===----------------------------------------------------------------------===//

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [4, 4]>>
#snake = #rlayout.layout<order = #rlayout.order<snake, grid = [4, 4]>>
#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>
#chunked = #rlayout.layout<order = #rlayout.order<residue<4>, chunk = 8>>
#lse = #rlayout.layout<order = #rlayout.order<residue<4>>, axis = 2>
#packed = #rlayout.layout<order = #rlayout.order<residue<4>, chunk = 64>, axis = 0>
#axis1 = #rlayout.layout<order = #rlayout.order<morton, grid = [2, 4]>>
#axis2 = #rlayout.layout<order = #rlayout.order<morton, grid = [2, 4]>, axis = 2>

// A reorder is dropped.
module @drop {
  func.func @before(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %y = ringlet.reorder %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    return %y : tensor<1x?x2x4xf32, #residue>
  }
  func.func @right(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %c = ringlet.reorder %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #chunked>
    %y = ringlet.reorder %c : tensor<1x?x2x4xf32, #chunked> to tensor<1x?x2x4xf32, #residue>
    return %y : tensor<1x?x2x4xf32, #residue>
  }
  func.func @wrong(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %y = tensor.cast %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    return %y : tensor<1x?x2x4xf32, #residue>
  }
}

// The permutation is applied the other way round.
module @inverse {
  func.func @before(%x: tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32, #hilbert> {
    %y = ringlet.reorder %x : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #hilbert>
    return %y : tensor<1x16x2x4xf32, #hilbert>
  }
  func.func @right(%x: tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32, #hilbert> {
    %s = ringlet.reorder %x : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #snake>
    %y = ringlet.reorder %s : tensor<1x16x2x4xf32, #snake> to tensor<1x16x2x4xf32, #hilbert>
    return %y : tensor<1x16x2x4xf32, #hilbert>
  }
  func.func @wrong(%x: tensor<1x16x2x4xf32>) -> tensor<1x16x2x4xf32, #hilbert> {
    %label = tensor.cast %x : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #hilbert>
    %moved = ringlet.reorder %label : tensor<1x16x2x4xf32, #hilbert> to tensor<1x16x2x4xf32>
    %y = tensor.cast %moved : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #hilbert>
    return %y : tensor<1x16x2x4xf32, #hilbert>
  }
}

// Two orders that differ in their chunks alone cancel.
module @cancel_without_chunk {
  func.func @before(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #chunked> {
    %linear = ringlet.reorder %x : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32>
    %y = ringlet.reorder %linear : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
  func.func @right(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #chunked> {
    %y = ringlet.reorder %x : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
  func.func @wrong(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #chunked> {
    %y = tensor.cast %x : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
}

// The curve never starts anew.
module @ignore_chunk {
  func.func @before(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #chunked> {
    %y = ringlet.reorder %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
  func.func @right(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #chunked> {
    %r = ringlet.reorder %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    %y = ringlet.reorder %r : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
  func.func @wrong(%x: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #chunked> {
    %r = ringlet.reorder %x : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    %y = tensor.cast %r : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32, #chunked>
    return %y : tensor<1x?x2x4xf32, #chunked>
  }
}

// A chain becomes its first step.
module @fuse_to_first {
  func.func @before(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %h = ringlet.reorder %x : tensor<2x16x3xf32> to tensor<2x16x3xf32, #hilbert>
    %y = ringlet.reorder %h : tensor<2x16x3xf32, #hilbert> to tensor<2x16x3xf32, #snake>
    return %y : tensor<2x16x3xf32, #snake>
  }
  func.func @right(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %y = ringlet.reorder %x : tensor<2x16x3xf32> to tensor<2x16x3xf32, #snake>
    return %y : tensor<2x16x3xf32, #snake>
  }
  func.func @wrong(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %h = ringlet.reorder %x : tensor<2x16x3xf32> to tensor<2x16x3xf32, #hilbert>
    %y = tensor.cast %h : tensor<2x16x3xf32, #hilbert> to tensor<2x16x3xf32, #snake>
    return %y : tensor<2x16x3xf32, #snake>
  }
}

// A reorder moves past a sum, and the other operand stays as it is.
module @forget_operand {
  func.func @before(%x: tensor<2x?x3xf32>, %y: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %r = ringlet.reorder %x : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    %s = arith.addf %r, %y : tensor<2x?x3xf32, #residue>
    return %s : tensor<2x?x3xf32, #residue>
  }
  func.func @right(%x: tensor<2x?x3xf32>, %y: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %l = ringlet.reorder %y : tensor<2x?x3xf32, #residue> to tensor<2x?x3xf32>
    %s = arith.addf %x, %l : tensor<2x?x3xf32>
    %r = ringlet.reorder %s : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    return %r : tensor<2x?x3xf32, #residue>
  }
  func.func @wrong(%x: tensor<2x?x3xf32>, %y: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %l = tensor.cast %y : tensor<2x?x3xf32, #residue> to tensor<2x?x3xf32>
    %s = arith.addf %x, %l : tensor<2x?x3xf32>
    %r = ringlet.reorder %s : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    return %r : tensor<2x?x3xf32, #residue>
  }
}

// A table with a row for each token gets another order, and keeps its rows.
module @keep_table {
  func.func @before(%x: tensor<1x16x1xf32, #snake>) -> tensor<1x16x1xf32, #snake> {
    %t = arith.constant dense<[[[0.], [1.], [2.], [3.], [4.], [5.], [6.], [7.], [8.], [9.], [10.], [11.], [12.], [13.], [14.], [15.]]]> : tensor<1x16x1xf32>
    %r = ringlet.reorder %t : tensor<1x16x1xf32> to tensor<1x16x1xf32, #snake>
    %y = arith.mulf %x, %r : tensor<1x16x1xf32, #snake>
    return %y : tensor<1x16x1xf32, #snake>
  }
  func.func @right(%x: tensor<1x16x1xf32, #snake>) -> tensor<1x16x1xf32, #snake> {
    %t = arith.constant dense<[[[0.], [1.], [2.], [3.], [7.], [6.], [5.], [4.], [8.], [9.], [10.], [11.], [15.], [14.], [13.], [12.]]]> : tensor<1x16x1xf32, #snake>
    %y = arith.mulf %x, %t : tensor<1x16x1xf32, #snake>
    return %y : tensor<1x16x1xf32, #snake>
  }
  func.func @wrong(%x: tensor<1x16x1xf32, #snake>) -> tensor<1x16x1xf32, #snake> {
    %t = arith.constant dense<[[[0.], [1.], [2.], [3.], [4.], [5.], [6.], [7.], [8.], [9.], [10.], [11.], [12.], [13.], [14.], [15.]]]> : tensor<1x16x1xf32, #snake>
    %y = arith.mulf %x, %t : tensor<1x16x1xf32, #snake>
    return %y : tensor<1x16x1xf32, #snake>
  }
}

// The order of Q is put on K and V, which have another one.
module @order_of_q_on_k {
  func.func @before(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %o, %lse = ringlet.attention %q, %k, %k branches [<w = 8, r = 2>] causal : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %o : tensor<1x?x2x4xf32, #residue>
  }
  func.func @right(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %r = ringlet.reorder %k : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    %o, %lse = ringlet.attention %q, %r, %r branches [<w = 8, r = 2>] causal : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %o : tensor<1x?x2x4xf32, #residue>
  }
  func.func @wrong(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32, #residue> {
    %r = tensor.cast %k : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    %o, %lse = ringlet.attention %q, %r, %r branches [<w = 8, r = 2>] causal : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %o : tensor<1x?x2x4xf32, #residue>
  }
}

// Causality goes by slots instead of tokens.
module @causal_by_slot {
  func.func @before(%x: tensor<1x16x2x4xf32, #hilbert>) -> tensor<1x16x2x4xf32, #hilbert> {
    %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal : (tensor<1x16x2x4xf32, #hilbert>, tensor<1x16x2x4xf32, #hilbert>, tensor<1x16x2x4xf32, #hilbert>) -> (tensor<1x16x2x4xf32, #hilbert>, tensor<1x2x16xf32, #rlayout.layout<order = #rlayout.order<hilbert, grid = [4, 4]>, axis = 2>>)
    return %o : tensor<1x16x2x4xf32, #hilbert>
  }
  func.func @right(%x: tensor<1x16x2x4xf32, #hilbert>) -> tensor<1x16x2x4xf32, #hilbert> {
    %l = ringlet.reorder %x : tensor<1x16x2x4xf32, #hilbert> to tensor<1x16x2x4xf32>
    %o, %lse = ringlet.attention %l, %l, %l branches [<w = *, r = 1>] causal : (tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>) -> (tensor<1x16x2x4xf32>, tensor<1x2x16xf32>)
    %r = ringlet.reorder %o : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #hilbert>
    return %r : tensor<1x16x2x4xf32, #hilbert>
  }
  func.func @wrong(%x: tensor<1x16x2x4xf32, #hilbert>) -> tensor<1x16x2x4xf32, #hilbert> {
    %l = tensor.cast %x : tensor<1x16x2x4xf32, #hilbert> to tensor<1x16x2x4xf32>
    %o, %lse = ringlet.attention %l, %l, %l branches [<w = *, r = 1>] causal : (tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>) -> (tensor<1x16x2x4xf32>, tensor<1x2x16xf32>)
    %r = tensor.cast %o : tensor<1x16x2x4xf32> to tensor<1x16x2x4xf32, #hilbert>
    return %r : tensor<1x16x2x4xf32, #hilbert>
  }
}

// Segments and residues of the branches are counted in slots.
module @segments_by_slot {
  func.func @before(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #residue> {
    %o, %lse = ringlet.attention %x, %x, %x branches [<w = 4, r = 1>, <w = *, r = 2>] : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32, #residue>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %o : tensor<1x?x2x4xf32, #residue>
  }
  func.func @right(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #residue> {
    %l = ringlet.reorder %x : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32>
    %o, %lse = ringlet.attention %x, %l, %l branches [<w = 4, r = 1>, <w = *, r = 2>] : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %o : tensor<1x?x2x4xf32, #residue>
  }
  func.func @wrong(%x: tensor<1x?x2x4xf32, #residue>) -> tensor<1x?x2x4xf32, #residue> {
    %l = tensor.cast %x : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32>
    %o, %lse = ringlet.attention %l, %l, %l branches [<w = 4, r = 1>, <w = *, r = 2>] : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x2x?xf32>)
    %r = tensor.cast %o : tensor<1x?x2x4xf32> to tensor<1x?x2x4xf32, #residue>
    return %r : tensor<1x?x2x4xf32, #residue>
  }
}

// The rows of a padded sequence are its first slots.
module @lengths_by_slot {
  func.func @before(%x: tensor<3x?x2x4xf32, #residue>, %n: tensor<3xi64>) -> tensor<3x?x2x4xf32, #residue> {
    %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] lengths(%n, %n) : (tensor<3x?x2x4xf32, #residue>, tensor<3x?x2x4xf32, #residue>, tensor<3x?x2x4xf32, #residue>, tensor<3xi64>, tensor<3xi64>) -> (tensor<3x?x2x4xf32, #residue>, tensor<3x2x?xf32, #lse>)
    return %o : tensor<3x?x2x4xf32, #residue>
  }
  func.func @right(%x: tensor<3x?x2x4xf32, #residue>, %n: tensor<3xi64>) -> tensor<3x?x2x4xf32, #residue> {
    %l = ringlet.reorder %x : tensor<3x?x2x4xf32, #residue> to tensor<3x?x2x4xf32>
    %o, %lse = ringlet.attention %l, %l, %l branches [<w = *, r = 1>] lengths(%n, %n) : (tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>, tensor<3xi64>, tensor<3xi64>) -> (tensor<3x?x2x4xf32>, tensor<3x2x?xf32>)
    %r = ringlet.reorder %o : tensor<3x?x2x4xf32> to tensor<3x?x2x4xf32, #residue>
    return %r : tensor<3x?x2x4xf32, #residue>
  }
  func.func @wrong(%x: tensor<3x?x2x4xf32, #residue>, %n: tensor<3xi64>) -> tensor<3x?x2x4xf32, #residue> {
    %l = tensor.cast %x : tensor<3x?x2x4xf32, #residue> to tensor<3x?x2x4xf32>
    %o, %lse = ringlet.attention %l, %l, %l branches [<w = *, r = 1>] lengths(%n, %n) : (tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>, tensor<3xi64>, tensor<3xi64>) -> (tensor<3x?x2x4xf32>, tensor<3x2x?xf32>)
    %r = tensor.cast %o : tensor<3x?x2x4xf32> to tensor<3x?x2x4xf32, #residue>
    return %r : tensor<3x?x2x4xf32, #residue>
  }
}

// The output goes back to its order, lse does not.
module @forget_lse {
  func.func @before(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x2x?xf32, #lse> {
    %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] : (tensor<1x?x2x4xf32, #residue>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32, #residue>, tensor<1x2x?xf32, #lse>)
    return %lse : tensor<1x2x?xf32, #lse>
  }
  func.func @right(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x2x?xf32, #lse> {
    %l = ringlet.reorder %q : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32>
    %o, %lse = ringlet.attention %l, %k, %k branches [<w = *, r = 1>] : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x2x?xf32>)
    %r = ringlet.reorder %lse : tensor<1x2x?xf32> to tensor<1x2x?xf32, #lse>
    return %r : tensor<1x2x?xf32, #lse>
  }
  func.func @wrong(%q: tensor<1x?x2x4xf32, #residue>, %k: tensor<1x?x2x4xf32>) -> tensor<1x2x?xf32, #lse> {
    %l = ringlet.reorder %q : tensor<1x?x2x4xf32, #residue> to tensor<1x?x2x4xf32>
    %o, %lse = ringlet.attention %l, %k, %k branches [<w = *, r = 1>] : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x2x?xf32>)
    %r = tensor.cast %lse : tensor<1x2x?xf32> to tensor<1x2x?xf32, #lse>
    return %r : tensor<1x2x?xf32, #lse>
  }
}

// A reorder of the whole buffer moves past packed sequences, which each have
// an order of their own.
module @order_across_packed_sequences {
  func.func @before(%x: tensor<?x2x4xf32>, %s: tensor<4xi64>) -> tensor<?x2x4xf32, #packed> {
    %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] packed(%s, %s) : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<4xi64>, tensor<4xi64>) -> (tensor<?x2x4xf32>, tensor<2x?xf32>)
    %r = ringlet.reorder %o : tensor<?x2x4xf32> to tensor<?x2x4xf32, #packed>
    return %r : tensor<?x2x4xf32, #packed>
  }
  func.func @right(%x: tensor<?x2x4xf32>, %s: tensor<4xi64>) -> tensor<?x2x4xf32, #packed> {
    %a = ringlet.reorder %x : tensor<?x2x4xf32> to tensor<?x2x4xf32, #packed>
    %b = ringlet.reorder %a : tensor<?x2x4xf32, #packed> to tensor<?x2x4xf32>
    %o, %lse = ringlet.attention %x, %b, %x branches [<w = *, r = 1>] packed(%s, %s) : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<4xi64>, tensor<4xi64>) -> (tensor<?x2x4xf32>, tensor<2x?xf32>)
    %r = ringlet.reorder %o : tensor<?x2x4xf32> to tensor<?x2x4xf32, #packed>
    return %r : tensor<?x2x4xf32, #packed>
  }
  func.func @wrong(%x: tensor<?x2x4xf32>, %s: tensor<4xi64>) -> tensor<?x2x4xf32, #packed> {
    %r = ringlet.reorder %x : tensor<?x2x4xf32> to tensor<?x2x4xf32, #packed>
    %o, %lse = ringlet.attention %r, %r, %r branches [<w = *, r = 1>] packed(%s, %s) : (tensor<?x2x4xf32, #packed>, tensor<?x2x4xf32, #packed>, tensor<?x2x4xf32, #packed>, tensor<4xi64>, tensor<4xi64>) -> (tensor<?x2x4xf32, #packed>, tensor<2x?xf32, #rlayout.layout<order = #rlayout.order<residue<4>, chunk = 64>, axis = 1>>)
    return %o : tensor<?x2x4xf32, #packed>
  }
}

// A reorder moves past an operation that reads the number of its row.
module @row_number {
  func.func @before(%x: tensor<2x?x3xf32>, %e: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %l = ringlet.reorder %e : tensor<2x?x3xf32, #residue> to tensor<2x?x3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x?x3xf32>) outs(%l : tensor<2x?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i64
      %p = arith.sitofp %n : i64 to f32
      %r = arith.addf %in, %p : f32
      linalg.yield %r : f32
    } -> tensor<2x?x3xf32>
    %r = ringlet.reorder %y : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    return %r : tensor<2x?x3xf32, #residue>
  }
  func.func @right(%x: tensor<2x?x3xf32>, %e: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x?x3xf32>) outs(%x : tensor<2x?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i64
      %p = arith.sitofp %n : i64 to f32
      %r = arith.addf %in, %p : f32
      linalg.yield %r : f32
    } -> tensor<2x?x3xf32>
    %r = ringlet.reorder %y : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    return %r : tensor<2x?x3xf32, #residue>
  }
  func.func @wrong(%x: tensor<2x?x3xf32>, %e: tensor<2x?x3xf32, #residue>) -> tensor<2x?x3xf32, #residue> {
    %r = ringlet.reorder %x : tensor<2x?x3xf32> to tensor<2x?x3xf32, #residue>
    %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<2x?x3xf32, #residue>) outs(%e : tensor<2x?x3xf32, #residue>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 1 : index
      %n = arith.index_cast %i : index to i64
      %p = arith.sitofp %n : i64 to f32
      %s = arith.addf %in, %p : f32
      linalg.yield %s : f32
    } -> tensor<2x?x3xf32, #residue>
    return %y : tensor<2x?x3xf32, #residue>
  }
}

// A reorder moves past an operation that mixes rows.
module @mixed_rows {
  func.func @before(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, 15 - s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x16x3xf32>) outs(%x : tensor<2x16x3xf32>) {
    ^bb0(%mirrored: f32, %out: f32):
      %r = arith.addf %mirrored, %out : f32
      linalg.yield %r : f32
    } -> tensor<2x16x3xf32>
    %r = ringlet.reorder %y : tensor<2x16x3xf32> to tensor<2x16x3xf32, #snake>
    return %r : tensor<2x16x3xf32, #snake>
  }
  func.func @right(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %y = linalg.generic {indexing_maps = [affine_map<(s, b, d) -> (b, s, d)>, affine_map<(s, b, d) -> (b, 15 - s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x16x3xf32>) outs(%x : tensor<2x16x3xf32>) {
    ^bb0(%in: f32, %mirrored: f32):
      %r = arith.addf %mirrored, %in : f32
      linalg.yield %r : f32
    } -> tensor<2x16x3xf32>
    %r = ringlet.reorder %y : tensor<2x16x3xf32> to tensor<2x16x3xf32, #snake>
    return %r : tensor<2x16x3xf32, #snake>
  }
  func.func @wrong(%x: tensor<2x16x3xf32>) -> tensor<2x16x3xf32, #snake> {
    %r = ringlet.reorder %x : tensor<2x16x3xf32> to tensor<2x16x3xf32, #snake>
    %y = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, 15 - s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%r : tensor<2x16x3xf32, #snake>) outs(%r : tensor<2x16x3xf32, #snake>) {
    ^bb0(%mirrored: f32, %out: f32):
      %s = arith.addf %mirrored, %out : f32
      linalg.yield %s : f32
    } -> tensor<2x16x3xf32, #snake>
    return %y : tensor<2x16x3xf32, #snake>
  }
}

// A sum over tokens meets the rows of one operand in another order.
module @sum_over_tokens {
  func.func @before(%x: tensor<?x3xf32, #packed>, %y: tensor<?x5xf32, #packed>, %z: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %s = linalg.generic {indexing_maps = [affine_map<(d, e, s) -> (s, d)>, affine_map<(d, e, s) -> (s, e)>, affine_map<(d, e, s) -> (d, e)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<?x3xf32, #packed>, tensor<?x5xf32, #packed>) outs(%z : tensor<3x5xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %p = arith.mulf %a, %b : f32
      %r = arith.addf %sum, %p : f32
      linalg.yield %r : f32
    } -> tensor<3x5xf32>
    return %s : tensor<3x5xf32>
  }
  func.func @right(%x: tensor<?x3xf32, #packed>, %y: tensor<?x5xf32, #packed>, %z: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %l = ringlet.reorder %x : tensor<?x3xf32, #packed> to tensor<?x3xf32>
    %m = ringlet.reorder %y : tensor<?x5xf32, #packed> to tensor<?x5xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(d, e, s) -> (s, d)>, affine_map<(d, e, s) -> (s, e)>, affine_map<(d, e, s) -> (d, e)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%l, %m : tensor<?x3xf32>, tensor<?x5xf32>) outs(%z : tensor<3x5xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %p = arith.mulf %a, %b : f32
      %r = arith.addf %sum, %p : f32
      linalg.yield %r : f32
    } -> tensor<3x5xf32>
    return %s : tensor<3x5xf32>
  }
  func.func @wrong(%x: tensor<?x3xf32, #packed>, %y: tensor<?x5xf32, #packed>, %z: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %l = ringlet.reorder %x : tensor<?x3xf32, #packed> to tensor<?x3xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(d, e, s) -> (s, d)>, affine_map<(d, e, s) -> (s, e)>, affine_map<(d, e, s) -> (d, e)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%l, %y : tensor<?x3xf32>, tensor<?x5xf32, #packed>) outs(%z : tensor<3x5xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %p = arith.mulf %a, %b : f32
      %r = arith.addf %sum, %p : f32
      linalg.yield %r : f32
    } -> tensor<3x5xf32>
    return %s : tensor<3x5xf32>
  }
}

// After a transposition the old axis is reordered.
module @wrong_axis {
  func.func @before(%x: tensor<2x8x8xf32, #axis1>, %e: tensor<2x8x8xf32, #axis2>) -> tensor<2x8x8xf32, #axis2> {
    %y = linalg.transpose ins(%x : tensor<2x8x8xf32, #axis1>) outs(%e : tensor<2x8x8xf32, #axis2>) permutation = [0, 2, 1]
    return %y : tensor<2x8x8xf32, #axis2>
  }
  func.func @right(%x: tensor<2x8x8xf32, #axis1>, %e: tensor<2x8x8xf32, #axis2>) -> tensor<2x8x8xf32, #axis2> {
    %l = ringlet.reorder %x : tensor<2x8x8xf32, #axis1> to tensor<2x8x8xf32>
    %y = linalg.transpose ins(%l : tensor<2x8x8xf32>) outs(%l : tensor<2x8x8xf32>) permutation = [0, 2, 1]
    %r = ringlet.reorder %y : tensor<2x8x8xf32> to tensor<2x8x8xf32, #axis2>
    return %r : tensor<2x8x8xf32, #axis2>
  }
  func.func @wrong(%x: tensor<2x8x8xf32, #axis1>, %e: tensor<2x8x8xf32, #axis2>) -> tensor<2x8x8xf32, #axis2> {
    %l = ringlet.reorder %x : tensor<2x8x8xf32, #axis1> to tensor<2x8x8xf32>
    %y = linalg.transpose ins(%l : tensor<2x8x8xf32>) outs(%l : tensor<2x8x8xf32>) permutation = [0, 2, 1]
    %r = ringlet.reorder %y : tensor<2x8x8xf32> to tensor<2x8x8xf32, #axis1>
    %label = tensor.cast %r : tensor<2x8x8xf32, #axis1> to tensor<2x8x8xf32, #axis2>
    return %label : tensor<2x8x8xf32, #axis2>
  }
}
