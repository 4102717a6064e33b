/*===- runtime.h - Runs compiled Ringlet artefacts ---*- C -*-===*\
|*
|* Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===--------------------------------------------------------------------===*|
|*
|* A context is a device with its threads and memory, a program is an artefact
|* loaded into a context, and rl_program_run calls one of its entries with the
|* caller's tensors. The library depends on nothing but the C++ runtime.
|*
|* Conventions
|*  - Every fallible call returns rl_status; RL_OK is zero. The text of this
|*    thread's last failure is rl_last_error().
|*  - *_create and *_load give the caller one reference; pair it with *_destroy.
|*    *_destroy(NULL) does nothing. A program keeps what it needs of its context
|*    alive: the two may be destroyed in any order.
|*  - Out-parameters come last, are named out_*, and are zeroed on failure (but
|*    for the struct_size of a struct).
|*  - Structs begin with struct_size, which the caller sets to the size it was
|*    compiled with (the _INIT macros do). The library reads and writes only
|*    what that covers, and uses the documented default for the rest.
|*  - Strings that the library returns belong to the object they came from.
|*
|* Threads: contexts and programs may be used by any number of threads at once,
|* runs included; each run has its own workspace. Only *_destroy must be the
|* last use of its handle. The library never holds a lock while it logs.
|*
|* Trust: a damaged or malformed artefact is refused. A well-formed one is code
|* and runs with the rights of the process: load artefacts as you load shared
|* libraries.
|*
\*===----------------------------------------------------------------------===*/

#ifndef RINGLET_RUNTIME_H
#define RINGLET_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(RINGLET_RUNTIME_STATIC) || !defined(__GNUC__)
#define RL_API
#else
#define RL_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The interface that this header declares. The major number grows when
 * something that existed changes, as does that of the shared library's name;
 * the minor number grows with additions. A program that asks for functions of
 * minor version n at run time (dlopen) finds them in libraries of that version
 * or a later one. Exported symbols have versions
 * RINGLET_RUNTIME_<major>.<minor>, those in which they came. */
#define RL_ABI_MAJOR 1u
#define RL_ABI_MINOR 0u

typedef enum rl_status {
  RL_OK = 0,
  RL_INVALID_ARGUMENT = 1,
  RL_BAD_ARTIFACT = 2,  /* not an artefact, damaged, or a newer format      */
  RL_UNAVAILABLE = 3,   /* a driver or system facility is missing           */
  RL_UNSUPPORTED = 4,   /* no code in the artefact fits this device         */
  RL_OUT_OF_MEMORY = 5, /* or over the memory limit                         */
  RL_DEVICE_ERROR = 6,
  RL_PEER_ERROR = 7,    /* a rank of a ring failed                          */
  RL_IO_ERROR = 8,      /* a file cannot be read                            */
  RL_INTERNAL_ERROR = 9 /* a fault of this library; please report it        */
} rl_status;

typedef struct rl_version {
  uint32_t major;
  uint32_t minor;
} rl_version;

/* The interface that the library has. */
RL_API rl_version rl_abi_version(void);
/* "invalid argument"; never NULL. */
RL_API const char *rl_status_name(rl_status status);
/* This thread's last failure; "" if none. Valid until its next call. */
RL_API const char *rl_last_error(void);

/*===- Context ------------------------------------------------------------===*/

typedef struct rl_context rl_context;

typedef enum rl_log_level {
  RL_LOG_ERROR = 0,
  RL_LOG_WARNING = 1,
  RL_LOG_INFO = 2,
  RL_LOG_DEBUG = 3
} rl_log_level;

/* May be called by any thread, also by several at once. */
typedef void (*rl_log_callback)(void *user, rl_log_level level,
                                const char *message);

