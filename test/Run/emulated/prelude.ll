; Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What instructions of a GPU become on the CPU: functions of the same types that
; call Block.cpp. host_code.py puts this in front of kernels.

target triple = "x86_64-unknown-linux-gnu"

declare i32 @gpu_thread()
declare i32 @gpu_block()
declare void @gpu_barrier()
declare void @gpu_warp_barrier()
declare zeroext i8 @gpu_barrier_or(i8 zeroext)
declare zeroext i8 @gpu_any(i8 zeroext)
declare i32 @gpu_shuffle(i32, i32)
declare void @gpu_copy_async(ptr, ptr, i32)
declare void @gpu_wait_copies()
declare void @gpu_load_matrices(ptr, i32, ptr)
declare void @gpu_multiply(ptr, i32, ptr)
declare void @gpu_multiply_tf32(ptr, ptr)
declare float @gpu_exp2(float)
declare float @gpu_divide(float, float)

define i32 @nvvm.read.ptx.sreg.tid.x() {
  %thread = call i32 @gpu_thread()
  ret i32 %thread
}
define i32 @nvvm.read.ptx.sreg.ctaid.x() {
  %block = call i32 @gpu_block()
  ret i32 %block
}
define void @nvvm.barrier.cta.sync.aligned.all(i32 %id) {
  call void @gpu_barrier()
  ret void
}
define void @nvvm.bar.warp.sync(i32 %lanes) {
  call void @gpu_warp_barrier()
  ret void
}
define i1 @nvvm.vote.any.sync(i32 %lanes, i1 %value) {
  %byte = zext i1 %value to i8
  %any = call zeroext i8 @gpu_any(i8 zeroext %byte)
  %result = trunc i8 %any to i1
  ret i1 %result
}
define i32 @nvvm.shfl.sync.bfly.i32(i32 %lanes, i32 %value, i32 %distance, i32 %clamp) {
  %result = call i32 @gpu_shuffle(i32 %value, i32 %distance)
  ret i32 %result
}
define float @nvvm.shfl.sync.bfly.f32(i32 %lanes, float %value, i32 %distance, i32 %clamp) {
  %word = bitcast float %value to i32
  %other = call i32 @gpu_shuffle(i32 %word, i32 %distance)
  %result = bitcast i32 %other to float
  ret float %result
}
define void @nvvm.cp.async.cg.shared.global.16.s(ptr %to, ptr %from, i32 %count) {
  call void @gpu_copy_async(ptr %to, ptr %from, i32 %count)
  ret void
}
define void @nvvm.cp.async.wait.all() {
  call void @gpu_wait_copies()
  ret void
}
; The numbers of a byte are 2^8 too small as f16 until they are multiplied, and NaN is
; none.
define <2 x half> @nvvm.e4m3x2.to.f16x2.rn(i16 %bytes) {
  %low = and i16 %bytes, 255
  %high = lshr i16 %bytes, 8
  %some = insertelement <2 x i16> poison, i16 %low, i32 0
  %both = insertelement <2 x i16> %some, i16 %high, i32 1
  %sign = and <2 x i16> %both, splat (i16 128)
  %size = and <2 x i16> %both, splat (i16 127)
  %signed = shl <2 x i16> %sign, splat (i16 8)
  %moved = shl <2 x i16> %size, splat (i16 7)
  %bits = or <2 x i16> %signed, %moved
  %small = bitcast <2 x i16> %bits to <2 x half>
  %number = fmul <2 x half> %small, splat (half 256.0)
  %isnan = icmp eq <2 x i16> %size, splat (i16 127)
  %result = select <2 x i1> %isnan, <2 x half> splat (half 0xH7FFF), <2 x half> %number
  ret <2 x half> %result
}
; Each of the last four digits of the selector, from the last on, is the number of a
; byte of both words.
define i32 @nvvm.prmt(i32 %low, i32 %high, i32 %selector) {
  %l = zext i32 %low to i64
  %h = zext i32 %high to i64
  %upper = shl i64 %h, 32
  %both = or i64 %upper, %l
  br label %next
next:
  %at = phi i32 [ 0, %0 ], [ %after, %next ]
  %sum = phi i32 [ 0, %0 ], [ %more, %next ]
  %shift = mul i32 %at, 4
  %digits = lshr i32 %selector, %shift
  %number = and i32 %digits, 7
  %wide = zext i32 %number to i64
  %bits = mul i64 %wide, 8
  %moved = lshr i64 %both, %bits
  %byte = trunc i64 %moved to i32
  %own = and i32 %byte, 255
  %place = mul i32 %at, 8
  %there = shl i32 %own, %place
  %more = or i32 %sum, %there
  %after = add i32 %at, 1
  %done = icmp eq i32 %after, 4
  br i1 %done, label %end, label %next
end:
  ret i32 %more
}
define float @nvvm.ex2.approx.ftz.f32(float %x) {
  %result = call float @gpu_exp2(float %x)
  ret float %result
}
define float @nvvm.div.full(float %a, float %b) {
  %result = call float @gpu_divide(float %a, float %b)
  ret float %result
}
define { i32, i32, i32, i32 } @nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr %row) {
  %words = alloca { i32, i32, i32, i32 }
  call void @gpu_load_matrices(ptr %row, i32 0, ptr %words)
  %result = load { i32, i32, i32, i32 }, ptr %words
  ret { i32, i32, i32, i32 } %result
}
define { i32, i32, i32, i32 } @nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr %row) {
  %words = alloca { i32, i32, i32, i32 }
  call void @gpu_load_matrices(ptr %row, i32 1, ptr %words)
  %result = load { i32, i32, i32, i32 }, ptr %words
  ret { i32, i32, i32, i32 } %result
}
define { float, float, float, float } @nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3) {
  %words = alloca [6 x i32]
  %sums = alloca { float, float, float, float }
  %w0 = insertvalue [6 x i32] poison, i32 %a0, 0
  %w1 = insertvalue [6 x i32] %w0, i32 %a1, 1
  %w2 = insertvalue [6 x i32] %w1, i32 %a2, 2
  %w3 = insertvalue [6 x i32] %w2, i32 %a3, 3
  %w4 = insertvalue [6 x i32] %w3, i32 %b0, 4
  %w5 = insertvalue [6 x i32] %w4, i32 %b1, 5
  store [6 x i32] %w5, ptr %words
  %s0 = insertvalue { float, float, float, float } poison, float %c0, 0
  %s1 = insertvalue { float, float, float, float } %s0, float %c1, 1
  %s2 = insertvalue { float, float, float, float } %s1, float %c2, 2
  %s3 = insertvalue { float, float, float, float } %s2, float %c3, 3
  store { float, float, float, float } %s3, ptr %sums
  call void @gpu_multiply(ptr %words, i32 0, ptr %sums)
  %result = load { float, float, float, float }, ptr %sums
  ret { float, float, float, float } %result
}
define { float, float, float, float } @nvvm.mma.m16n8k8.row.col.tf32(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3) {
  %words = alloca [6 x i32]
  %sums = alloca { float, float, float, float }
  %w0 = insertvalue [6 x i32] poison, i32 %a0, 0
  %w1 = insertvalue [6 x i32] %w0, i32 %a1, 1
  %w2 = insertvalue [6 x i32] %w1, i32 %a2, 2
  %w3 = insertvalue [6 x i32] %w2, i32 %a3, 3
  %w4 = insertvalue [6 x i32] %w3, i32 %b0, 4
  %w5 = insertvalue [6 x i32] %w4, i32 %b1, 5
  store [6 x i32] %w5, ptr %words
  %s0 = insertvalue { float, float, float, float } poison, float %c0, 0
  %s1 = insertvalue { float, float, float, float } %s0, float %c1, 1
  %s2 = insertvalue { float, float, float, float } %s1, float %c2, 2
  %s3 = insertvalue { float, float, float, float } %s2, float %c3, 3
  store { float, float, float, float } %s3, ptr %sums
  call void @gpu_multiply_tf32(ptr %words, ptr %sums)
  %result = load { float, float, float, float }, ptr %sums
  ret { float, float, float, float } %result
}
define i32 @nvvm.f2tf32.rna(float %x) {
  %bits = bitcast float %x to i32
  %exponent = and i32 %bits, 2139095040
  %isLarge = icmp eq i32 %exponent, 2139095040
  %sum = add i32 %bits, 4096
  %rounded = and i32 %sum, -8192
  %result = select i1 %isLarge, i32 %bits, i32 %rounded
  ret i32 %result
}
define <2 x bfloat> @nvvm.ff2bf16x2.rn(float %upper, float %lower) {
  %high = call bfloat @__truncsfbf2(float %upper)
  %low = call bfloat @__truncsfbf2(float %lower)
  %first = insertelement <2 x bfloat> poison, bfloat %low, i32 0
  %pair = insertelement <2 x bfloat> %first, bfloat %high, i32 1
  ret <2 x bfloat> %pair
}
define { float, float, float, float } @nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a1, <2 x half> %a2, <2 x half> %a3, <2 x half> %b0, <2 x half> %b1, float %c0, float %c1, float %c2, float %c3) {
  %words = alloca [6 x <2 x half>]
  %sums = alloca { float, float, float, float }
  %w0 = insertvalue [6 x <2 x half>] poison, <2 x half> %a0, 0
  %w1 = insertvalue [6 x <2 x half>] %w0, <2 x half> %a1, 1
  %w2 = insertvalue [6 x <2 x half>] %w1, <2 x half> %a2, 2
  %w3 = insertvalue [6 x <2 x half>] %w2, <2 x half> %a3, 3
  %w4 = insertvalue [6 x <2 x half>] %w3, <2 x half> %b0, 4
  %w5 = insertvalue [6 x <2 x half>] %w4, <2 x half> %b1, 5
  store [6 x <2 x half>] %w5, ptr %words
  %s0 = insertvalue { float, float, float, float } poison, float %c0, 0
  %s1 = insertvalue { float, float, float, float } %s0, float %c1, 1
  %s2 = insertvalue { float, float, float, float } %s1, float %c2, 2
  %s3 = insertvalue { float, float, float, float } %s2, float %c3, 3
  store { float, float, float, float } %s3, ptr %sums
  call void @gpu_multiply(ptr %words, i32 1, ptr %sums)
  %result = load { float, float, float, float }, ptr %sums
  ret { float, float, float, float } %result
}

