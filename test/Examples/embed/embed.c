/*===- embed.c - Compile IR in memory and run it, from C ---*- C -*-===*\
|*
|* Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "ringlet-c/Compiler.h"
#include "ringlet/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every value is 1, so every mean of values must be 1, however many keys a row
 * sees; the length is only known at run time. */
static const char kProgram[] =
    "func.func @attend(%q: tensor<1x?x2x16xf32>, %k: tensor<1x?x2x16xf32>,\n"
    "                  %v: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {\n"
    "  %o, %lse = ringlet.attention %q, %k, %v\n"
    "      branches [<w = 16, r = 1>, <w = 64, r = 2>] causal\n"
    "      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>,\n"
    "         tensor<1x?x2x16xf32>)\n"
    "      -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)\n"
    "  return %o : tensor<1x?x2x16xf32>\n"
    "}\n";

static int failed(const char *what, const char *why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  return 1;
}

int main(void) {
  enum { kLength = 100, kHeads = 2, kDim = 16 };
  const size_t count = (size_t)kLength * kHeads * kDim;

  rlc_options options = RLC_OPTIONS_INIT;
  options.input_name = "attend.mlir";
  rlc_result *compiled = NULL;
  if (rlc_compile(kProgram, strlen(kProgram), &options, &compiled) != RLC_OK)
    return failed("compile", rlc_result_diagnostics(compiled));
  printf("compiled %zu bytes with %s\n", rlc_result_size(compiled),
         rlc_compiler_id());

  rl_context *context = NULL;
  rl_program *program = NULL;
  if (rl_context_create(NULL, &context) != RL_OK ||
      rl_program_load(context, rlc_result_bytes(compiled),
                      rlc_result_size(compiled), &program) != RL_OK)
    return failed("load", rl_last_error());
  rlc_result_destroy(compiled); /* the program needs it no more */

  float *in = malloc(count * sizeof *in);
  float *ones = malloc(count * sizeof *ones);
  float *out = malloc(count * sizeof *out);
  if (!in || !ones || !out)
    return failed("allocate", "out of memory");
  for (size_t i = 0; i < count; ++i) {
    in[i] = (float)(i % 13) / 13.0f;
    ones[i] = 1.0f;
  }

  const int64_t sizes[] = {1, kLength, kHeads, kDim};
  rl_tensor tensors[] = {RL_TENSOR_INIT(in, RL_F32, 4, sizes, NULL),
                         RL_TENSOR_INIT(in, RL_F32, 4, sizes, NULL),
                         RL_TENSOR_INIT(ones, RL_F32, 4, sizes, NULL),
                         RL_TENSOR_INIT(out, RL_F32, 4, sizes, NULL)};
  uint32_t entry = 0;
  if (rl_program_find_entry(program, "attend", &entry) != RL_OK ||
      rl_program_run(program, entry, tensors, 4) != RL_OK)
    return failed("run", rl_last_error());

  double worst = 0;
  for (size_t i = 0; i < count; ++i) {
    double error = fabs((double)out[i] - 1.0);
    if (!(error <= worst))
      worst = error;
  }
  printf("ran on %s; a mean of ones is off by %g\n", rl_program_target(program),
         worst);

  free(in);
  free(ones);
  free(out);
  rl_program_destroy(program);
  rl_context_destroy(context);
  return worst < 1e-5 ? 0 : failed("check", "expected 1 everywhere");
}