/* Where a context takes memory from, instead of from the driver: the caching
 * allocator of a framework, so that one pool serves both. All of it goes this
 * way: workspace and scratch of each run, order tables, constants; what
 * rl_memory_allocate gives does not. Nothing that is idle is kept.
 *
 * On a GPU, memory comes and goes in the order of a stream: what is allocated
 * on a stream is first used by work that is queued there afterwards, and what
 * is released on it may be given out again to such work at once. Where a stream
 * is in capture, memory that is allocated on it stays the graph's. Memory that
 * runs of many streams share is allocated and released on a stream of the
 * context's, and released when nothing that uses it is on its way. On a CPU the
 * stream is NULL and released memory is no longer in use.
 *
 * Any thread may call, also several at once; the device is current. The
 * functions call nothing of this library. */
typedef struct rl_allocator {
  size_t struct_size;
  /* `bytes` (never 0) that the kernels of the context read and write, at a
   * multiple of RL_ALIGNMENT; NULL if there are none. */
  void *(*allocate)(void *user, uint64_t bytes, void *stream);
  /* What allocate returned for the same bytes and stream. */
  void (*release)(void *user, void *memory, uint64_t bytes, void *stream);
  void *user;
} rl_allocator;
#define RL_ALLOCATOR_INIT {sizeof(rl_allocator), NULL, NULL, NULL}
#define RL_ALIGNMENT 256

typedef struct rl_context_options {
  size_t struct_size;
  int32_t device;        /* ordinal of the driver's device; default 0        */
  uint32_t flags;        /* must be 0 in ABI 1                               */
  uint32_t threads;      /* CPU threads, the caller's included; 0: all cores */
  uint32_t log_level;    /* an rl_log_level: the most talkative to report    */
  uint64_t memory_limit; /* bytes of workspace, scratch and tables; 0: none  */
  const char *driver;    /* "cpu" or "cuda"; NULL: "cpu"                     */
  const char *target;    /* use only code for this target, as "x86-64-v3";
                            NULL: the best that this machine can run         */
  rl_log_callback log;   /* NULL: errors and warnings are dropped, unless the
                            environment's RINGLET_LOG names a level, in which
                            case stderr gets it                              */
  void *log_user;
  const rl_allocator *allocator; /* NULL: the driver's memory. Read by
                            rl_context_create only, but for what `user` is */
} rl_context_options;
#define RL_CONTEXT_OPTIONS_INIT                                                \
  {sizeof(rl_context_options),                                                 \
   0,                                                                          \
   0u,                                                                         \
   0u,                                                                         \
   RL_LOG_WARNING,                                                             \
   0u,                                                                         \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL}

/* options may be NULL: all defaults. */
RL_API rl_status rl_context_create(const rl_context_options *options,
                                   rl_context **out_context);
RL_API void rl_context_destroy(rl_context *context);
/* Messages go to `log` from now on, up to an rl_log_level; NULL as in
 * rl_context_options. Returns when no thread is inside the callback before, so
 * that what it needs may go: a module that is unloaded, an interpreter that
 * ends. A callback may call it, and does not wait for itself, nor for others
 * that are in this function. */
RL_API rl_status rl_context_set_log(rl_context *context, uint32_t level,
                                    rl_log_callback log, void *user);

typedef struct rl_stats {
  size_t struct_size;
  uint32_t threads;
  uint32_t reserved;          /* 0                                           */
  uint64_t runs;              /* that succeeded                              */
  uint64_t launches;          /* kernels started by them                     */
  uint64_t memory_bytes;      /* held now: workspace, scratch, order tables  */
  uint64_t peak_memory_bytes; /* the most there ever was                     */
  uint64_t workspace_bytes;   /* held now for workspaces, in use or idle     */
  uint64_t table_bytes;       /* held now for order tables                   */
  uint64_t tables_built;
} rl_stats;
#define RL_STATS_INIT {sizeof(rl_stats), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}

RL_API rl_status rl_context_stats(const rl_context *context,
                                  rl_stats *out_stats);
