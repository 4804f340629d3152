#include "npukit/hal/remote.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

static void store(uint8_t *bytes, uint64_t value, unsigned count)
{
    for (unsigned byte = 0; byte < count; byte++) {
        bytes[byte] = (uint8_t)(value >> (8U * byte) & 0xFFU);
    }
}

static uint64_t load(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned byte = 0; byte < count; byte++) {
        value |= (uint64_t)bytes[byte] << (8U * byte);
    }
    return value;
}

/* Sends one request with `sent` bytes of data, and receives `wanted` bytes. */
static bool ask(const npu_remote *remote, char operation, uint64_t address, uint32_t length, const void *data,
                size_t sent, void *answer, size_t wanted)
{
    uint8_t head[16] = {(uint8_t)operation};
    uint8_t back[8];
    store(head + 4, length, 4);
    store(head + 8, address, 8);
    if (!remote->send(remote->context, head, sizeof head) || !remote->send(remote->context, data, sent) ||
        !remote->receive(remote->context, back, sizeof back) || back[0] != 0 || load(back + 4, 4) != wanted) {
        return false;
    }
    return remote->receive(remote->context, answer, wanted);
}

static bool read_register(void *context, char operation, uint64_t address, unsigned bytes, uint64_t *value)
{
    uint8_t data[8];
    if (!ask(context, operation, address, bytes, NULL, 0, data, bytes)) {
        return false;
    }
    *value = load(data, bytes);
    return true;
}

static bool write_register(void *context, char operation, uint64_t address, unsigned bytes, uint64_t value)
{
    uint8_t data[8];
    store(data, value, bytes);
    return ask(context, operation, address, bytes, data, bytes, NULL, 0);
}

static bool read32(void *context, uint64_t address, uint32_t *value)
{
    uint64_t wide = 0;
    bool read = read_register(context, 'r', address, 4, &wide);
    *value = (uint32_t)wide;
    return read;
}

static bool write32(void *context, uint64_t address, uint32_t value)
{
    return write_register(context, 'w', address, 4, value);
}

static bool read64(void *context, uint64_t address, uint64_t *value)
{
    return read_register(context, 'r', address, 8, value);
}

static bool write64(void *context, uint64_t address, uint64_t value)
{
    return write_register(context, 'w', address, 8, value);
}

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
    uint8_t *next = to;
    while (bytes > 0) {
        size_t part = bytes < BLOCK ? bytes : BLOCK;
        if (!ask(context, 'm', address, (uint32_t)part, NULL, 0, next, part)) {
            return false;
        }
        address += part;
        next += part;
        bytes -= part;
    }
    return true;
}

static bool write_memory(void *context, uint64_t address, const void *from, size_t bytes)
{
    const uint8_t *next = from;
    while (bytes > 0) {
        size_t part = bytes < BLOCK ? bytes : BLOCK;
        if (!ask(context, 'M', address, (uint32_t)part, next, part, NULL, 0)) {
            return false;
        }
        address += part;
        next += part;
        bytes -= part;
    }
    return true;
}

static uint64_t now_us(void *context)
{
    uint8_t data[8] = {0};
    /* The clock of a lost board stands still, which npu_deadline detects. */
    return ask(context, 't', 0, 8, NULL, 0, data, sizeof data) ? load(data, 8) : 0;
}

static void wait_us(void *context, uint32_t microseconds)
{
    (void)ask(context, 'p', microseconds, 0, NULL, 0, NULL, 0);
}

bool npu_remote_inject(const npu_remote *remote, const char *fault, uint64_t after)
{
    size_t length = strlen(fault);
    return ask(remote, 'f', after, (uint32_t)length, fault, length, NULL, 0);
}

npu_hal npu_remote_hal(npu_remote *remote)
{
    npu_hal hal = {
        .context = remote,
        .read32 = read32,
        .write32 = write32,
        .read64 = read64,
        .write64 = write64,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .flush = NULL,
        .invalidate = NULL,
        .now_us = now_us,
        .wait_us = wait_us,
    };
    return hal;
}
