/* pccx: 64-bit instructions are pushed through a window of the bus; data movers transfer the data.
 *
 * Documented and supported: the container (`.pcp`), the command and status FIFO, the control pages of the movers,
 * MEMSET, MEMCPY between host and L2, and CVO. Not documented, and refused before anything is pushed (NPU_UNSUPPORTED
 * with the instruction's index): GEMV and GEMM, as no status reports their end and their scales cannot reach the
 * device; MEMCPY within L2, which no circuit supports; steps of the host. Source: the pccx specification, 2.2, 3.6,
 * 4.2, 4.3 and 9. */
#ifndef NPUKIT_PCCX_H
#define NPUKIT_PCCX_H

#include "npukit/error.h"
#include "npukit/hal.h"

enum { NPU_PCCX_WINDOWS = 16, NPU_PCCX_SHAPES = 64 };

/* A window of host memory that MEMCPY accesses. */
typedef struct npu_pccx_window {
    uint32_t number;
    bool from_device; /* true: L2 to host; false: host to L2 */
    uint64_t bytes;
    const char *name; /* points into the container; zero-terminated */
} npu_pccx_window;

/* A container. It points into the bytes of the file. */
typedef struct npu_pccx_program {
    const uint8_t *code; /* instruction words, little-endian */
    uint32_t words;
    size_t windows;
    npu_pccx_window window[NPU_PCCX_WINDOWS];
} npu_pccx_program;

/* Reads a container and checks that this driver can run all of it. Returns NPU_SYNTAX with the offset. */
npu_code npu_pccx_parse(const void *bytes, size_t length, npu_pccx_program *program, npu_error *error);

typedef struct npu_pccx_board {
    uint64_t base; /* address of the command window: 0xA0000000 on the published board */
    uint32_t timeout_us;
    /* Addresses of the program's windows, in order. Each is at least as large as its window, at a multiple of 16 below
     * 2^32. */
    npu_region windows[NPU_PCCX_WINDOWS];
} npu_pccx_board;

typedef struct npu_pccx {
    const npu_hal *hal; /* must support 64-bit accesses */
    npu_pccx_board board;
    const npu_pccx_program *program;
    bool open;
    uint64_t elements[NPU_PCCX_SHAPES]; /* shapes in the fmap bank, as set by the program */
} npu_pccx;

npu_code npu_pccx_open(npu_pccx *pccx, const npu_hal *hal, const npu_pccx_program *program,
                       const npu_pccx_board *board, npu_error *error);
/* Index of a window in the program's list, by name. Returns NPU_ARGUMENT if it does not exist. */
npu_code npu_pccx_find(const npu_pccx_program *program, const char *name, size_t *window, npu_error *error);
/* Write or read bytes of a window. */
npu_code npu_pccx_write(npu_pccx *pccx, size_t window, uint64_t offset, const void *bytes, size_t count, npu_error *error);
npu_code npu_pccx_read(npu_pccx *pccx, size_t window, uint64_t offset, void *bytes, size_t count, npu_error *error);
/* Pushes the instructions one by one, each after the previous one has ended. */
npu_code npu_pccx_run(npu_pccx *pccx, npu_error *error);

#endif