/* Returns idle workspaces and unused order tables to the system. */
RL_API rl_status rl_context_trim(rl_context *context);
/* Whether work that has been queued has met a fault: RL_DEVICE_ERROR if a
 * kernel of this process, ours or not, has ended its device's work, as an
 * access outside of memory does; rl_last_error() names the fault. It waits for
 * nothing, so RL_OK says only that there has been none so far. After a fault
 * nothing runs on that device until the process ends. On a CPU always RL_OK. */
RL_API rl_status rl_context_check(const rl_context *context);

/*===- Devices and their memory -------------------------------------------===*/

typedef struct rl_device {
  size_t struct_size;
  char name[128];           /* "NVIDIA H200"                                */
  char architecture[32];    /* "sm_90", "x86-64-v4"                         */
  uint64_t memory_bytes;    /* in all                                       */
  uint32_t multiprocessors; /* of a GPU; cores of a CPU                     */
  uint32_t reserved;        /* 0                                            */
} rl_device;
#define RL_DEVICE_INIT {sizeof(rl_device), "", "", 0u, 0u, 0u}

/* The devices that a driver ("cpu", "cuda"; NULL: "cpu") sees. */
RL_API rl_status rl_device_count(const char *driver, uint32_t *out_count);
RL_API rl_status rl_device_describe(const char *driver, uint32_t device,
                                    rl_device *out_device);

/* Memory where the kernels of a context read and write tensors: device memory
 * of a GPU, the host's on a CPU. It does not count against the memory limit,
 * and is released through the same context. */
RL_API rl_status rl_memory_allocate(rl_context *context, uint64_t bytes,
                                    void **out_memory);
/* Waits for the device. NULL does nothing. */
RL_API rl_status rl_memory_release(rl_context *context, void *memory);

typedef enum rl_transfer {
  RL_TO_DEVICE = 0,   /* from the host                                       */
  RL_FROM_DEVICE = 1, /* to the host                                         */
  RL_ON_DEVICE = 2
} rl_transfer;

/* Complete on return. The two may not overlap. */
RL_API rl_status rl_memory_copy(rl_context *context, void *to, const void *from,
                                uint64_t bytes, rl_transfer transfer);

/*===- Program ------------------------------------------------------------===*/

typedef struct rl_program rl_program;

/* Loads an artefact; the bytes may be freed afterwards. With a NULL context
 * nothing is made ready to run, whatever the artefact's targets: the program
 * can be inspected only. */
RL_API rl_status rl_program_load(rl_context *context, const void *bytes,
                                 size_t size, rl_program **out_program);
RL_API rl_status rl_program_load_file(rl_context *context, const char *path,
                                      rl_program **out_program);
RL_API void rl_program_destroy(rl_program *program);

typedef enum rl_dtype {
  RL_F16 = 1,
  RL_BF16 = 2,
  RL_F32 = 3,
  RL_F64 = 4,
  RL_I8 = 5,
  RL_U8 = 6,
  RL_I16 = 7,
  RL_I32 = 8,
  RL_I64 = 9,
  RL_BOOL = 10,
  RL_F8E4M3FN = 11
} rl_dtype;
/* "f32"; "none" for anything unknown. */
RL_API const char *rl_dtype_name(int32_t dtype);
/* Bytes of one element; 0 for anything unknown. */
RL_API size_t rl_dtype_size(int32_t dtype);

#define RL_MAX_RANK 8
#define RL_DYNAMIC ((int64_t)-1)

typedef struct rl_argument {
  size_t struct_size;
  const char *name;
  int32_t dtype;        /* an rl_dtype                                     */
  int32_t rank;         /* at most RL_MAX_RANK                             */
  const int64_t *sizes; /* rank of them, RL_DYNAMIC where any is accepted  */
  int32_t is_output;    /* 0 or 1                                          */
  int32_t reserved;     /* 0                                               */
  const char *layout;   /* the encoding of the tensor type, as text, or "" */
} rl_argument;
#define RL_ARGUMENT_INIT {sizeof(rl_argument), NULL, 0, 0, NULL, 0, 0, NULL}

