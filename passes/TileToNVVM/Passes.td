//===- Passes.td - passes from rtile to GPU kernels ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM
#define RINGLET_PASSES_TILETONVVM

include "mlir/Pass/PassBase.td"

def RTileScheduleKernels : Pass<"rtile-schedule-kernels", "::mlir::ModuleOp"> {
  let summary = "Give kernels roles, each one wholly or not at all";
  let description = [{
    Every kernel with a `recipe` or a `schedule` is tried by itself, on a copy:
    the passes of its recipe, then `rtile-choose-schedule`, `rtile-assign-roles`,
    `rtile-start-dots`, `rtile-encode-tiles`, `rtile-skip-empty-points`, the proof
    of `rtile-verify-schedule`, and what the emission asks of a kernel with roles
    (`rtile-check-gpu`, `rtile-gpu-plan-maps`, `rtile-gpu-assign-channels`). Only
    if all agree does the copy take its place. Else the kernel stays as it was,
    without recipe and schedule, and a remark says which pass expected what.

    Kernels named in `asked` (`*` for all) were to be scheduled: that one is not
    is a warning, or with `require` an error.
  }];
  let options = [Option<"level", "level", "std::string", "\"sm_90a\"",
    "Row of the table of architectures to schedule for">,
    Option<"spareRegisters", "spare-registers", "int64_t", "0",
    "Registers of a thread to leave free where there is a choice">,
    ListOption<"asked", "asked", "std::string",
    "Kernels whose recipe somebody asked for by name, or *">,
    Option<"require", "require", "bool", "false",
    "Fail where such a kernel cannot be scheduled">];
}

def RTileCheckGPU : Pass<"rtile-check-gpu"> {
  let summary = "Refuse kernels that the GPU lowering does not cover";
  let description = [{
    The passes after this one rely on it and change nothing before it has seen
    the whole module. It refuses, at the operation: operations on tiles that
    have no lowering, views that do not come from `rtile.view` in the same
    kernel, tiles of `i64` or `index`, constants with more than one value.
  }];
}

def RTileChooseWarps : Pass<"rtile-gpu-choose-warps"> {
  let summary = "Choose how many warps run one point of a kernel's grid";
  let description = [{
    All tiles of a kernel lie in registers in one way, that of the sums of
    `mma.m16n8`: with W warps, rows `16 w` to `16 w + 15` of every `16 W` rows
    belong to warp w; of every 16 x 8 elements lane l holds rows `l / 4` and
    `l / 4 + 8`, columns `2 (l mod 4)` and the next (another way for kernels over
    8-bit elements: `rtile-gpu-widen-fragments`). A tile of one axis lies as
    if it were a column, the same in the four lanes of a row. So a reduction
    needs two exchanges in a row's four lanes, and what a product gives is the
    left operand of the next one as it is.

    W is one for every 16 rows of the highest tile, at most 8, and 8 in a kernel
    without tiles, whose threads compute entries of lists. Where all products
    are `mma` and there are enough rows for four warps and enough registers for
    the sums, it is one for every 32 rows: what a warp reads from shared memory
    serves twice as many products, which else wait for it. Writes `rtile.warps`
    on the kernel. Wants the decisions of `rtile-gpu-choose-dot`; without them,
    no product counts as `mma`.
  }];
}

