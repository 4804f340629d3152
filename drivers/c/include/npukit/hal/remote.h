/* Back end for tests: every access is a request to `npukit-board-sim`, a board with npukit's machine, over any channel of
 * bytes.
 *
 * A request is 16 bytes (operation, three zeros, length, address; little-endian) and its data. An answer is 8 bytes (0
 * for success, three zeros, length) and its data. Time is the simulated board's. */
#ifndef NPUKIT_HAL_REMOTE_H
#define NPUKIT_HAL_REMOTE_H

#include "npukit/hal.h"

/* A channel. The functions send or receive all bytes, or return false. */
typedef struct npu_remote {
    void *context;
    bool (*send)(void *context, const void *bytes, size_t count);
    bool (*receive)(void *context, void *bytes, size_t count);
} npu_remote;

/* Returns a table for the board. `remote` must remain at its address. */
npu_hal npu_remote_hal(npu_remote *remote);
/* Makes the `after`-th event from now on fail. `fault` is a name in drivers/sim/src/faults.rs. Returns false if the
 * board does not know it. */
bool npu_remote_inject(const npu_remote *remote, const char *fault, uint64_t after);

#endif