/* These take an index below the count and return 0, NULL or "" for any other,
 * and for a NULL program. */
RL_API uint32_t rl_program_entry_count(const rl_program *program);
RL_API const char *rl_program_entry_name(const rl_program *program,
                                         uint32_t entry);
RL_API uint32_t rl_program_argument_count(const rl_program *program,
                                          uint32_t entry);
/* The targets that the artefact has code for. */
RL_API uint32_t rl_program_target_count(const rl_program *program);
RL_API const char *rl_program_target_name(const rl_program *program,
                                          uint32_t index);
/* The one that runs; "" for a program that can be inspected only. */
RL_API const char *rl_program_target(const rl_program *program);
RL_API const char *rl_program_compiler(const rl_program *program);
RL_API const char *rl_program_module_name(const rl_program *program);
/* What the compiler decided for each kernel of an entry and what the chosen
 * target makes of it, one "key: value" a line. */
RL_API const char *rl_program_explain(const rl_program *program,
                                      uint32_t entry);

RL_API rl_status rl_program_find_entry(const rl_program *program,
                                       const char *name, uint32_t *out_entry);
RL_API rl_status rl_program_argument(const rl_program *program, uint32_t entry,
                                     uint32_t index, rl_argument *out_argument);

/*===- Running ------------------------------------------------------------===*/

/* Where memory lies. The numbers are DLPack's (DLDeviceType). */
typedef enum rl_memory {
  RL_MEMORY_UNKNOWN = 0,      /* the library looks, where it can              */
  RL_MEMORY_HOST = 1,         /* what malloc gives                            */
  RL_MEMORY_CUDA = 2,         /* of a GPU                                     */
  RL_MEMORY_CUDA_HOST = 3,    /* pinned memory of the host                    */
  RL_MEMORY_CUDA_MANAGED = 13 /* that moves between the two                   */
} rl_memory;

/* A tensor of the caller; the content of a DLTensor. RL_TENSOR_INIT sets the
 * first five fields and the rest to 0, which is right for them.
 *
 * Kernels of a CPU read memory of the kinds 1, 3 and 13, those of a GPU 2 (of
 * that GPU), 3 and 13; a rank-0 i64 input is read by the host and lies where a
 * CPU can read it. Any other kind is refused. For RL_MEMORY_UNKNOWN a context
 * on a GPU asks the driver, about 0.1 us for each tensor, and refuses memory
 * that CUDA does not know or that is another GPU's; any other kind is believed.
 */
typedef struct rl_tensor {
  void *data;             /* the element whose indices are all 0              */
  int32_t dtype;          /* an rl_dtype                                      */
  int32_t rank;           /* 0: one element                                   */
  const int64_t *sizes;   /* rank of them; may be NULL for rank 0             */
  const int64_t *strides; /* in elements; NULL: row-major contiguous. The last
                             axis has stride 1. Inputs may have any others, 0
                             included; the elements of an output are distinct
                             and share no memory with another argument */
  int32_t memory;         /* an rl_memory                                     */
  int32_t device;         /* ordinal of the GPU, for RL_MEMORY_CUDA           */
  uint64_t byte_offset;   /* added to data, as in DLPack                      */
  uint64_t reserved[2];   /* 0                                                */
} rl_tensor;
#define RL_TENSOR_INIT(data, dtype, rank, sizes, strides)                      \
  {data, dtype, rank, sizes, strides, RL_MEMORY_UNKNOWN, 0, 0u, {0u, 0u}}

typedef struct rl_estimate {
  size_t struct_size;
  uint64_t workspace_bytes; /* for each run in flight                        */
  uint64_t scratch_bytes;   /* as well, all threads together                 */
  uint64_t table_bytes;     /* order tables, shared by all runs              */
  uint64_t total_bytes;     /* the sum of these                              */
  uint64_t launches;        /* of kernels                                    */
  uint64_t fallbacks;       /* launches whose kernel cannot read these tensors
                               and leaves its work to a slower one: sizes and
                               strides that no copy engine takes, or, of data
                               that is not NULL, addresses. The context's log
                               says why, at RL_LOG_INFO, once a shape        */
  uint64_t run_bytes;       /* what rl_run.workspace needs: workspace and
                               scratch, with the room between them           */
  uint64_t ring_bytes;      /* of rl_ring_estimate, and part of total_bytes:
                               keys of other ranks, those that are packed to be
                               sent, and what kernels for them need          */
} rl_estimate;
#define RL_ESTIMATE_INIT {sizeof(rl_estimate), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}

