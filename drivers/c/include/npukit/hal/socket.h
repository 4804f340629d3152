/* A back end for tests: every access goes over a Unix socket to `npukit-board-sim`, where npukit's machine is the board.
 *
 * A request is 16 bytes (operation, three zeros, length, address; little-endian) and its data, an answer 8 bytes (0 for
 * success, three zeros, length) and its data. Time is the simulated board's. */
#ifndef NPUKIT_HAL_SOCKET_H
#define NPUKIT_HAL_SOCKET_H

#include "npukit/hal.h"

typedef struct npu_socket {
    int file;
} npu_socket;

/* Connects, which resets the board. NPU_SYSTEM with errno. */
npu_code npu_socket_open(npu_socket *socket, const char *path, npu_error *error);
void npu_socket_close(npu_socket *socket);
npu_hal npu_socket_hal(npu_socket *socket);
/* Makes the `after`-th event from now on go wrong; `fault` is a name of drivers/sim/src/faults.rs. False when the board
 * does not know it. */
bool npu_socket_inject(npu_socket *socket, const char *fault, uint64_t after);

#endif
