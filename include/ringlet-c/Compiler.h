/*===- Compiler.h - IR in, artefact out, in C ---*- C -*-===*\
|*
|* Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===--------------------------------------------------------------------===*|
|*
|* The whole compiler as one call, for programs that want it in their process.
|* libringlet_compiler exports what is declared here and nothing else; it brings
|* its own LLVM along, so it can live beside another one. Programs that would
|* rather survive a fault of the compiler run ringlet-compile as a child.
|*
|* Conventions are those of ringlet/runtime.h: calls return a status, *_destroy
|* takes NULL, strings belong to the object they came from, structs begin with
|* struct_size and only grow at their end. Calls may be made from any number of
|* threads; a result may be read by many threads and is destroyed by one.
|*
|* Example:
|*   rlc_result *result = NULL;
|*   rlc_status status = rlc_compile(text, strlen(text), NULL, &result);
|*   if (status == RLC_OK)
|*     rl_program_load(context, rlc_result_bytes(result),
|*                     rlc_result_size(result), &program);
|*   else
|*     fputs(rlc_result_diagnostics(result), stderr);
|*   rlc_result_destroy(result);
|*
\*===----------------------------------------------------------------------===*/

#ifndef RINGLET_C_COMPILER_H
#define RINGLET_C_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RLC_API __attribute__((visibility("default")))
#else
#define RLC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The interface that this header declares; see RL_ABI_MAJOR of
 * ringlet/runtime.h. Symbols have versions RINGLET_COMPILER_<major>.<minor>. */
#define RLC_ABI_MAJOR 1u
#define RLC_ABI_MINOR 0u

typedef enum rlc_status {
  RLC_OK = 0,
  RLC_REFUSED = 1,          /* the input; the diagnostics say why            */
  RLC_INVALID_ARGUMENT = 2, /* of the call or an option; they say which      */
  RLC_OUT_OF_MEMORY = 3     /* for the result itself: there is none          */
} rlc_status;

typedef enum rlc_severity {
  RLC_ERROR = 0,
  RLC_WARNING = 1,
  RLC_REMARK = 2,
  RLC_NOTE = 3 /* belongs to what came before it */
} rlc_severity;

/* What there is to say about the input. It and its strings live for the call
 * that gets it. */
typedef struct rlc_diagnostic {
  size_t struct_size;
  int32_t severity;    /* an rlc_severity                                   */
  uint32_t line;       /* from 1; 0 where it is about no place              */
  uint32_t column;     /* from 1, in bytes; 0 where it is about no place    */
  uint32_t reserved;   /* 0                                                 */
  const char *file;    /* the input_name, or what the input names; ""       */
  const char *message; /* one sentence, without severity and place          */
} rlc_diagnostic;

/* Called while rlc_compile runs, in its thread. */
typedef void (*rlc_diagnostic_callback)(void *user,
                                        const rlc_diagnostic *diagnostic);

typedef struct rlc_options {
  size_t struct_size;
  const char *target;     /* "cpu", "cpu:LEVEL,...", "sm_XX" or a list of these;
                             NULL: "cpu", every level that has a use             */
  const char *emit;       /* "ringlet", "rtile", "schedule", "rplan", "llvm",
                             "asm", "obj", "ptx", "cubin" or "rla"; NULL: "rla",
                             an artefact                                         */
  const char *input_name; /* in diagnostics; NULL: "<input>"                  */
  const char *linker;     /* path of an lld; NULL: one beside the program or
                             on PATH                                          */
  int32_t allow_bytecode; /* not 0: accept MLIR bytecode, which a process that
                             is started for it reads (see `reader`)           */
  int32_t reserved;       /* 0                                                */
  const char *recipe;     /* how kernels of a GPU divide their work: "plain",
                             or a name that ringlet-compile --help lists; NULL:
                             "auto"                                              */
  const char *order;      /* the curve that keys lie or are walked along:
                             "hilbert", "morton", "snake", "residue", "linear";
                             NULL: "auto"                                        */
  const char *ptxas; /* path of a ptxas; NULL: where CUDA puts it, or none  */
  const char
      *reader; /* path of the ringlet-compile that reads bytecode, as
                      nothing in this process may; NULL: one beside the
                      library, in the bin beside its folder, or on PATH */
  rlc_diagnostic_callback diagnostic; /* hears of each message as it comes;
                             the result has them all as text. NULL: nobody    */
  void *diagnostic_user;
} rlc_options;
#define RLC_OPTIONS_INIT                                                       \
  {sizeof(rlc_options),                                                        \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL}

typedef struct rlc_result rlc_result;

typedef struct rlc_version {
  uint32_t major;
  uint32_t minor;
} rlc_version;

/* The interface that the library has. */
RLC_API rlc_version rlc_abi_version(void);
/* "ringlet 0.1.0 (LLVM 22.1.8)": part of a cache key. */
RLC_API const char *rlc_compiler_id(void);

/* Compiles `size` bytes of text; options may be NULL. There is a result unless
 * RLC_OUT_OF_MEMORY is returned or out_result is NULL: also a refusal has one,
 * for its diagnostics. */
RLC_API rlc_status rlc_compile(const char *text, size_t size,
                               const rlc_options *options,
                               rlc_result **out_result);

/* The artefact, or the text; NULL and 0 unless the status was RLC_OK. Text
 * ends with a zero byte that the size does not count. */
RLC_API const void *rlc_result_bytes(const rlc_result *result);
RLC_API size_t rlc_result_size(const rlc_result *result);
/* Errors and warnings, a line each or with the line they are about; "" if
 * none. */
RLC_API const char *rlc_result_diagnostics(const rlc_result *result);
/* Every automatic choice with its reason, a line each. */
RLC_API const char *rlc_result_explanation(const rlc_result *result);
RLC_API void rlc_result_destroy(rlc_result *result);

#ifdef __cplusplus
}
#endif

#endif /* RINGLET_C_COMPILER_H */
