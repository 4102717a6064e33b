//===- Passes.td - passes from rtile to CPU kernels ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU
#define RINGLET_PASSES_TILETOCPU

include "mlir/Pass/PassBase.td"

def RTileCheckCPU : Pass<"rtile-check-cpu"> {
  let summary = "Refuse kernels that the CPU lowering does not cover";
  let description = [{
    The passes after this one rely on it and change nothing before it has seen
    the whole module. It refuses, at the operation: operations on tiles that
    have no lowering, views that do not come from `rtile.view` in the same
    kernel, tiles of `i64` or `index`, constants with more than one value.
  }];
}

def RTileCPUFitRows : Pass<"rtile-cpu-fit-rows"> {
  let summary = "Give kernels for few queries a second form for fewer rows";
  let description = [{
    How many rows of a tile exist, only the call knows: a tile of 16 has 4 where
    one query has 4 heads for each key head. A kernel whose tiles have no more
    rows than a few vectors gets its body twice: where no more rows exist than
    one query has, tiles have only so many (the next power of two), else as many
    as before. Which of the two runs is known from the bounds of what is stored.

    `rtile.narrow` on the kernel is the height of the lower tiles. They lie in
    panels of as many rows, so that a vector has several columns; products with
    them have lanes along the depth or along the columns of their result. The
    cost model compares both forms of a product; kernels that it advises against
    stay as they are, and so do those with operations that have no form for few
    rows, which a remark names.

    ```
    %few = arith.cmpi sle, %rows, %c4 : index
    scf.if %few {
      // tensor<4x64xf32>
    } else {
      // tensor<16x64xf32>
    }
    ```
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"",
    "instruction-set level, a row of the table of CPU levels">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileExpandRebase : Pass<"rtile-expand-rebase"> {
  let summary = "Rebase rows by elementwise operations";
  let description = [{
    Replaces each `rtile.rebase` by what its description says, row by row: the
    exponent of the greatest sum is taken from its bits, and every tile is
    multiplied by a power of two, which is one where a row stays. That costs a
    multiplication of all tiles at every step; a CPU has none to spare, but also
    no recipe that asks for it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RTileSplitSums : Pass<"rtile-split-sums"> {
  let summary = "Sum over many keys as over parts of them";
  let description = [{
    A streaming softmax that may visit more than 2^14 keys becomes a loop over
    parts of as many. Each part goes on from the maximum before it and begins
    its sum and accumulator with 0; what came before is decayed and added behind
    it. So the error of a sum does not grow with the number of keys. Where the
    types of views bound the keys by 2^14, nothing changes. Memory that a tiling
    with a `part` has for that (`rtile.totals`) is not used.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RTileFuseRows : Pass<"rtile-fuse-rows"> {
  let summary = "Group operations that a CPU runs row panel by row panel";
  let description = [{
    `rtile.dot` (in the rows of its left operand), `rtile.reduce`,
    `rtile.visible` and elementwise operations treat each row of a tile alone.
    A maximal run of them over tiles of one height becomes one group, which
    later is one loop over panels of rows: all values of a panel stay in the
    first cache. Inside a group, phases follow each other for each panel:

      * a phase of `rtile.dot` is a matrix product; an elementwise operation
        that only makes its `init` runs inside;
      * a phase of columns is one loop over columns, with every reduction in
        it;
      * a phase of rows works on one value a row.

    Writes `rtile.group` and `rtile.phase` on each operation. Constants,
    `rtile.broadcast` and `rtile.visible` get none, as they are repeated where
    they are used, unless someone needs them in memory. `rtile.fold`,
    `rtile.slice`, `rtile.join` and `rtile.any` end a group: they run alone, on
    tiles in memory.

    ```
    %s = rtile.dot %q, %k transposed {rtile.group = 1, rtile.phase = 0}
    %m = rtile.reduce max %s {rtile.group = 1, rtile.phase = 1}
    %n = arith.maximumf %m0, %m {rtile.group = 1, rtile.phase = 2}
    ```
  }];
}

def RTilePackOperands : Pass<"rtile-pack-operands"> {
  let summary = "Choose how tiles lie in a CPU's scratch memory";
  let description = [{
    A tile lies in *panels*: `rtile.panel` rows (`rtile.lanes` for a tile of no
    more rows), column after column, so that one column of a panel is one or
    two vectors. In this form elementwise operations and reductions need no
    shuffles, and a tile is the packed operand of the micro-kernel as it is.
    The right operand of `rtile.dot` lies in *rows* instead, as in memory: the
    micro-kernel broadcasts its elements.

    Writes on the kernel `rtile.lanes`, `rtile.panel` and `rtile.row_padding`,
    bytes between the end of a row and the next; on each load of two
    axes `rtile.forms` ("rows", "panels" or both); on each dot `rtile.blocks`,
    pairs of columns in a register block and number of such blocks, and
    `rtile.repack` if its right operand is there in panels only.

    On a level with products of bf16 pairs, a product of two tiles of bf16 whose
    right operand is loaded for such products only gets `rtile.paired`: it takes
    two steps of its depth at once, which share a word of 32 bits. `rtile.pairs`
    on a load says which neighbours that are: "columns" where they are so in
    memory, too, "rows" where rows are woven into one another. A left operand
    that is no such load, as weights are, is paired panel by panel, by an
    instruction that rounds, too: a truncation for such products only gets
    `rtile.unrounded` and is left to it. Where the level has AMX, such a product
    gets `rtile.amx` as well; `rtile.blocks` then counts columns that fill tile
    registers of 16, beyond the tile's own where they are no multiple.
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"",
    "instruction-set level, a row of the table of CPU levels">];
}

def RTileTrimColumns : Pass<"rtile-trim-columns"> {
  let summary = "Leave out keys that no row of a panel sees";
  let description = [{
    In the masked steps of a streaming softmax, on the diagonal of a causal
    attention for example, each panel of rows sees an interval of the tile's
    keys only. The pass marks with `rtile.trimmed` what the step computes of
    each column of scores: these phases then run over the interval, and so does
    the depth of the product with the values. Tiles may be large, although many
    of their scores are hidden. The ends of the interval are multiples of the
    attribute's value: of 8, a turn of the innermost loop of a product with
    pairs, or of the 32 that a product by AMX takes at once.

    Needs the decisions of `rtile-fuse-rows` and `rtile-pack-operands`. A step
    stays as it is if it is no softmax, if its keys have positions, if a tile
    has a number of keys that is no multiple of that, or if a phase has other work
    in it.

    ```
    %s = rtile.dot %q, %k transposed {rtile.group = 1, rtile.trimmed = 8}
    %masked = arith.select %seen, %s, %hidden {rtile.group = 1, rtile.trimmed = 8}
    ```
  }];
}

def RTileTrimRows : Pass<"rtile-trim-rows"> {
  let summary = "Leave out panels of which no row exists";
  let description = [{
    The last tile of a sequence may have few rows, and that of a short one
    always has. `rtile.trimmed_rows` lists the heights of tiles of which only
    panels with a row that some store writes are computed, copied or cleared: the
    rest of such a tile is undefined. So tiles may be tall, although calls with
    few rows are to be fast.

    Needs the decisions of `rtile-fuse-rows` and `rtile-pack-operands`. Tiles of
    a height stay whole if they have one panel, if their stores begin at several
    rows or at one that is not known before the first of them is worked on, or if
    one operation reads many rows of one (`rtile.any`, or a product whose right
    operand is computed).

    ```
    rtile.func @attention(...) attributes {rtile.trimmed_rows = array<i64: 256>}
    ```
  }];
}

def RTileCPUPrefetchLoads : Pass<"rtile-cpu-prefetch-loads"> {
  let summary = "Fetch the rows that the next turn of a loop will load";
  let description = [{
    A load at the row that a loop counts, of rows that lie at one distance from
    each other, gets `rtile.ahead`: with each row that it copies, it asks for the
    one so many rows ahead to be brought to the second cache.

    ```
    %k_tile = rtile.load %k[%row, %c0] {rtile.ahead = 64 : i64}
    ```
  }];
}

def RTileCPUOrderGrid : Pass<"rtile-cpu-order-grid"> {
  let summary = "Choose which axes of a kernel's grid run fastest";
  let description = [{
    Writes `rtile.grid_order` on a kernel whose axes run in another order than
    they stand in, the fastest first. The first axis stays the fastest. Behind it
    come those that pick columns beside each other in the rows of views, such as
    the heads of a layout in which a token has all of them: they find the pages
    that the head before has used, and the lines beside its own.

    ```
    rtile.func @f(...) grid(%tile: index, %segment: index, %head: index)
        attributes {rtile.grid_order = array<i64: 0, 2, 1>}
    ```
  }];
}

def RTileAssignScratch : Pass<"rtile-assign-scratch"> {
  let summary = "Give each tile its place in the scratch memory of a thread";
  let description = [{
    Needs the decisions of `rtile-fuse-rows` and `rtile-pack-operands`. A tile
    that no other phase reads gets no place; one that lives inside a group gets
    room for a single panel. Carried values of loops, the initial values and
    results of products and of elementwise operations share one place where
    their lifetimes allow, so that accumulation is in place; where they do not,
    the emission copies. Other places are reused by lifetime.

    Writes `rtile.slots` (byte offsets, -1 for none) and `rtile.local` on
    operations and `rtile.scratch_bytes` on the kernel.
  }];
}

def RTileToCPU : Pass<"rtile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Emit kernels as llvm.func over vectors";
  let description = [{
    Follows the decisions of the passes before; decides nothing itself. Each
    `rtile.func` becomes

    ```
    llvm.func @name(%params: !llvm.ptr, %begin: i64, %end: i64,
                    %scratch: !llvm.ptr)
        attributes {rtile.parameters = [...], rtile.grid_rank = 1 : i64,
                    rtile.scratch_bytes = 4096 : i64, ...}
    ```

    which runs the points [begin, end) of the flattened grid, first axis
    fastest, or in the order of `rtile.grid_order`. `params` are words of 64
    bits: for each buffer its base, dynamic sizes and dynamic strides;
    scalars; after them the extents of the grid. `scratch` is aligned to 64
    bytes. The body is `scf` and `arith` on vectors with loads and stores of
    the `llvm` dialect, and calls nothing: exponentials and logarithms are
    polynomials (exp2 within 2 ulp; results below 2^-125.5 are 0).
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"",
    "instruction-set level, a row of the table of CPU levels">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileCPUEmitTables : Pass<"rtile-cpu-emit-tables", "::mlir::ModuleOp"> {
  let summary = "Emit a kernel for each order table that has arithmetic";
  let description = [{
    As `rtile-gpu-emit-tables` does for GPUs: an `llvm.func` writes the table of
    an `rplan.order_table` whose order is a few operations on the bits of an
    index, here on vectors of indices. It has `rtile.table` and is called as
    kernels from `rtile-to-cpu` are, with the words of an i64 [?]; an item of its
    grid is 256 entries. Walking along the curve on the host takes longer: 14 ns
    an entry of a Hilbert curve on a grid of 1024 x 1024 instead of 2.7, 6 ns of
    a Morton curve instead of 0.4 (AVX-512, one thread).
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"",
    "instruction-set level, a row of the table of CPU levels">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // RINGLET_PASSES_TILETOCPU
