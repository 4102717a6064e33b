/*===- consumer-run.c - Compile and run in one C program ---*- C -*-===*\
|*
|* Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include <ringlet-c/Compiler.h>
#include <ringlet/runtime.h>

#include <stdio.h>
#include <string.h>

/* One key: its value is the output. */
static const char kProgram[] =
    "func.func @f(%q: tensor<1x1x1x8xf32>, %k: tensor<1x1x1x8xf32>,\n"
    "             %v: tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32> {\n"
    "  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]\n"
    "      : (tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>)\n"
    "      -> (tensor<1x1x1x8xf32>, tensor<1x1x1xf32>)\n"
    "  return %o : tensor<1x1x1x8xf32>\n"
    "}\n";

int main(void) {
  rlc_result *compiled = NULL;
  rl_context *context = NULL;
  rl_program *program = NULL;
  const int64_t sizes[4] = {1, 1, 1, 8};
  float value[8] = {1, 2, 3, 4, 5, 6, 7, 8}, output[8] = {0};
  rl_tensor tensors[4];
  for (int i = 0; i < 4; ++i) {
    rl_tensor tensor = RL_TENSOR_INIT(value, RL_F32, 4, sizes, NULL);
    tensors[i] = tensor;
  }
  tensors[3].data = output;

  if (rlc_compile(kProgram, strlen(kProgram), NULL, &compiled) != RLC_OK) {
    fputs(rlc_result_diagnostics(compiled), stderr);
  } else if (rl_context_create(NULL, &context) ||
             rl_program_load(context, rlc_result_bytes(compiled),
                             rlc_result_size(compiled), &program) ||
             rl_program_run(program, 0, tensors, 4)) {
    fprintf(stderr, "%s\n", rl_last_error());
  } else {
    printf("first %g, last %g\n", (double)output[0], (double)output[7]);
  }
  rl_program_destroy(program);
  rl_context_destroy(context);
  rlc_result_destroy(compiled);
  return output[7] != 8;
}
