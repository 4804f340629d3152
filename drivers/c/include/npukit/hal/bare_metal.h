/* Back end without an operating system: bus addresses are pointers.
 *
 * Three functions depend on the platform: the time and, if memory is cached, the two cache functions. A bus error is an
 * exception there, handled by the platform. */
#ifndef NPUKIT_HAL_BARE_METAL_H
#define NPUKIT_HAL_BARE_METAL_H

#include "npukit/hal.h"

typedef struct npu_bare_metal {
    /* Time in microseconds from an arbitrary start. */
    uint64_t (*now_us)(void);
    /* As in npu_hal; on a Zynq Xil_DCacheFlushRange and Xil_DCacheInvalidateRange. NULL without caches. */
    void (*flush)(uintptr_t address, size_t bytes);
    void (*invalidate)(uintptr_t address, size_t bytes);
    /* Subtracted from bus addresses; 0 if processor and bus use the same addresses. */
    uint64_t offset;
} npu_bare_metal;

/* Returns a table for the platform. `platform` must remain at its address. */
npu_hal npu_bare_metal_hal(npu_bare_metal *platform);

#endif
