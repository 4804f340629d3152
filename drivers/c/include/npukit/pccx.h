/* pccx: instructions of 64 bits pushed through a window of the bus, data brought by data movers.
 *
 * What is described, and is here: the container (`.pcp`), the command and status FIFO, the control pages of the movers,
 * MEMSET, MEMCPY between host and L2, and CVO. What is not, and is refused before anything is pushed (NPU_UNSUPPORTED with the
 * instruction's index): GEMV and GEMM, whose end no status tells of and whose scales have no way to the device; MEMCPY within
 * L2, which no circuit has; steps of the host. Source: the pccx specification, 2.2, 3.6, 4.2, 4.3 and 9. */
#ifndef NPUKIT_PCCX_H
#define NPUKIT_PCCX_H

#include "npukit/error.h"
#include "npukit/hal.h"

enum { NPU_PCCX_WINDOWS = 16, NPU_PCCX_SHAPES = 64 };

/* A window of host memory that MEMCPY reaches. */
typedef struct npu_pccx_window {
    uint32_t number;
    bool from_device; /* L2 to host; else host to L2 */
    uint64_t bytes;
    const char *name; /* in the container, with a zero behind it */
} npu_pccx_window;

/* A container. It points into its bytes. */
typedef struct npu_pccx_program {
    const uint8_t *code; /* words, little-endian */
    uint32_t words;
    size_t windows;
    npu_pccx_window window[NPU_PCCX_WINDOWS];
} npu_pccx_program;

/* Reads a container and checks that this driver can run all of it. NPU_SYNTAX with the offset. */
npu_code npu_pccx_parse(const void *bytes, size_t length, npu_pccx_program *program, npu_error *error);

typedef struct npu_pccx_board {
    uint64_t base; /* of the window: 0xA0000000 on the published board */
    uint32_t timeout_us;
    /* Where the program's windows lie, in their order; at least as large as they are, at multiples of 16 below 2^32. */
    npu_region windows[NPU_PCCX_WINDOWS];
} npu_pccx_board;

typedef struct npu_pccx {
    const npu_hal *hal; /* with accesses of 64 bits */
    npu_pccx_board board;
    const npu_pccx_program *program;
    bool open;
    uint64_t elements[NPU_PCCX_SHAPES]; /* of the fmap bank's entries, as the program has set them */
} npu_pccx;

npu_code npu_pccx_open(npu_pccx *pccx, const npu_hal *hal, const npu_pccx_program *program,
                       const npu_pccx_board *board, npu_error *error);
/* The place of a window by its name, in the program's list. NPU_ARGUMENT for one that it does not have. */
npu_code npu_pccx_find(const npu_pccx_program *program, const char *name, size_t *window, npu_error *error);
/* Writes or reads bytes of a window. */
npu_code npu_pccx_write(npu_pccx *pccx, size_t window, uint64_t offset, const void *bytes, size_t count, npu_error *error);
npu_code npu_pccx_read(npu_pccx *pccx, size_t window, uint64_t offset, void *bytes, size_t count, npu_error *error);
/* Pushes the instructions one by one, each when the one before it is done. */
npu_code npu_pccx_run(npu_pccx *pccx, npu_error *error);

#endif