def RTileChooseDot : Pass<"rtile-gpu-choose-dot"> {
  let summary = "Choose the instructions of each matrix product";
  let description = [{
    Writes `rtile.dot` on each `rtile.dot`:

      * `mma`: `mma.sync` with operands by `ldmatrix`, where the architecture
        multiplies the element type so and sums in f32;
      * `simt`: multiply-adds from shared memory, everywhere else. f32 operands
        always go this way: their products are exact f32 products (rule R4).
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
}

def RTileDivideRows : Pass<"rtile-gpu-divide-rows"> {
  let summary = "Divide rows by multiplying with one reciprocal each";
  let description = [{
    An exact division of f32 is ten instructions. Where a tile is divided by one
    number for each row, which `arith.maximumf` keeps above a normal number, its
    reciprocal is made once, with `fastmath<afn>` (a role may take `div.full` of
    PTX, within two units in the last place), and the tile multiplied. Reciprocals of numbers
    above 2^126 are subnormal and keep 22 bits at least. Where nothing keeps a
    row's number from being smaller, so that its reciprocal could be infinite, the
    tile is divided. Kernels with roles and plain ones get the same.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RTileSkipRescale : Pass<"rtile-gpu-skip-rescale"> {
  let summary = "Let warps skip the rescaling of sums by 1";
  let description = [{
    The running maximum of a row changes rarely after the first steps, and while
    it stays, its sums are multiplied by 1. Marks such products (`arith.mulf` of
    a tile that a loop carries with one factor for each row, to which an `mma`
    product adds) with `rtile.skip_ones`: a warp makes them only if one of its
    rows has another factor. Which is exact, and the branch keeps the registers
    of what comes before apart from those of the product that follows.
  }];
}

def RTileWidenFragments : Pass<"rtile-gpu-widen-fragments"> {
  let summary = "Choose the 8-bit operands that products widen themselves";
  let description = [{
    Marks loads of tiles over 8-bit elements with `rtile.narrow`: the tile lies in
    shared memory in 8 bits, and the `mma` product that has it as right operand
    widens what a lane reads in registers (rule S6). It takes a third of the
    shared memory that a tile takes which all threads widen there, and no second
    way through it.

    `ldmatrix` moves two numbers of 8 bits for one of 16, so in such a kernel a
    thread holds 4 neighbouring columns of every 16 instead of 2 of every 8, in all
    tiles alike: `rtile.adjacent` on the kernel. All right operands have to be such
    tiles, all tiles in registers multiples of 16 columns wide (or up to 2), and at most two
    warps run a point: each of them widens all that it reads, where a tile that
    more of them share is widened once.

    Needs the decisions of `rtile-gpu-choose-dot` and `rtile-gpu-choose-warps`.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
}

def RTileSwizzleRows : Pass<"rtile-gpu-swizzle-rows"> {
  let summary = "Choose the tiles whose rows lie swizzled in shared memory";
  let description = [{
    Eight neighbouring rows of a tile have to lie in different banks. They do if
    rows are padded with 16 bytes; or if they lie side by side and pieces of 16
    bytes change places within eight rows: piece p of row r is at p ^ (r mod 8).
    Then an asynchronous copy of 128 bytes fills a row of banks instead of parts
    of two, and nothing is lost to padding.

    Marks loads with `rtile.swizzled` where copies are asynchronous, only `mma`
    products read the tile, and its rows are whole rows of banks. A swizzled row
    has four addresses where a padded one has one: rows of more than 256 bytes
    are swizzled only where sums leave registers for them.

    Needs the decisions of `rtile-gpu-choose-dot` and `rtile-gpu-choose-warps`.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
}

def RTilePrefetchLoads : Pass<"rtile-gpu-prefetch-loads"> {
  let summary = "Load operands of matrix products before they are needed";
  let description = [{
    Where the architecture copies to shared memory asynchronously, in each loop
    whose body loads tiles for `mma` products at rows that walk with the loop:

      * the tile that is needed first is loaded a turn ahead, as soon as the
        last product of this turn has read it: the loop carries it, and so its
        place in shared memory, from turn to turn (`rtile.ahead` on the loop
        lists the numbers of such values). A loop that goes on where another
        one ended, as those of whole and masked steps do, takes over the tile
        that is under way;
      * the others are loaded at the beginning of the turn, while the first
        product is computed.

    So a turn of attention has two barriers: one after which K of this turn is
    there and V of the last one is free, one after which V of this turn is
    there and K is free. The last turn loads rows that nobody reads; those that
    do not exist cost no traffic.

    Kernels whose tiles do not fit into shared memory beside each other stay as
    they are. Must run before `rtile-lower-runs`, whose operations say that a
    loop goes on where another one ended.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RTileAssignShared : Pass<"rtile-gpu-assign-shared"> {
  let summary = "Give tiles that threads share their place in shared memory";
  let description = [{
    Needs the decisions of `rtile-gpu-choose-dot`. In shared memory lie operands
    of products, except left operands of `mma` that were computed and so are in
    the right registers already, and the operands of `rtile.broadcast` with
    `columns`. A loaded operand has its place from the load on; a computed one
    just for the operation that reads it. Rows of tiles that
    `rtile-gpu-swizzle-rows` did not choose are padded with 16 bytes. Places are
    reused by lifetime.

    Writes `rtile.shared` (byte offsets, -1 for none) on `rtile.load`,
    `rtile.dot` and `rtile.broadcast`, and `rtile.shared_bytes` on the kernel.
    Refuses a kernel that needs more than a block of the architecture can have.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
}

def RTilePlanMaps : Pass<"rtile-gpu-plan-maps"> {
  let summary = "Plan the tensor maps that a scheduled kernel copies through";
  let description = [{
    Every `rtile.copy` reads through a tensor map, which the runtime makes for
    each call from the buffer's address, sizes and strides. Writes the recipes
    on the kernel, each one once, and on each copy the number of its own:

    ```
    rtile.maps = [#rtile.map<buffer = 0, rows = 1, columns = 3, fixed = [0, 2],
                             rate = 1, box = [128, 64]>, ...]
    rtile.maps_of_copy = array<i64: 0>
    ```

    A dilated view of a length that its rate does not divide, or that only the
    call knows, is read through two maps: one for residues with a row more than
    the others, one for the others. The copy takes the one of its residue.

    A box is one panel of a slot: 64 columns, which is as wide as the 128-byte
    swizzle allows. Refuses, at the copy, what no map describes: indexed views,
    columns that are not the last axis, more than 256 rows, more than 5 axes.
  }];
}

def RTileAssignChannels : Pass<"rtile-gpu-assign-channels"> {
  let summary = "Give the slots and barriers of channels their place";
  let description = [{
    In a kernel in the scheduled form, nothing but channels lies in shared
    memory, and all of them live as long as the block. Slots come first, each at
    a multiple of 1024 bytes, then all barriers. Writes `offset` and `barriers`
    on each `rtile.channel` and `rtile.shared_bytes` on the kernel. Refuses a
    kernel that needs more than a block of the architecture can have.

    Dynamic shared memory begins at a known address where a module has no static
    one: `rtile.shared_base` on the kernel says so. Its code then has literal
    addresses, and its first instruction checks that they are right; the
    assembler would otherwise work them out from the symbol in each step, which
    costs 0.02 to 0.03 of the tensor cores' time. Without the attribute all
    addresses come from the symbol.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_90a\"",
      "architecture, a row of the table of GPU architectures">,
    Option<"fromSymbol", "from-symbol", "bool", "false",
      "take all addresses from the symbol of shared memory">];
}

def RTileToNVVM : Pass<"rtile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Emit kernels as llvm.func for NVPTX";
  let description = [{
    Follows the decisions of the passes before. What it chooses itself is the
    instructions of an operation and, in roles, where elementwise ones stand: an
    element goes through all of them once something needs it. Each `rtile.func`
    becomes

    ```
    llvm.func ptx_kernelcc @name(%base: i64, %size: i64, %extent: i64)
        attributes {rtile.parameters = [...], rtile.grid_rank = 1 : i64,
                    rtile.scratch_bytes = 0 : i64, rtile.threads = 128 : i64,
                    rtile.shared_bytes = 36864 : i64, ...}
    ```

    Its parameters are words of 64 bits: for each buffer its base, dynamic sizes
    and dynamic strides; scalars; after them the extents of the grid. A block
    runs one point of the flattened grid, first axis fastest, which is
    `blockIdx.x`; it wants `rtile.threads` threads along x and
    `rtile.shared_bytes` bytes of dynamic shared memory.

    A kernel in the scheduled form that reads through N tensor maps has them as
    its first parameter, `N * 128` bytes by value, aligned to 64; the words come
    after it. If its walk is `strided`, it has the attribute `rtile.persistent`:
    a block goes on to the points `blockIdx.x + gridDim.x` and so on, so there
    need be no more blocks than run at once, which is as many a multiprocessor
    as the attribute says.

    The body is one flat function over scalars. Memory outside the buffers is
    never touched: every access to global memory is predicated. Barriers stand
    only where threads would otherwise see shared memory too early or change it
    too soon.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"",
    "architecture, a row of the table of GPU architectures">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileEmitTables : Pass<"rtile-gpu-emit-tables", "::mlir::ModuleOp"> {
  let summary = "Emit a kernel for each order table that has arithmetic";
  let description = [{
    An `rplan.order_table` is read by kernels and is the same for all runs of one
    length. Where its order is a few operations on the bits of an index (grids
    and chunks of powers of two, see `Order::arithmetic` in lib/Layout), the
    table need not come from the host: this pass adds an `llvm.func` that writes
    it, with `rtile.table` and the attributes that kernels from `rtile-to-nvvm`
    have. Its parameters are the words of an i64 [?] and the number of its items;
    an item is 256 entries, one a thread. The runtime starts it once for each
    device and length, if the length is whole periods of the order; else, and for
    all other tables, it makes the table on the host.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // RINGLET_PASSES_TILETONVVM
