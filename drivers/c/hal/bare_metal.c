#include "npukit/hal/bare_metal.h"

#include <string.h>

/* Converts a bus address to the processor's address; false if the processor cannot reach it. */
static bool pointer(const npu_bare_metal *platform, uint64_t address, uint64_t bytes, uintptr_t *at)
{
    uint64_t place = address - platform->offset;
    if (address < platform->offset || place > UINTPTR_MAX || bytes > UINTPTR_MAX - place) {
        return false;
    }
    *at = (uintptr_t)place;
    return true;
}

static bool read32(void *context, uint64_t address, uint32_t *value)
{
    uintptr_t at;
    if (address % 4 != 0 || !pointer(context, address, 4, &at)) {
        return false;
    }
    *value = *(volatile uint32_t *)at;
    return true;
}

static bool write32(void *context, uint64_t address, uint32_t value)
{
    uintptr_t at;
    if (address % 4 != 0 || !pointer(context, address, 4, &at)) {
        return false;
    }
    *(volatile uint32_t *)at = value;
    return true;
}

static bool read64(void *context, uint64_t address, uint64_t *value)
{
    uintptr_t at;
    if (address % 8 != 0 || !pointer(context, address, 8, &at)) {
        return false;
    }
    *value = *(volatile uint64_t *)at;
    return true;
}

static bool write64(void *context, uint64_t address, uint64_t value)
{
    uintptr_t at;
    if (address % 8 != 0 || !pointer(context, address, 8, &at)) {
        return false;
    }
    *(volatile uint64_t *)at = value;
    return true;
}

static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
    uintptr_t at;
    if (!pointer(context, address, bytes, &at)) {
        return false;
    }
    if (bytes > 0) {
        memcpy(to, (const void *)at, bytes);
    }
    return true;
}

static bool write_memory(void *context, uint64_t address, const void *from, size_t bytes)
{
    uintptr_t at;
    if (!pointer(context, address, bytes, &at)) {
        return false;
    }
    if (bytes > 0) {
        memcpy((void *)at, from, bytes);
    }
    return true;
}

static bool maintain(npu_bare_metal *platform, void (*caches)(uintptr_t, size_t), uint64_t address, uint64_t bytes)
{
    uintptr_t at;
    if (!pointer(platform, address, bytes, &at)) {
        return false;
    }
    if (caches != NULL) {
        caches(at, (size_t)bytes);
    }
    return true;
}

static bool flush(void *context, uint64_t address, uint64_t bytes)
{
    npu_bare_metal *platform = context;
    return maintain(platform, platform->flush, address, bytes);
}

static bool invalidate(void *context, uint64_t address, uint64_t bytes)
{
    npu_bare_metal *platform = context;
    return maintain(platform, platform->invalidate, address, bytes);
}

static uint64_t now_us(void *context)
{
    const npu_bare_metal *platform = context;
    return platform->now_us();
}

npu_hal npu_bare_metal_hal(npu_bare_metal *platform)
{
    npu_hal hal = {
        .context = platform,
        .read32 = read32,
        .write32 = write32,
        /* A 32-bit processor splits a 64-bit access into two. */
        .read64 = sizeof(uintptr_t) >= 8 ? read64 : NULL,
        .write64 = sizeof(uintptr_t) >= 8 ? write64 : NULL,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .flush = flush,
        .invalidate = invalidate,
        .now_us = platform->now_us != NULL ? now_us : NULL,
        .wait_us = NULL,
    };
    return hal;
}