/* Sizes of the outputs for given inputs. `tensors` holds the `count` inputs of
 * the entry; the sizes of its output i are written to out_sizes[RL_MAX_RANK *
 * i] and on, which has RL_MAX_RANK values for each output. Fails where the
 * artefact does not say. `data` may be NULL except for rank-0 i64 inputs. */
RL_API rl_status rl_program_output_sizes(const rl_program *program,
                                         uint32_t entry,
                                         const rl_tensor *tensors,
                                         uint32_t count, int64_t *out_sizes);

/* All checks of a run, and the memory that it would take, without taking it or
 * touching a tensor's elements. `tensors` are those of rl_program_run, inputs
 * first, then outputs, whose sizes rl_program_output_sizes tells. `data` may be
 * NULL except for rank-0 i64 inputs; memory overlap is then not checked. */
RL_API rl_status rl_program_estimate(const rl_program *program, uint32_t entry,
                                     const rl_tensor *tensors, uint32_t count,
                                     rl_estimate *out_estimate);

/* Runs an entry on its arguments: inputs first, then outputs. Everything is
 * checked before the first kernel starts; a refused call leaves the outputs
 * untouched. Returns when the outputs are complete. On a GPU, tensors lie in
 * its memory, but for rank-0 i64 inputs, and must be complete but for what the
 * default stream computes. */
RL_API rl_status rl_program_run(const rl_program *program, uint32_t entry,
                                const rl_tensor *tensors, uint32_t count);

typedef struct rl_run {
  size_t struct_size;
  void *stream;             /* a CUstream of the device's primary context; NULL:
                               the default stream                            */
  void *workspace;          /* where the run keeps what it needs, in memory that
                               the kernels read and write, at a multiple of
                               RL_ALIGNMENT; it is this run's until its work on
                               the stream is done. NULL: the context's       */
  uint64_t workspace_bytes; /* at least rl_estimate.run_bytes; fewer are refused
                               with RL_OUT_OF_MEMORY                         */
  uint32_t flags;           /* 0                                             */
  uint32_t reserved;        /* 0                                             */
} rl_run;
#define RL_RUN_INIT {sizeof(rl_run), NULL, NULL, 0u, 0u, 0u}

/* The same as rl_program_run, but returns once the work is queued on the stream
 * of `run` (NULL: all its defaults). It never waits for the stream. The stream
 * may be in capture: the graph then holds all memory that it needs but the
 * tensors and a workspace of the caller's, and must not run any more once the
 * program is destroyed. Rank-0 i64 inputs are read before the call returns, and
 * a graph has their values for good; integers that its replays are to read anew
 * are inputs of rank 1, such as a q_offset for each sequence, which lie in the
 * device's memory. A fault of a kernel shows later, in rl_context_check. On a
 * CPU the stream is ignored and the outputs are complete on return. */
RL_API rl_status rl_program_enqueue(const rl_program *program, uint32_t entry,
                                    const rl_tensor *tensors, uint32_t count,
                                    const rl_run *run);

/*===- Rings --------------------------------------------------------------===*/

/* One rank's end of a ring of processes or threads that each hold a part of a
 * sequence. What compiled functions on sharded tensors exchange goes over it.
 */
typedef struct rl_ring rl_ring;

/* What the ranks of a ring have to know of each other, to be given to all of
 * them by any means: where rank 0 listens, and a secret. Text that ends with a
 * zero byte. */