; Inline assembly, with its operands in their order.

define void @asm.nothing() {
  ret void
}
define i32 @asm.opaque.i32(i32 %x) {
  ret i32 %x
}
define i64 @asm.opaque.i64(i64 %x) {
  ret i64 %x
}
define ptr @asm.opaque.ptr(ptr %x) {
  ret ptr %x
}
define i1 @asm.barrier.or(i1 %value) {
  %byte = zext i1 %value to i8
  %any = call zeroext i8 @gpu_barrier_or(i8 zeroext %byte)
  %result = trunc i8 %any to i1
  ret i1 %result
}
define void @asm.copy(ptr %to, ptr %from, i32 %count, i1 %if) {
  br i1 %if, label %copy, label %end
copy:
  call void @gpu_copy_async(ptr %to, ptr %from, i32 %count)
  br label %end
end:
  ret void
}
define i16 @asm.load.i16(ptr %from, i1 %if) {
  br i1 %if, label %load, label %end
load:
  %value = load i16, ptr %from
  br label %end
end:
  %result = phi i16 [ %value, %load ], [ 0, %0 ]
  ret i16 %result
}
define i32 @asm.load.i32(ptr %from, i1 %if) {
  br i1 %if, label %load, label %end
load:
  %value = load i32, ptr %from
  br label %end
end:
  %result = phi i32 [ %value, %load ], [ 0, %0 ]
  ret i32 %result
}
define i64 @asm.load.i64(ptr %from, i1 %if) {
  br i1 %if, label %load, label %end
load:
  %value = load i64, ptr %from
  br label %end
end:
  %result = phi i64 [ %value, %load ], [ 0, %0 ]
  ret i64 %result
}
define i32 @asm.load.u8(ptr %from, i1 %if) {
  br i1 %if, label %load, label %end
load:
  %byte = load i8, ptr %from
  %value = zext i8 %byte to i32
  br label %end
end:
  %result = phi i32 [ %value, %load ], [ 0, %0 ]
  ret i32 %result
}
define void @asm.store.i16(i16 %value, ptr %to, i1 %if) {
  br i1 %if, label %store, label %end
store:
  store i16 %value, ptr %to
  br label %end
end:
  ret void
}
define void @asm.store.i32(i32 %value, ptr %to, i1 %if) {
  br i1 %if, label %store, label %end
store:
  store i32 %value, ptr %to
  br label %end
end:
  ret void
}
define i1 @asm.any(i1 %value) {
  %byte = zext i1 %value to i8
  %any = call zeroext i8 @gpu_any(i8 zeroext %byte)
  %result = trunc i8 %any to i1
  ret i1 %result
}
define void @asm.store.shared(ptr %to, i32 %a, i32 %b, i32 %c, i32 %d, i1 %if) {
  br i1 %if, label %store, label %end
store:
  %words1 = insertelement <4 x i32> poison, i32 %a, i32 0
  %words2 = insertelement <4 x i32> %words1, i32 %b, i32 1
  %words3 = insertelement <4 x i32> %words2, i32 %c, i32 2
  %words4 = insertelement <4 x i32> %words3, i32 %d, i32 3
  store <4 x i32> %words4, ptr %to, align 16
  br label %end
end:
  ret void
}
define void @asm.store.i64(i64 %value, ptr %to, i1 %if) {
  br i1 %if, label %store, label %end
store:
  store i64 %value, ptr %to
  br label %end
end:
  ret void
}

; Where the CPU has no instruction for it, f32 becomes bf16 by this.
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %isNaN = fcmp uno float %x, 0.0
  %quiet = or i32 %upper, 64
  %chosen = select i1 %isNaN, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}
