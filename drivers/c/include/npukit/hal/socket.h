/* Back end for tests: every access uses a Unix socket to `npukit-board-sim`, a board with npukit's machine.
 *
 * A request is 16 bytes (operation, three zeros, length, address; little-endian) and its data. An answer is 8 bytes (0
 * for success, three zeros, length) and its data. Time is the simulated board's. */
#ifndef NPUKIT_HAL_SOCKET_H
#define NPUKIT_HAL_SOCKET_H

#include "npukit/hal.h"

typedef struct npu_socket {
    int file;
} npu_socket;

/* Connects, which resets the board. Returns NPU_SYSTEM with errno on failure. */
npu_code npu_socket_open(npu_socket *socket, const char *path, npu_error *error);
void npu_socket_close(npu_socket *socket);
npu_hal npu_socket_hal(npu_socket *socket);
/* Makes the `after`-th event from now on fail. `fault` is a name in drivers/sim/src/faults.rs. Returns false if the
 * board does not know it. */
bool npu_socket_inject(npu_socket *socket, const char *fault, uint64_t after);

#endif