typedef struct rl_ring_id {
  char text[192];
} rl_ring_id;
/* Makes one, for one ring, in the process that is to be its rank 0: it listens
 * from now on. `address` is how the others reach this host; NULL: 127.0.0.1. */
RL_API rl_status rl_ring_make_id(const char *address, rl_ring_id *out_id);

typedef struct rl_ring_options {
  size_t struct_size;
  int32_t rank;           /* of this process, from 0 on                       */
  int32_t ranks;          /* how many there are. 0: both, address and port are
                             those of torchrun: RANK, WORLD_SIZE, MASTER_ADDR
                             and MASTER_PORT of the environment               */
  const char *address;    /* where rank 0 listens; NULL: 127.0.0.1            */
  const char *listen;     /* where this rank listens for messages of others;
                             NULL: the address by which it reaches rank 0     */
  const char *secret;     /* the same on all ranks, which prove that they know
                             it; NULL: RINGLET_RING_SECRET of the environment */
  double connect_seconds; /* until all ranks are there; 0: 60                 */
  double wait_seconds;    /* the longest that anything is waited for; 0: 60   */
  double silence_seconds; /* a rank without a sign of life for so long has
                             failed; 0: 10                                    */
  uint16_t port;          /* where rank 0 listens                             */
  uint16_t reserved[3];   /* 0                                                */
  void *nccl_comm;        /* an ncclComm_t of the same ranks, each with the GPU
                             of its context, from the NCCL that this process has
                             loaded. It is split in the first call on GPUs, and
                             otherwise left alone. NULL: one is made          */
  const char *transport;  /* between GPUs of processes: "p2p", copies from one
                             to another on the same host, or "nccl"; NULL: p2p
                             if that is possible, else nccl                   */
  const rl_ring_id *id;   /* of rl_ring_make_id, the same on all ranks: instead
                             of address, port and secret; NULL: none          */
} rl_ring_options;
#define RL_RING_OPTIONS_INIT                                                   \
  {sizeof(rl_ring_options),                                                    \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   0u,                                                                         \
   {0u, 0u, 0u},                                                               \
   NULL,                                                                       \
   NULL,                                                                       \
   NULL}

/* Waits for the other ranks, over TCP. Messages of calls on CPUs go the same
 * way. Those of calls on GPUs go from memory to memory where all ranks are on
 * one host and their GPUs reach each other, which the first such call tries;
 * else by NCCL, libnccl.so.2 of version 2.18 or later, or what
 * RINGLET_NCCL_LIBRARY names. TCP only tells when. */
RL_API rl_status rl_ring_create(const rl_ring_options *options,
                                rl_ring **out_ring);
/* All ranks of a ring of threads of this process: `ranks` handles, one for each
 * thread. On GPUs, one or several, messages are copied from memory to memory.
 * Of `options`, wait_seconds counts; NULL: all defaults. */
RL_API rl_status rl_ring_create_local(const rl_ring_options *options,
                                      int32_t ranks, rl_ring **out_rings);
/* Leaves the ring, when calls that are queued have ended. With an exchange
 * under way, it fails on the other ranks. */
RL_API void rl_ring_destroy(rl_ring *ring);

/* -1 for NULL. */
RL_API int32_t rl_ring_rank(const rl_ring *ring);
RL_API int32_t rl_ring_ranks(const rl_ring *ring);
/* By which the messages of the last call that has ended went: "socket",
 * "inprocess" and, on GPUs, "nccl", "p2p". Waits for calls that are queued. */
RL_API const char *rl_ring_transport(const rl_ring *ring);

/* The rows of a sequence of `length` that a rank of `ranks` holds, in the order
 * in which its parts of sharded tensors have them. `sharding` is "contiguous",
 * "zigzag" or "striped", `block` the rows of a block of striped parts, else 0.
 * These parts differ by a row (a block) at most; contiguous ones may as well be
 * of any other lengths. `*count` is the room of `out_rows`, and becomes the
 * number of rows; without room, `out_rows` may be NULL. */
