/* Back end for tests: `npu_remote` over a Unix socket of `npukit-board-sim`. */
#ifndef NPUKIT_HAL_SOCKET_H
#define NPUKIT_HAL_SOCKET_H

#include "npukit/hal/remote.h"

typedef struct npu_socket {
    int file;
    npu_remote remote; /* set by npu_socket_hal */
} npu_socket;

/* Connects, which resets the board. Returns NPU_SYSTEM with errno on failure. */
npu_code npu_socket_open(npu_socket *socket, const char *path, npu_error *error);
void npu_socket_close(npu_socket *socket);
/* Returns a table for the board. `socket` must remain at its address. */
npu_hal npu_socket_hal(npu_socket *socket);
/* As npu_remote_inject, after npu_socket_hal. */
bool npu_socket_inject(npu_socket *socket, const char *fault, uint64_t after);

#endif
