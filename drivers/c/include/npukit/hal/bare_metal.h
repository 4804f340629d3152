/* A back end without an operating system: bus addresses are pointers.
 *
 * What differs from processor to processor are three functions of the platform: the time, and the caches where memory is
 * cached. A bus error is an exception there, which the platform's handler sees. */
#ifndef NPUKIT_HAL_BARE_METAL_H
#define NPUKIT_HAL_BARE_METAL_H

#include "npukit/hal.h"

typedef struct npu_bare_metal {
    /* Microseconds since any moment. */
    uint64_t (*now_us)(void);
    /* As those of npu_hal; on a Zynq Xil_DCacheFlushRange and Xil_DCacheInvalidateRange. NULL for none. */
    void (*flush)(uintptr_t address, size_t bytes);
    void (*invalidate)(uintptr_t address, size_t bytes);
    /* Taken off bus addresses; 0 where processor and bus agree. */
    uint64_t offset;
} npu_bare_metal;

/* A table for the platform, which must stay where it is. */
npu_hal npu_bare_metal_hal(npu_bare_metal *platform);

#endif