RL_API rl_status rl_ring_rows(const char *sharding, int64_t block,
                              int64_t length, int32_t rank, int32_t ranks,
                              int64_t *out_rows, int64_t *count);

/* Runs an entry on this rank's parts of sharded tensors, as rl_program_run
 * does; every rank makes the same calls in the same order. Sizes of the parts
 * may differ as the sharding allows. Where another artefact, entry or shape is
 * found on some rank, all ranks refuse the call before anything is sent, with
 * one and the same message, and the ring can be used on. Where a rank fails, is
 * slow or dies, the call ends on all ranks with RL_PEER_ERROR and a message
 * that names rank, step and reason; outputs are then undefined, and so ends
 * every later call. One call at a time. On GPUs, all ranks' contexts are on
 * some; the ring keeps the last one, with memory for keys of other ranks, until
 * it is destroyed. */
RL_API rl_status rl_ring_run(rl_ring *ring, const rl_program *program,
                             uint32_t entry, const rl_tensor *tensors,
                             uint32_t count);

/* The same, but returns once the call is queued: behind those that were queued
 * on the ring before, and behind what the stream of `run` (NULL: all its
 * defaults) has so far. What this rank finds wrong with its tensors it says at
 * once, and queues nothing; why a queued call has failed is said by
 * rl_ring_wait or by the next call on the ring, whichever comes first, and that
 * one is not made. Until then the tensors' memory, also that of rank-0 i64
 * inputs, and a workspace of `run` must stay; the program may be destroyed. The
 * stream waits for nothing: what reads the outputs comes after rl_ring_wait.
 * Messages are driven by a thread of the ring, so no graph can hold them: a
 * stream in capture is refused. */
RL_API rl_status rl_ring_enqueue(rl_ring *ring, const rl_program *program,
                                 uint32_t entry, const rl_tensor *tensors,
                                 uint32_t count, const rl_run *run);
/* Waits until all that is queued on the ring has ended. Any thread may call it.
 * RL_OK, or the status of the first call that has failed since the last answer.
 */
RL_API rl_status rl_ring_wait(rl_ring *ring);

/* What rl_ring_run would take on this rank, as rl_program_estimate tells it;
 * `launches` are those beside the ring's. Every rank makes the same call, which
 * counts as one on the ring. `data` may be NULL except for rank-0 i64 inputs
 * and the starts of packed sequences. */
RL_API rl_status rl_ring_estimate(rl_ring *ring, const rl_program *program,
                                  uint32_t entry, const rl_tensor *tensors,
                                  uint32_t count, rl_estimate *out_estimate);

/* Ends the ring on all ranks, for this reason. Any thread may call it, also
 * while another one is in rl_ring_run. */
RL_API rl_status rl_ring_abort(rl_ring *ring, const char *reason);
/* RL_OK, or RL_PEER_ERROR once the ring has failed, and rl_last_error says why.
 */
RL_API rl_status rl_ring_status(rl_ring *ring);

/* One exchange of this rank, messages of a step that travelled together, or the
 * computation of a step. */
typedef struct rl_ring_record {
  size_t struct_size;
  uint64_t call; /* number of the call on this ring, from 1 on            */
  int64_t step;
  double begin; /* seconds since the ring was created                    */
  double seconds;
  uint64_t sent; /* bytes                                                 */
  uint64_t received;
  int32_t queue;    /* 0: within a host, 1: between hosts, -1: a computation */
  int32_t complete; /* 0 or 1                                                */
} rl_ring_record;
#define RL_RING_RECORD_INIT {sizeof(rl_ring_record), 0u, 0, 0, 0, 0u, 0u, 0, 0}

/* The last of them, at most 128, in the order of their ends. `*count` is the
 * room of `out_records`, whose struct_size are set, and becomes the number
 * written. */
RL_API rl_status rl_ring_records(rl_ring *ring, rl_ring_record *out_records,
                                 uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif /* RINGLET_RUNTIME_H */
