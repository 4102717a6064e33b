//===- scheduled.mlir - Channels, maps and PTX of roles ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-check-gpu --rtile-lower-runs \
// RUN:   --rtile-gpu-plan-maps --rtile-gpu-assign-channels=arch=sm_90a \
// RUN:   --remarks-filter='rtile-gpu.*' --remark-format=emitRemark \
// RUN:   -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: ringlet-opt %t --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-assign-shared=arch=sm_90a --rtile-to-nvvm=arch=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NVVM

// REMARK-DAG: PlanMaps {{.*}}Remark="gram: 3 tensor maps"
// REMARK-DAG: PlanMaps {{.*}}Remark="even: 1 tensor maps"
// REMARK-DAG: AssignChannels {{.*}}Remark="gram: 40960 bytes for slots, 41016 of 232448

// Two copies through one view have the same maps. Rows of every fourth position:
// a map has an axis more, and there are two of them, since only the call knows
// whether some residues have a row more than others. 72 columns take two panels of 64, so a slot of 64 rows
// takes 16 KiB, and one of 64 rows and 64 columns 8 KiB. Barriers: 2 x 8 bytes
// for each slot.

// CHECK-LABEL: rtile.func @gram(
// CHECK-SAME:    rtile.maps = [
// CHECK-SAME:      #rtile.map<buffer = 0, rows = 0, columns = 2, fixed = [1], rate = 4, box = [64, 64], residues = shorter>,
// CHECK-SAME:      #rtile.map<buffer = 0, rows = 0, columns = 2, fixed = [1], rate = 4, box = [64, 64], residues = longer>,
// CHECK-SAME:      #rtile.map<buffer = 1, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 64]>]
// CHECK-SAME:    rtile.shared_bytes = 41016 : i64
// CHECK:         rtile.channel slots = 2 offset = 0 barriers = 40960 : !rtile.channel<64x72xf16>
// CHECK:         rtile.channel slots = 1 offset = 32768 barriers = 40992 : !rtile.channel<64x64xf16>
// CHECK:         rtile.copy %{{.+}} to %{{.+}} {rtile.maps_of_copy = array<i64: 0, 1>}
// CHECK:         rtile.copy %{{.+}} to %{{.+}} {rtile.maps_of_copy = array<i64: 0, 1>}
// CHECK:         rtile.copy %{{.+}} to %{{.+}} {rtile.maps_of_copy = array<i64: 2>}

