//===- Kernels.c - Hand-written kernels of the kernel ABI ---*- C -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled by the C compiler into a shared object without external symbols: the
// code object of the test artefacts.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>

#define KERNEL(name)                                                           \
  __attribute__((visibility("default"))) void name(                            \
      const int64_t *params, int64_t begin, int64_t end, void *scratch)

enum { tileRows = 4 };

/* A view of f32 [?, ?] with strides [?, 1]: four words. */
typedef struct {
  float *data;
  int64_t rows, columns, stride;
} Matrix;

static Matrix matrix(const int64_t *words) {
  Matrix m = {(float *)(intptr_t)words[0], words[1], words[2], words[3]};
  return m;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Another code object, to tell from the first. */
#ifdef RINGLET_TEST_OTHER
#define FACTOR(s) (-(s))
#else
#define FACTOR(s) (s)
#endif

/* y = x * s; one item is a tile of rows. */
KERNEL(scale) {
  (void)scratch;
  Matrix x = matrix(params), y = matrix(params + 4);
  float s = FACTOR((float)params[8]);
  for (int64_t item = begin; item < end; ++item)
    for (int64_t i = item * tileRows; i < least((item + 1) * tileRows, x.rows);
         ++i)
      for (int64_t j = 0; j < x.columns; ++j)
        y.data[i * y.stride + j] = x.data[i * x.stride + j] * s;
}

/* y = x + c[0], with c a static view f32 [1]: one word. */
KERNEL(shift) {
  (void)scratch;
  Matrix x = matrix(params), y = matrix(params + 4);
  float c = *(const float *)(intptr_t)params[8];
  for (int64_t item = begin; item < end; ++item)
    for (int64_t i = item * tileRows; i < least((item + 1) * tileRows, x.rows);
         ++i)
      for (int64_t j = 0; j < x.columns; ++j)
        y.data[i * y.stride + j] = x.data[i * x.stride + j] + c;
}

/* Row i of y is row table[i] of x; one item is a row. */
KERNEL(gather) {
  (void)scratch;
  Matrix x = matrix(params), y = matrix(params + 6);
  const int64_t *table = (const int64_t *)(intptr_t)params[4];
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < x.columns; ++j)
      y.data[i * y.stride + j] = x.data[table[i] * x.stride + j];
}

/* out[i][j][k] += 1 + item, for the item of grid point (i, j, k). */
KERNEL(visit) {
  (void)scratch;
  int64_t *out = (int64_t *)(intptr_t)params[0];
  const int64_t *sizes = params + 1, *grid = params + 6;
  for (int64_t item = begin; item < end; ++item) {
    int64_t i = item % grid[0], j = item / grid[0] % grid[1],
            k = item / grid[0] / grid[1];
    out[(i * sizes[1] + j) * sizes[2] + k] += 1 + item;
  }
}

/* The table of the order that turns a sequence round, 256 entries an item. */
KERNEL(turn) {
  (void)scratch;
  int64_t *table = (int64_t *)(intptr_t)params[0];
  for (int64_t i = begin * 256; i < least(end * 256, params[1]); ++i)
    table[i] = params[1] - 1 - i;
}

/* Marks each row of x, f16 or bf16 [?, ?, ?] with strides [?, ?, 1], with 2;
 * one item is a row. */
KERNEL(mark) {
  (void)scratch;
  float *marks = (float *)(intptr_t)params[6];
  for (int64_t item = begin; item < end; ++item)
    marks[item] = 2;
}

/* The same, with 1: what runs where the other cannot. */
KERNEL(plain) {
  (void)scratch;
  float *marks = (float *)(intptr_t)params[6];
  for (int64_t item = begin; item < end; ++item)
    marks[item] = 1;
}

/* A view of 16-bit elements [?, ?, ?] with strides [?, ?, 1]: six words. */
typedef struct {
  uint16_t *data;
  const int64_t *sizes, *strides;
} Halves;

static Halves halves(const int64_t *words) {
  Halves h = {(uint16_t *)(intptr_t)words[0], words + 1, words + 4};
  return h;
}

/* y = x; one item is a row, axis 1. */
KERNEL(pack) {
  (void)scratch;
  Halves x = halves(params), y = halves(params + 6);
  for (int64_t item = begin; item < end; ++item)
    for (int64_t i = 0; i < x.sizes[0]; ++i)
      for (int64_t j = 0; j < x.sizes[2]; ++j)
        y.data[i * y.strides[0] + item * y.strides[1] + j] =
            x.data[i * x.strides[0] + item * x.strides[1] + j];
}

/* out[item] is the sum of row `item` of x, as integers. */
KERNEL(total) {
  (void)scratch;
  Halves x = halves(params);
  float *out = (float *)(intptr_t)params[6];
  for (int64_t item = begin; item < end; ++item) {
    out[item] = 0;
    for (int64_t i = 0; i < x.sizes[0]; ++i)
      for (int64_t j = 0; j < x.sizes[2]; ++j)
        out[item] += x.data[i * x.strides[0] + item * x.strides[1] + j];
  }
}

/* out[item] = 1 if the thread's scratch, of 1000 bytes, is aligned and keeps
 * what is written to it. */
KERNEL(probe) {
  int64_t *out = (int64_t *)(intptr_t)params[0];
  volatile unsigned char *bytes = scratch;
  for (int64_t item = begin; item < end; ++item) {
    int good = (intptr_t)scratch % 64 == 0;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 1000; ++i)
        bytes[i] = (unsigned char)(item + round + i);
      for (int i = 0; i < 1000; ++i)
        good &= bytes[i] == (unsigned char)(item + round + i);
    }
    out[item] = good;
  }
}
