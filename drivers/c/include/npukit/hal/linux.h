/* Back end for Linux: windows of bus addresses, each mapped from a file.
 *
 * Files are UIO devices (`/dev/uio0`; window n of a device is at n pages of the file), `/dev/mem` (the offset is the
 * bus address), or buffers of u-dma-buf (`/dev/udmabuf0`, offset 0, opened with O_SYNC so that they are not cached).
 *
 * SIGBUS is caught while a function of this table runs: if the bus refuses an access, the function returns false. This
 * is as precise as the processor's report of the error, and works in one thread at a time. */
#ifndef NPUKIT_HAL_LINUX_H
#define NPUKIT_HAL_LINUX_H

#include "npukit/hal.h"

enum { NPU_LINUX_WINDOWS = 8 };

typedef struct npu_linux_window {
    npu_region region; /* bus addresses */
    volatile uint8_t *at;
    void *mapped;
    size_t mapped_bytes;
} npu_linux_window;

typedef struct npu_linux {
    size_t count;
    npu_linux_window windows[NPU_LINUX_WINDOWS];
} npu_linux;

/* Initializes the back end without windows. */
void npu_linux_begin(npu_linux *os);
/* Maps `region` from byte `offset` of a file. Returns NPU_SYSTEM with errno on failure. */
npu_code npu_linux_map(npu_linux *os, const char *path, uint64_t offset, npu_region region, npu_error *error);
/* Unmaps all windows. */
void npu_linux_end(npu_linux *os);
npu_hal npu_linux_hal(npu_linux *os);

#endif