// NVVM-LABEL: llvm.func ptx_kernelcc @gram(
// NVVM-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<384 x i8>, nvvm.grid_constant}
// NVVM-SAME:    nvvm.kernel
// NVVM-SAME:    rtile.maps = [
// NVVM-NOT:     rtile.persistent
// NVVM-SAME:    rtile.shared_bytes = 41016 : i64
// NVVM-SAME:    rtile.threads = 256 : i64
// Full barriers wait for one arrival and bytes, empty ones for four warps.
// NVVM:         mbarrier.init.shared::cta.b64 {{.+}}, 1;
// NVVM:         mbarrier.init.shared::cta.b64 {{.+}}, 4;
// NVVM:         nvvm.fence.mbarrier.init
// NVVM-COUNT-3: prefetch.tensormap
// NVVM:         shfl.sync.idx.b32
// NVVM:         nvvm.setmaxregister decrease 40
// NVVM:         mbarrier.try_wait.parity.shared::cta.b64
// NVVM:         mov.b64 $0, $1;
// NVVM:         arith.remui %{{.+}}, %{{.+}} : i64
// NVVM:         arith.select %{{.+}}, %{{.+}}, %{{.+}} : i64
// NVVM:         mbarrier.arrive.expect_tx.shared::cta.b64 _, {{.+}}, 16384;
// NVVM-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// NVVM:         mbarrier.arrive.expect_tx.shared::cta.b64 _, {{.+}}, 16384;
// NVVM:         mbarrier.arrive.expect_tx.shared::cta.b64 _, {{.+}}, 8192;
// NVVM:         cp.async.bulk.tensor.2d
// Each thread begins with 248 registers, so 232 are fewer.
// NVVM:         nvvm.setmaxregister decrease 232
// Both slots in one wait.
// NVVM:         try_wait.parity.shared::cta.b64 p, {{.+}}try_wait.parity.shared::cta.b64 q,
// NVVM-COUNT-5: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// 72 columns are five steps of 16, the last one half padding.
// NVVM:         wgmma.fence.sync.aligned;
// NVVM-COUNT-5: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.}}$0,
// NVVM:         wgmma.commit_group.sync.aligned;
// The other product follows at once: it needs no fence of its own. Its left
// operand is a descriptor, and its right one is read along columns.
// NVVM-NOT:     wgmma.fence
// NVVM-COUNT-4: left, right, add, 1, 1, 0, 1;
// NVVM:         wgmma.commit_group.sync.aligned;
// NVVM:         wgmma.wait_group.sync.aligned 1;
// What has to come before the second wait.
// NVVM:         @p st.shared.b32
// NVVM:         wgmma.wait_group.sync.aligned 0;
// NVVM:         mbarrier.arrive.shared::cta.b64 _,
// Two f32 in a register of 16 bits each, eight in a store.
// NVVM:         nvvm.convert.f32x2.to.f16x2
// NVVM:         st.global.v4.b32
rtile.func @gram(%X: memref<?x3x72xf16, strided<[?, ?, 1]>>,
                 %W: memref<64x64xf16, strided<[?, 1]>>,
                 %Y: memref<?x64xf16, strided<[?, 1]>>,
                 %Z: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index, %h: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = rtile.view %X[*, %h, *] segment(%i) residue(%c1)
      : memref<?x3x72xf16, strided<[?, ?, 1]>>
      to !rtile.view<64x72xf16, w = 4096, rate = 4>
  %w = rtile.view %W[*, *] : memref<64x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16>
  %y = rtile.view %Y[*, *] : memref<?x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16>
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 2 : !rtile.channel<64x72xf16>
  %ws = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 registers = 40 {
    %first = rtile.acquire %xs : !rtile.channel<64x72xf16>
    rtile.copy %x[%c0, %c0] to %first
        : !rtile.view<64x72xf16, w = 4096, rate = 4>, !rtile.slot<64x72xf16>
    %second = rtile.acquire %xs : !rtile.channel<64x72xf16>
    rtile.copy %x[%c64, %c0] to %second
        : !rtile.view<64x72xf16, w = 4096, rate = 4>, !rtile.slot<64x72xf16>
    %other = rtile.acquire %ws : !rtile.channel<64x64xf16>
    rtile.copy %w[%c0, %c0] to %other
        : !rtile.view<64x64xf16>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 registers = 232 {
    %first, %other = rtile.await %xs, %ws
        : !rtile.channel<64x72xf16>, !rtile.channel<64x64xf16>
    %second = rtile.await %xs : !rtile.channel<64x72xf16>
    %left = rtile.read %first : !rtile.slot<64x72xf16>
        -> tensor<64x72xf16, #rtile.fragment<4>>
    %right = rtile.read %second : !rtile.slot<64x72xf16>
        -> tensor<64x72xf16, #rtile.swizzled>
    %gram_started = rtile.start_dot %left, %right transposed
        : tensor<64x72xf16, #rtile.fragment<4>>,
          tensor<64x72xf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<4>>
    %square = rtile.read %other : !rtile.slot<64x64xf16>
        -> tensor<64x64xf16, #rtile.swizzled>
    %square_started = rtile.start_dot %square, %square
        : tensor<64x64xf16, #rtile.swizzled>,
          tensor<64x64xf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<4>>
    %gram = rtile.finish_dot %gram_started
        : tensor<64x64xf32, #rtile.fragment<4>>
    %sums = rtile.fold %gram : tensor<64x64xf32, #rtile.fragment<4>>
        -> tensor<64x8xf32, #rtile.fragment<4>>
    %product = rtile.finish_dot %square_started
        after(%sums : tensor<64x8xf32, #rtile.fragment<4>>)
        : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.release %first : !rtile.slot<64x72xf16>
    rtile.release %second : !rtile.slot<64x72xf16>
    rtile.release %other : !rtile.slot<64x64xf16>
    %both = arith.addf %gram, %product : tensor<64x64xf32, #rtile.fragment<4>>
    %rounded = arith.truncf %both : tensor<64x64xf32, #rtile.fragment<4>>
        to tensor<64x64xf16, #rtile.fragment<4>>
    rtile.store %rounded, %y[%c0, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !rtile.view<64x64xf16>
    rtile.store %both, %z[%c0, %c0]
        : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// A length that the rate divides leaves every residue with the same rows.

// CHECK-LABEL: rtile.func @even(
// CHECK-SAME:    rtile.maps = [#rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 4, box = [64, 64]>]
// CHECK:         rtile.copy %{{.+}} to %{{.+}} {rtile.maps_of_copy = array<i64: 0>}
// NVVM-LABEL:  llvm.func ptx_kernelcc @even(
// NVVM-NOT:      mov.b64 $0, $1;
// NVVM:          cp.async.bulk.tensor.3d
rtile.func @even(%X: memref<4096x64xf16, strided<[?, 1]>>,
                 %Y: memref<?x64xf16, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] segment(%i) residue(%c1)
      : memref<4096x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16, w = 256, rate = 4>
  %y = rtile.view %Y[*, *] : memref<?x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    rtile.copy %x[%c0, %c0] to %slot
        : !rtile.view<64x64xf16, w = 256, rate = 4>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xf16>
        -> tensor<64x64xf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x64xf16>
    rtile.store %tile, %y[%c0, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !rtile.view<64x64xf16>
  }
  rtile.return
}

// Blocks that take points as they come need a place to hand them over, and one
// more word. The role of one thread takes them: it asks before its copies and
// tells afterwards; the others read what lane 0 of each warp has read.

// CHECK-LABEL: rtile.func @points(
// CHECK-SAME:    rtile.mailbox = 8208 : i64
// CHECK-SAME:    rtile.shared_bytes = 8280 : i64
// NVVM-LABEL: llvm.func ptx_kernelcc @points(
// NVVM-SAME:    i64, %[[COUNTER:[a-z0-9]+]]: i64)
// NVVM-SAME:    rtile.counter
// NVVM-SAME:    rtile.persistent
// NVVM:         atom.relaxed.gpu.global.inc.u32
// NVVM:         cp.async.bulk.tensor.2d
// NVVM:         st.shared.v4.b32
// NVVM-NOT:     st.shared.v4.b32
// NVVM:         st.global.v2.f32
// NVVM:         ld.shared.v4.b32
// NVVM-COUNT-2: shfl.sync.idx.b32
rtile.func @points(%X: memref<?x64xbf16, strided<[?, 1]>>,
                   %Z: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index, %j: index) scheduled
    walk = <dynamic, order = [1, 0], reversed = [0]> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x64xbf16>
    %own = rtile.load %x[%j, %c0] : !rtile.view<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<4>>
    %wide = arith.extf %tile : tensor<64x64xbf16, #rtile.fragment<4>>
        to tensor<64x64xf32, #rtile.fragment<4>>
    %own_wide = arith.extf %own : tensor<64x64xbf16, #rtile.fragment<4>>
        to tensor<64x64xf32, #rtile.fragment<4>>
    %sum = arith.addf %wide, %own_wide : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.store %sum, %z[%j, %c0]
        : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// Of two blocks a multiprocessor ptxas gives each thread half as many registers.

// NVVM-LABEL: llvm.func ptx_kernelcc @two_at_once(
// NVVM-SAME:    ["nvvm.minctasm", "2"]
// NVVM-SAME:    rtile.persistent = 2 : i64
rtile.func @two_at_once(%X: memref<?x64xbf16, strided<[?, 1]>>,
                        %Z: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index, %j: index) scheduled
    walk = <dynamic, order = [1, 0], reversed = [0]> blocks = 2 {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x64xbf16>
    %own = rtile.load %x[%j, %c0] : !rtile.view<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.fragment<4>>
    %wide = arith.extf %tile : tensor<64x64xbf16, #rtile.fragment<4>>
        to tensor<64x64xf32, #rtile.fragment<4>>
    %own_wide = arith.extf %own : tensor<64x64xbf16, #rtile.fragment<4>>
        to tensor<64x64xf32, #rtile.fragment<4>>
    %sum = arith.addf %wide, %own_wide : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.store %sum, %z[%j, %c0]
        : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// Points in sections: of all axes but the slowest one, j, as many as have 4096
// rows of X together, or more, so that each block has 6 of the section's points,
// but at most an eighth of the blocks. Sections are evened out; the last one may be
// shorter.

// NVVM-LABEL: llvm.func ptx_kernelcc @sections(
// NVVM:         %[[ROWS:.+]] = arith.constant 4096 : i32
// NVVM:         %[[TIMES:.+]] = arith.divui %[[ROWS]], %{{.+}} : i32
// NVVM:         %[[ATLEAST:.+]] = arith.maxsi %[[TIMES]], %{{.+}} : i32
// NVVM:         %[[ATMOST:.+]] = arith.minsi %[[ATLEAST]], %{{.+}} : i32
// NVVM:         %[[POINTS:.+]] = arith.constant 2 : i32
// NVVM:         %[[SECTION:.+]] = arith.muli %[[ATMOST]], %[[POINTS]] : i32
// NVVM:         arith.constant 6 : i32
// NVVM:         %[[WANTED:.+]] = arith.divui %{{.+}}, %[[SLOWEST:.+]] : i32
// NVVM:         %[[READERS:.+]] = arith.divui %{{.+}}, %{{.+}} : i32
// NVVM:         %[[NOTTOOMANY:.+]] = arith.minsi %[[WANTED]], %[[READERS]] : i32
// NVVM:         %[[LONGER:.+]] = arith.maxsi %[[SECTION]], %[[NOTTOOMANY]] : i32
// NVVM:         %[[NOMORE:.+]] = arith.minsi %[[OTHERS:.+]], %[[LONGER]] : i32
// NVVM:         %[[LEAST:.+]] = arith.maxsi %[[NOMORE]], %{{.+}} : i32
// NVVM:         %[[SECTIONS:.+]] = arith.divui %[[OTHERS]], %[[LEAST]] : i32
// NVVM:         %[[FULL:.+]] = arith.divui %{{.+}}, %[[SECTIONS]] : i32
// NVVM:         %[[SIZE:.+]] = arith.muli %[[SLOWEST]], %[[FULL]] : i32
// NVVM:         %[[NUMBER:.+]] = arith.divui %[[ITEM:.+]], %[[SIZE]] : i32
// NVVM:         %[[FIRST:.+]] = arith.muli %[[NUMBER]], %[[FULL]] : i32
// NVVM:         %[[REST:.+]] = arith.remui %[[ITEM]], %[[SIZE]] : i32
// NVVM:         %[[LEFT:.+]] = arith.subi %[[OTHERS]], %[[FIRST]] : i32
// NVVM:         %[[WIDTH:.+]] = arith.minsi %[[LEFT]], %[[FULL]] : i32
// NVVM:         arith.divui %[[REST]], %[[WIDTH]] : i32
// NVVM:         %[[MEMBER:.+]] = arith.remui %[[REST]], %[[WIDTH]] : i32
// NVVM:         arith.addi %[[FIRST]], %[[MEMBER]] : i32
rtile.func @sections(%X: memref<?x64xf32, strided<[?, 1]>>,
                     %Z: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index, %j: index, %k: index) scheduled
    walk = <strided, order = [2, 0, 1], section = 2, rows = 4096,
            length = [0, 0], per_block = 6> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  rtile.role "compute" warps = 4 {
    %tile = rtile.load %x[%i, %c0] : !rtile.view<64x64xf32>
        -> tensor<64x64xf32, #rtile.fragment<4>>
    rtile.store %tile, %z[%j, %c0]
        : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// A tile begins at any column: what lies beyond the buffer's last one arrives as
// zeros. A store writes eight columns at once where all of them exist, or none.

// NVVM-LABEL: llvm.func ptx_kernelcc @columns(
// NVVM:         cp.async.bulk.tensor.2d{{.*}} "r,l,r,r,r,~{memory}" %{{[^,]+}}, %{{[^,]+}}, %[[FIRST:[^,]+]],
// NVVM:         %[[PANEL:.+]] = arith.constant 64 : i32
// NVVM:         %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[PANEL]] : i32
// NVVM:         llvm.inline_asm {{.*}}cp.async.bulk.tensor.2d{{.*}} %[[NEXT]]
// NVVM:         llvm.ptrtoint %{{.+}} : !llvm.ptr<1> to i64
// NVVM:         %[[EIGHT:.+]] = arith.constant 8 : i32
// NVVM:         %[[REST:.+]] = arith.remui %[[END:.+]], %[[EIGHT]] : i32
// NVVM:         arith.cmpi eq, %[[REST]]
// NVVM:         scf.if
// NVVM:         %[[EXISTS:.+]] = arith.cmpi slt, %{{.+}}, %[[END]] : i32
// NVVM:         st.global.v4.b32
rtile.func @columns(%X: memref<?x?xbf16, strided<[?, 1]>>,
                    %Z: memref<?x?xbf16, strided<[?, 1]>>)
    grid(%i: index, %j: index) scheduled {
  %c128 = arith.constant 128 : index
  %column = arith.muli %j, %c128 : index
  %x = rtile.view %X[*, *] : memref<?x?xbf16, strided<[?, 1]>>
      to !rtile.view<64x128xbf16>
  %z = rtile.view %Z[*, *] : memref<?x?xbf16, strided<[?, 1]>>
      to !rtile.view<64x128xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x128xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x128xbf16>
    rtile.copy %x[%i, %column] to %slot
        : !rtile.view<64x128xbf16>, !rtile.slot<64x128xbf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x128xbf16>
    %tile = rtile.read %slot : !rtile.slot<64x128xbf16>
        -> tensor<64x128xbf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x128xbf16>
    rtile.store %tile, %z[%i, %column]
        : tensor<64x128xbf16, #rtile.fragment<4>>, !rtile.view<64x128xbf16>
  }
  rtile.return
}
