#define _GNU_SOURCE
#include "npukit/hal/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* A board that does not answer for this time is considered gone. */
enum { PATIENCE_SECONDS = 120 };

npu_code npu_socket_open(npu_socket *socket_, const char *path, npu_error *error)
{
    struct sockaddr_un name;
    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof name.sun_path) {
        return npu_fail(error, NPU_ARGUMENT, "the path of a socket is too long", "socket", 0, sizeof name.sun_path - 1,
                        strlen(path));
    }
    memcpy(name.sun_path, path, strlen(path));
    socket_->file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_->file < 0) {
        return npu_fail(error, NPU_SYSTEM, "cannot create a socket", "socket", 0, 0, (uint64_t)errno);
    }
    struct timeval patience = {PATIENCE_SECONDS, 0};
    if (setsockopt(socket_->file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        connect(socket_->file, (const struct sockaddr *)&name, sizeof name) != 0) {
        int why = errno;
        npu_socket_close(socket_);
        return npu_fail(error, NPU_SYSTEM, "no board answers at the socket", "socket", 0, 0, (uint64_t)why);
    }
    return NPU_OK;
}

void npu_socket_close(npu_socket *socket_)
{
    close(socket_->file);
    socket_->file = -1;
}

static bool send_all(void *context, const void *bytes, size_t count)
{
    const npu_socket *socket_ = context;
    const uint8_t *next = bytes;
    while (count > 0) {
        ssize_t sent = send(socket_->file, next, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        next += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool receive_all(void *context, void *bytes, size_t count)
{
    const npu_socket *socket_ = context;
    uint8_t *next = bytes;
    while (count > 0) {
        ssize_t got = recv(socket_->file, next, count, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        next += got;
        count -= (size_t)got;
    }
    return true;
}

bool npu_socket_inject(npu_socket *socket_, const char *fault, uint64_t after)
{
    return npu_remote_inject(&socket_->remote, fault, after);
}

npu_hal npu_socket_hal(npu_socket *socket_)
{
    npu_remote remote = {socket_, send_all, receive_all};
    socket_->remote = remote;
    return npu_remote_hal(&socket_->remote);
}
